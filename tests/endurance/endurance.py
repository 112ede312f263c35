#!/usr/bin/python3
"""
make endurance: a day of the program in some minutes, with everything on.

usage: endurance.py [--hours H] [--warm H] [--seed N] [--step S]

The build with the seam runs over Telegram with three chats, tool servers, commands, memory,
schedules and retention of a day.  Its clock is stepped, by so many seconds at a time; the next
step comes when the watchdog of the service manager was fed and nothing is being done any more, so
a busy machine makes the run longer and nothing else.  The first hours (--warm) warm it up; in the
day after them (--hours) nothing may grow, the database not once retention holds it: memory, descriptors,
threads, children, database, WAL; no heartbeat is late, each message is answered and each time a
schedule is due it runs.  Prints a row an hour and what was judged; the last line is
"N passed, N failed".  What people say is drawn from SEED.
"""

import argparse
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "scenes")]

from fakes.model import Model, Reply, call  # noqa: E402
from fakes.telegram import ALLOWED  # noqa: E402
from harness.bot import Bot  # noqa: E402
from harness.fixtures import KEY, Gantry, Mcp, survivors  # noqa: E402
from harness.process import become_subreaper, descendants  # noqa: E402
from harness.watch import limit  # noqa: E402

START = 1784678400          # 2026-07-22T00:00:00Z
GROUP, FORUM, TOPIC = -1001132277055, -1001557912345, 42
PLACES = [(ALLOWED, None), (GROUP, None), (FORUM, TOPIC)]
KINDS = ["plain"] * 4 + ["tools"] * 4 + ["exec", "memory", "recall", "later", "long", "photo", "fails"]
EVERY = {"every:20m": 20, "every:1h": 60, "*/30 * * * *": 30}     # the schedules, and their minutes
WATCHDOG_S = 30             # fed twice as often
LIMITS = {"daemon": 60, "poll": 180, "poller": 180, "deliver": 180, "worker": 180}     # gateway/health.c
STUCK_S = 60                # real time without an end of what is being done: time goes on all the same
FED_S = 240                 # real time for the watchdog to be fed after a step
WAL_MAX_KIB = 8192
LOUD = ("WARN", "ERROR")

CONFIG = """
log: {level: info, format: json}
agent: {model: test-model, persona_dir: %(persona)s, workspace: %(work)s, tool_trace: "off", stream_replies: true,
  max_history_messages: 20}
policy: {rules: [{tool: exec, action: allow}, {tool: "*", action: allow}]}
memory: {enabled: true}
cron: {enabled: true, tick_seconds: 15}
"""
KEPT = {"GANTRY_STORAGE_RETENTION_%s_DAYS" % k: "1" for k in ("MESSAGES", "ENDED", "OUTBOX", "AUDIT", "RUNS", "FILES", "USAGE")}
BUSY = ("select 1 from inbox where state in ('ready', 'claimed') union all "
        "select 1 from turns where state in ('ready', 'running', 'parked') union all "
        "select 1 from outbox where state in ('raw', 'ready') union all "
        "select 1 from pieces where state = 'sending' union all "
        "select 1 from job_runs where state = 'started' union all "
        "select 1 from jobs where enabled = 1 and next_at_ms > 0 and next_at_ms <= ? limit 1")


def first_round(n, kind):
    """The calls that a message of that kind leads to."""
    if kind == "tools":
        return [call("srv__count", label=n + ".a"), call("srv__echo", text="e" * 300)]
    if kind == "exec":
        return [call("exec", command="echo %s && seq 200" % n)]
    if kind == "memory":        # of the same few subjects, so that what is known does not grow for ever
        return [call("memory_store", kind="fact", subject="subject %d" % (int(n) % 20), content="fact %s." % n)]
    if kind == "recall":
        return [call("memory_recall", query="subject %d" % (int(n) % 20))]
    if kind == "later":
        return [call("cron_schedule", prompt="job %s" % n, when="in 7m")]
    if kind == "fails":
        return [call("srv__fail"), call("srv__big", n=20000)]
    return []


def answer(request):
    """The model: the same for the same message, whenever it is asked."""
    found = [(i, m) for i, m in enumerate(request.messages) if m["role"] == "user"
             and re.search(r"msg \d+ \w+|job \w+|set up", str(m["content"]))]
    if not found:
        return Reply("Nothing.")
    at, said = found[-1][0], str(found[-1][1]["content"])
    what = re.findall(r"msg \d+ \w+|job \w+|set up", said)[-1]
    rounds = sum(1 for m in request.messages[at:] if m.get("tool_calls"))
    if what.startswith("job"):
        return Reply("[silent]" if what.endswith("s") else "done %s." % what[4:])
    if what == "set up":
        return Reply("Ready.") if rounds else Reply(calls=[
            call("cron_schedule", prompt="job every%s" % n, when=w) for n, w in enumerate(EVERY)])
    _, n, kind = what.split()
    if rounds == 0 and first_round(n, kind):
        return Reply("Working.", calls=first_round(n, kind))
    if rounds == 1 and kind == "tools":
        return Reply(calls=[call("srv__count", label=n + ".b")])
    return Reply("answer %s." % n + (" word" * 1500 if kind == "long" else ""))


