"""
Databases as ai-gantry and MTClaw leave them, made from their documented schemas: no binary file
stands in the tree.
"""

import sqlite3
import time

AI_SESSIONS = """
CREATE TABLE session (id text PRIMARY KEY, summary text NOT NULL DEFAULT '', updated_at text NOT NULL);
CREATE TABLE session_message (id integer PRIMARY KEY AUTOINCREMENT,
  session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE, role text NOT NULL,
  content text NOT NULL, created_at text NOT NULL);
CREATE INDEX session_message_session ON session_message (session_id, id);
"""
AI_MEMORY = """
CREATE TABLE memory (id integer PRIMARY KEY, kind text NOT NULL, subject text NOT NULL,
  content text NOT NULL, source text NOT NULL, confidence real NOT NULL DEFAULT 1.0,
  created_at text NOT NULL, updated_at text NOT NULL, expires_at text, superseded_by integer,
  consolidated integer NOT NULL DEFAULT 0%s);
CREATE INDEX memory_kind ON memory (kind, updated_at DESC);
CREATE VIRTUAL TABLE memory_fts USING fts5(subject, content, content=memory, content_rowid=id);
CREATE TRIGGER memory_ai AFTER INSERT ON memory BEGIN
  INSERT INTO memory_fts(rowid, subject, content) VALUES (new.id, new.subject, new.content); END;
CREATE TRIGGER memory_ad AFTER DELETE ON memory BEGIN
  INSERT INTO memory_fts(memory_fts, rowid, subject, content)
  VALUES ('delete', old.id, old.subject, old.content); END;
CREATE TRIGGER memory_au AFTER UPDATE ON memory BEGIN
  INSERT INTO memory_fts(memory_fts, rowid, subject, content)
  VALUES ('delete', old.id, old.subject, old.content);
  INSERT INTO memory_fts(rowid, subject, content) VALUES (new.id, new.subject, new.content); END;
"""
AI_REST = """
CREATE TABLE heartbeat (id integer PRIMARY KEY, updated_at text NOT NULL, version text NOT NULL DEFAULT '');
CREATE TABLE cron_job (id integer PRIMARY KEY, prompt text NOT NULL, kind text NOT NULL,
  expr text NOT NULL, timezone text NOT NULL, next_run_at text NOT NULL, session_id text NOT NULL,
  user_id text NOT NULL, chat_id text NOT NULL DEFAULT '', thread_id integer NOT NULL DEFAULT 0,
  enabled integer NOT NULL DEFAULT 1, running integer NOT NULL DEFAULT 0, created_at text NOT NULL,
  updated_at text NOT NULL, last_run_at text, last_error text NOT NULL DEFAULT '');
CREATE INDEX cron_job_due ON cron_job (enabled, running, next_run_at);
"""
AI_LATER = """
CREATE TABLE session_pref (session_id text PRIMARY KEY, examples_enabled integer NOT NULL DEFAULT 1,
  updated_at text NOT NULL);
CREATE TABLE watch (id integer PRIMARY KEY, tool text NOT NULL, args text NOT NULL DEFAULT '{}',
  label text NOT NULL DEFAULT '', interval_seconds integer NOT NULL, next_run_at text NOT NULL,
  session_id text NOT NULL, user_id text NOT NULL, chat_id text NOT NULL DEFAULT '',
  thread_id integer NOT NULL DEFAULT 0, seen_ids text NOT NULL DEFAULT '[]',
  enabled integer NOT NULL DEFAULT 1, running integer NOT NULL DEFAULT 0, created_at text NOT NULL,
  updated_at text NOT NULL, last_run_at text, last_error text NOT NULL DEFAULT '');
CREATE TABLE mcp_enable (session_id text NOT NULL, prefix text NOT NULL, hold text, source text,
  last_used text, PRIMARY KEY (session_id, prefix));
"""
MTCLAW_1 = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, channel TEXT NOT NULL, chat_id TEXT NOT NULL,
  thread_id TEXT NOT NULL DEFAULT '', title TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
  summary TEXT NOT NULL DEFAULT '', prompt_tokens INTEGER NOT NULL DEFAULT 0,
  completion_tokens INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, UNIQUE (channel, chat_id, thread_id));
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, seq INTEGER NOT NULL,
  role TEXT NOT NULL, content TEXT NOT NULL DEFAULT '', tool_calls TEXT NOT NULL DEFAULT '',
  tool_call_id TEXT NOT NULL DEFAULT '', tool_name TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL, UNIQUE (session_id, seq));
