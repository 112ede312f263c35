"""Every wait can be cancelled: by /stop, by SIGTERM, by a deadline; and nothing is lost by it."""

import json
import os
import signal
import socket
import subprocess

import pytest

from fakes.model import Reply, call
from harness.fixtures import FAKES, PYTHON, binary
from harness.process import Proc, descendants
from harness.watch import Gate, wait_files

pytestmark = pytest.mark.concurrency


PLACES = ["start", "headers", "first", 400]


@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("stream", ["true", "false"])
def test_stop_ends_a_turn_wherever_the_model_is(gantry, model, at, stream):
    gate = Gate()
    model.reply("never to be seen, however long this answer may become" * 10, gate=gate, gate_at=at)
    model.reply("next")
    d = gantry.daemon(STREAM_REPLIES=stream)
    d.send("go")
    gate.wait_reached()
    d.send("/stop")
    model.wait_dropped(model.requests[0])
    d.send("and now")
    d.out.wait("next\n")
    d.finish()
    assert "never to be seen" not in "".join(str(m["content"]) for m in model.last.messages)


@pytest.mark.parametrize("at", PLACES)
def test_sigterm_ends_a_hanging_turn_and_the_next_start_answers(gantry, model, at):
    gate = Gate()
    model.reply("never " * 100, gate=gate, gate_at=at)
    d = gantry.daemon(GANTRY_GATEWAY_GRACE="200ms")
    d.send("question")
    gate.wait_reached()
    d.term()
    assert d.wait(20) == 0
    model.reply("answered after all")
    e = gantry.daemon()
    e.out.wait("answered after all")
    e.finish()
    assert model.last.user.startswith("question")


def test_sigterm_lets_a_running_turn_finish_within_the_grace(gantry, model):
    gate = Gate()
    model.reply("just in time", gate=gate)
    d = gantry.daemon()
    d.send("go")
    gate.wait_reached()
    d.term()
    d.err.wait("(?i)stop|drain|shut")
    gate.release()
    assert d.wait(20) == 0
    assert d.out.text == "just in time\n"


def test_a_second_signal_exits_at_once(gantry, model):
    gate = Gate()
    model.reply("never", gate=gate)
    d = gantry.daemon(GANTRY_GATEWAY_GRACE="10m")
    d.send("go")
    gate.wait_reached()
    d.term()
    d.err.wait("(?i)stop|drain|shut")
    d.term()
    d.wait(10)


def test_a_stop_that_was_asked_for_is_a_success(gantry, model):
    d = gantry.daemon()
    d.err.wait("(?i)ready|start")
    d.kill(signal.SIGINT)
    assert d.wait(20) == 0


def test_stop_in_a_tool_call_cancels_it_at_the_server(gantry, model, mcp):
    mcp.add("srv", tools=["hang", "echo"])
    model.reply(calls=[call("srv__hang")])
    model.reply("next")
    d = gantry.daemon()
    d.send("go")
    mcp.wait(lambda: mcp.calls(), "the call", 30)
    d.send("/stop")
    mcp.wait(lambda: mcp.received("notifications/cancelled"), "the cancel notice")
    d.send("and now")
    d.out.wait("next\n")
    d.finish()
    assert mcp.events("srv").count("start") == 1
    assert "srv__hang" in json.dumps(model.last.messages)     # the note of what was called


def test_stop_drops_what_waits_behind_it(gantry, model):
    gate = Gate()
    model.reply("never", gate=gate)
    model.reply("fresh")
    d = gantry.daemon()
    d.send("first")
    gate.wait_reached()
    d.send("second\nthird\n/stop\nfourth")
    d.out.wait("fresh\n")
    d.finish()
    assert len(model.requests) == 2 and model.last.user.startswith("fourth")


def test_stop_with_nothing_running_says_so(gantry, model):
    assert "nothing" in gantry.talk("/stop").out.lower()
    assert not model.requests


