"""gantry doctor: each thing that can be wrong is found, said in one line, and with what to do."""

import email.utils
import fcntl
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import pytest

from fakes.model import Reply, call
from fakes.telegram import ALLOWED
from harness.fixtures import KEY, TREE, binary
from harness.tls import Front, certificate
from harness.watch import Gate

UID = 65532
AS_USER = ["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"]
ROWS = ["config", "storage", "disk", "fsync", "database", "integrity", "memory", "daemon", "permissions", "workspace",
        "roots", "prompts", "cwd", "shell", "deny", "mode", "sandbox", "network", "clock", "key", "model", "answer",
        "stream", "tools", "usage", "vision", "token", "telegram", "webhook", "allow-list", "servers", "destructive",
        "zone", "schedules"]


def able(request, **no):
    """A model that can do everything it is asked, but for no=Reply."""
    picture = any(isinstance(m.get("content"), list) for m in request.messages)
    what = "picture" if picture else "tools" if "gantry_probe" in request.tools else "stream" if request.stream else "plain"
    if what in no:
        return no[what]
    if what == "tools":
        return Reply(calls=[call("gantry_probe", text="pong")])
    return Reply("Red." if picture else "1 2 3 4 5" if request.stream else "pong")


@pytest.fixture
def clever(model):
    model.models = ["other", "test-model"]
    model.answer(able)
    return model


def dated(model, skew=0):
    """From now on the list of models comes with a Date that is so many seconds off."""
    model.listing = Reply(body={"data": [{"id": m} for m in model.models]},
                          headers={"Date": email.utils.formatdate(time.time() + skew, usegmt=True)})


class Findings(list):
    """What doctor said: rows of {check, status, message, advice, ms}."""

    def of(self, check):
        got = [r for r in self if r["check"] == check]
        assert got, "there is no row %s in %s" % (check, self)
        return got

    def said(self, check, status, *words):
        """The row has a finding of that status with these words in it."""
        for r in self.of(check):
            text = r["message"] + "; " + r["advice"]
            if r["status"] == status and all(w in text for w in words):
                if status == "FAIL":
                    assert r["advice"] or check == "config" or "start gantry" in text or "left alone" in text, r
                return r
        raise AssertionError("no %s with %s in %s" % (status, words, self.of(check)))


def doctor(gantry, *args, code=None, **more):
    r = gantry.run("doctor", "--json", *args, code=code, **more)
    found = Findings(json.loads(r.out))
    assert all("\n" not in row["message"] + row["advice"] for row in found)
    assert r.code == (1 if any(row["status"] == "FAIL" for row in found) else 0), r
    return found


def local(gantry, *args, **more):
    """The rows that need nobody else."""
    return doctor(gantry, "--offline", *args, **more)


def file_mode(gantry, text, **more):
    """Settings in a file; what else a start needs stands there already."""
    path = gantry.dir / "config.yaml"
    path.write_text("openai: {api_key_env: LLM_API_KEY, base_url: %s}\nstorage: {dsn: %s}\n%s"
                    % (gantry.model.url, gantry.db_path, text), encoding="utf-8")
    path.chmod(0o600)
    return local(gantry, "--config", str(path), **more)


AGENT = "agent: {model: test-model, workspace: %s}\ngateway: {channel: stdio}\n"


def tree(path):
    return sorted((str(p), p.stat().st_mtime_ns, p.stat().st_size) for p in path.rglob("*"))


# --- all of it --------------------------------------------------------------------------------


def test_an_installation_that_is_well(gantry, clever, mcp):
    mcp.add("srv", tools=["echo", "add"])
    gantry.talk(code=0)         # the database is there
    dated(clever)
    found = doctor(gantry, code=0)
    assert list(dict.fromkeys(r["check"] for r in found)) == ROWS
    assert {r["status"] for r in found} <= {"OK", "INFO", "SKIP", "WARN"}
    for check in ("config", "storage", "disk", "fsync", "database", "integrity", "memory", "network", "clock", "key",
                  "model", "answer", "stream", "tools", "usage", "vision", "servers", "zone", "schedules"):
        assert [r["status"] for r in found.of(check)] == ["OK"], found.of(check)
    found.said("servers", "OK", "srv: 2 of 2 tools", "tokens")
    found.said("database", "OK", "schema", "SQLite 3.")
    assert len(clever.requests) == 4