CREATE INDEX messages_session ON messages (session_id, seq);
CREATE TABLE approvals (id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id)
  ON DELETE CASCADE, channel TEXT NOT NULL, chat_id TEXT NOT NULL, tool TEXT NOT NULL,
  command TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', state TEXT NOT NULL,
  message_id TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  decided_at INTEGER, decided_by TEXT NOT NULL DEFAULT '');
CREATE INDEX approvals_state ON approvals (state, expires_at);
CREATE TABLE exec_audit (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, command TEXT NOT NULL,
  cwd TEXT NOT NULL DEFAULT '', decision TEXT NOT NULL, rule TEXT NOT NULL DEFAULT '',
  exit_code INTEGER, duration_ms INTEGER, truncated INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL);
CREATE INDEX exec_audit_created ON exec_audit (created_at);
CREATE TABLE cron_runs (id INTEGER PRIMARY KEY, job_name TEXT NOT NULL,
  session_id TEXT NOT NULL DEFAULT '', status TEXT NOT NULL, error TEXT NOT NULL DEFAULT '',
  started_at INTEGER NOT NULL, finished_at INTEGER);
CREATE INDEX cron_runs_job ON cron_runs (job_name, started_at);
"""
MTCLAW_LEDGER = """
CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL,
  applied_at INTEGER NOT NULL);
