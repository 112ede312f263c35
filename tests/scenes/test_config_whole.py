"""Configuration as a whole program shows it: what is in force, what a reload takes, what leaks nowhere."""

import os
import signal

import pytest

from fakes.model import Reply
from harness.fixtures import KEY

NO_MODEL = {"LLM_BASE_URL": None, "LLM_API_KEY": None, "LLM_MODEL": None}


def write(gantry, text, name="config.yaml", mode=0o600):
    f = gantry.dir / name
    f.write_text(text, encoding="utf-8")
    f.chmod(mode)
    return str(f)


def file_mode(gantry, model, extra=""):
    return write(gantry, """
agent: {model: test-model}
openai: {api_key_env: MY_KEY, base_url: "%s"}
gateway: {channel: stdio, max_turns: 2}
storage: {dsn: "%s"}
mcp: {manifest: "%s"}
%s""" % (model.url, gantry.db_path, gantry.manifest, extra))


def test_show_prints_what_it_knows_beside_what_is_wrong(gantry):
    r = gantry.run("config", "show", code=1, LLM_MODEL=None, TOOL_MAX_ITERATIONS="many")
    assert r.err.count("LLM_MODEL: must be set") == 1
    assert r.err.count("TOOL_MAX_ITERATIONS: must be a whole number") == 1
    assert "many" not in r.err
    assert "max_iterations: 20" in r.out and "base_url: " in r.out


def test_what_is_shown_can_be_used_as_a_file(gantry):
    shown = gantry.run("config", "show", HISTORY_MAX_MESSAGES="77").out
    assert "<set:env:LLM_API_KEY>" in shown and KEY not in shown
    left_out = ("api_key: ", "token: ", "max_history_turns: 0")  # secrets; and a file wants 2 turns at least
    lines = [line.split(" #")[0] for line in shown.splitlines() if not line.strip().startswith(left_out)]
    path = write(gantry, "\n".join(lines), "again.yaml")
    again = gantry.run("config", "show", "--config", path, **NO_MODEL, code=None).out
    assert "max_history_messages: 77" in again
    assert [line for line in lines[1:] if line not in again and not line.endswith('""')] == []


