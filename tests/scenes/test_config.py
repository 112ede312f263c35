"""Configuration: what is wrong is named in one line, with what to do; nothing half starts."""

import os

import pytest


def refused(gantry, *names, cmd="run", **settings):
    """The start fails with 1 and one line a fault, naming the keys."""
    p = gantry.start(cmd, **settings)
    p.close_stdin()
    p.wait(30, code=1)
    assert p.out.text == ""
    for name in names:
        assert name in p.err.text, p.err.text
    assert "Traceback" not in p.err.text
    return p.err.text


@pytest.mark.parametrize("name", ["LLM_BASE_URL", "LLM_API_KEY", "LLM_MODEL"])
@pytest.mark.parametrize("value", [None, "", "   "])
def test_a_missing_model_setting_is_named(gantry, name, value):
    refused(gantry, name, **{name: value})


def test_all_faults_are_told_at_once(gantry):
    refused(gantry, "LLM_MODEL", "LOG_LEVEL", "TOOL_MAX_ITERATIONS", LLM_MODEL=None, LOG_LEVEL="loud",
            TOOL_MAX_ITERATIONS="0")


@pytest.mark.parametrize("name,value", [
    ("HISTORY_MAX_MESSAGES", "0"), ("HISTORY_MAX_TOKENS", "0"), ("TOOL_RESULT_MAX_CHARS", "0"),
    ("TOOL_MAX_ITERATIONS", "0"), ("TOOL_MAX_ITERATIONS", "1e3"), ("TOOL_MAX_ITERATIONS", "ten"),
    ("TOOL_SCHEMA_MAX_TOKENS", "-1"), ("MEMORY_CONSOLIDATE_MINUTES", "-1"), ("LOG_LEVEL", "verbose"),
    ("CHANNEL", "pigeon"), ("STREAM_REPLIES", "maybe"), ("CRON_TZ", "Mars/Olympus"),
    ("HISTORY_MAX_MESSAGES", "99999999999999999999"), ("LLM_BASE_URL", "ftp://x"), ("LLM_BASE_URL", "not a url"), ("LLM_BASE_URL", "http://h:99999/v1"),
])
def test_a_bad_value_is_named(gantry, name, value):
    refused(gantry, name, **{name: value})


@pytest.mark.parametrize("name,value", [
    ("STREAM_REPLIES", "False"), ("STREAM_REPLIES", "0"), ("STREAM_REPLIES", "off"), ("STREAM_REPLIES", "No "),
    ("STREAM_REPLIES", "yes"), ("STREAM_REPLIES", ""), ("TOOL_MAX_ITERATIONS", " 10 "), ("LOG_LEVEL", "DEBUG"),
    ("HISTORY_MAX_MESSAGES", ""), ("LLM_BASE_URL", "{url}/"),
])
def test_the_usual_spellings_are_taken(gantry, model, name, value):
    model.reply("fine")
    assert gantry.talk("hi", **{name: value.format(url=model.url)}).out == "fine\n"


def test_telegram_needs_token_and_allow_list(gantry):
    refused(gantry, "TELEGRAM_BOT_TOKEN", CHANNEL="telegram")
    refused(gantry, "TELEGRAM_ALLOWED_USERS", CHANNEL="telegram", TELEGRAM_BOT_TOKEN="123456:aaaaaaaaaaaaaaaaaaaaaa")