class Manager(threading.Thread):
    """The service manager's socket: counts meals, keeps what the status said."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.meals, self.status, self.cond = 0, set(), threading.Condition()
        self.start()

    def run(self):
        while True:
            text = self.socket.recv(4096).decode()
            with self.cond:
                self.meals += "WATCHDOG=1" in text
                self.status |= {line for line in text.split("\n") if line.startswith("STATUS=")}
                self.cond.notify_all()

    def fed_since(self, n):
        with self.cond:
            return self.cond.wait_for(lambda: self.meals > n, limit(FED_S))


class Clocked(Bot):
    """Its long polls end by the clock that is stepped."""

    ends_at = 0.0       # when the poll that waits is over

    def now(self):
        return self.loop.time() + getattr(self, "offset_ms", 0) / 1000

    async def _poll(self, reader, call):
        # Half as long as was asked for: a step must not jump over the client's own limit too.
        call.params["timeout"] = call.params.get("timeout", 0) // 2
        self.ends_at = self.now() + call.params["timeout"]
        return await super()._poll(reader, call)

    def polled(self):
        """Nothing waits for the poll, the poll waits, and no other call is on its way."""
        return not self.updates and self.waiting and self.now() < self.ends_at and all(
            c.method == "getUpdates" or c.departed for c in self.calls[-100:])


def switches(pid):
    """{thread: how often it gave the processor back}, and whether one of them runs."""
    found, runs = {}, False
    for task in os.listdir("/proc/%d/task" % pid):
        try:
            with open("/proc/%d/task/%s/status" % (pid, task)) as f:
                status = f.read()
        except OSError:
            continue
        found[task] = int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", status, re.M).group(1))
        runs |= re.search(r"^State:\s+(\w)", status, re.M).group(1) in "RD"
    return found, runs


def below(pid):
    """All that it forked, without a walk through all of /proc."""
    found = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            found += map(int, pathlib.Path("/proc/%d/task/%s/children" % (pid, task)).read_text().split())
    except OSError:         # it has ended meanwhile
        pass
    return found + [p for child in found for p in below(child)]


def busy(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] in "RD"
    except OSError:
        return False


class Day:
    def __init__(self, folder, seed):
        self.rng = random.Random(seed)
        self.model = Model(key=KEY).start()
        self.model.answer(answer)
        self.g = Gantry(folder, self.model)
        self.g.mcp = self.mcp = Mcp(self.g)
        self.bot = Clocked().start().connect(self.g)
        self.bot.group(GROUP)
        self.bot.forum(TOPIC, chat_id=FORUM)
        self.manager = Manager(str(self.g.dir / "notify"))
        self.said, self.steps, self.stuck, self.longest_s = [], 0, 0, 0.0
        self.hungry, self.late, self.rows, self.db = 0, dict.fromkeys(LIMITS, 0.0), [], None
        self._configure()

    def _configure(self):
        g, work = self.g, self.g.dir / "work"
        work.mkdir()
        self.mcp.add("srv", tools=["count", "echo", "fail", "big"])
        self.mcp.add("other", "stderr-lines=20", tools=["echo"])
        self.bot.configure(CONFIG % dict(persona=g.persona, work=work),
                           telegram='allow_from: [111]\ngroups: {"*": {require_mention: false}}', agent=False)
        path = g.dir / "config.yaml"
        path.write_text(re.sub(r"^tools: .*$", "tools: {exec: {enabled: true, allow: ['^echo ', '^seq ']}}",
                               path.read_text(encoding="utf-8"), flags=re.M), encoding="utf-8")

    # Time -----------------------------------------------------------------------------------

    def begin(self):
        g, bot = self.g, self.bot
        bot.clock = g.dir / "clock"
        bot.offset_ms, self.wall_ms = 0, int((START - time.time()) * 1000)
        bot.clock.write_bytes(struct.pack("=qq", 0, self.wall_ms))      # the second is the wall clock's alone
        self.proc = bot.run(seam=True, GANTRY_CLOCK=str(bot.clock), NOTIFY_SOCKET=str(g.dir / "notify"),
                            WATCHDOG_USEC=str(WATCHDOG_S * 1000000), **KEPT)
        self.db = sqlite3.connect("file:%s?mode=ro" % g.db_path, uri=True, isolation_level=None)
        bot.say("set up", ALLOWED)
        bot.wait_text("Ready")
        self.settle({})

    def now_ms(self):
        return int(time.time() * 1000) + self.bot.offset_ms + self.wall_ms

    def step(self, seconds):
        """Time passes; everything that follows from it is done."""
        meals, began, (before, _) = self.manager.meals, time.monotonic(), switches(self.proc.pid)
        self.bot.step(seconds, busy=True)
        self.bot.changed()
        self.hungry += not self.manager.fed_since(meals)
        self.longest_s = max(self.longest_s, time.monotonic() - began)
        self.settle(before)
        self.look_at_beats()
        self.steps += 1

    def rests(self, before):
        """Has each thread looked at its time since, does none run, and no tool server?"""
        now, runs = switches(self.proc.pid)
        return not runs and all(now[t] > before.get(t, 0) + 1 for t in now) and not any(map(busy, below(self.proc.pid)))

    def settle(self, before):
        end = time.monotonic() + limit(STUCK_S)
        while not (self.rests(before) and self.bot.polled() and not self.db.execute(BUSY, (self.now_ms(),)).fetchone()):
            if not self.proc.running():
                raise RuntimeError("it ended:\n" + self.proc.report())
            if time.monotonic() > end:
                self.stuck += 1
                return
            threading.Event().wait(0.003)

    def look_at_beats(self):
        now = self.now_ms()
        for part, at in self.db.execute("select part, beat_at_ms from heartbeats"):
            if part in self.late:
                self.late[part] = max(self.late[part], (now - at) / 1000)

    def say(self):
        chat, thread = self.rng.choice(PLACES)
        if self.rng.random() < 0.02:
            self.bot.say("/new", chat, thread=thread)
            return
        n, kind = len(self.said) + 1, self.rng.choice(KINDS)
        text = "msg %d %s" % (n, kind)
        self.said.append((chat, n))
        if kind == "photo":
            self.bot.photo(caption=text, chat=chat, thread=thread)
        else:
            self.bot.say(text, chat, thread=thread)

    def hours(self, hours, step, note):
        """So many hours, with some twenty messages in each; a row after each."""
        for _ in range(hours):
            for _ in range(3600 // step):
                self.step(step)
                if self.rng.random() < 20 * step / 3600:
                    self.say()
                    self.settle({})     # no time passes while it is being done
            self.row(note)

    # What it takes --------------------------------------------------------------------------

    def row(self, note):
        pid = self.proc.pid
        with open("/proc/%d/status" % pid) as f:
            status = dict(re.findall(r"^(\w+):\s+(\d+)", f.read(), re.M))
        with open("/proc/%d/smaps_rollup" % pid) as f:
            pss = int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1))
        sizes = [p.stat().st_size // 1024 if p.exists() else 0
                 for p in (self.g.db_path, self.g.db_path.with_name(self.g.db_path.name + "-wal"))]
        r = {"hour": len(self.rows) + 1, "of": note, "anon": int(status["RssAnon"]), "pss": pss,
             "fds": len(os.listdir("/proc/%d/fd" % pid)), "threads": int(status["Threads"]),
             "children": len(below(pid)), "db": sizes[0], "wal": sizes[1],
             "turns": self.db.execute("select count(*) from turns").fetchone()[0],
             "said": len(self.said), "asked": len(self.model.requests)}
        self.rows.append(r)
        print("  %(hour)4d %(of)-8s %(said)6d %(asked)6d %(turns)6d %(anon)8d %(pss)8d %(fds)5d %(threads)5d "
              "%(children)5d %(db)8d %(wal)8d" % r, flush=True)

    def end(self):
        """A clean end; what was wrong with it."""
        if self.db:
            self.db.close()
        bad = self.g.stop()
        bad += ["exit %d" % p.popen.returncode for p in self.g.procs if p.popen.returncode]
        self.bot.stop()
        self.model.stop()
        return (bad + ["the model refused: " + v for v in self.model.violations] +
                ["Telegram refused: " + v for v in self.bot.violations] + self.g.leaks() + self.mcp.faults())


HEAD = "  hour of         said  asked  turns anon_KiB  pss_KiB   fds  thrd  chld   db_KiB  wal_KiB"


def runs_due(w, since_ms, until_ms):
    """How often the schedules that do not end ran in that time, and how often they were due."""
    ran = w.db.execute("select count(*) from job_runs r join jobs j on j.id = r.job_id where j.prompt like 'job every%' "
                       "and r.state = 'ok' and r.scheduled_at_ms > ? and r.scheduled_at_ms <= ?", (since_ms, until_ms))
    return ran.fetchone()[0], sum((until_ms - since_ms) / 60000 / m for m in EVERY.values())


def unanswered(w):
    seen = {chat: "\n".join(w.bot.seen(chat)) for chat, _ in PLACES}
    return [n for chat, n in w.said if not re.search(r"answer %d\." % n, seen[chat])]


def judge(w, since_ms, until_ms):
    """[(what was to hold, does it, the figures)]"""
    rows = [r for r in w.rows if r["of"] == "measured"]
    third = max(1, len(rows) // 3)

    def most(key, part):
        return max(r[key] for r in part)
    first, middle, last = rows[:third], rows[third:-third] or rows, rows[-third:]
    ran, due = runs_due(w, since_ms, until_ms)
    out = [("no heartbeat is late: %s" % part, w.late[part] <= most_s, "at most %.0f s old, limit %d" % (w.late[part], most_s))
           for part, most_s in LIMITS.items()]
    lost, warned = unanswered(w), [r for r in w.g.log_lines() if r.get("level") in LOUD]
    kinds = sorted({r.get("msg", "?") for r in warned})
    return out + [
        ("the watchdog is fed after each step", w.hungry == 0, "%d meals in %d steps, longest %.2f s of real time"
         % (w.manager.meals, w.steps, w.longest_s)),
        ("own memory does not grow", most("anon", last) <= most("anon", first) * 1.1 + 512,
         "KiB: %d in the first third, %d in the last" % (most("anon", first), most("anon", last))),
        ("descriptors do not grow", most("fds", last) <= most("fds", first) + 2,
         "%d, %d" % (most("fds", first), most("fds", last))),
        ("threads do not grow", most("threads", last) <= most("threads", first),
         "%d, %d" % (most("threads", first), most("threads", last))),
        ("children do not grow", most("children", last) <= most("children", first),
         "%d, %d" % (most("children", first), most("children", last))),
        ("the database does not grow", most("db", last) <= most("db", middle) * 1.1,
         "KiB: %d in the middle third, %d in the last" % (most("db", middle), most("db", last))),
        ("the WAL is bounded", most("wal", rows) <= WAL_MAX_KIB, "KiB: at most %d, limit %d" % (most("wal", rows), WAL_MAX_KIB)),
        ("each message is answered", not lost, "%d of %d" % (len(w.said) - len(lost), len(w.said))),
        ("each time that is due is run", abs(ran - due) <= len(EVERY), "%d runs, %.0f times" % (ran, due)),
        ("nothing warns", not warned, "%d lines%s" % (len(warned), ": " + " ".join(kinds) if kinds else "")),
        ("the daemon says that it is healthy", w.manager.status <= {"STATUS=healthy", "STATUS=started on telegram"},
         " ".join(sorted(w.manager.status))),
    ]


def run(opt, folder):
    become_subreaper()
    before = {(pid, st[2]) for pid, st in descendants().items()}
    w, began, found = Day(folder, opt.seed), time.monotonic(), []
    try:
        w.begin()
        print(HEAD)
        w.hours(opt.warm, opt.step, "first")
        since = w.now_ms()
        w.late = dict.fromkeys(LIMITS, 0.0)
        w.hours(opt.hours, opt.step, "measured")
        found = judge(w, since, w.now_ms())
    finally:
        bad = w.end()
    left = survivors(before, w.g.procs)
    for pid, _ in left:
        os.kill(pid, signal.SIGKILL)
    found.append(("a clean end, and nothing that was refused", not bad, "; ".join(bad)[:2000] or "exit 0"))
    found.append(("no process is left", not left, str(left or "none")))
    if not all(good for _, good, _ in found):
        warned = [str(r) for r in w.g.log_lines() if r.get("level") in LOUD]
        (w.g.dir / "what-happened").write_text("\n".join(warned) + "\n\n" + "\n\n".join(p.report() for p in w.g.procs))
    print("  %d steps of which %d did not come to rest, in %.0f s of real time"
          % (w.steps, w.stuck, time.monotonic() - began))
    return found


def main():
    p = argparse.ArgumentParser(description="A day of the program in some minutes.")
    p.add_argument("--hours", type=int, default=24)
    p.add_argument("--warm", type=int, default=12)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--step", type=int, default=15)
    opt = p.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="endurance-%d-" % opt.seed))
    print("gantry endurance: %d hours after %d, seed %d" % (opt.hours, opt.warm, opt.seed), flush=True)
    found = run(opt, folder)
    for what, good, figures in found:
        print("  %-6s %-48s %s" % ("ok" if good else "FAILED", what, figures))
    failed = sum(not good for _, good, _ in found)
    if failed:
        print("see %s/what-happened; again: make endurance SEED=%d" % (folder, opt.seed))
    else:
        shutil.rmtree(folder)
    print("%d passed, %d failed" % (len(found) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
