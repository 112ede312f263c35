"""
kill -9 at any instant: no committed message is lost, no tool runs twice, every request stays
valid, every message is answered, and an answer is printed twice only if its own printing was
interrupted.

The instants are random (the one place where a test lets time pass), and then directed: the
seam build dies at the n-th fdatasync or write, until every boundary of the journal was hit
often enough.  The histogram is printed (pytest -s, or the end of a failed run).
"""

import collections
import random
import re
import signal
import threading
import time

import pytest

from fakes.model import Reply, call
from harness.watch import SLOW

KILLS = 200 if SLOW == 1 else 20
EACH = 20 if SLOW == 1 else 2
# The pieces of an answer are made in the commit that begins to send the first.
BOUNDARIES = ["nothing yet", "message in", "claimed", "calls running", "some results", "all results",
              "answer in", "sending", "sent"]


def script(request):
    """Three tool calls in two rounds, then the answer.  Every label is asked for once a message."""
    number = re.findall(r"msg (\d+)\.", request.user)[-1]
    last_user = max(i for i, m in enumerate(request.messages) if m["role"] == "user")
    rounds = sum(1 for m in request.messages[last_user:] if m.get("tool_calls"))
    if rounds == 0:
        return Reply("Working.", calls=[call("srv__count", label=number + ".a"), call("srv__count", label=number + ".b")])
    if rounds == 1:
        return Reply(calls=[call("srv__count", label=number + ".c")])
    return Reply("answer %s." % number)


class Conversation:
    """The same installation over many deaths, and what was seen of it."""

    def __init__(self, gantry, model, mcp):
        self.g, self.mcp = gantry, mcp
        mcp.add("srv", tools=["count"])
        model.answer(script)
        gantry.set(HISTORY_MAX_MESSAGES="6", LOG_LEVEL="info")
        self.sent = 0
        self.printed = collections.Counter()
        self.interrupted = collections.Counter()     # deaths while this answer was being printed
        self.histogram = collections.Counter()
        self.notices = self.notices_interrupted = 0  # "I gave up on this message"

    def next(self):
        self.sent += 1
        return "msg %d." % self.sent

    def seen(self, proc):
        for n in re.findall(r"^answer (\d+)\.$", proc.out.text, re.M):
            self.printed[int(n)] += 1
        self.notices += proc.out.text.count("I gave up on this message")

    def have_db(self):
        return self.g.db_path.exists() and self.g.db_path.stat().st_size > 0

    def rows(self, query, *args):
        if not self.have_db() or not self.g.sql("select 1 from sqlite_master where name = 'pieces'"):
            return []
        return self.g.sql(query, *args)

    def boundary(self, text):
        """How far the journal had come with a message."""
        inbox = self.rows("select state, turn_id from inbox where text = ?", text)
        if not inbox:
            return "nothing yet"
        if inbox[0]["state"] == "ready":
            return "message in"
        turn = inbox[0]["turn_id"]
        if inbox[0]["state"] == "claimed":
            states = [r["state"] for r in self.rows(
                "select state from tool_calls where turn_id = ? and round = "
                "(select max(round) from tool_calls where turn_id = ?)", turn, turn)]
            if not states:
                return "claimed"
            ended = sum(s not in ("running", "planned") for s in states)
            return "calls running" if not ended else "all results" if ended == len(states) else "some results"
        out = self.rows("select id, state from outbox where turn_id = ?", turn)
        if not out or out[0]["state"] == "raw":
            return "answer in"
        pieces = [r["state"] for r in self.rows("select state from pieces where outbox_id = ?", out[0]["id"])]
        return "sending" if "sending" in pieces else "sent"

    def died(self, proc, text):
        """Take down what a death left."""
        self.seen(proc)
        where = self.boundary(text)
        self.histogram[where] += 1
        for row in self.rows("select o.text from pieces p join outbox o on o.id = p.outbox_id where p.state = 'sending'"):
            m = re.match(r"answer (\d+)\.", row["text"])
            if m:
                self.interrupted[int(m.group(1))] += 1
            self.notices_interrupted += row["text"].startswith("I gave up")
        return where

    def settle(self, *lines):
        """A run without faults: everything that waits is answered."""
        p = self.g.daemon()
        for line in lines:
            p.send(line)
        p.finish(120)
        self.seen(p)
        self.g.procs.remove(p)
        assert not p.sanitizer_report(), p.report()

    def drop(self, proc):
        """Forget a dead process; its output was read."""
        assert not proc.sanitizer_report(), proc.report()
        self.g.procs.remove(proc)
        for s in (proc.out, proc.err):
            s.thread.join(20)

    def judge(self):
        print("\n%-14s %s" % ("boundary", "deaths"))
        for b in BOUNDARIES:
            print("%-14s %d" % (b, self.histogram[b]))
        committed = {int(re.search(r"\d+", r["text"]).group(0)): r["turn_id"]
                     for r in self.rows("select text, turn_id from inbox where kind = 'message'")}
        given_up = {r["id"] for r in self.rows("select id from turns where state = 'given_up'")}
        assert not self.rows("select id from turns where state in ('ready', 'running', 'parked')")
        assert not self.rows("select id from inbox where state in ('ready', 'claimed')")
        for n, turn in committed.items():
            least = 0 if turn in given_up or self.interrupted[n] > 1 else 1
            assert least <= self.printed[n] <= 1 + self.interrupted[n], \
                "message %d: printed %d times, its printing was interrupted %d times" % (
                    n, self.printed[n], self.interrupted[n])
        ledger = collections.Counter(self.mcp.ledger_lines())
        assert not [x for x, times in ledger.items() if times > 1], "tools that ran twice: %s" % ledger
        for row in self.rows("select args from tool_calls where state = 'done'"):
            label = re.search(r"\d+\.[abc]", row["args"]).group(0)
            assert ledger[label] == 1, "%s is done but not in the ledger" % label
        # Three deaths before the first step end a message with a notice: more of them on a loaded
        # machine.  Most must have been answered all the same, or this scene shows nothing.
        assert len(given_up) < len(committed) / 2
        assert abs(self.notices - len(given_up)) <= self.notices_interrupted
        doubles = sum(1 for n in committed if self.printed[n] > 1)
        print("%d messages, %d tool runs, %d answers printed again after an interrupted print, %d given up" % (
            len(committed), sum(ledger.values()), doubles, len(given_up)))


