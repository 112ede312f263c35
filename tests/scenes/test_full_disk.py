"""A disk that fills up in the middle of the work: nothing is lost, and the user is told once."""

import struct
import threading

import pytest

from fakes.model import Reply, call
from fakes.telegram import ALLOWED

TOLD = "The disk is full"


def answers(model):
    """First a tool, then the answer."""
    def answer(request):
        word = request.user.split("\n")[0]
        if word == "zero" or request.messages[-1]["role"] == "tool":
            return Reply("answer to " + word)
        return Reply(calls=[call("srv__count", label=word)])
    model.answer(answer)


@pytest.fixture
def clocked(gantry):
    """A step of the seam's clock, so that nobody waits for the waits."""
    path = gantry.dir / "clock"
    path.write_bytes(struct.pack("=q", 0))
    return {"GANTRY_CLOCK": str(path)}, lambda s: open(path, "r+b").write(struct.pack("=q", s * 1000))


@pytest.mark.parametrize("n", [12, 30, 48])
def test_a_full_disk_is_told_once_and_nothing_is_lost(gantry, model, mcp, clocked, n):
    mcp.add("srv", tools=["count"])
    answers(model)
    gantry.talk("zero")
    env, step = clocked
    p = gantry.start("run", seam=True, GANTRY_FAULT="pwrite:%d-%d:ENOSPC" % (n, n + 3), **env)
    p.send("one")
    p.err.wait(TOLD, 30)
    p.err.wait("mcp.connected", 30, from_start=True)
    seconds, met = 0, threading.Event()
    while "answer to one" not in p.out.text and seconds < 280:
        seconds += 10
        step(seconds)
        met.wait(0.05)
    p.out.wait("answer to one", 60)
    p.finish(60)
    assert p.err.text.count(TOLD) == 1 and p.out.text.count("answer to one") == 1
    assert len(mcp.ledger_lines()) == 1


@pytest.mark.parametrize("n", [12, 30])
def test_a_full_disk_is_told_to_who_writes(bot, model, n):
    model.answer(lambda r: Reply("answer to " + r.user.split("\n")[0]))
    d = bot.run()
    bot.say("zero")
    bot.wait_text("answer to zero")
    bot.stop_gantry(d)
    bot.run_clocked(GANTRY_FAULT="pwrite:%d-%d:ENOSPC" % (n, n + 3))
    bot.say("one")
    bot.wait_text(TOLD)
    bot.step(30, busy=True)      # the outcome of a send waits for room
    bot.wait_text("answer to one", seconds=60)
    assert len([t for t in bot.seen(ALLOWED) if TOLD in t]) == 1