@pytest.mark.parametrize("where", ["flag", "GANTRY_CONFIG", "MTCLAW_CONFIG", "xdg", "mtclaw"])
def test_path_says_which_file_and_why(gantry, where):
    path, more, flag = gantry.dir / "config.yaml", {}, []
    if where == "flag":
        flag = ["--config", str(path)]
    elif where == "xdg":
        path = gantry.home / ".config" / "gantry" / "config.yaml"
    elif where == "mtclaw":
        path = gantry.home / ".mtclaw" / "config.yml"
    else:
        more = {where: str(path)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("version: 1\n")
    out = gantry.run("config", "path", *flag, **more).out
    source = {"flag": "flag", "xdg": "default", "mtclaw": "default"}.get(where, "env:" + where)
    assert out == "%s (%s)\n" % (path, source)


def test_a_file_that_was_asked_for_must_be_there(gantry):
    r = gantry.run("run", code=1, GANTRY_CONFIG="/nowhere/x.yaml")
    assert r.err == "gantry: config: there is no file /nowhere/x.yaml (env:GANTRY_CONFIG)\n"
    assert "not there" in gantry.run("config", "path", GANTRY_CONFIG="/nowhere/x.yaml").out


def test_a_file_lets_nothing_of_env_mode_in(gantry, model):
    path = file_mode(gantry, model)
    model.reply("fine")
    r = gantry.run("run", "--config", path, input="hi\n", MY_KEY=KEY, LLM_BASE_URL="http://127.0.0.1:1", LLM_API_KEY="x",
                   LLM_MODEL="other", LOG_LEVEL="error", DATA_DIR="/nowhere", CHANNEL="telegram")
    assert r.out == "fine\n"
    assert model.last.body["model"] == "test-model"
    assert "ready" in r.err  # the log is at its own level


def test_as_many_turns_may_run_as_were_asked_for(gantry, model):
    model.reply("fine")
    gantry.talk("hi", GANTRY_GATEWAY_MAX_TURNS=64)
    assert [line["workers"] for line in gantry.log_lines() if line["msg"] == "ready"] == [64]


def test_sighup_takes_some_options_and_names_those_that_wait(gantry, model):
    path = file_mode(gantry, model, "log: {level: warn}\n")
    model.answer(lambda r: "yes")
    d = gantry.start("run", "--config", path, MY_KEY=KEY)
    d.send("a")
    d.out.wait("yes\n")
    assert "turn.done" not in d.err.text
    with open(path) as f:
        text = f.read()
    write(gantry, text.replace("level: warn", "level: debug").replace("max_turns: 2", "max_turns: 3"))
    d.popen.send_signal(signal.SIGHUP)
    d.err.wait("gateway.max_turns has changed; the next start takes it")
    d.err.wait("reload.done")
    d.send("b")
    d.out.wait("yes\n")
    d.err.wait("turn.done")
    write(gantry, "agent: {modle: x}\n")
    d.popen.send_signal(signal.SIGHUP)
    d.err.wait("reload.failed")
    d.send("c")
    d.out.wait("yes\n")
    d.finish()


def test_a_secret_in_a_file_that_all_can_read_is_a_warning(gantry, model):
    (gantry.dir / "key").write_text(KEY + "\n")
    (gantry.dir / "key").chmod(0o644)
    r = gantry.run("config", "validate", LLM_API_KEY=None, LLM_API_KEY_FILE=str(gantry.dir / "key"))
    assert r.out.startswith("OK: env mode\n") and "can be read by every user" in r.out
    model.reply("fine")
    assert gantry.talk("hi", LLM_API_KEY=None, LLM_API_KEY_FILE=str(gantry.dir / "key")).out == "fine\n"


def test_options_that_wait_for_a_later_version_are_named_once(gantry):
    r = gantry.run("config", "validate", SPINUP_NOTICE_MS="3", SHOW_THINKING="true")
    assert "warning: not used by this version yet: SPINUP_NOTICE_MS, SHOW_THINKING\n" in r.out


@pytest.mark.skipif(os.access("/data", os.W_OK), reason="/data exists here")
def test_without_a_data_folder_nothing_starts_unseen(gantry):
    r = gantry.talk(code=1, DATA_DIR=None)
    assert r.err == ("gantry: DATA_DIR: /data is not a writable directory: mount a volume there, or set DATA_DIR\n")


@pytest.mark.skipif(os.access("/data", os.W_OK), reason="/data exists here")
def test_a_person_gets_a_folder_of_their_own(gantry):
    t = gantry.terminal("config", "show", rows=200, cols=160, DATA_DIR=None)
    t.see("data_dir: " + str(gantry.home / ".local" / "share" / "gantry"))
    t.wait(20, code=0)


def test_init_into_a_fresh_folder_tells_each_file(gantry):
    where = dict(NO_MODEL, PERSONA_DIR=None, MCP_MANIFEST=None, DATA_DIR=None)
    new = gantry.dir / "fresh"
    new.mkdir()
    p = gantry.start("init", cwd=new, **where)
    p.close_stdin()
    p.wait(20, 0)
    assert p.out.text.splitlines()[-1] == "5 written, 0 left as they were"
    for f in ("deploy/persona/SOUL.md", "deploy/persona/USER.md", "deploy/persona/AGENTS.md", "deploy/mcp.toml",
              ".env.example"):
        assert (new / f).is_file()
        assert "wrote" in [line for line in p.out.text.splitlines() if f in line][0]
    assert (new / "deploy" / "data").is_dir()


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_key_with_quotes_is_kept_out_of_the_log_too(gantry, form):
    key = 'odd"key\\with:quotes'
    gantry.secrets.add(key)
    r = gantry.talk(LLM_API_KEY=key, GANTRY_LOG_FORMAT=form, PERSONA_DIR=str(gantry.dir / key))
    assert "config.loaded" in r.err and "/[REDACTED]" in r.err
    assert "odd" not in r.err and "odd" not in r.out


def test_a_rotated_key_is_used_from_the_next_request_on_and_both_are_hidden(gantry, model):
    new = "R0tated/key+with=odd-chars.9876543210fedcba"
    gantry.secrets.add(new)
    keyfile = gantry.dir / "key"
    keyfile.write_text(KEY + "\n")
    keyfile.chmod(0o600)
    model.answer(lambda r: "yes")
    d = gantry.daemon(LLM_API_KEY=None, LLM_API_KEY_FILE=str(keyfile))
    d.send("a")
    d.out.wait("yes\n")
    keyfile.write_text(new + "\n")
    model.key = new
    d.popen.send_signal(signal.SIGHUP)
    d.err.wait("reload.done")
    d.send("b")
    d.out.wait("yes\n")
    assert model.last.headers["authorization"] == "Bearer " + new
    # Both in an error that the provider makes of them.
    model.answer(lambda r: Reply(status=400, body={"error": {"message": "keys %s and %s" % (KEY, new)}}))
    d.send("c")
    d.out.wait("refused")
    d.finish()
    assert "keys [REDACTED] and [REDACTED]" in d.out.text


@pytest.mark.parametrize("breaks", ["manifest", "key"])
def test_a_reload_that_fails_changes_nothing_and_says_why_in_one_line(gantry, model, mcp, breaks):
    mcp.add("srv", tools=["echo"])
    keyfile = gantry.dir / "key"
    keyfile.write_text(KEY + "\n")
    keyfile.chmod(0o600)
    model.answer(lambda r: "sees %s %s" % (",".join(t for t in r.tools if "__" in t), "sailor" in r.system))
    d = gantry.daemon(LLM_API_KEY=None, LLM_API_KEY_FILE=str(keyfile))
    d.send("a")
    d.out.wait("sees srv__echo False\n")
    mcp.add("two", tools=["add"])
    (gantry.persona / "PERSONA.md").write_text("You are a sailor.\n")
    if breaks == "manifest":
        gantry.manifest.write_text(gantry.manifest.read_text() + "[[server]\n")
    if breaks == "key":
        keyfile.write_text("two words\n")
    d.popen.send_signal(signal.SIGHUP)
    d.err.wait("reload.failed")
    d.send("b")
    d.out.wait("sees srv__echo False\n")
    row, = [line for line in gantry.log_lines(d) if line["msg"] == "reload.failed"]
    assert row["err"] and "\n" not in row["err"] and row["hint"] == "everything stays as it was"
    assert {"manifest": "mcp.toml: line ", "key": "LLM_API_KEY"}[breaks] in row["err"]
    assert mcp.events("srv").count("start") == 1 and not mcp.received("initialize", "two")
    d.finish()


def test_a_stop_is_heard_while_a_reload_waits_for_a_server_to_end(gantry, model, mcp):
    mcp.add("stays", "ignore-eof", "ignore-term", tools=["echo"])
    model.answer(lambda r: "yes")
    d = gantry.daemon()
    d.send("a")
    d.out.wait("yes\n")
    gantry.manifest.write_text("")
    d.popen.send_signal(signal.SIGHUP)
    mcp.wait(lambda: "eof" in mcp.events("stays"), "its end of input")
    d.term()
    d.wait(20, 0)
    order = [line["msg"] for line in gantry.log_lines(d) if line["msg"] in ("stopping", "reload.done")]
    assert order == ["stopping", "reload.done"]
