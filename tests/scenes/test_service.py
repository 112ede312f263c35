"""The service manager hears when gantry is ready, alive and stopping; and installs it on request."""

import ctypes
import json
import os
import pathlib
import socket
import threading

import pytest

from fakes.model import call
from harness.watch import Board


class Manager:
    """A fake NOTIFY_SOCKET."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + address[1:] if address[0] == "@" else address)
        self.address, self.board, self.messages = address, Board(), []
        self.thread = threading.Thread(target=self._hear)
        self.thread.start()

    def _hear(self):
        while (m := self.socket.recv(4096)) != b"end":
            self.messages.append(m.decode())
            self.board.changed()

    def heard(self, word):
        return [m for m in self.messages if word in m.split("\n")]

    def wait(self, word, n=1):
        self.board.wait(lambda: len(self.heard(word)) >= n, "%d of %s" % (n, word), 60, lambda: repr(self.messages))

    def close(self):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.sendto(b"end", self.socket.getsockname())
        s.close()
        self.thread.join()
        self.socket.close()


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    m = Manager(str(tmp_path / "notify") if request.param == "path" else "@gantry-test-%d" % os.getpid())
    yield m
    m.close()


def test_the_manager_hears_of_start_life_and_stop(gantry, bot, manager):
    p = bot.run(NOTIFY_SOCKET=manager.address, WATCHDOG_USEC="1000000")
    manager.wait("READY=1")
    manager.wait("WATCHDOG=1", 3)
    assert any("STATUS=" in m for m in manager.messages)
    assert not manager.heard("STOPPING=1")
    bot.stop_gantry(p)
    manager.wait("STOPPING=1")


def test_a_watchdog_of_another_process_is_not_fed(gantry, bot, manager):
    p = bot.run(NOTIFY_SOCKET=manager.address, WATCHDOG_USEC="1000", WATCHDOG_PID="1")
    manager.wait("READY=1")
    bot.say("hello")
    gantry.model.reply("Hello")
    bot.wait_text("Hello")
    bot.stop_gantry(p)
    manager.wait("STOPPING=1")
    assert not manager.heard("WATCHDOG=1")


def test_tools_do_not_see_the_socket(gantry, model, mcp):
    """It would let them say that all is well."""
    mcp.add("srv", tools=["env"])
    model.reply(calls=[call("srv__env")])
    model.reply("Done")
    gantry.talk("go", NOTIFY_SOCKET="/nowhere/notify", WATCHDOG_USEC="60000000", WATCHDOG_PID="1", INHERITED="yes")
    seen = model.last.results[0]
    assert "INHERITED" in seen
    assert "NOTIFY_SOCKET" not in seen and "WATCHDOG" not in seen


PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17


class Held:
    """One thread of a process, standing still (of ptrace the tracer is a thread: this one)."""

    def __init__(self, tid):
        self.tid, self.libc = tid, ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        if self.libc.ptrace(PTRACE_SEIZE, tid, None, None) != 0:
            pytest.skip("no thread can be held here: " + os.strerror(ctypes.get_errno()))
        self.libc.ptrace(PTRACE_INTERRUPT, tid, None, None)
        os.waitpid(tid, 0x40000000)     # __WALL

    def release(self):
        self.libc.ptrace(PTRACE_DETACH, self.tid, None, None)


def thread_of(pid, name):
    for task in os.listdir("/proc/%d/task" % pid):
        if pathlib.Path("/proc/%d/task/%s/comm" % (pid, task)).read_text().strip() == name:
            return int(task)
    raise AssertionError("no thread " + name)


def test_a_stuck_poll_stops_the_feed(gantry, bot, tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    p = bot.run_clocked(NOTIFY_SOCKET=manager.address, WATCHDOG_USEC="2000000")
    manager.wait("WATCHDOG=1", 2)
    held = Held(thread_of(p.pid, "telegram"))
    bot.step(300)
    manager.board.wait(lambda: any("poll of the channel" in m for m in manager.messages), "the reason", 60,
                       lambda: repr(manager.messages))
    fed = len(manager.heard("WATCHDOG=1"))
    said = len(manager.messages)
    for _ in range(3):                  # the clock turns, and nothing is fed
        bot.step(30)
        manager.board.wait(lambda: len(manager.messages) > said, "another look", 60)
        said = len(manager.messages)
    assert len(manager.heard("WATCHDOG=1")) == fed
    held.release()
    manager.wait("WATCHDOG=1", fed + 1)
    bot.stop_gantry(p)
    manager.close()


# gantry service ---------------------------------------------------------------------------

@pytest.fixture
def systemctl(gantry):
    """A systemctl that notes its words; fail(word) makes it fail from then on."""
    folder = gantry.dir / "bin"
    folder.mkdir()
    (folder / "systemctl").write_text("""#!/bin/sh
