"""gantry status: the exit code says whether a restart would help, and nothing is created by asking."""

import fcntl
import json
import os
import signal
import sqlite3
import struct
import time
from pathlib import Path

import pytest

from fakes.model import Reply, call
from harness.watch import Gate, wait_until


def status(gantry, *args, code, **more):
    """What it says; (word, reason)."""
    r = gantry.run("status", "--json", *args, code=code, **more)
    return json.loads(r.out)


class Held:
    """The lock of a daemon, held by nobody who would write heartbeats."""

    def __init__(self, gantry):
        gantry.talk(code=0)
        self.db = gantry.db_path
        self.lock = open(str(self.db) + ".lock", "w")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.now = int(time.time() * 1000)
        self.began(86400)
        self.sql("delete from heartbeats")
        for part in ("daemon", "poller", "deliver", "worker"):
            self.beat(part, 0)

    def sql(self, *statements):
        con = sqlite3.connect(self.db)
        for s in statements:
            con.execute(s)
        con.commit()
        con.close()

    def began(self, age):
        """When the daemon took its lock."""
        os.utime(str(self.db) + ".lock", (self.now / 1000 - age,) * 2)

    def beat(self, part, age, trouble=""):
        self.sql("insert or replace into heartbeats values ('%s', %d, '', '%s')"
                 % (part, self.now - age * 1000, trouble))

    def turn(self, age, error=""):
        """A turn that runs and made its last step so long ago; its request to the model ended like that."""
        at = self.now - age * 1000
        self.sql("insert into sessions (id, channel, address, created_at_ms, updated_at_ms) values ('s', 'x', 'y', 1, 1)",
                 "insert into turns (id, session_id, state, epoch, started_at_ms, updated_at_ms) "
                 "values ('t', 's', 'running', 1, %d, %d)" % (at, at),
                 "insert into request_parts (id, hash, content, created_at_ms) values (1, 1, '', 1)",
                 "insert into model_calls (turn_id, round, attempt, issuer, params, system_part, tools_part, error, "
                 "first_token_ms, total_ms, started_at_ms) values ('t', 1, 1, 'i', '{}', 1, 1, '%s', 0, 0, 1)" % error)


@pytest.fixture
def held(gantry):
    h = Held(gantry)
    yield h
    h.lock.close()


def test_no_daemon_is_dead_and_asking_creates_nothing(gantry):
    got = status(gantry, code=1)
    assert got["status"] == "dead" and "no daemon is running" in got["reason"]
    assert not list(gantry.data.iterdir())
    gantry.talk(code=0)
    before = sorted(p.name for p in gantry.data.rglob("*"))
    assert gantry.run("status", code=1).out == ""
    assert sorted(p.name for p in gantry.data.rglob("*")) == before


def test_a_daemon_that_works_is_healthy(gantry, model):
    p = gantry.daemon()
    p.err.wait('"ready"')
    wait_until(lambda: gantry.db_path.exists() and gantry.sql("select * from heartbeats where part = 'daemon'"),
               "a heartbeat")
    got = status(gantry, "--strict", code=0)
    assert got["status"] == "healthy" and got["pid"] == p.pid and got["reason"] == ""
    assert {"daemon", "poller", "deliver", "worker"} <= {x["part"] for x in got["parts"]}
    assert gantry.run("status").out.startswith("healthy: pid %d" % p.pid)
    p.finish()


@pytest.mark.parametrize("part,limit,words", [
    ("daemon", 60, "clock"), ("poller", 180, "poll"), ("deliver", 180, "deliverer"), ("worker", 180, "worker"),
])
def test_a_part_that_does_not_move_is_dead(gantry, held, part, limit, words):
    held.beat(part, limit - 20)
    assert status(gantry, code=0)["status"] == "healthy"
    held.beat(part, limit + 20)
    got = status(gantry, code=1)
    assert got["part"] == part and words in got["reason"] and "limit is %d s" % limit in got["reason"]


def test_the_rows_of_an_earlier_daemon_do_not_make_a_fresh_one_dead(gantry, held):
    for part in ("daemon", "poller", "deliver", "worker"):
        held.beat(part, 3600)
    assert status(gantry, code=1)["status"] == "dead"
    held.began(2)
    assert status(gantry, "--strict", code=0)["status"] == "healthy"
    held.began(62)      # it never began to turn
    assert "clock" in status(gantry, code=1)["reason"]


