"""
The scenes that are commands.  Each runs in an installation that has had a conversation: once with
a fault, then again without.  Whatever the fault was, the command ends with 0, 1 or 2; what ends
badly says why in one line; what ends well has printed and done what it does without a fault; and
afterwards the command works, the rows that were there are there, and no file is left over.
"""

import json
import re
import shutil
import sqlite3

import lives
import world
from fakes.model import Model
from harness import foreign
from harness.fixtures import KEY, Gantry, Mcp

SECONDS = 30
KEPT = {k: None for k in ("LLM_BASE_URL", "LLM_API_KEY", "LLM_MODEL", "PERSONA_DIR", "DATA_DIR", "MCP_MANIFEST", "CHANNEL",
                          "LOG_LEVEL", "GANTRY_MCP_TURN_WAIT")}
TABLES = ("sessions", "messages", "turns", "tool_calls", "inbox", "outbox", "pieces", "memory", "jobs")


class Command:
    """A row of the table below."""

    def __init__(self, name, *args, before=None, env=None, cwd=None, varies=False, code=0, else_says="$^"):
        self.name, self.args, self.before, self.env, self.cwd = name, args, before, env or {}, cwd
        self.code, self.else_says = code, else_says     # how it ends without a fault, the second time
        self.varies = varies        # what is printed differs from run to run; the rows are compared


def foreign_database(g):
    g.db_path.unlink()
    foreign.ai_gantry(g.db_path)


def foreign_file(g):
    foreign.mtclaw(g.dir / "old.db")


def place_for_copies(g):
    (g.dir / "copies").mkdir()


def unknown_piece(g):
    con = sqlite3.connect(g.db_path)
    con.execute("update pieces set state = 'unknown' where id = (select max(id) from pieces)")
    con.commit()
    con.close()


def memories(g):
    (g.dir / "in.jsonl").write_text("".join(json.dumps(
        {"kind": "fact", "subject": "s%d" % n, "content": "imported %d" % n}) + "\n" for n in range(30)), encoding="utf-8")


TABLE = [
    Command("init", "init", cwd="place", env=KEPT),
    Command("config-show", "config", "show"),
    Command("config-validate", "config", "validate"),
    Command("db-check", "db", "check"),
    Command("db-backup", "db", "backup", "--to", "copies", "--keep", "2", before=place_for_copies),
    Command("db-vacuum", "db", "vacuum"),
    Command("db-export", "db", "export"),
    Command("adopt", "import", before=foreign_database, varies=True, else_says="gantry's own database already"),
    Command("import", "import", "old.db", before=foreign_file, varies=True),
    Command("queue", "queue", "list", before=unknown_piece),
    Command("report", "report", "--html", "report.html", "--since", "all"),
    Command("usage", "usage", "--by", "tool"),
    Command("trace", "trace", "last"),
    Command("replay", "replay", "all"),
    Command("sessions", "sessions", "list"),
    Command("memory-export", "memory", "export"),
    Command("memory-import", "memory", "import", "in.jsonl", before=memories, varies=True),
    Command("cron", "cron", "add", "water the plants", "--when", "in 3h", "--chat", "telegram:111", varies=True),
    Command("tools", "tools", "call", "srv__echo", '{"text": "hi"}'),
    Command("prompt", "prompt", "msg 9 tools", "--new", varies=True),
    Command("doctor", "doctor", "--offline", varies=True),
    Command("approvals", "approvals", "list"),
    Command("policy", "policy", "test", "npm run build; curl -s x | sh"),
    Command("status", "status", varies=True, code=1),
]


def plain(text, folder):
    """Output without what differs from run to run."""
    text = text.replace(str(folder), "DIR")
    text = re.sub(r"\b[0-9a-f]{21}\b", "ID", text)
    return re.sub(r"[0-9][0-9.,:TZ-]*", "#", text)


def rows(path):
    con = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    try:
        bad = [r[0] for r in con.execute("pragma integrity_check") if r[0] != "ok"]
        have = {r[0] for r in con.execute("select name from sqlite_master")}
        return bad, {t: con.execute("select count(*) from %s" % t).fetchone()[0] for t in TABLES if t in have}
    finally:
        con.close()


def files(top):
    return {str(p.relative_to(top)) for p in top.rglob("*") if p.is_file()}


def plainly(names):
    """File names without dates and the numbers of copies, for a copy takes the next name when it cannot see that one
    is free; and without what SQLite keeps beside a database."""
    return {re.sub(r"\d+", "#", re.sub(r"\.\d+\.bak$", ".bak", n)) for n in names if not re.search(
        r"(-wal|-shm|\.lock|\.wake|owners/[^/]+|mcp-\w+\.log|ledger|places|curl.*)$", n)}


class Run:
    """One run of a command: the scene as lives.py has it."""

    said = ()
    bot = None
    reference = {}

    def __init__(self, command, template, folder):
        self.command, self.notes = command, []
        self.model = Model(key=KEY).start()
        self.model.answer(world.Script())
        self.g = g = Gantry(folder, self.model)
        g.mcp = self.mcp = Mcp(g)
        self.mcp.add("srv", "linger=0.05", tools=["count", "echo"], timeout="5s")
        shutil.copy(template, g.db_path)
        (g.dir / (command.cwd or ".")).mkdir(exist_ok=True)
        if command.before:
            command.before(g)
        g.set(LOG_LEVEL="warn")

    def start(self, args, seam, **env):
        p = self.g.start(*args, seam=seam, cwd=self.g.dir / (self.command.cwd or "."), **{**self.command.env, **env})
        p.close_stdin()
        return p

    def live(self, **env):
        self.stays = "unlink" in env.get("GANTRY_FAULT", "")    # what could not be removed may stand there
        self.was = rows(self.g.db_path)[1] if self.command.before is not foreign_database else {}
        p = self.first = self.start(self.command.args, True, **env)
        return lives.over(p, SECONDS, "by itself") + lives.ended(p, self.notes, one_line=True)

    def judged(self):
        c, g = self.command, self.g
        known, well = self.reference.get(c.name), self.first.popen.returncode == 0
        now = (plain(self.first.out.text, g.dir), plainly(files(g.dir)), rows(g.db_path)[1] if well else {})
        p = self.start(c.args, False)
        bad = lives.over(p, SECONDS, "by itself")
        if p.popen.returncode != c.code and not re.search(c.else_says, p.err.text):
            bad.append("without the fault it ends with %d: %s" % (p.popen.returncode, p.report()))
        broken, after = rows(g.db_path)
        bad += ["integrity: " + b for b in broken]
        bad += ["rows of %s are gone: %d of %d" % (t, after.get(t, 0), n) for t, n in self.was.items() if after.get(t, 0) < n]
        if not known:
            self.reference[c.name] = (*now, plainly(files(g.dir)))
            return bad
        if well and not c.varies and now[0] != known[0]:
            bad.append("exit code 0, but it printed %r, not %r" % (now[0][-400:], known[0][-400:]))
        if well and known[1] - now[1]:
            bad.append("exit code 0, but these are not there: %s" % sorted(known[1] - now[1]))
        if well and now[2] != known[2]:
            bad.append("exit code 0, but the rows are %s, not %s" % (now[2], known[2]))
        if not self.notes and not self.stays and plainly(files(g.dir)) - known[3]:    # an abort cannot clean up
            bad.append("left over: %s" % sorted(plainly(files(g.dir)) - known[3]))
        return bad

    def close(self):
        bad = self.g.stop()
        self.model.stop()
        return bad
