"""
Deployments of ai-gantry and MTClaw start unchanged and go on: what they remembered, planned and
talked about is there; what cannot be taken is said; nothing is lost when the power goes.
"""

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import time

import pytest

from fakes.model import call
from fakes.telegram import ALLOWED, TOKEN
from harness import foreign
from harness.fixtures import binary

UID = 65532
AS_USER = ["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"]
as_user = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


def own(path):
    for d, names, files in os.walk(path):
        for name in (d, *(os.path.join(d, f) for f in files)):
            os.chown(name, UID, UID)


def reachable(path):
    """Let another user walk down to the scene's directory."""
    while str(path) != "/":
        mode = os.stat(path).st_mode
        if not mode & stat.S_IXOTH:
            os.chmod(path, mode | stat.S_IXOTH | stat.S_IROTH)
        path = os.path.dirname(path)


def rows(path, query):
    con = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    try:
        return con.execute(query).fetchall()
    finally:
        con.close()


def dump(path):
    """All that a database holds, whatever its pages look like."""
    con = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    try:
        return sorted(con.iterdump())
    finally:
        con.close()


def report(gantry, *args, **more):
    return json.loads(gantry.run("import", "--json", *args, **more).out)


# --- whole deployments --------------------------------------------------------------------------


@pytest.mark.parametrize("schema", ["0.0.x", "0.1.x"])
def test_an_ai_gantry_deployment_goes_on_talking(gantry, model, schema):
    foreign.ai_gantry(gantry.db_path, schema)
    model.reply("", calls=[call("memory_recall", query="where is the umbrella")])
    model.answer(lambda q: "I see: " + q.messages[-1]["content"])
    d = gantry.daemon()
    d.send("where is the umbrella?")
    d.out.wait("behind the zephyr door")
    first = model.requests[0].messages
    assert "the umbrella is behind the zephyr door" in first[0]["content"]
    assert [m["content"] for m in first[1:3]] == ["hello there, says the terminal", "and hello from ai-gantry"]
    d.close_stdin()
    d.wait(code=0)
    said = [l for l in gantry.log_lines(d) if l.get("event") == "store.adopted" or l.get("msg") == "store.adopted"]
    assert len(said) == 1, d.err.text
    for want in ('"ai-gantry"', schema, '"sessions":"5"', '"memories":"4"', '"schedules":"4"', '"skipped":"0"'):
        assert want.replace('"', "") in json.dumps(said[0]).replace('"', "").replace(": ", ":"), said
    assert "water the plants" in gantry.run("cron", "list").out
    assert [r["n"] for r in gantry.sql("SELECT count(*) n FROM memory_grams")] == [4]


@pytest.mark.parametrize("user", [False, pytest.param(True, marks=as_user)])
def test_an_ai_gantry_bot_goes_on_in_its_chat_and_keeps_its_schedule(gantry, model, bot, user):
    foreign.ai_gantry(gantry.db_path, chat=ALLOWED)
    due = time.strftime("%Y-%m-%dT%H:%M:%S.000000000Z", time.gmtime(time.time() - 60))
    foreign.fill(gantry.db_path, "cron_job",
                 foreign.job(9, "ask about the harbour", "once", due, next_run_at=due, user_id=str(ALLOWED),
                             session_id="telegram:%d:%d" % (ALLOWED, ALLOWED), chat_id=str(ALLOWED)))
    if user:
        reachable(gantry.dir)
        own(gantry.data)
        gantry.prefix = AS_USER

    def answer(q):
        text = q.messages[-1]["content"]
        return "How was the harbour?" if "ask about the harbour" in text else "As before: heron."
    model.answer(answer)
    model.answer(answer)
    d = bot.run()
    bot.wait_text("How was the harbour")
    bot.say("what was the code word?")
    bot.wait_text("As before: heron")
    asked = model.last.messages
    assert "Lisbon" in asked[0]["content"] and "zephyr door" in asked[0]["content"]
    assert [m["content"] for m in asked[1:3]] == ["What is the code word?", "The code word is heron."]
    bot.stop_gantry(d)