def test_a_turn_may_take_as_long_as_its_limits_allow(gantry, held):
    """Each of two tries at the model may take 600 s and a minute, and a margin; a server may take longer."""
    held.turn(1000)
    assert status(gantry, code=0)["status"] == "healthy"
    held.sql("update turns set updated_at_ms = %d" % (held.now - 4000 * 1000))
    got = status(gantry, code=1)
    assert got["part"] == "turn" and "a turn made no step for 40" in got["reason"]
    gantry.manifest.write_text('[[server]]\nname = "slow"\ncommand = "/bin/true"\ntimeout = "2h"\n')
    assert status(gantry, code=0)["status"] == "healthy"
    rows = json.loads(gantry.run("doctor", "--offline", "--json", code=None).out)
    assert [r["message"].split(", ")[-1] for r in rows if r["check"] == "daemon"] == ["healthy"]


def test_a_turn_of_a_command_is_not_the_daemons(gantry, held):
    held.turn(9000)
    held.sql("update turns set only_owner = 'somebody'")
    assert status(gantry, code=0)["status"] == "healthy"


def test_trouble_of_the_channel_or_the_model_degrades(gantry, held):
    held.turn(10, error="auth")
    got = status(gantry, code=0)
    assert got["status"] == "degraded" and "model" in got["reason"]
    status(gantry, "--strict", code=1)
    held.beat("poll", 5, "no route to host")
    assert "no route to host" in status(gantry, "--strict", code=1)["reason"]
    assert "degraded" in gantry.run("status").out
    held.beat("daemon", 100)
    assert status(gantry, code=1)["status"] == "dead"


def test_a_model_that_answers_again_is_healthy_again(gantry, model):
    p = gantry.daemon()
    model.reply(status=401, body={"error": {"message": "bad key"}})
    p.send("one")
    p.out.wait("key")
    assert status(gantry, code=0)["part"] == "model"
    model.reply("fine")
    p.send("two")
    p.out.wait("fine")
    assert status(gantry, "--strict", code=0)["status"] == "healthy"
    p.finish()


def test_a_channel_that_cannot_be_reached_degrades(bot, model):
    model.reply("fine")
    d = bot.run()
    bot.fail("getUpdates", times=1000, http=502)
    bot.say("hello")            # which ends the poll under way
    d.err.wait("telegram.unreachable")
    wait_until(lambda: status(bot.gantry, code=0)["status"] == "degraded", "degraded")
    bot.heal()
    bot.stop_gantry(d)


def states(pid):
    """Those of all threads, as the kernel has them: R, S, T, ..."""
    return {p.read_text().rpartition(")")[2].split()[0] for p in Path("/proc/%d/task" % pid).glob("*/stat")}


def test_a_daemon_that_is_stopped_dies_by_the_clock_and_comes_back(bot):
    """What a stuck process looks like from outside, with the seam's clock in place of a minute."""
    d = bot.run_clocked()
    clock = {"seam": True, "GANTRY_CLOCK": str(bot.clock)}
    wait_until(lambda: status(bot.gantry, code=None, **clock)["status"] == "healthy", "healthy")
    d.popen.send_signal(signal.SIGSTOP)
    # A thread that still runs would see the new time, and beat.
    wait_until(lambda: states(d.popen.pid) == {"T"}, "all its threads stopped")
    bot.clock.write_bytes(struct.pack("=q", 61000 + bot.offset_ms))
    got = status(bot.gantry, code=1, **clock)
    assert got["part"] == "daemon" and "clock" in got["reason"]
    d.popen.send_signal(signal.SIGCONT)
    wait_until(lambda: status(bot.gantry, code=None, **clock)["status"] == "healthy", "healthy again")
    bot.stop_gantry(d)


def test_a_long_tool_call_is_no_death(gantry, model, mcp):
    """The worker is in its call for 25 minutes of the seam's clock: longer than a worker may be silent."""
    gate = gantry.dir / "gate"
    path = gantry.dir / "clock"
    path.write_bytes(struct.pack("=q", 0))
    clock = {"seam": True, "GANTRY_CLOCK": str(path)}
    mcp.add("srv", tools=["slow"], timeout="1h")
    model.reply(calls=[call("srv__slow", gate=str(gate))])
    model.reply("done")
    p = gantry.start("run", **clock)
    p.send("go")
    mcp.wait(lambda: mcp.calls(), "the call")
    for minutes in (5, 15, 25):
        with open(path, "r+b") as f:
            f.write(struct.pack("=q", minutes * 60000))
        wait_until(lambda: status(gantry, code=None, **clock)["status"] == "healthy", "healthy after %d" % minutes)
    gate.touch()
    p.out.wait("done")
    p.finish()


def test_it_is_no_secret_what_the_exit_code_means(gantry):
    text = gantry.run("status", "--help").out
    for word in ("healthy", "degraded", "dead", "--strict", "example:"):
        assert word in text
