"""The database under strain: other writers, a full disk, damage, many processes at once."""

import os
import pathlib
import sqlite3
import struct
import subprocess
import threading

import pytest

from fakes.model import Reply, call
from harness.fixtures import binary
from harness.process import Proc
from harness.watch import Gate, wait_files

pytestmark = pytest.mark.concurrency


def test_a_writer_that_holds_the_database_is_waited_for(gantry, model):
    model.answer(lambda r: Reply("answer to " + r.user.split("\n")[0]))
    d = gantry.daemon()
    d.send("one")
    d.out.wait("answer to one")
    con = sqlite3.connect(str(gantry.db_path), isolation_level=None)
    con.execute("begin immediate")
    d.send("two")
    gate = threading.Event()
    gate.wait(1)                    # the promise is about a writer that takes its time
    assert "two" not in d.out.text
    con.execute("rollback")
    con.close()
    d.out.wait("answer to two")
    d.send("/status")
    d.out.wait("test-model")
    d.finish()


def test_reads_go_on_while_somebody_writes(gantry, model):
    model.answer(lambda r: "fine")
    d = gantry.daemon()
    d.send("one")
    d.out.wait("fine")
    con = sqlite3.connect(str(gantry.db_path), isolation_level=None)
    con.execute("begin immediate")
    gantry.run("status")
    gantry.run("sessions", "list")
    con.execute("rollback")
    con.close()
    d.finish()


def test_prompts_at_once_are_all_answered(gantry, model):
    model.answer(lambda r: Reply("echo " + r.user.split("\n")[0]))
    d = gantry.daemon()
    procs = [gantry.start("prompt", "--new", "p%d" % n) for n in range(8)]
    for n in range(4):
        d.send("d%d" % n)
    for n, p in enumerate(procs):
        p.close_stdin()
        p.wait(60, code=0)
        assert p.out.text == "echo p%d\n" % n
    d.finish(60)
    assert d.out.text.splitlines() == ["echo d%d" % n for n in range(4)]
    assert gantry.sql("pragma integrity_check")[0][0] == "ok"


def test_prompts_of_one_session_take_turns(gantry, model):
    gates = {}

    def answer(request):
        name = request.user.split("\n")[0]
        gates.setdefault(name, Gate())
        return Reply("echo " + name, gate=gates[name])
    model.answer(answer)
    a = gantry.start("prompt", "a")
    model.wait(1)
    b = gantry.start("prompt", "b")
    wait_files(gantry.data, lambda: len(gantry.sql("select 1 from inbox")) == 2, "the second row")
    assert len(model.requests) == 1
    gates["a"].release()
    a.finish()
    model.wait(2)
    assert [m["content"] for m in model.last.messages if m["role"] == "assistant"] == ["echo a"]
    gates["b"].release()
    b.finish()


def test_a_prompt_that_died_leaves_nothing_stuck(gantry, model):
    gate = Gate()
    model.reply("never", gate=gate)
    p = gantry.start("prompt", "a")
    gate.wait_reached()
    p.kill()
    p.wait()
    model.reply("fine")
    assert gantry.run("prompt", "b", seconds=60).out == "fine\n"


def test_a_damaged_database_is_refused_and_kept(gantry, model):
    model.answer(lambda r: "fine")
    gantry.talk("one")
    data = bytearray(gantry.db_path.read_bytes())
    data[:100] = b"\0" * 100
    gantry.db_path.write_bytes(data)
    for suffix in ("-wal", "-shm"):
        if os.path.exists(str(gantry.db_path) + suffix):
            os.unlink(str(gantry.db_path) + suffix)
    p = gantry.daemon()
    p.close_stdin()
    p.wait(30, code=1)
    assert "gantry.db" in p.err.text
    assert gantry.db_path.read_bytes() == bytes(data)