def test_new_in_the_middle_of_a_turn_ends_it(gantry, model):
    gate = Gate()
    model.reply("never", gate=gate)
    model.reply("clean")
    d = gantry.daemon()
    d.send("the word is tulip")
    gate.wait_reached()
    d.send("/new")
    model.wait_dropped(model.requests[0])
    d.send("hello")
    d.out.wait("clean\n")
    d.finish()
    assert "tulip" not in model.last.raw.decode()


def test_sigterm_in_a_tool_call_resumes_without_running_it_twice(gantry, model, mcp):
    gate = gantry.dir / "gate"
    mcp.add("srv", tools=["slow", "count"])
    model.reply(calls=[call("srv__count", label="one"), call("srv__slow", gate=str(gate))])
    d = gantry.daemon(GANTRY_GATEWAY_GRACE="200ms")
    d.send("go")
    mcp.wait(lambda: len(mcp.calls()) == 2 and mcp.ledger_lines(), "both calls", 30)
    d.term()
    d.wait(20)
    model.reply("resumed")
    e = gantry.daemon()
    e.out.wait("resumed")
    e.finish()
    assert mcp.ledger_lines() == ["one"]
    first, second = model.last.results
    assert "one" in first and "wait" not in second.replace("waited", "")


@pytest.fixture
def full_backlog():
    """An address where connections hang: nobody accepts and the queue is full."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen(1)
        fill = []
        for _ in range(8):
            c = socket.socket()
            c.setblocking(False)
            c.connect_ex(s.getsockname())
            fill.append(c)
        yield "http://127.0.0.1:%d/v1" % s.getsockname()[1]
        for c in fill:
            c.close()


def running(gantry):
    """Wait until a turn runs, as the rows say."""
    wait_files(gantry.data, lambda: gantry.db_path.exists() and gantry.sql(
        "select 1 from sqlite_master where name = 'turns'") and gantry.sql(
        "select 1 from turns where state = 'running'"), "a running turn")


def test_stop_ends_a_connection_attempt(gantry, full_backlog):
    d = gantry.daemon(LLM_BASE_URL=full_backlog)
    d.send("go")
    running(gantry)
    d.send("/stop")
    d.out.wait("(?i)stopp", 10)
    d.finish(20)


def test_sigterm_ends_a_connection_attempt(gantry, full_backlog):
    d = gantry.daemon(LLM_BASE_URL=full_backlog, GANTRY_GATEWAY_GRACE="100ms")
    d.send("go")
    running(gantry)
    d.term()
    assert d.wait(20) == 0


@pytest.fixture
def hanging_lookups(gantry):
    """The daemon where every name lookup hangs for minutes."""
    argv = ["unshare", "--map-root-user", "--net", "--mount"]
    if subprocess.run([*argv, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine gives no network namespace")
    p = Proc([*argv, PYTHON, "-S", "-E", str(FAKES / "blackhole_dns.py"), binary(), "run"],
             gantry.env(LLM_BASE_URL="http://model.invalid.example/v1", GANTRY_GATEWAY_GRACE="100ms"), str(gantry.dir))
    gantry.procs.append(p)
    p.send("go")
    p.err.wait("a lookup hangs", 30)
    return p


def test_stop_ends_a_hanging_lookup(gantry, hanging_lookups):
    d = hanging_lookups
    d.send("/stop")
    d.out.wait("(?i)stopp", 20)
    d.finish(20)                # the end of input waits for turns: it was ended


def test_sigterm_ends_a_hanging_lookup(gantry, hanging_lookups):
    pid = min(p for p, cmd in hanging_lookups.children().items() if cmd == binary() + " run")
    os.kill(pid, signal.SIGTERM)
    assert hanging_lookups.wait(20) == 0


@pytest.mark.parametrize("at", PLACES)
def test_a_turn_deadline_ends_it_wherever_the_model_is(gantry, model, at):
    gate = Gate()
    model.reply("never to be seen", gate=gate, gate_at=at)
    r = gantry.talk("go", GANTRY_AGENT_MAX_TURN_TIME="1s", seconds=60, STREAM_REPLIES="true")
    assert "time" in r.out
    model.reply("fine")
    assert gantry.talk("and now?").out == "fine\n"


def test_a_turn_deadline_ends_a_tool_call(gantry, model, mcp):
    mcp.add("srv", tools=["hang"])
    model.reply(calls=[call("srv__hang")])
    model.decide = lambda r: Reply("landed")
    r = gantry.talk("go", GANTRY_AGENT_MAX_TURN_TIME="1s", seconds=60)
    assert r.out.strip()
    assert len(mcp.received("notifications/cancelled")) == 1


def test_a_turn_deadline_ends_a_connection_attempt(gantry, full_backlog):
    r = gantry.talk("go", LLM_BASE_URL=full_backlog, GANTRY_AGENT_MAX_TURN_TIME="1s", seconds=60)
    assert r.out.strip()


def test_two_daemons_do_not_share_a_database(gantry, model):
    model.answer(lambda r: Reply("one"))
    d = gantry.daemon()
    d.send("hi")
    d.out.wait("one")
    e = gantry.start("run")
    e.close_stdin()
    e.wait(60, code=1)
    assert "already" in e.err.text.lower()
    d.send("still there?")
    d.out.wait("one")
    d.finish()


def test_a_second_daemon_waits_a_moment_for_the_first_to_end(gantry, model):
    model.answer(lambda r: Reply("hello"))
    d = gantry.daemon()
    d.send("hi")
    d.out.wait("hello")
    e = gantry.daemon()
    d.finish()
    e.send("hi")
    e.out.wait("hello", 30)
    e.finish()


@pytest.mark.parametrize("signo, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_prompt_is_interrupted_by_a_signal_with_its_number(gantry, model, signo, code):
    gate = Gate()
    model.reply("never", gate=gate)
    p = gantry.start("prompt", "go")
    gate.wait_reached()
    p.kill(signo)
    assert p.wait(20) == code
    assert p.out.text == ""


@pytest.mark.parametrize("signo, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_that_fails_ends_with_the_number_of_its_signal(gantry, model, signo, code):
    """The disk breaks after the stop was asked for, while a turn is still being finished."""
    gate, broken = Gate(), gantry.dir / "broken"
    model.reply("too late", gate=gate)
    d = gantry.start("run", seam=True, GANTRY_FAULT="fdatasync:1+,when:%s" % broken)
    d.send("go")
    gate.wait_reached()
    d.kill(signo)
    d.err.wait('"msg":"stopping"')
    broken.touch()
    gate.release()
    assert d.wait(20) == code
    assert [line for line in d.err.text.splitlines() if line.startswith("gantry: ")] == [
        "gantry: stopped after a fatal error; see the log"]
    assert d.err.text.count('"fatal"') == 1


def test_a_reader_that_left_ends_the_program_without_a_crash(gantry, model):
    model.answer(lambda r: Reply("x" * 300_000))
    p = Proc(["/bin/sh", "-c", "\"$0\" prompt go | head -c 10; echo; echo ended", binary()], gantry.env(),
             str(gantry.dir))
    gantry.procs.append(p)
    p.out.wait("xxxxxxxxxx\nended")
    p.finish()


def test_a_damaged_journal_lock_file_is_no_obstacle(gantry, model):
    model.answer(lambda r: Reply("fine"))
    gantry.talk("one")
    (gantry.data / "gantry.db.lock").write_bytes(b"\xff" * 10)
    assert gantry.talk("two").out == "fine\n"


def test_a_daemon_whose_spawner_died_ends_with_an_error_and_the_next_one_goes_on(gantry, model):
    gate = Gate()
    model.reply("never to be seen", gate=gate)
    d = gantry.daemon()
    d.send("question")
    gate.wait_reached()
    spawner, = (pid for pid, st in descendants(d.pid).items() if st[0] == d.pid)
    os.kill(spawner, signal.SIGKILL)
    d.wait(20, 1)
    d.err.wait("the spawner process is gone")
    model.reply("answered after all")
    e = gantry.daemon()
    e.out.wait("answered after all")
    e.finish()
    assert model.last.user.startswith("question")
