"""
Telegram under stress: kill -9 at random instants and at every boundary of the journal, a flood
of updates, and a simulated day with faults.

The chats are three: a private one, a group and a topic.  A message is a plain question, one
with tools, an album, one with a long answer or one that asks for an approval; the script of the
model is a function of the message, so an answer is the same however often it is asked for.
Sizes come from the environment (GANTRY_TG_KILLS, GANTRY_TG_EACH, GANTRY_TG_FLOOD,
GANTRY_TG_DAY), so that a machine with little time runs the same scenes shorter.
"""

import collections
import os
import random
import re
import signal
import subprocess
import threading
import time

import pytest

from fakes.model import Reply, call
from fakes.telegram import ALLOWED, PNG
from harness.fixtures import binary
from harness.process import descendants
from harness.watch import SLOW

pytestmark = pytest.mark.long


def size(name, whole, slow):
    return int(os.environ.get(name) or (whole if SLOW == 1 else slow))


KILLS = size("GANTRY_TG_KILLS", 300, 20)
EACH = size("GANTRY_TG_EACH", 20, 1)
FLOOD = size("GANTRY_TG_FLOOD", 10000, 300)
DAY = size("GANTRY_TG_DAY", 300, 100)
DATABASE_FDS = 12   # two each for the writer, three readers and one that was in need; log index, lock

GROUP, FORUM = -1001132277055, -1001557912345
PLACES = [(ALLOWED, None), (GROUP, None), (FORUM, 42)]
KINDS = ["plain", "tools", "album", "long", "ask"]
BOUNDARIES = ["message in", "claimed", "calls running", "some results", "all results", "asked", "decided",
              "answer in", "sending", "part sent", "sent"]


def answer_to(n, kind):
    if kind != "long":
        return "answer %d." % n
    return "\n\n".join("answer %d part %d. " % (n, p) + "x" * 3000 for p in range(3))


def script(request):
    user = request.messages[max(i for i, m in enumerate(request.messages) if m["role"] == "user")]
    n, kind = re.findall(r"msg (\d+) (\w+)", str(user["content"]))[-1]
    at = request.messages.index(user)
    rounds = sum(1 for m in request.messages[at:] if m.get("tool_calls"))
    if kind == "tools" and rounds == 0:
        return Reply("Working.", calls=[call("srv__count", label=n + ".a"), call("srv__count", label=n + ".b")])
    if kind == "tools" and rounds == 1:
        return Reply(calls=[call("srv__count", label=n + ".c")])
    if kind == "ask" and rounds == 0:
        return Reply(calls=[call("ask__count", label=n + ".q")])
    return Reply(answer_to(int(n), kind))


def piece_key(text):
    """What a visible message is: (n, part), or None for what is no answer."""
    m = re.match(r"answer (\d+)(?: part (\d+))?\.", text)
    return (int(m.group(1)), int(m.group(2) or 0)) if m else None