def test_it_creates_and_changes_nothing(gantry, clever):
    before = tree(gantry.dir)
    doctor(gantry, code=0).said("database", "INFO", "not there yet")
    assert tree(gantry.dir) == before
    gantry.talk(code=0)
    doctor(gantry, code=0)
    for name in ("gantry.db-wal", "gantry.db-shm"):
        if (gantry.data / name).exists():
            (gantry.data / name).unlink()
    before = tree(gantry.data)
    doctor(gantry, code=0).said("database", "OK")
    assert tree(gantry.data) == before


def test_it_looks_beside_a_daemon_without_disturbing_it(bot, clever):
    d = bot.run()
    found = doctor(bot.gantry, code=0)
    found.said("daemon", "INFO", "pid %d" % d.pid, "healthy")
    found.said("telegram", "OK", "@")
    found.said("webhook", "OK", "none is set")
    found.said("allow-list", "OK", "1 people")
    found.said("token", "OK")
    bot.say("hello")
    bot.wait_text("pong|1 2 3")
    assert not [c for c in bot.calls if c.method == "getUpdates" and getattr(c, "description", "")]
    bot.stop_gantry(d)


def test_offline_asks_nobody(bot, clever):
    found = local(bot.gantry, code=0)
    for check in ("network", "clock", "model", "answer", "stream", "tools", "usage", "vision", "telegram", "webhook"):
        found.said(check, "SKIP", "--offline")
    assert not clever.connections and not bot.calls


def test_on_a_terminal_one_line_a_row_and_ctrl_c_ends_it(gantry, clever):
    gate = Gate()
    clever.answer(lambda r: Reply("late", gate=gate))
    t = gantry.terminal("doctor", cols=250)
    clever.wait(1)
    t.popen.send_signal(signal.SIGINT)
    assert t.wait(20) == 130
    text = t.out.text
    assert re.search(r"^OK    network ", text, re.M) and not re.search(r"^\w+ +answer ", text, re.M)
    gate.release()


def test_a_terminal_shows_a_failure_with_what_to_do(gantry, clever):
    t = gantry.terminal("doctor", "--offline", cols=250, LLM_MODEL=None)
    assert t.wait(30) == 1
    assert re.search(r"^FAIL  config        LLM_MODEL: must be set", t.out.text, re.M), t.out.text


def test_rows_are_those_of_the_document(gantry, clever):
    text = (TREE / "docs" / "operating.md").read_text(encoding="utf-8")
    table = text.partition("## What doctor looks at")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.M) == ROWS
    assert list(dict.fromkeys(r["check"] for r in local(gantry))) == ROWS


# --- the configuration and its files -----------------------------------------------------------


def test_a_configuration_that_is_wrong_is_the_only_row(gantry):
    found = local(gantry, LLM_MODEL=None, LOG_LEVEL="loud", code=1)
    assert {r["check"] for r in found} == {"config"}
    found.said("config", "FAIL", "LLM_MODEL")
    found.said("config", "FAIL", "LOG_LEVEL")
    found = local(gantry, "--config", str(gantry.dir / "none.yaml"), code=1)
    found.said("config", "FAIL", "none.yaml", "gantry onboard")


def test_files_that_others_may_read_or_change(gantry):
    secret = gantry.dir / "key"
    secret.write_text(KEY + "\n")
    secret.chmod(0o644)
    gantry.manifest.chmod(0o666)
    gantry.data.chmod(0o777)
    gantry.may_show_secrets = False
    text = AGENT % gantry.home + "mcp: {manifest: %s}\n" % gantry.manifest
    path = gantry.dir / "config.yaml"
    path.write_text("openai: {api_key_file: %s, base_url: %s}\nstorage: {dsn: %s, data_dir: %s}\n%s"
                    % (secret, gantry.model.url, gantry.db_path, gantry.data, text))
    path.chmod(0o644)
    found = local(gantry, "--config", str(path), LLM_API_KEY=None, code=1)
    found.said("permissions", "WARN", "the configuration", "chmod")
    found.said("permissions", "WARN", "the secret", str(secret))
    found.said("permissions", "FAIL", "the manifest", "changed")