def test_what_the_old_program_had_not_moved_from_its_log_comes_along(gantry):
    """It was killed: the newest rows are in the write-ahead log."""
    live = foreign.ai_gantry(gantry.dir / "live.db")
    con = sqlite3.connect(live)
    con.execute("PRAGMA wal_autocheckpoint = 0")
    con.execute("INSERT INTO memory (kind, subject, content, source, created_at, updated_at) "
                "VALUES ('fact', 'late', 'said at the last moment', 'chat', ?1, ?1)", [foreign.AT])
    con.commit()
    shutil.copy(live, gantry.db_path)
    shutil.copy(str(live) + "-wal", str(gantry.db_path) + "-wal")
    con.close()
    assert report(gantry, "--dry-run")["memories"]["taken"] == 5
    assert report(gantry)["memories"]["taken"] == 5
    assert "last moment" in gantry.run("memory", "list").out


@as_user
def test_an_ai_gantry_container_goes_on_as_nobody(gantry, model):
    """Three mounts: persona and manifest read-only, only the data belong to the user."""
    foreign.ai_gantry(gantry.db_path)
    gantry.manifest.write_text('[[server]]\nname = "later"\ncommand = "/nowhere/tool"\nargs = ["--stdio"]\n'
                               'tools_prefix = "lat"\nexclude = ["raw_*"]\nauth_command = "tool"\n'
                               'auth_args = ["login", "$HOME"]\ndownload_url = "https://github.com/a/b"\n'
                               'download_tag = "v1"\n', encoding="utf-8")
    (gantry.persona / "PERSONA.md").unlink()
    (gantry.persona / "SOUL.md").write_text("You are Tim.\n", encoding="utf-8")
    reachable(gantry.dir)
    own(gantry.data)
    gantry.prefix = AS_USER
    model.reply("heron, as you know")
    r = gantry.talk("what is the code word?", HOME=None, TELEGRAM_BOT_TOKEN="", MEMORY_BACKEND="builtin",
                    CRON_TZ="America/Los_Angeles", HISTORY_MAX_TOKENS="128000", STREAM_REPLIES="false")
    assert "heron, as you know" in r.out
    assert model.last.messages[0]["content"].startswith("You are Tim.")
    assert {os.stat(f).st_uid for f in gantry.data.iterdir()} == {UID}
    assert gantry.run("status", code=1).err.count("no daemon") == 1


def mtclaw_home(gantry, bot, schema=2):
    home = gantry.home / ".mtclaw"
    home.mkdir()
    (home / "config.yaml").write_text("""
version: 1
agent: {name: MTClaw, model: test-model, workspace: ~/mtclaw-workspace}
openai: {api_key_env: OPENAI_API_KEY, base_url: "%s"}
channels:
  telegram: {enabled: true, token_env: TELEGRAM_BOT_TOKEN, allow_from: [%d], api_base_url: "%s"}
tools:
  exec: {enabled: true, mode: approval, allow: ["^make test$"]}
cron:
  enabled: true
  timezone: UTC
  jobs:
    - {name: morning, schedule: "30 7 * * 1-5", prompt: "What is on today?", enabled: true, session: persistent, timeout: 2m}
""" % (gantry.model.url, ALLOWED, bot.url), encoding="utf-8")
    foreign.mtclaw(home / "mtclaw.db", schema)
    con = sqlite3.connect(home / "mtclaw.db")
    con.execute("UPDATE sessions SET chat_id = '%d' WHERE chat_id = '111111111'" % ALLOWED)
    con.commit()
    con.close()
    gantry.db_path = home / "mtclaw.db"
    env = {k: v for k, v in gantry.env().items() if k in ("PATH", "HOME", "LANG", "ASAN_OPTIONS", "TSAN_OPTIONS")}
    return {**env, "OPENAI_API_KEY": gantry.env()["LLM_API_KEY"], "TELEGRAM_BOT_TOKEN": TOKEN}


def named_mtclaw(gantry):
    """The program under the name that scripts and units of MTClaw start."""
    link = gantry.dir / "bin" / "mtclaw"
    link.parent.mkdir(exist_ok=True)
    if not link.exists():
        link.symlink_to(binary())
    return str(link)


def start_mtclaw(gantry, env, *args):
    from harness.process import Proc
    p = Proc([*gantry.prefix, named_mtclaw(gantry), *args], env, str(gantry.dir), stdin=subprocess.DEVNULL,
             name="mtclaw " + " ".join(args))
    gantry.procs.append(p)
    return p