def test_an_unusable_data_folder_is_named(gantry):
    refused(gantry, "mcp.toml", DATA_DIR=str(gantry.manifest / "x"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_data_folder_is_named(gantry):
    gantry.data.chmod(0o500)
    refused(gantry, str(gantry.data))


@pytest.mark.parametrize("text,words", [
    ("[[server]]\nname = \"x\"\n", ["mcp.toml", "x", "command"]),
    ("[[server]]\ncommand = \"x\"\n", ["mcp.toml", "name"]),
    ("[[server]\n", ["mcp.toml", "1"]),
    ("[[server]]\nname = \"x\"\ncommand = 5\n", ["mcp.toml", "command"]),
    ("[[server]]\nname = \"x\"\ncommand = \"a\"\n[[server]]\nname = \"x\"\ncommand = \"b\"\n", ["mcp.toml", "x"]),
    ("{\"mcpServers\": {\"x\": {}}}", ["mcp.toml", "x"]),
    ("{\"mcpServers\": ", ["mcp.toml"]),
    ("\xff\xfe", ["mcp.toml"]),
])
def test_a_bad_manifest_is_named_with_line_or_server(gantry, text, words):
    gantry.manifest.write_bytes(text.encode("latin-1"))
    refused(gantry, *words)


def test_an_unknown_manifest_key_only_warns(gantry, model, mcp):
    mcp.add("srv", tools=["echo"], sparkle=True)
    model.reply("fine")
    r = gantry.talk("hi")
    assert r.out == "fine\n" and "sparkle" in r.err
    assert "srv__echo" in model.last.tools


# File mode -------------------------------------------------------------------------------------


def yaml(gantry, text, name="config.yaml"):
    f = gantry.dir / name
    f.write_text(text, encoding="utf-8")
    return str(f)


GOOD = """
agent:
  model: test-model
openai:
  api_key_env: MY_KEY
  base_url: %s
channels:
  telegram: {enabled: false}
storage: {dsn: %s}
"""


def test_file_mode_takes_its_secret_from_the_named_variable(gantry, model):
    path = yaml(gantry, GOOD % (model.url, gantry.data / "file.db"))
    model.reply("from a file")
    r = gantry.run("prompt", "--config", path, "hi", MY_KEY=gantry.env()["LLM_API_KEY"], LLM_BASE_URL=None,
                   LLM_API_KEY=None, LLM_MODEL=None, DATA_DIR=None, code=None)
    assert r.code == 0 and r.out == "from a file\n", r


@pytest.mark.parametrize("text,words", [
    ("agent:\n  modle: x\n", ["config.yaml", "modle", "model", "2"]),
    ("agent:\n  model: x\n  model: y\n", ["config.yaml", "model", "3"]),
    ("openai: [\n", ["config.yaml"]),
    ("nonsense: 1\n", ["config.yaml", "nonsense"]),
    ("openai:\n  api_key: sk-very-secret-literal-value\n", ["config.yaml", "api_key_env"]),
    ("", ["config.yaml", "empty"]),
])
def test_a_bad_file_is_told_with_its_line(gantry, text, words):
    gantry.secrets.add("sk-very-secret-literal-value")
    path = yaml(gantry, text)
    r = gantry.run("config", "validate", "--config", path, code=1)
    for w in words:
        assert w in r.err + r.out


def test_config_show_hides_secrets_and_names_sources(gantry):
    r = gantry.run("config", "show")
    assert "test-model" in r.out


def test_config_path_and_docs(gantry):
    assert gantry.run("config", "path", code=None).code == 0
    docs = gantry.run("config", "docs").out
    for name in ("LLM_BASE_URL", "MCP_MANIFEST", "TOOL_MAX_ITERATIONS", "openai"):
        assert name in docs


def test_config_validate_says_what_is_fine(gantry):
    r = gantry.run("config", "validate")
    assert r.out.strip() or r.err.strip()


def test_config_validate_names_options_that_do_nothing_yet(gantry):
    r = gantry.run("config", "validate", SHOW_THINKING="true")
    assert "SHOW_THINKING" in r.out + r.err


# Command line ----------------------------------------------------------------------------------

COMMANDS = ["run", "chat", "prompt", "init", "status", "version", "config", "tools", "sessions"]


@pytest.mark.parametrize("cmd", COMMANDS)
def test_every_command_has_help_with_an_example(gantry, cmd):
    r = gantry.run(cmd, "--help")
    assert "gantry " + cmd in r.out and "example" in r.out.lower()


def test_help_lists_the_commands(gantry):
    r = gantry.run("--help")
    for cmd in COMMANDS:
        assert cmd in r.out


@pytest.mark.parametrize("args", [["frobnicate"], ["--frobnicate"], ["prompt"], ["config", "frobnicate"],
                                  ["tools", "call"], ["sessions", "show"], ["status", "--frobnicate"], ["version", "x"]])
def test_wrong_usage_exits_2_with_one_line_of_help(gantry, args):
    r = gantry.run(*args, code=2)
    assert r.err.strip() and r.out == ""


def test_version_says_version_commit_and_date(gantry):
    r = gantry.run("version", LLM_MODEL=None)
    assert "gantry" in r.out and len(r.out.splitlines()) == 1
    assert len([w for w in r.out.split() if any(c.isdigit() for c in w)]) >= 2


def test_gateway_is_another_name_for_run(gantry, model):
    model.reply("fine")
    assert gantry.run("gateway", input="hi\n").out == "fine\n"


def test_no_argument_is_run(gantry, model):
    model.reply("fine")
    assert gantry.run(input="hi\n").out == "fine\n"


def test_status_is_the_healthcheck(gantry, model):
    assert gantry.run("status", code=1).err.strip()
    model.reply("up")
    d = gantry.daemon()
    d.send("hi")
    d.out.wait("up")
    gantry.run("status")
    assert gantry.run("status", "--json").out.strip().startswith("{")
    only_data = {k: None for k in ("LLM_BASE_URL", "LLM_API_KEY", "LLM_MODEL", "CHANNEL", "PERSONA_DIR", "MCP_MANIFEST")}
    gantry.run("status", **only_data)
    d.finish()


def test_init_seeds_and_never_overwrites(gantry):
    where = {"PERSONA_DIR": str(gantry.dir / "new" / "persona"), "MCP_MANIFEST": str(gantry.dir / "new" / "mcp.toml"),
             "LLM_BASE_URL": None, "LLM_API_KEY": None, "LLM_MODEL": None}
    gantry.run("init", **where)
    made = sorted(p.name for p in (gantry.dir / "new" / "persona").iterdir())
    assert made and (gantry.dir / "new" / "mcp.toml").exists() and (gantry.dir / ".env.example").exists()
    (gantry.dir / "new" / "persona" / made[0]).write_text("mine")
    gantry.run("init", **where)
    assert (gantry.dir / "new" / "persona" / made[0]).read_text() == "mine"
    below_a_file = dict(where, PERSONA_DIR=str(gantry.manifest / "persona"))
    assert "mcp.toml" in gantry.run("init", code=1, **below_a_file).err


def test_a_foreign_database_is_refused_and_left_alone(gantry):
    import sqlite3
    con = sqlite3.connect(str(gantry.db_path))
    con.execute("create table theirs(x)")
    con.commit()
    con.close()
    before = gantry.db_path.read_bytes()
    assert "gantry.db" in refused(gantry)
    assert gantry.db_path.read_bytes() == before


def test_rubbish_instead_of_a_database_is_refused_and_left_alone(gantry):
    gantry.db_path.write_bytes(b"this is no database" * 1000)
    before = gantry.db_path.read_bytes()
    assert "gantry.db" in refused(gantry)
    assert gantry.db_path.read_bytes() == before


def test_a_newer_database_is_refused(gantry, model):
    import sqlite3
    model.reply("fine")
    gantry.talk("hi")
    con = sqlite3.connect(str(gantry.db_path))
    con.execute("pragma user_version = 9999")
    con.commit()
    con.close()
    assert "newer" in refused(gantry)


def test_files_we_make_are_private(gantry, model):
    model.reply("fine")
    gantry.talk("hi")
    for f in gantry.data.iterdir():
        assert f.stat().st_mode & 0o077 == 0, f


def test_what_is_missing_is_told_with_the_form_of_the_command(gantry):
    r = gantry.run("prompt", code=2)
    assert r.err.startswith("gantry prompt: something is missing, usage: gantry prompt TEXT|-")
    assert len(r.err.splitlines()) == 1