INSERT INTO schema_migrations VALUES (1, 'init', 1780000000000);
"""
MTCLAW_2 = """
CREATE INDEX approvals_session ON approvals (session_id);
INSERT INTO schema_migrations VALUES (2, 'approvals_session', 1780000000001);
"""
AT = "2026-07-22T12:00:00.123456789Z"
AT_MS = 1784721600123
RUN_MS = int(time.time() - 86400) * 1000    # runs are kept for some months only


def database(path, *scripts, version=0):
    """Left as its program leaves it: WAL, and closed."""
    con = sqlite3.connect(str(path), isolation_level=None)
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("BEGIN")
    for script in scripts:
        for statement in _statements(script):
            con.execute(statement)
    con.execute("COMMIT")
    con.execute("PRAGMA user_version = %d" % version)
    con.close()
    return path


def _statements(script):
    part = ""
    for line in script.splitlines(True):
        part += line
        if part.strip() and sqlite3.complete_statement(part):
            yield part
            part = ""
    assert not part.strip(), part


def fill(path, table, *rows):
    """Rows as dicts."""
    con = sqlite3.connect(str(path))
    for row in rows:
        con.execute("INSERT INTO %s (%s) VALUES (%s)" % (table, ", ".join(row), ", ".join("?" * len(row))),
                    list(row.values()))
    con.commit()
    con.close()


def message(session, role, content, **more):
    return {"session_id": session, "role": role, "content": content, "created_at": AT, **more}


def memory(id, kind, subject, content, **more):
    return {"id": id, "kind": kind, "subject": subject, "content": content, "source": "chat",
            "created_at": AT, "updated_at": AT, **more}


def job(id, prompt, kind, expr, **more):
    return {"id": id, "prompt": prompt, "kind": kind, "expr": expr, "timezone": "UTC",
            "next_run_at": "2099-01-01T17:00:00.000000000Z", "session_id": "telegram:100:100",
            "user_id": "100", "chat_id": "100", "created_at": AT, "updated_at": AT, **more}


def ai_gantry(path, schema="0.1.x", chat=100):
    """A deployment of ai-gantry: two people in a group, a chat, the REPL, memories, schedules."""
    later, me = schema == "0.1.x", "telegram:%d:%d" % (chat, chat)
    database(path, AI_SESSIONS,
             AI_MEMORY % (", consolidate_attempts integer NOT NULL DEFAULT 0" if later else ""),
             AI_REST, AI_LATER if later else "")
    fill(path, "session", *({"id": i, "summary": s, "updated_at": AT} for i, s in (
        (me, "They planned a trip to Lisbon."), ("telegram:-200:100", ""),
        ("telegram:-200:101", ""), (me + ":7", ""), ("stdio", ""),
        ("slack:C01:U02:1.5", ""))))
    fill(path, "session_message",
         message(me, "assistant", "and that was the end of it"),
         message(me, "user", "What is the code word?"),
         message(me, "assistant", "The code word is heron."),
         message("telegram:-200:100", "user", "first in the group"),
         message("telegram:-200:101", "user", "second in the group"),
         message("telegram:-200:100", "assistant", "an answer to both"),
         message(me + ":7", "user", "in a thread"),
         message(me + ":7", "assistant", "yes, in a thread"),
         message("stdio", "user", "hello there, says the terminal"),
         message("stdio", "assistant", "and hello from ai-gantry"),
         message("stdio", "user", "[cron]\n\nreport"),
         message("stdio", "assistant", "nothing to report"),
         message("slack:C01:U02:1.5", "user", "nobody answers"))
    fill(path, "memory",
         memory(1, "person", "mom", "prefers calls over texts", superseded_by=3),
         memory(3, "person", "mom", "prefers letters over calls"),
         memory(4, "fact", "umbrella", "the umbrella is behind the zephyr door"),
         memory(5, "episode", "walk", "walked to the harbour", consolidated=1,
                expires_at="2099-08-21T12:00:00Z"))
    fill(path, "heartbeat", {"id": 1, "updated_at": AT, "version": "v0.0.5"})
    fill(path, "cron_job",
         job(1, "water the plants", "daily", "17:00", session_id=me, chat_id=str(chat)),
         job(2, "stretch", "every", "1h30m0s", session_id="telegram:-200:100", chat_id="-200"),
         job(7, "call the bank", "once", "2099-01-01T17:00:00Z", running=1, session_id=me, chat_id=str(chat)),
         job(8, "over and done", "once", "2026-07-22T12:00:00Z", enabled=0, last_run_at=AT))
    if later:
        fill(path, "watch", {
            "id": 1, "tool": "feed__list", "args": '{"n": 3}', "label": "news", "interval_seconds": 900,
            "next_run_at": AT, "session_id": me, "user_id": str(chat), "chat_id": str(chat),
            "seen_ids": '["a", "b"]', "created_at": AT, "updated_at": AT})
    return path


def mtclaw(path, schema=2):
    """A deployment of MTClaw; schema 0 is the first one, before it had a ledger."""
    scripts = [MTCLAW_1] + ([MTCLAW_LEDGER] if schema else []) + ([MTCLAW_2] if schema > 1 else [])
    database(path, *scripts, version=max(schema, 1))
    a, b, c = ("19ce1c8a3b%011x" % n for n in (1, 2, 3))
    fill(path, "sessions", *({"id": i, "channel": ch, "chat_id": chat, "thread_id": t, "title": title,
                              "model": "gpt", "prompt_tokens": 90, "completion_tokens": 10,
                              "created_at": AT_MS, "updated_at": AT_MS + n}
                             for n, (i, ch, chat, t, title) in enumerate((
                                 (a, "telegram", "111111111", "", "birds"),
                                 (b, "telegram", "-1001234567890", "5", ""),
                                 (c, "cron", "job:morning", "", "")))))
    call = '[{"id": "c1", "name": "read_file", "args": "{\\"path\\": \\"a\\"}"},' \
           ' {"id": "c2", "name": "read_file", "args": {"path": "b"}}]'
    rows = ((a, "user", "What is the code word?", {}),
            (a, "assistant", "", {"tool_calls": call}),
            (a, "tool", "it says heron", {"tool_call_id": "c1", "tool_name": "read_file"}),
            (a, "assistant", "The code word is heron.", {}),
            (b, "user", "in a topic", {}), (b, "assistant", "yes", {}),
            (c, "user", "What is on today?", {}), (c, "assistant", "nothing", {}))
    fill(path, "messages", *({"session_id": s, "seq": n + 1, "role": role, "content": text,
                              "created_at": AT_MS + n, **more}
                             for n, (s, role, text, more) in enumerate(rows)))
    fill(path, "approvals", *({"id": "%032x" % n, "session_id": a, "channel": "telegram",
                               "chat_id": "111111111", "tool": "exec", "command": "make", "state": state,
                               "created_at": AT_MS, "expires_at": AT_MS + 300000}
                              for n, state in enumerate(("pending", "approved", "denied"))))
    fill(path, "exec_audit",
         {"session_id": a, "command": "make test", "cwd": "/src", "decision": "approved", "exit_code": 0,
          "duration_ms": 1200, "created_at": AT_MS},
         {"session_id": "gone", "command": "rm -rf /", "decision": "denied_rule", "rule": "rm",
          "created_at": AT_MS + 1})
    fill(path, "cron_runs",
         {"job_name": "morning", "session_id": c, "status": "ok", "started_at": RUN_MS, "finished_at": RUN_MS + 9},
         {"job_name": "morning", "session_id": c, "status": "started", "started_at": RUN_MS + 60000},
         {"job_name": "evening", "status": "skipped", "started_at": RUN_MS})
    return path