@pytest.mark.parametrize("schema,user", [(0, False), (1, False), (2, False),
                                         pytest.param(2, True, marks=as_user)])
def test_an_mtclaw_deployment_goes_on_talking(gantry, model, bot, schema, user):
    env = mtclaw_home(gantry, bot, schema)
    if user:
        reachable(gantry.dir)
        own(gantry.home)
        gantry.prefix = AS_USER
    model.reply("It is heron, as I said.")
    d = start_mtclaw(gantry, env, "gateway")
    bot.say("what was the code word?")
    bot.wait_text("It is heron")
    asked = model.last.messages
    assert [m["role"] for m in asked] == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]
    assert asked[1]["content"] == "What is the code word?" and asked[3]["content"] == "it says heron"
    assert "no result" in asked[4]["content"] and [c["id"] for c in asked[2]["tool_calls"]] == ["c1", "c2"]
    runs = start_mtclaw(gantry, env, "cron", "list")
    runs.wait(code=0)
    assert "morning" in runs.out.text
    audit = start_mtclaw(gantry, env, "approvals", "list")
    audit.wait(code=0)
    assert "make test" in audit.out.text and "denied_rule" in audit.out.text
    assert [r["n"] for r in gantry.sql("SELECT count(*) n FROM cron_runs WHERE job_name = 'morning'")] == [2]
    assert [r["state"] for r in gantry.sql("SELECT state FROM approvals ORDER BY id")] == ["expired", "used", "denied"]
    d.term()
    d.wait(code=0)
    assert not [r for r in gantry.sql("SELECT 1 FROM jobs WHERE name = 'evening' AND enabled = 1")]


# --- the old programs ---------------------------------------------------------------------------


def test_an_old_binary_refuses_what_was_adopted(gantry):
    foreign.ai_gantry(gantry.db_path)
    gantry.run("import")
    con = sqlite3.connect(gantry.db_path)
    assert con.execute("PRAGMA user_version").fetchone()[0] > 2
    assert con.execute("PRAGMA application_id").fetchone()[0] == 0x476E7472
    # ai-gantry knows no versions; what it does at its start fails.
    con.execute("CREATE TABLE IF NOT EXISTS session (id text PRIMARY KEY)")
    with pytest.raises(sqlite3.OperationalError):
        con.execute("CREATE INDEX IF NOT EXISTS idx_session_message ON session_message (session_id, id)")
    with pytest.raises(sqlite3.OperationalError):
        con.execute("INSERT INTO session (id, updated_at) VALUES ('x', 'y')")
    con.close()
    assert "gantry's own" in gantry.run("import", code=1).err


def test_nothing_is_touched_while_the_old_program_has_it_open(gantry, model):
    foreign.ai_gantry(gantry.db_path)
    old = sqlite3.connect(gantry.db_path)
    assert old.execute("SELECT count(*) FROM session").fetchone() == (6,)
    before = sorted(os.listdir(gantry.data))
    r = gantry.run("import", code=1, seconds=40)
    assert "another program has it open" in r.err and len(r.err.strip().splitlines()) == 1
    assert old.execute("SELECT count(*) FROM session").fetchone() == (6,)
    old.close()
    assert [f for f in os.listdir(gantry.data) if f.endswith((".bak", ".part"))] == []
    assert set(before) - {"gantry.db-wal", "gantry.db-shm"} <= set(os.listdir(gantry.data))
    gantry.run("import")


def test_the_lock_of_mtclaw_keeps_gantry_out(gantry, bot):
    import fcntl
    env = mtclaw_home(gantry, bot)
    with open(str(gantry.db_path) + ".lock", "w") as lock:
        lock.write("4711\n")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        p = start_mtclaw(gantry, env, "import")
        p.wait(20, code=1)
        assert "4711" in p.err.text
    assert not [f for f in os.listdir(gantry.db_path.parent) if f.endswith(".bak")]