def at_a_random_instant(longest):
    threading.Event().wait(random.uniform(0, longest))


@pytest.mark.long
def test_kill_9_at_random_instants(gantry, model, mcp):
    c = Conversation(gantry, model, mcp)
    c.settle(c.next())
    started = time.monotonic()
    c.settle(c.next())
    whole = time.monotonic() - started
    for n in range(KILLS):
        text = c.next()
        p = gantry.daemon()
        p.send(text)
        at_a_random_instant(whole * 1.1)
        p.kill(signal.SIGKILL)
        p.wait(60)
        c.died(p, text)
        c.drop(p)
        if n % 4 == 3:
            c.settle()
    c.settle()
    c.judge()
    assert sum(c.histogram.values()) == KILLS


def die_at(c, what, n):
    """One message to a process that dies just before its n-th call of what: the boundary, or None
    when it got through.  Afterwards everything is settled."""
    text = c.next()
    p = c.g.start("run", seam=True, GANTRY_FAULT="kill:%s:%d" % (what, n))
    try:
        p.send(text)
    except BrokenPipeError:
        pass
    p.close_stdin()
    code = p.wait(120)
    if code == 0:
        c.seen(p)
        c.drop(p)
        return None
    assert code == -signal.SIGKILL, p.report()
    where = c.died(p, text)
    c.drop(p)
    c.settle(*([text] if where == "nothing yet" else []))
    return where


@pytest.mark.long
def test_death_at_every_journal_boundary(gantry, model, mcp):
    """The seam build dies at the n-th call of the kernel.  n walks through a whole message once;
    then the instants that hit what is still missing are taken again."""
    c = Conversation(gantry, model, mcp)
    c.settle(c.next())
    hits = collections.defaultdict(list)
    for what in ("fdatasync", "pwrite", "write"):
        n = 0
        while n < 150:
            n += 1
            where = die_at(c, what, n)
            if where is None:
                break
            hits[where].append((what, n))
    wanted = BOUNDARIES[1:]
    for b in wanted:
        tries = 0
        while c.histogram[b] < EACH and hits[b] and tries < EACH * 8:
            where = die_at(c, *hits[b][tries % len(hits[b])])
            tries += 1
            if where and where != b:
                hits[where].append(hits[b][(tries - 1) % len(hits[b])])
    c.judge()
    assert not [b for b in wanted if c.histogram[b] < EACH], c.histogram