echo "$*" >>%s/words
for bad in $(cat %s/bad 2>/dev/null); do
	[ "$bad" != "$2" ] || { echo "Failed to $2: no bus" >&2; exit 1; }
done
case $2.$3 in
show.gantry.service)
	[ -f %s/.config/systemd/user/gantry.service ] || { printf 'ActiveState=inactive\\nSubState=dead\\nMainPID=0\\nUnitFileState=\\nNRestarts=0\\n'; exit; }
	printf 'ActiveState=active\\nSubState=running\\nMainPID=42\\nUnitFileState=enabled\\nNRestarts=3\\n' ;;
esac
""" % (folder, folder, gantry.home))
    (folder / "systemctl").chmod(0o755)
    gantry.set(PATH="%s:/usr/bin:/bin" % folder)

    class Systemctl:
        def words(self):
            at = folder / "words"
            return at.read_text().splitlines() if at.exists() else []

        def fail(self, *words):
            (folder / "bad").write_text(" ".join(words))
    return Systemctl()


def unit(gantry):
    return gantry.home / ".config" / "systemd" / "user" / "gantry.service"


def test_install_status_and_uninstall(gantry, systemctl):
    config = gantry.dir / 'odd "name" 100% $HOME.yaml'
    config.write_text("agent: {model: m}\n")
    r = gantry.run("service", "status", code=1)
    assert "not installed" in r.out
    r = gantry.run("--config", str(config), "service", "install", code=0)
    text = unit(gantry).read_text()
    assert "Type=notify" in text and "WatchdogSec=" in text
    assert 'odd \\"name\\" 100%% $$HOME.yaml" run' in text
    assert gantry.run("service", "status", code=0).out == "active (running), enabled, pid 42\n"
    seen = json.loads(gantry.run("service", "status", "--json", code=0).out)
    assert seen == {"active": "active", "sub": "running", "unit_file": "enabled", "pid": 42, "restarts": 3}
    gantry.run("--config", str(config), "service", "install", code=0)       # again is an update
    gantry.run("service", "uninstall", code=0)
    assert not unit(gantry).exists()
    assert "no unit" in gantry.run("service", "uninstall", code=0).out
    for words in ("--user daemon-reload", "--user enable gantry.service", "--user restart gantry.service",
                  "--user disable --now gantry.service"):
        assert words in systemctl.words()


def test_systemd_accepts_the_unit(gantry, systemctl):
    analyze = next((p for p in ("/usr/bin/systemd-analyze", "/bin/systemd-analyze") if os.path.exists(p)), None)
    if not analyze:
        pytest.skip("systemd-analyze is not installed")
    gantry.run("service", "install", code=0)
    import subprocess
    r = subprocess.run([analyze, "--user", "verify", str(unit(gantry))], capture_output=True, text=True,
                       env={**os.environ, "XDG_RUNTIME_DIR": str(gantry.dir)}, timeout=60)
    ours = [line for line in r.stderr.splitlines() if "gantry.service" in line]
    assert not ours, r.stderr


def test_a_unit_of_somebody_else_is_left_alone(gantry, systemctl):
    unit(gantry).parent.mkdir(parents=True)
    unit(gantry).write_text("[Service]\nExecStart=/my/own\n")
    for what in "install", "uninstall":
        r = gantry.run("service", what, code=1)
        assert "was not written by" in r.err
    assert unit(gantry).read_text() == "[Service]\nExecStart=/my/own\n"


def test_without_systemd_nothing_is_written(gantry, systemctl):
    systemctl.fail("show")
    r = gantry.run("service", "install", code=1)
    assert "cannot be reached" in r.err
    assert not unit(gantry).exists()
    r = gantry.run("service", "install", code=1, PATH=str(gantry.home))
    assert "systemctl is not there" in r.err
    assert not unit(gantry).exists()


def test_what_systemctl_refuses_is_said(gantry, systemctl):
    systemctl.fail("restart")
    r = gantry.run("service", "install", code=1)
    assert "no bus" in r.err and "restart failed" in r.err
    assert gantry.run("service", "enable", code=2).err
    assert gantry.run("service", code=2).err