def test_a_newer_mtclaw_is_left_alone(gantry):
    foreign.mtclaw(gantry.db_path)
    con = sqlite3.connect(gantry.db_path)
    con.execute("PRAGMA user_version = 9")
    con.close()
    before = dump(gantry.db_path)
    for args in (("import",), ("import", "--dry-run"), ("memory", "list")):
        assert "newer MTClaw (schema 9" in gantry.run(*args, code=1).err
    assert dump(gantry.db_path) == before


# --- dry runs, copies, imports ------------------------------------------------------------------


def test_a_dry_run_says_what_the_run_does_and_changes_nothing(gantry):
    foreign.ai_gantry(gantry.db_path)
    before = {f: (gantry.data / f).read_bytes() for f in os.listdir(gantry.data)}
    dry = report(gantry, "--dry-run")
    assert {f: (gantry.data / f).read_bytes() for f in os.listdir(gantry.data)} == before
    real = report(gantry)
    assert (dry.pop("dry_run"), real.pop("dry_run")) == (True, False)
    assert (dry.pop("copy"), real.pop("copy")) == ("", str(gantry.db_path) + ".ai-gantry.bak")
    assert dry == real
    assert real["sessions"] == {"taken": 5, "known": 0, "skipped": 0}


@as_user
def test_a_dry_run_reads_where_nothing_can_be_written(gantry):
    d = gantry.dir / "mounted"
    d.mkdir()
    foreign.mtclaw(d / "mt%claw #1.db")
    os.chmod(d / "mt%claw #1.db", 0o444)
    os.chmod(d, 0o555)
    reachable(gantry.dir)
    own(gantry.data)
    gantry.prefix = AS_USER
    got = report(gantry, "--dry-run", d / "mt%claw #1.db")
    assert got["program"] == "MTClaw" and got["messages"]["taken"] == 8
    assert os.listdir(d) == ["mt%claw #1.db"] and not gantry.db_path.exists()


def test_the_copy_is_the_database_as_it_was_and_overwrites_nothing(gantry):
    foreign.ai_gantry(gantry.db_path)
    before = dump(gantry.db_path)
    (gantry.data / "gantry.db.ai-gantry.bak").write_text("precious")
    copy = report(gantry)["copy"]
    assert copy.endswith(".ai-gantry.2.bak")
    assert (gantry.data / "gantry.db.ai-gantry.bak").read_text() == "precious"
    assert dump(copy) == before
    assert stat.S_IMODE(os.stat(copy).st_mode) == 0o600


def test_a_file_is_added_to_what_is_there_and_only_once(gantry, model):
    model.reply("hi")
    gantry.talk("hello")
    gantry.run("memory", "store", "fact", "own", "this was here before")
    file = foreign.ai_gantry(gantry.dir / "old.db")
    before = file.read_bytes()
    dry = report(gantry, "--dry-run", file)
    assert dry["sessions"] == {"taken": 4, "known": 1, "skipped": 0}    # the terminal's is there
    assert "zephyr" not in gantry.run("memory", "list").out
    real = report(gantry, file)
    assert real["memories"]["taken"] == 4 and {**dry, "dry_run": 0} == {**real, "dry_run": 0}
    out = gantry.run("memory", "list").out
    assert "zephyr" in out and "this was here before" in out
    # Of two rows with the number 1 one moved, and what superseded it is still what does.
    (by,) = gantry.sql("SELECT b.content c FROM memory a JOIN memory b ON b.id = a.superseded_by")
    assert by["c"] == "prefers letters over calls"
    again = report(gantry, file)
    assert [again[k]["taken"] for k in ("sessions", "memories", "schedules", "watches")] == [0, 0, 0, 0]
    assert file.read_bytes() == before
    assert "own database" in gantry.run("import", gantry.db_path, code=1).err