@pytest.fixture
def small_disk(gantry):
    """The daemon with its data on a file system of 8 MiB of its own."""
    argv = ["unshare", "--map-root-user", "--mount"]
    if subprocess.run([*argv, "true"], capture_output=True).returncode != 0:
        pytest.skip("this machine gives no mount namespace")
    p = Proc([*argv, "/bin/sh", "-c", "mount -t tmpfs -o size=8m none \"$1\" && exec \"$0\" run", binary(),
              str(gantry.data)], gantry.env(), str(gantry.dir))
    gantry.procs.append(p)
    return p


@pytest.mark.long
def test_a_full_disk_is_told_and_got_over(gantry, model, small_disk):
    d = small_disk
    model.answer(lambda r: Reply("answer to " + r.user.split("\n")[0]))
    d.send("one")
    d.out.wait("answer to one", 30)
    ballast = "/proc/%d/root%s/ballast" % (d.pid, gantry.data)
    fd = os.open(ballast, os.O_WRONLY | os.O_CREAT, 0o600)
    size = 1 << 16
    while size:
        try:
            os.write(fd, b"x" * size)
        except OSError:
            size //= 2
    os.close(fd)
    d.send("two " + "x" * 20000)
    d.err.wait("The disk is full", 30)
    os.unlink(ballast)
    d.send("three")
    d.out.wait("answer to two x", 90)
    d.out.wait("answer to three", 90)
    d.finish(60)


def test_the_journal_is_readable_as_documented(gantry, model, mcp):
    """The sqlite3 recipes of the older programs: tables and views with their names."""
    mcp.add("srv", tools=["echo"])
    model.reply(calls=[call("srv__echo", text="x")])
    model.reply("done")
    gantry.talk("go")
    assert gantry.sql("select version, name from schema_migrations order by version")
    assert gantry.sql("pragma user_version")[0][0] >= 1
    assert gantry.sql("pragma application_id")[0][0] != 0
    roles = [r["role"] for r in gantry.sql("select role from session_message order by id")]
    assert roles == ["user", "assistant"]
    assert gantry.sql("select updated_at from session")
    version = (pathlib.Path(__file__).parents[2] / "VERSION").read_text().strip()
    assert [r["version"] for r in gantry.sql("select * from heartbeat")] == [version]
    (row,) = gantry.sql("select * from tool_calls")
    assert (row["name"], row["decision"], row["state"]) == ("srv__echo", "allow", "done")


def test_a_running_daemon_clears_away_what_a_dead_command_left(gantry, model):
    """Without a restart, and without anybody who waits for the session."""
    clock = gantry.dir / "clock"
    clock.write_bytes(struct.pack("=q", 0))
    gate = Gate()
    model.reply("never", gate=gate)
    d = gantry.start("run", seam=True, GANTRY_CLOCK=str(clock))
    d.err.wait('"ready"')
    p = gantry.start("prompt", "a")
    gate.wait_reached()
    p.kill()
    p.wait()
    assert [r["state"] for r in gantry.sql("select state from turns")] == ["running"]
    for seconds in range(15, 600, 15):
        with open(clock, "r+b") as f:
            f.write(struct.pack("=q", seconds * 1000))
        if "turns.recovered" in d.err.text:
            break
        threading.Event().wait(0.05)
    d.err.wait("turns.recovered")
    assert [r["state"] for r in gantry.sql("select state from turns")] == ["interrupted"]
    d.finish()


@pytest.mark.parametrize("words", [["doctor", "--offline"], ["usage"], ["memory", "list"], ["prompt", "hi"]],
                         ids=lambda w: w[0])
def test_a_database_that_is_no_file_is_refused(gantry, words):
    gantry.data.mkdir(exist_ok=True)
    os.mkfifo(gantry.db_path)
    said = gantry.run(*words, code=1)
    assert "not a regular file" in said.err + said.out


def test_a_lock_behind_a_link_is_left_alone(gantry, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    gantry.data.mkdir(exist_ok=True)
    os.symlink(precious, str(gantry.db_path) + ".lock")
    assert ".lock" in gantry.run("run", code=1).err
    assert precious.read_text() == "keep me"