class Conversation:
    """The same installation over many deaths, and a person who presses Yes whenever asked."""

    def __init__(self, bot, gantry, model, mcp, stream):
        self.bot, self.g, self.mcp, self.stream = bot, gantry, mcp, stream == "true"
        mcp.add("srv", tools=["count"])
        mcp.add("ask", tools=["count"])
        bot.group(GROUP)
        bot.forum(42, chat_id=FORUM)
        bot.configure("""policy: {rules: [{tool: "ask__*", action: ask}]}
log: {level: info, format: json}
agent: {model: test-model, persona_dir: %s, tool_trace: "off", stream_replies: %s, max_history_messages: 6}"""
                      % (gantry.persona, stream),
                      telegram='allow_from: [111]\ngroups: {"*": {require_mention: false}}', agent=False)
        model.answer(script)
        self.sent, self.kind, self.place = 0, {}, {}
        self.may_repeat = collections.Counter()     # (n, part): deaths while that piece was being sent
        self.histogram = collections.Counter()
        self.pressed, self.open = set(), set()
        self.stop = threading.Event()
        self.person = threading.Thread(target=self._press, daemon=True)
        self.person.start()

    def _press(self):
        """The person: every question that is seen is answered with Yes, once."""
        while not self.stop.is_set():
            with self.bot.board.cond:
                asks = [m for chat, _ in PLACES for m in self.bot.messages(chat) if m.buttons and m.id not in self.pressed]
                if not asks:
                    self.bot.board.cond.wait(0.5)
            for m in asks:
                self.pressed.add(m.id)
                self.bot.press(m, m.buttons[0][1])

    def say(self, n_kind=None):
        """One more message; its number."""
        self.sent += 1
        n, (chat, thread) = self.sent, PLACES[self.sent % 3]
        self.open.add(n)
        self.kind[n] = kind = n_kind or KINDS[(self.sent // 3) % len(KINDS)]
        self.place[n] = (chat, thread)
        text = "msg %d %s" % (n, kind)
        if kind == "album":
            for part in range(2):
                self.bot.photo(PNG, text if part == 0 else "", chat, album="g%d" % n, thread=thread)
        else:
            self.bot.say(text, chat, thread=thread)
        return n

    def done(self, n):
        chat, thread = self.place[n]
        last = (n, 2 if self.kind[n] == "long" else 0)
        return any(piece_key(t) == last for t in self.bot.seen(chat, thread))

    def rows(self, query, *args):
        if not self.g.db_path.exists() or not self.g.sql("select 1 from sqlite_master where name = 'pieces'"):
            return []
        return self.g.sql(query, *args)

    def boundary(self, n):
        """How far the journal had come with a message."""
        inbox = self.rows("select state, turn_id from inbox where text like ?", "%%msg %d %%" % n)
        if not inbox:
            return "nothing yet"
        turn = inbox[0]["turn_id"]
        if inbox[0]["state"] == "ready":
            return "message in"
        if inbox[0]["state"] == "claimed":
            asked = [r["state"] for r in self.rows("select state from approvals where turn_id = ?", turn)]
            states = [r["state"] for r in self.rows(
                "select state from tool_calls where turn_id = ? and round = "
                "(select max(round) from tool_calls where turn_id = ?)", turn, turn)]
            if asked and asked[-1] == "pending":
                return "asked"
            if asked and asked[-1] == "approved":
                return "decided"
            if not states:
                return "claimed"
            ended = sum(s not in ("running", "planned") for s in states)
            return "calls running" if not ended else "all results" if ended == len(states) else "some results"
        out = self.rows("select id, state from outbox where turn_id = ? and kind = 'reply'", turn)
        if not out or out[0]["state"] in ("raw", "reserved"):
            return "answer in"
        states = [r["state"] for r in self.rows("select state from pieces where outbox_id = ?", out[0]["id"])]
        return ("sent" if all(s == "sent" for s in states) else "part sent" if "sent" in states
                else "sending" if "sending" in states else "answer in")

    def kept(self, n):
        """Is the number of the message that shows the answer to n as it grows in a row?"""
        return bool(self.rows("select 1 from outbox o join inbox i on i.turn_id = o.turn_id where o.live_id <> '' "
                              "and i.text like ?", "%%msg %d %%" % n))

    def copies(self, n):
        """How often the beginning of the answer to n stands there."""
        return [piece_key(t) for t in self.bot.seen(*self.place[n])].count((n, 0))

    def died(self, proc):
        """Take down what a death left: the boundaries of all messages under way."""
        found = []
        for n in sorted(self.open):
            where = self.boundary(n)
            if not self.done(n) or n == self.sent:
                self.histogram[where] += 1
                found.append(where)
            # Its number is known from its answer only: a live message that arrived, perhaps with all of
            # the answer, and whose number was not kept yet, stays beside it.  Once it is kept nothing does.
            # One that came too late to be kept is removed again: it stays when death comes before that.
            if self.stream and not self.kept(n):
                if where not in ("nothing yet", "message in", "sending", "part sent", "sent"):
                    self.may_repeat[n, 0] += 1
                elif self.copies(n) > 1 + self.may_repeat[n, 0]:
                    self.may_repeat[n, 0] += 1
        for row in self.rows("select plain from pieces where state = 'sending'"):
            key = piece_key(row["plain"])
            if key:
                self.may_repeat[key] += 1
        assert not proc.sanitizer_report(), proc.report()
        self.g.procs.remove(proc)
        for s in (proc.out, proc.err):
            s.thread.join(20)
        return found

    def settle(self):
        """A run without faults: everything that waits is answered."""
        p = self.bot.run()
        for n in sorted(self.open):
            self.bot.board.wait(lambda: self.done(n) or self.given_up(n), "the answer to message %d" % n, 60,
                                lambda: self.bot.report()[-6000:] + p.report())
        self.open.clear()
        p.term()
        p.wait(60)
        assert not p.sanitizer_report(), p.report()
        self.g.procs.remove(p)

    def given_up(self, n):
        return bool(self.rows("select 1 from turns t join inbox i on i.turn_id = t.id where t.state = 'given_up' "
                              "and i.text like ?", "%%msg %d %%" % n))

    def judge(self, figures):
        self.stop.set()
        figures("deaths at each boundary: " + ", ".join(
            "%s %d" % (b, self.histogram[b]) for b in ["nothing yet"] + BOUNDARIES))
        repeats = 0
        for chat, thread in PLACES:
            keys = [k for k in map(piece_key, self.bot.seen(chat, thread)) if k]
            for key, times in collections.Counter(keys).items():
                assert times <= 1 + self.may_repeat[key], "%s stands there %d times, %d deaths while it was sent" % (
                    key, times, self.may_repeat[key])
                repeats += times - 1
            order = [k for i, k in enumerate(keys) if k not in keys[:i]]
            assert order == sorted(order), "out of order: %s" % order
            for n in (n for n in self.place if self.place[n] == (chat, thread) and not self.given_up(n)):
                wanted = [(n, p) for p in range(3)] if self.kind[n] == "long" else [(n, 0)]
                assert [k for k in order if k[0] == n] == wanted, "the answer to %d: %s" % (n, order)
        assert not self.rows("select id from turns where state in ('ready', 'running', 'parked')")
        assert not self.rows("select id from inbox where state in ('ready', 'claimed')")
        per_message = collections.Counter(re.search(r"msg (\d+)", r["text"]).group(1) for r in self.rows(
            "select text from inbox where text like '%msg %'"))
        assert set(per_message.values()) <= {1} and len(per_message) == self.sent, per_message
        ledger = collections.Counter(self.mcp.ledger_lines())
        assert not [x for x, times in ledger.items() if times > 1], "tools that ran twice: %s" % ledger
        given_up = len(self.rows("select id from turns where state = 'given_up'"))
        assert given_up <= max(1, self.sent // 10)
        figures("%d messages, %d tool runs, %d pieces repeated, %d given up" % (
            self.sent, sum(ledger.values()), repeats, given_up))


def pause(seconds):
    threading.Event().wait(seconds)


@pytest.mark.parametrize("stream", ["false", "true"])
def test_kill_9_at_random_instants(bot, gantry, model, mcp, figures, stream):
    bot.tolerate += ["not modified", "query is too old"]
    c = Conversation(bot, gantry, model, mcp, stream)
    for _ in range(15):
        c.say()
    began = time.monotonic()
    c.settle()
    whole = min(3.0, (time.monotonic() - began) / 3)
    for n in range(KILLS // 2):
        p = gantry.start("run", *bot.args, stdin=subprocess.DEVNULL)
        for _ in range(random.choice((1, 1, 2, 3))):
            c.say()
        pause(random.uniform(0, whole))
        p.kill(signal.SIGKILL)
        p.wait(60)
        c.died(p)
        if n % 10 == 9:
            c.settle()
    c.settle()
    c.judge(figures)


def die_at(c, what, n, kind):
    """One message to a process that dies just before its n-th call of what: the boundaries, or None
    when it got through."""
    number = c.say(kind)
    p = c.g.start("run", *c.bot.args, seam=True, stdin=subprocess.DEVNULL, GANTRY_FAULT="kill:%s:%d" % (what, n))
    ended = threading.Event()
    threading.Thread(target=lambda: (p.popen.wait(), ended.set(), c.bot.board.changed()), daemon=True).start()
    c.bot.board.wait(lambda: ended.is_set() or c.done(number), "message %d to end it" % number, 60, p.report)
    if not ended.is_set():
        p.term()
    p.wait(60)
    killed = p.popen.returncode == -signal.SIGKILL
    p.expect_signal = signal.SIGKILL
    where = c.died(p)
    return where if killed else None


def test_death_at_every_journal_boundary(bot, gantry, model, mcp, figures):
    bot.tolerate += ["not modified", "query is too old"]
    c = Conversation(bot, gantry, model, mcp, "false")
    c.say()
    c.settle()
    c.histogram.clear()
    hits = collections.defaultdict(list)

    def walk(what, kind):
        n, through = 0, 0
        while n < 160 and through < 2:
            n += 1
            where = die_at(c, what, n, kind)
            through = through + 1 if where is None else 0
            for w in where or ():
                hits[w].append((what, n, kind))
            c.settle()

    for kind in ("long", "ask", "tools"):
        walk("fdatasync", kind)
    for what in ("pwrite", "fdatasync", "pwrite"):  # what no commit hit, as two results in one instant
        if not all(hits[b] for b in BOUNDARIES):
            walk(what, "tools")
    for b in BOUNDARIES:
        tries = 0
        while c.histogram[b] < EACH and hits[b] and tries < EACH * 8:
            where = die_at(c, *hits[b][tries % len(hits[b])])
            tries += 1
            c.settle()
            for w in where or ():
                if w != b:
                    hits[w].append(hits[b][(tries - 1) % len(hits[b])])
    c.settle()
    c.judge(figures)
    assert not [b for b in BOUNDARIES if c.histogram[b] < EACH], c.histogram


# Flood and soak ----------------------------------------------------------------------------------

def rss_kib(proc):
    """Resident memory of the program and its spawner (not of tool servers)."""
    total = 0
    ours = binary(), binary(True)
    for pid in [proc.pid] + list(descendants(proc.pid)):
        try:
            if os.readlink("/proc/%d/exe" % pid) in ours:
                with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as f:
                    total += int(re.search(r"^Pss:\s+(\d+)", f.read(), re.M).group(1))
        except OSError:
            continue
    return total


def fds(proc):
    """(descriptors, those of the database).  SQLite keeps one of its files for each connection there
    ever was at a time, of which there are a few at most; all others have to go again."""
    mine = db = 0
    for fd in os.listdir("/proc/%d/fd" % proc.pid):
        try:
            to = os.readlink("/proc/%d/fd/%s" % (proc.pid, fd))
        except OSError:
            continue
        db += "/gantry.db" in to
        mine += "/gantry.db" not in to
    return mine, db


class Peak(threading.Thread):
    """Watches memory until told to stop."""

    def __init__(self, proc):
        super().__init__(daemon=True)
        self.proc, self.most, self.done = proc, 0, threading.Event()
        self.start()

    def run(self):
        while not self.done.wait(0.05):
            self.most = max(self.most, rss_kib(self.proc))


def test_a_flood_is_answered_in_order_and_in_little_memory(bot, gantry, model, figures):
    chats = 200
    first = 1000
    gantry.set(TELEGRAM_ALLOWED_USERS=",".join(str(first + n) for n in range(chats)), LOG_LEVEL="warn",
               HISTORY_MAX_MESSAGES="2")
    bot.tolerate.append("query is too old")
    model.check = False
    model.answer(lambda r: Reply("re " + re.search(r"n\d+", r.user).group(0)))
    for n in range(chats):
        bot.user(first + n)
    d = bot.run()
    bot.say("n0", first, first)
    bot.wait_text("re n0", first)
    idle = rss_kib(d)
    peak = Peak(d)
    last = {}
    for n in range(1, FLOOD + 1):
        chat = first + n % chats
        bot.say("n%d" % n, chat, chat)
        last[chat] = n
    began = time.monotonic()

    def answered():
        model.requests[:-10] = []
        return sum(len([t for t in bot.seen(c) if t.startswith("re ")]) for c in last)
    seen = 0
    while seen < FLOOD:
        more = 0
        end = time.monotonic() + 60 * SLOW
        while more <= seen and time.monotonic() < end:
            pause(0.5)
            more = answered() - (1 if first in last else 0)
        assert more > seen, "no answer for a minute, %d of %d are there" % (seen, FLOOD)
        seen = more
    peak.done.set()
    took = time.monotonic() - began
    for c in last:
        order = [int(t[4:]) for t in bot.seen(c) if t.startswith("re ")]
        assert order == sorted(order) and len(order) == len(set(order))
    figures("%d updates over %d chats in %.1f s; idle %.1f MiB, peak %.1f MiB" % (
        FLOOD, chats, took, idle / 1024, peak.most / 1024))
    assert SLOW != 1 or peak.most <= idle + 32 * 1024, (idle, peak.most)
    assert not gantry.sql("select 1 from inbox where state in ('ready', 'claimed')")


FAULTS = [("getUpdates", dict(http=502)), ("getUpdates", dict(reset=True)), ("getUpdates", dict(cut=12)),
          ("getUpdates", dict(dead=True)), ("sendMessage", dict(flood=1)), ("sendMessage", dict(http=500)),
          ("sendMessage", dict(cut=9)), ("sendChatAction", dict(reset=True)),
          ("sendMessage", dict(error=(400, "Bad Request: can't parse entities: x")))]


def own_kib(proc):
    """Memory that belongs to the program and its spawner alone.  Pages of its files are left out: how
    many of those count as ours depends on who else maps the same libraries."""
    total = 0
    for pid in [proc.pid] + list(descendants(proc.pid)):
        try:
            if os.readlink("/proc/%d/exe" % pid) in (binary(), binary(True)):
                with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as f:
                    total += int(re.search(r"^Pss_Anon:\s+(\d+)", f.read(), re.M).group(1))
        except OSError:
            continue
    return total


class Day:
    """One day of messages with faults, on a clock that is moved on behind each."""

    def __init__(self, bot, gantry, model, proc):
        self.bot, self.g, self.model, self.proc, self.rng = bot, gantry, model, proc, random.Random(7)

    def answered(self, n, before):
        return any("of %d " % n in t + " " for t in self.bot.seen()[before:])

    def message(self, n, fault):
        """Say one, and let time pass until its answer is there; a fault may cost the answer."""
        before = len(self.bot.messages())
        if fault:
            method, how = self.rng.choice(FAULTS)
            self.bot.fail(method, **how)
        self.bot.say("day %d" % n)
        began = time.monotonic()
        while not self.answered(n, before):
            pause(0.01)
            self.bot.step(1, busy=True)
            waited = time.monotonic() - began
            if fault and (waited > 10 * SLOW or len(self.bot.messages()) > before + 1):
                break
            assert waited < 60 * SLOW, "no answer to %d\n%s" % (n, self.proc.report())

    def beats(self):
        return self.g.sql("select beat_at_ms from heartbeats where part = 'daemon'")[0]["beat_at_ms"]

    def rest(self):
        """Nothing happens for a minute, and the daemon has noticed."""
        for _ in range(4):
            last = self.beats()
            self.bot.step(15, busy=True)
            end = time.monotonic() + 20 * SLOW
            while self.beats() == last:
                assert time.monotonic() < end, "no heartbeat\n%s" % self.proc.report()
                pause(0.01)

    def look(self):
        self.rest()
        kids = [p for p, s in descendants(self.proc.pid).items() if s[1] != "Z"]
        return (own_kib(self.proc), *fds(self.proc), len(kids), rss_kib(self.proc))

    def measure(self):
        """The least of some looks.  What is kept stays in all of them; a connection to the database
        more, because two threads woke in the same instant, does not."""
        self.bot.heal()
        self.rest()
        self.model.requests[:-10] = []
        self.bot.calls[:-50] = []
        return tuple(map(min, zip(*(self.look() for _ in range(24)))))


def test_a_day_with_faults_leaves_nothing_behind(bot, gantry, model, mcp, figures):
    """DAY messages are a day.  What is measured is the daemon at rest, some minutes after a message:
    by then it has given back what the burst before had needed."""
    mcp.add("srv", tools=["count", "echo"])
    gantry.set(LOG_LEVEL="warn", HISTORY_MAX_MESSAGES="20")
    bot.tolerate += ["can't parse entities", "before its flood wait"]

    def reply(r):
        n = int(re.match(r"day (\d+)", r.user).group(1))
        if n % 3 == 0 and not r.results:
            return Reply(calls=[call("srv__echo", text="x" * 2000)])
        if n % 17 == 0 and r.number % 2:
            return Reply(status=503, body={"error": {"message": "busy"}})
        return Reply("**end** of %d " % n + "word " * (n * 7919 % 1200))
    model.answer(reply)
    # What glibc keeps of freed blocks for each thread (up to 236 KiB) fills over hours and is no
    # leak: it is switched off, so that what is measured is what the program holds.
    day = Day(bot, gantry, model, bot.run_clocked(STREAM_REPLIES="true",
                                                  GLIBC_TUNABLES="glibc.malloc.tcache_count=0"))
    for n in range(1, DAY + 1):
        day.message(n, n % 5 == 0)
        bot.step(86400 / DAY)
        if n == DAY // 10:
            first = day.measure()
    last = day.measure()
    day.message(DAY + 1, False)
    figures("a day of %d messages: after a tenth %s, at the end %s (KiB of its own, descriptors, those of "
            "the database, children, KiB with shares of libraries)" % (DAY, first, last))
    assert last[1] <= first[1] and last[3] <= first[3], (first, last)
    assert last[2] <= DATABASE_FDS, (first, last)
    assert SLOW != 1 or last[0] <= first[0] * 1.05, (first, last)