@pytest.mark.parametrize("what", ["missing", "text", "other", "torn"])
def test_what_is_no_such_database_is_refused(gantry, what):
    file = gantry.dir / "x.db"
    if what == "text":
        file.write_text("this is no database, but it is long enough to be taken for one\n" * 40)
    elif what == "other":
        foreign.database(file, "CREATE TABLE session (id text);")
    elif what == "torn":
        foreign.ai_gantry(file)
        with open(file, "r+b") as f:
            f.truncate(f.seek(0, 2) // 2)
    for args in ((), ("--dry-run",)):
        err = gantry.run("import", *args, file, code=1).err
        assert "x.db" in err and len(err.strip().splitlines()) == 1
    assert not gantry.db_path.exists() or not gantry.sql("SELECT 1 FROM memory")


# --- hostile rows -------------------------------------------------------------------------------


def test_rows_that_cannot_be_right_are_skipped_and_said(gantry):
    foreign.ai_gantry(gantry.db_path)
    m = foreign.memory
    foreign.fill(gantry.db_path, "memory",
                 m(10, "fact", "a", b"\xff\xfe blob"), m(11, "fact", "b", "x", confidence="sure"),
                 m(12, "fact", "c", "x", created_at="yesterday"), m(13, "dream", "d", "x"),
                 m(14, "fact", "  ", "x"), m(15, "fact", "e", "x", superseded_by="one"),
                 m(2**63 - 1, "fact", "f", "the last number there is"),
                 m(16, "fact", "g", "y" * 70000), m(17, "fact", "h", "w" * 4500), m(-4, "fact", "i", "x"))
    con = sqlite3.connect(gantry.db_path)
    con.execute("DROP TRIGGER memory_au")
    con.execute("INSERT INTO memory (id, kind, subject, content, source, created_at, updated_at) "
                "VALUES (20, 'fact', 'bytes', CAST(x'61ff62' AS TEXT), 'chat', ?1, ?1)", [foreign.AT])
    con.execute("INSERT INTO memory (id, kind, subject, content, source, created_at, updated_at) "
                "VALUES (21, 'fact', 'nul', 'a' || char(0) || 'b', 'chat', ?1, ?1)", [foreign.AT])
    con.execute("UPDATE session SET updated_at = 9.3e18 WHERE id = 'slack:C01:U02:1.5'")
    con.execute("INSERT INTO session_message (session_id, role, content, created_at) VALUES "
                "('nobody', 'user', 'x', ?1), ('stdio', 'system', 'x', ?1), ('stdio', 'user', '  ', ?1)", [foreign.AT])
    con.execute("INSERT INTO cron_job (id, prompt, kind, expr, timezone, next_run_at, session_id, user_id, "
                "created_at, updated_at) VALUES (30, 'p', 'spark', '2-3@06-21', 'UTC', ?1, 'stdio', 'u', ?1, ?1), "
                "(31, '', 'daily', '17:00', 'UTC', ?1, 'stdio', 'u', ?1, ?1), "
                "(32, 'p', 'daily', '25:99', 'UTC', ?1, 'stdio', 'u', ?1, ?1)", [foreign.AT])
    con.execute("UPDATE watch SET args = '{' WHERE id = 1")
    con.commit()
    con.close()
    r = report(gantry)
    assert r["memories"] == {"taken": 6, "known": 0, "skipped": 10}, r
    assert r["schedules"]["skipped"] == 3 and r["watches"] == {"taken": 0, "known": 0, "skipped": 1}
    assert r["sessions"]["skipped"] == 1
    assert r["messages"]["skipped"] == 2 + 1 + 1    # of nobody, of the skipped session, a role, an empty one
    notes = "\n".join(r["notes"])
    for want in ("memory 10: content is no text", "memory 11: confidence is no number",
                 "memory 12: created_at is no time", "memory 13: its kind", "memory 14: it says nothing",
                 "memory 15: superseded_by is no whole number", "memory 16: content is too long",
                 "memory -4: its id", "memory 20: content is not UTF-8", "memory 21: content holds a zero byte",
                 'schedule 30: "spark 2-3@06-21"', "schedule 31: it has no prompt", "watch 1: args",
                 'its role is "system"'):
        assert want in notes, (want, notes)
    long = gantry.sql("SELECT length(content) n FROM memory WHERE subject = 'h' ORDER BY id")
    assert [x["n"] for x in long] == [2000, 2000, 500]


def test_many_bad_rows_are_counted_and_not_all_said(gantry):
    foreign.ai_gantry(gantry.db_path)
    foreign.fill(gantry.db_path, "memory", *(foreign.memory(100 + i, "dream", "d", "x") for i in range(500)))
    r = report(gantry)
    assert r["memories"]["skipped"] == 500 and len(r["notes"]) == 50 and r["notes_more"] == 450


def test_odd_conversations_become_ones_a_provider_takes(gantry, model):
    foreign.mtclaw(gantry.db_path)
    con = sqlite3.connect(gantry.db_path)
    con.execute("UPDATE sessions SET channel = 'stdio', chat_id = 'local' WHERE chat_id = '111111111'")
    (sid,) = con.execute("SELECT id FROM sessions WHERE channel = 'stdio'").fetchone()
    con.execute("DELETE FROM messages WHERE session_id = ?", [sid])
    odd = (("tool", "lost", "", "c0"), ("assistant", "a middle", "", ""), ("user", "one", "", ""),
           ("user", "two", "", ""), ("assistant", "", '[{"id":"c1","name":"t","args":"{"},{"id":"c1","name":"t"},'
                                     '{"id":"c3","name":"no name!"}]', ""), ("tool", "r1", "", "c1"),
           ("tool", "r1 again", "", "c1"), ("tool", "r9", "", "c9"), ("assistant", "bad", "{not json", ""),
           ("assistant", "done", "", ""), ("robot", "x", "", ""), ("user", "unanswered", "", ""))
    for n, (role, text, calls, cid) in enumerate(odd):
        con.execute("INSERT INTO messages (session_id, seq, role, content, tool_calls, tool_call_id, created_at) "
                    "VALUES (?,?,?,?,?,?,?)", (sid, n + 1, role, text, calls, cid, foreign.AT_MS))
    con.commit()
    con.close()
    model.reply("fine")
    assert "fine" in gantry.talk("and now?").out    # the fake judges every request
    asked = model.last.messages[1:]
    assert [m["role"] for m in asked] == ["user", "assistant", "tool", "tool", "assistant", "user", "assistant", "user"]
    assert asked[0]["content"] == "one\n\ntwo" and asked[2]["content"] == "r1"
    assert "not answered" in asked[6]["content"]


# --- crashes ------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("make", [foreign.ai_gantry, foreign.mtclaw])
@pytest.mark.parametrize("what", ["pwrite", "fdatasync", "fsync", "unlink", "open"])
def test_a_death_at_any_step_leaves_the_old_database_or_the_adopted_one(gantry, make, what):
    sample = make(gantry.dir / "sample.db")
    before, deaths, adopted = dump(sample), 0, 0
    step = 7 if what in ("pwrite", "open") else 1
    for n in range(1, 2000, step):
        for f in list(gantry.data.iterdir()):
            shutil.rmtree(f) if f.is_dir() else f.unlink()
        shutil.copy(sample, gantry.db_path)
        p = gantry.start("import", seam=True, GANTRY_FAULT="kill:%s:%d" % (what, n))
        p.close_stdin()
        if p.wait() == 0:
            break
        p.expect_signal = 9
        assert p.popen.returncode == -9, p.report()
        deaths += 1
        con = sqlite3.connect(gantry.db_path)
        assert con.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        ours = con.execute("PRAGMA application_id").fetchone()[0] != 0
        con.close()
        adopted += ours
        if not ours:
            assert dump(gantry.db_path) == before, "%s %d" % (what, n)
            assert not [f for f in os.listdir(gantry.data) if f.endswith(".bak")] or \
                dump(next(gantry.data.glob("*.bak"))) == before
            r = report(gantry)
            assert r["messages"]["skipped"] == 0
            assert len(list(gantry.data.glob("*.bak"))) == 1 and not list(gantry.data.glob("*.part"))
        assert gantry.run("sessions", "list").out.count("\n") == (6 if make is foreign.ai_gantry else 4)
    else:
        pytest.fail("it never came to an end")
    assert deaths > 0


def test_a_full_disk_leaves_the_old_database(gantry):
    foreign.ai_gantry(gantry.db_path)
    before = dump(gantry.db_path)
    for n in (1, 20, 60):
        p = gantry.start("import", seam=True, GANTRY_FAULT="pwrite:%d+:ENOSPC" % n)
        p.close_stdin()
        p.wait(code=1)
        assert "no room on the disk" in p.err.text and len(p.err.text.strip().splitlines()) == 1, p.report()
        assert dump(gantry.db_path) == before and not list(gantry.data.glob("*.part"))
    gantry.run("import")