@pytest.fixture
def cell(gantry):
    """The installation of an ordinary user, where root can look."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    root = tempfile.mkdtemp(prefix="gantry-cell-")
    os.chmod(root, 0o755)
    gantry.__init__(root, gantry.model)
    gantry.prefix = AS_USER
    yield gantry
    gantry.stop()
    shutil.rmtree(root, ignore_errors=True)


def test_a_data_directory_that_cannot_be_written(cell):
    cell.db_path.write_bytes(b"")
    found = local(cell, "--config", plain_file(cell), code=1)
    found.said("storage", "FAIL", str(cell.data), "chown")
    found.said("fsync", "FAIL", "Permission denied")


def plain_file(gantry, text=""):
    path = gantry.dir / "config.yaml"
    path.write_text("openai: {api_key_env: LLM_API_KEY, base_url: %s}\nstorage: {dsn: %s}\n%s%s"
                    % (gantry.model.url, gantry.db_path, AGENT % gantry.home, text))
    path.chmod(0o644)
    return str(path)


def test_it_works_as_an_ordinary_user(cell, clever):
    subprocess.run(["chown", "-R", "%d:%d" % (UID, UID), str(cell.dir)], check=True)
    cell.talk(code=0)
    found = doctor(cell, code=0)
    assert not [r for r in found if r["status"] == "FAIL"]
    found.said("fsync", "OK", "ms")


@pytest.mark.parametrize("text,row,status,words", [
    ("tools: {filesystem: {roots: [/nonexistent/root]}}", "roots", "FAIL", ["/nonexistent/root"]),
    ("agent: {model: test-model, system_prompt_files: [/nonexistent/AGENTS.md]}", "prompts", "FAIL", ["AGENTS.md"]),
    ("tools: {exec: {cwd: /dev/null/x}}", "cwd", "FAIL", ["/dev/null"]),
    ("tools: {exec: {shell: [/nonexistent/sh, -c]}}", "shell", "FAIL", ["/nonexistent/sh"]),
    ("tools: {exec: {deny_builtin: false}}", "deny", "WARN", ["no deny rules"]),
    ("tools: {exec: {deny_builtin: false, deny: ['rm -rf']}}", "deny", "WARN", ["only your own 1"]),
    ("tools: {exec: {mode: auto}}", "mode", "WARN", ["a model decides"]),
    ("tools: {exec: {sandbox: {profile: 'off'}}}", "sandbox", "WARN", ["profile: strict"]),
    ("tools: {exec: {sandbox: {profile: compat}}}", "sandbox", "WARN", ["strict"]),
    ("agent: {model: test-model, workspace: /dev/null}", "workspace", "FAIL", ["/dev/null", "agent.workspace"]),
])
def test_what_the_configuration_names(gantry, text, row, status, words):
    extra = "" if text.startswith("agent") else "agent: {model: test-model, workspace: %s}\n" % gantry.home
    found = file_mode(gantry, extra + "gateway: {channel: stdio}\n" + text + "\n")
    found.said(row, status, *words)


def test_what_the_kernel_cannot_hold_commands_to(gantry):
    sandbox = "tools: {exec: {sandbox: {profile: strict, require: %s}}}\n"
    text = AGENT % gantry.home
    found = file_mode(gantry, text + sandbox % "false", seam=True, GANTRY_LANDLOCK="0")
    found.said("sandbox", "WARN", "no Landlock")
    found = file_mode(gantry, text + sandbox % "true", seam=True, GANTRY_LANDLOCK="0")
    found.said("sandbox", "FAIL", "no Landlock", "require")


def test_what_is_only_to_be_known(gantry):
    """Rows that inform: nothing is wrong, and nothing is there yet."""
    found = local(gantry, "--config", "", LLM_MODEL=None, LLM_BASE_URL=None, LLM_API_KEY=None, code=1)
    found.said("config", "INFO", "gantry onboard")
    found = file_mode(gantry, AGENT % (gantry.dir / "made" / "later"))
    found.said("workspace", "INFO", "made/later is not there yet")
    found.said("daemon", "INFO", "none runs")
    found.said("servers", "INFO", "names none")
    found.said("database", "INFO", "not there yet")
    gantry.db_path.write_bytes(b"")
    found = local(gantry)
    found.said("database", "INFO", "empty")
    with open(str(gantry.db_path) + ".lock", "w") as lock:
        lock.write("%d\n" % os.getpid())
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        row = local(gantry).said("daemon", "INFO", "runs as pid %d" % os.getpid())
        assert "healthy" not in row["message"]
    local(gantry, PERSONA_DIR=str(gantry.dir / "nobody")).said("prompts", "WARN", "no persona", "gantry init")


# --- the disk and the database -------------------------------------------------------------------


def test_a_disk_that_is_full_or_broken(gantry):
    local(gantry, seam=True, GANTRY_FAULT="fsync:1:ENOSPC").said("fsync", "FAIL", "make room")
    local(gantry, seam=True, GANTRY_FAULT="fsync:1").said("fsync", "FAIL", "dmesg")


def test_a_disk_with_little_room(gantry):
    argv = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*argv, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine gives no mount namespace")
    for size, status in (("8m", "FAIL"), ("64m", "WARN")):
        gantry.prefix = [*argv, "/bin/sh", "-c", 'mount -t tmpfs -o size=%s none "$0" && exec "$@"' % size,
                         str(gantry.data)]
        local(gantry).said("disk", status, "MiB are free", "make room")


def damage(gantry, *sql):
    con = sqlite3.connect(gantry.db_path)
    for s in sql:
        con.execute(s)
    con.commit()
    con.execute("pragma wal_checkpoint(truncate)")
    con.close()


def test_a_database_of_another_time_or_program(gantry):
    gantry.talk(code=0)
    version = gantry.sql("pragma user_version")[0][0]
    damage(gantry, "pragma user_version = %d" % (version + 1))
    local(gantry).said("database", "FAIL", "newer gantry")
    damage(gantry, "pragma user_version = %d" % (version - 1))
    local(gantry).said("database", "FAIL", "older gantry", "start gantry once")
    gantry.db_path.write_bytes(b"no database at all, but some text that is long enough" * 40)
    found = local(gantry)
    found.said("database", "FAIL", "damaged")
    found.said("integrity", "SKIP")
    found.said("memory", "SKIP")


def test_a_damaged_page_is_found(gantry, model):
    model.answer(lambda r: Reply("word " * 3000))
    gantry.talk(*["line %d" % i for i in range(6)])
    damage(gantry, "pragma page_size")
    con = sqlite3.connect(gantry.db_path)
    root = con.execute("select rootpage from sqlite_schema where name = 'turn_messages'").fetchone()[0]
    page = con.execute("pragma page_size").fetchone()[0]
    con.close()
    data = bytearray(gantry.db_path.read_bytes())
    data[(root - 1) * page + 8:(root - 1) * page + 200] = b"\xff" * 192
    gantry.db_path.write_bytes(data)
    local(gantry).said("integrity", "FAIL", "damaged", "backup")


def test_an_index_of_memory_that_does_not_fit_is_made_anew(gantry):
    gantry.talk(code=0)
    damage(gantry, "insert into memory (kind, subject, content, source, created_at, updated_at) values "
                   "('fact', 'tea', 'green', 'x', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')",
           "delete from memory_fts_docsize")
    local(gantry).said("memory", "FAIL", "1 missing", "--fix")
    local(gantry).said("memory", "FAIL")
    local(gantry, "--fix").said("memory", "OK", "1 rows was made anew")
    local(gantry).said("memory", "OK", "fits")


def test_a_daemon_that_hangs_or_is_in_trouble(gantry):
    gantry.talk(code=0)
    with open(str(gantry.db_path) + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        now = int(time.time() * 1000)
        damage(gantry, "update heartbeats set beat_at_ms = %d" % now,
               "insert or replace into heartbeats values ('poll', %d, '', 'no route to host')" % now)
        local(gantry).said("daemon", "WARN", "degraded", "no route to host")
        damage(gantry, "update heartbeats set beat_at_ms = %d" % (now - 600000))
        local(gantry).said("daemon", "WARN", "degraded")    # it has only just begun
        os.utime(lock.name, (now / 1000 - 700,) * 2)
        local(gantry).said("daemon", "FAIL", "dead", "restart")


# --- the model -----------------------------------------------------------------------------------


def test_an_endpoint_that_is_not_there(gantry, clever):
    found = doctor(gantry, LLM_BASE_URL="http://127.0.0.1:9/v1", code=1)
    found.said("network", "FAIL", "127.0.0.1", "DNS")
    for check in ("model", "answer", "stream", "tools", "vision", "usage", "clock"):
        found.said(check, "SKIP")
    found = doctor(gantry, LLM_BASE_URL="http://no-such-host.invalid/v1", code=1)
    found.said("network", "FAIL", "no-such-host.invalid")
    found = doctor(gantry, HTTP_PROXY="http://me:s3cret-pass@127.0.0.1:9", LLM_BASE_URL="http://example.invalid/v1")
    assert "s3cret-pass" not in str(found)
    found.said("network", "FAIL", "proxy")


def test_a_certificate_nobody_signed(gantry, clever, tmp_path):
    cert, key = certificate(tmp_path, "fake", "IP:127.0.0.1")
    front = Front(clever.url, cert, key)
    try:
        doctor(gantry, LLM_BASE_URL=front.url, code=1).said("network", "FAIL", "SSL_CERT_FILE")
        doctor(gantry, LLM_BASE_URL=front.url, SSL_CERT_FILE=cert, code=0).said("network", "OK", "over TLS")
    finally:
        front.close()


def test_a_key_that_is_refused(gantry, clever):
    bad = "wr0ng-" + KEY
    gantry.secrets.add(bad)
    clever.key = KEY
    found = doctor(gantry, LLM_API_KEY=bad, code=1)
    found.said("key", "FAIL", "refuses the API key", "new key")
    found.said("answer", "SKIP", "refuses the key")
    assert bad not in str(found)


def test_a_key_that_is_not_set(gantry):
    found = local(gantry, "--config", plain_file(gantry), LLM_API_KEY=None)
    found.said("key", "FAIL", "not set", "openai.no_key")


def test_a_model_that_is_not_offered(gantry, clever):
    clever.models = ["another", "models/yet-another"]
    doctor(gantry, code=0).said("model", "WARN", "test-model is not among the 2")
    clever.models = ["models/test-model"]
    doctor(gantry, code=0).said("model", "OK")
    clever.listing = Reply(status=404, body={"error": {"message": "no such path"}})
    doctor(gantry, code=0).said("model", "INFO", "HTTP 404")


@pytest.mark.parametrize("skew,status", [(-3600, "FAIL"), (3600, "FAIL"), (20, "WARN"), (2, "OK")])
def test_a_clock_that_is_off(gantry, clever, skew, status):
    dated(clever, skew)
    doctor(gantry).said("clock", status, "NTP" if status != "OK" else "within")


def broken(message, status=400):
    return Reply(status=status, body={"error": {"message": message, "type": "invalid_request_error"}})


@pytest.mark.parametrize("what,reply,row,status,words", [
    ("plain", broken("overloaded", 503), "answer", "FAIL", ["no answer"]),
    ("plain", broken("slow down", 429), "answer", "FAIL", ["limit"]),
    ("plain", Reply("  "), "answer", "WARN", ["nothing"]),
    ("stream", broken("Streaming is not supported: 'stream' must be false"), "stream", "WARN", ["STREAM_REPLIES"]),
    ("stream", Reply("12345", shape="json"), "stream", "WARN", ["one piece"]),
    ("tools", broken("This model does not support tools"), "tools", "FAIL", ["tools"]),
    ("tools", Reply("I would call gantry_probe now."), "tools", "WARN", ["words"]),
    ("picture", broken("This model does not support image input"), "vision", "INFO", ["no pictures"]),
    ("picture", broken("down", 500), "vision", "WARN", ["picture"]),
])
def test_what_a_model_cannot_do(gantry, clever, what, reply, row, status, words):
    clever.answer(lambda r: able(r, **{what: reply}))
    doctor(gantry).said(row, status, *words)


@pytest.mark.parametrize("reply", [broken("slow down", 429), broken("overloaded", 503)])
def test_the_rows_after_a_failed_question_say_what_it_was(gantry, clever, reply):
    clever.answer(lambda r: able(r, plain=reply))
    found = doctor(gantry, code=1)
    for row in ("stream", "tools", "vision"):
        assert "(%d)" % reply.status in found.said(row, "SKIP", "the first question failed")["message"]
        assert "key" not in str(found.of(row))


def test_an_endpoint_that_counts_no_tokens(gantry, clever):
    def answer(request):
        r = able(request)
        r.usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        return r
    clever.answer(answer)
    doctor(gantry, code=0).said("usage", "WARN", "estimates")


def test_a_model_that_never_answers_is_given_up(gantry, clever):
    gate = Gate()
    clever.answer(lambda r: Reply("late", gate=gate) if not r.stream else able(r))
    p = gantry.start("doctor", "--json")
    clever.wait(1)
    p.popen.send_signal(signal.SIGTERM)
    p.wait(20, 143)
    assert json.loads(p.out.text)[-1]["check"] == "model"
    gate.release()


# --- Telegram --------------------------------------------------------------------------------------


def test_a_bot_token_that_is_not_set(gantry):
    found = file_mode(gantry, "agent: {model: test-model, workspace: %s}\n"
                              "channels: {telegram: {enabled: true, allow_from: [111]}}\n" % gantry.home)
    found.said("token", "FAIL", "BotFather")


def test_a_bot_that_is_not_known(bot, clever):
    bad = "999999:" + "z" * 35
    bot.gantry.secrets.add(bad)
    found = doctor(bot.gantry, TELEGRAM_BOT_TOKEN=bad, code=1)
    found.said("telegram", "FAIL", "BotFather")
    found.said("webhook", "SKIP")
    bot.violations.clear()


def test_a_webhook_that_takes_the_messages(bot, clever):
    bot.webhook = "https://hook.example/secret-path"
    found = doctor(bot.gantry, code=0)
    found.said("webhook", "WARN", "hook.example", "gantry run removes it")
    assert "secret-path" not in str(found)
    assert bot.webhook


def test_a_rival_that_polls_the_same_token(bot, clever):
    g = bot.gantry
    d = bot.run()
    bot.stop_gantry(d)
    with open(str(g.db_path) + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        now = int(time.time() * 1000)
        damage(g, "update heartbeats set beat_at_ms = %d, trouble = ''" % now,
               "insert or replace into heartbeats values ('poll', %d, '', 'another instance polls this token')" % now)
        doctor(g).said("webhook", "WARN", "another instance polls this token")


def test_an_allow_list_with_nobody_in_it(bot, clever):
    local(bot.gantry, TELEGRAM_ALLOWED_USERS="", code=1).said("config", "FAIL", "TELEGRAM_ALLOWED_USERS")
    local(bot.gantry, TELEGRAM_ALLOWED_USERS="-100,%d" % ALLOWED).said("allow-list", "WARN", "1 of 2")


# --- tools and time ----------------------------------------------------------------------------------


def test_a_server_that_dies_and_one_that_lives(gantry, mcp):
    mcp.add("good", tools=["echo"])
    mcp.add("bad", "exit=3")
    mcp.command("none", "/nonexistent/server")
    found = local(gantry, code=1)
    found.said("servers", "OK", "good: 1 of 1 tools")
    found.said("servers", "FAIL", "bad:", "by hand")
    found.said("servers", "FAIL", "none:")
    gantry.manifest.write_text("[[server]]\nname = \"x\"\n")
    local(gantry, code=1).said("servers", "FAIL", "mcp.toml")


def test_a_server_that_does_not_answer(gantry, mcp):
    mcp.add("mute", "silent")
    local(gantry, GANTRY_MCP_START_TIMEOUT="500ms", code=1).said("servers", "FAIL", "mute:")


def test_tools_that_need_too_much(gantry, mcp):
    mcp.add("srv", tools=["echo", "add", "big"])
    local(gantry, TOOL_SCHEMA_MAX_TOKENS="10", code=1).said("servers", "FAIL", "limit is 10")


def test_tools_that_destroy_unasked(gantry, mcp):
    mcp.add("srv", tools=["echo", "count"])
    local(gantry).said("destructive", "WARN", "1 tools", "srv__count", "policy.destructive: ask")
    local(gantry, GANTRY_POLICY_DESTRUCTIVE="ask").said("destructive", "OK")


def test_no_time_zones_on_the_machine(gantry):
    argv = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*argv, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine gives no mount namespace")
    gantry.prefix = [*argv, "/bin/sh", "-c", 'mount -t tmpfs none /usr/share && exec "$0" "$@"']
    local(gantry, CRON_TZ="Europe/Berlin", code=1).said("zone", "FAIL", "Europe/Berlin", "tzdata")


def test_a_schedule_that_was_missed_or_failed(gantry):
    gantry.talk(code=0)
    gantry.run("cron", "add", "say hello", "--when", "2030-01-01T10:00", "--chat", "stdio:main")
    damage(gantry, "update jobs set next_at_ms = 1000000000000, failing = 1, last_error = 'it broke'")
    found = local(gantry)
    found.said("schedules", "WARN", "2001-09-09", "no daemon runs")
    found.said("schedules", "WARN", "it broke", "cron history")
