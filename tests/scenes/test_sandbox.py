"""What a command may do: each attack works without a sandbox, and none does in the strict one.

All of it runs as an unprivileged user where the tests run as root, with bounded attacks."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import pytest

from fakes.model import call
from harness.process import wait_gone
from harness.watch import SLOW, wait_until

UID = 65532
ROOT = os.getuid() == 0
AS_USER = ["setpriv", "--reuid=%d" % UID, "--regid=%d" % UID, "--clear-groups", "--"] if ROOT else []
SECRET = "-----BEGIN OPENSSH PRIVATE KEY----- wBhKs2"


def own(path):
    """Give a tree to the user the program runs as."""
    if ROOT:
        subprocess.run(["chown", "-R", "%d:%d" % (UID, UID), str(path)], check=True)


class Cell:
    """An installation of that user, and a place beside it that is none of a command's business."""

    def __init__(self, gantry):
        self.g = gantry
        self.work, self.out = gantry.dir / "work", gantry.dir / "outside"
        gantry.set(TOOLS="exec", GANTRY_AGENT_WORKSPACE=self.work, GANTRY_TOOLS_EXEC_TIMEOUT="60s",
                   GANTRY_TOOLS_EXEC_ALLOW=r"^bash attack\.sh$", TMPDIR=None, OUT=self.out, DATA=gantry.data)
        gantry.prefix = AS_USER
        self.reset()

    def reset(self):
        for d in (self.work, self.out):
            shutil.rmtree(d, ignore_errors=True)
            d.mkdir()
        (self.out / "f").write_text("outer\n")
        ssh = self.g.home / ".ssh"
        ssh.mkdir(exist_ok=True)
        (ssh / "id_ed25519").write_text(SECRET)
        own(self.g.dir)

    def exec(self, script, profile="strict", cwd=None, code=0, **env):
        """The result of a command that is this script."""
        (self.work / "attack.sh").write_text(script)
        own(self.work)
        args = {"command": "bash attack.sh"}
        return self.g.run("tools", "call", "exec", json.dumps(args), code=code,
                          GANTRY_TOOLS_EXEC_SANDBOX_PROFILE=profile, **env).out


@pytest.fixture
def cell(gantry):
    root = tempfile.mkdtemp(prefix="gantry-cell-")
    os.chmod(root, 0o755)
    gantry.__init__(root, gantry.model)
    yield Cell(gantry)
    gantry.stop()
    shutil.rmtree(root, ignore_errors=True)


def abi():
    import ctypes
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


landlock = pytest.mark.skipif(abi() < 6, reason="this kernel has no Landlock of ABI 6")

# Each script ends with success when the attack did what it wanted.
FILE_ATTACKS = {
    "read a key in home": "grep OPENSSH ~/.ssh/id_ed25519",
    "list the home": "ls -A ~ | grep ssh",
    "read the database": "head -c 15 $DATA/gantry.db | grep SQLite",
    "read the manifest": "cat $DATA/../mcp.toml",
    "read through /proc/self/root": "grep OPENSSH /proc/self/root$HOME/.ssh/id_ed25519",
    "write outside": "echo x >$OUT/new",
    "overwrite outside": "echo x >$OUT/f",
    "append outside": "echo x >>$OUT/f",
    "empty a file": "truncate -s 0 $OUT/f",
    "remove a file": "rm -f $OUT/f && ! test -e $OUT/f",
    "write through a symbolic link": "ln -s $OUT/f l && echo x >l",
    "read through a symbolic link": "ln -s ~/.ssh l && grep OPENSSH l/id_ed25519",
    "write through a hard link": "ln $OUT/f l && echo x >>l",
    "move a file in": "mv $OUT/f . && cat f",
    "move a file out": "echo x >n && mv n $OUT/f",
    "swap two directories": "mkdir d && mv $OUT/f d/ && cat d/f",
    "write through an open descriptor": "exec 7>>$OUT/f && bash -c 'echo x >&7'",
    "change a mode": "chmod 777 $OUT/f",
    "change a mode through a link": "ln -s $OUT/f l && chmod 777 l",
    "make a directory": "mkdir $OUT/d",
    "make a FIFO": "mkfifo $OUT/p",
    "run a program from outside": "cp /bin/true t && ./t && $OUT/../outside/prog",
    "write the database": "echo x >>$DATA/gantry.db-wal",
    "put a journal beside the database": ": >$DATA/gantry.db-journal",
    "write to the program's persona": "echo x >>$PERSONA_D/PERSONA.md",
}


@landlock
@pytest.mark.parametrize("name", FILE_ATTACKS)
def test_files_outside_are_out_of_reach(cell, name):
    script = FILE_ATTACKS[name]
    env = {"PERSONA_D": cell.g.persona}

    def prepare():
        cell.reset()
        shutil.copy("/bin/true", cell.out / "prog")
        own(cell.out)

    prepare()
    assert "exit_code: 0" in cell.exec(script, "off", **env)
    if name.startswith(("write the database", "put a journal")):
        shutil.rmtree(cell.g.data)
        cell.g.data.mkdir()
    prepare()
    out = cell.exec(script, **env)
    assert "exit_code: 0" not in out and "exit_code:" in out, out
    assert "OPENSSH" not in out
    assert (cell.out / "f").read_text() == "outer\n" and sorted(os.listdir(cell.out)) == ["f", "prog"]


@landlock
def test_what_is_allowed_works_in_the_strict_sandbox(cell):
    out = cell.exec("""set -e
        echo a >f; mkdir -p d/e; mv f d/e/; ln -s d/e/f l; cat l; rm -r d l
        echo t >$TMPDIR/t; cat $TMPDIR/t; cd $TMPDIR; mkdir x; cp -p t x/; cd -; rm -r $TMPDIR/x
        cp /bin/true prog; ./prog; chmod 700 prog
        /usr/bin/python3 -c 'import threading, subprocess; print(subprocess.check_output(["echo", "py"]))'
        git init -q repo; cd repo; git -c user.name=a -c user.email=b commit -q --allow-empty -m x; git log --oneline
        (echo sub; sleep 0.01) | cat; ls /usr/bin >/dev/null; cat /etc/hostname /proc/self/stat >/dev/null
        echo done >/dev/stderr; : </dev/urandom; date >/dev/null; test ! -t 0""")
    assert "exit_code: 0" in out and "sub" in out and "py" in out, out


@landlock
def test_the_temporary_directory_is_private_and_goes(cell):
    out = cell.exec("echo x >$TMPDIR/f; mkdir $TMPDIR/d; chmod 0 $TMPDIR/d; echo $TMPDIR; ! touch /tmp/x-$$")
    assert "exit_code: 0" in out, out
    path = re.search(r"/\S*/gantry-[0-9a-f]{32}", out).group(0)
    assert not os.path.exists(path)


@landlock
def test_compat_hides_only_what_is_ours(cell):
    secret = cell.g.dir / "token"
    secret.write_text("file-token-1234567")
    own(secret)
    cell.g.secrets.add("file-token-1234567")
    far = cell.g.dir / "far-token"
    far.write_text("far-token-1234567")
    own(far)
    cell.g.manifest.write_text('[[server]]\nname = "far"\nurl = "https://127.0.0.1:9/"\nauth = {bearer_file = "%s"}\n' % far)
    script = "grep -q OPENSSH ~/.ssh/id_ed25519 && echo x >$OUT/new && ls ~ && %s"
    for name, attack in {
        "database": "head -c 15 $DATA/gantry.db", "manifest": "cat $DATA/../mcp.toml", "key": "cat $DATA/../token",
        "key of a tool server": "cat $DATA/../far-token",
        "journal": "mv work/x $DATA/gantry.db-journal || : >$DATA/gantry.db-journal", "rename": "mv $DATA $DATA.old",
    }.items():
        cell.reset()
        out = cell.exec(script % ("! { %s; }" % attack), "compat", LLM_API_KEY=None, LLM_API_KEY_FILE=secret)
        assert "exit_code: 0" in out, (name, out)


# --- the network ---------------------------------------------------------------------------


@pytest.fixture
def servers():
    """A TCP and a UDP server that note what comes."""
    got = []
    tcp, udp = socket.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for s in (tcp, udp):
        s.bind(("127.0.0.1", 0))
    tcp.listen(4)

    def serve_tcp():
        while True:
            try:
                con, _ = tcp.accept()
            except OSError:
                return
            got.append(b"tcp " + con.recv(100))
            con.close()

    def serve_udp():
        while True:
            try:
                got.append(b"udp " + udp.recv(100))
            except OSError:
                return

    threads = [threading.Thread(target=f, daemon=True) for f in (serve_tcp, serve_udp)]
    for t in threads:
        t.start()
    yield tcp.getsockname()[1], udp.getsockname()[1], got
    for s in (tcp, udp):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        s.close()


NET_ATTACKS = {
    "tcp": "exec 3<>/dev/tcp/127.0.0.1/$TCP && echo hello >&3 && cat <&3",
    "udp": "exec 3<>/dev/udp/127.0.0.1/$UDP && echo hello >&3",
    "udp without connecting": "/usr/bin/python3 -c 'import socket, os; s = socket.socket(socket.AF_INET, "
                              "socket.SOCK_DGRAM); s.sendto(b\"hello\", (\"127.0.0.1\", int(os.environ[\"UDP\"])))'",
    "ipv6": "/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_INET6, socket.SOCK_STREAM)'",
    "raw io_uring": "/usr/bin/python3 -c 'import ctypes, sys; b = ctypes.create_string_buffer(240); "
                    "l = ctypes.CDLL(None, use_errno=True); r = l.syscall(425, 1, b); "
                    "sys.exit(0 if r >= 0 or ctypes.get_errno() != 38 else 1)'",
    "listen": "/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()'",
}


@pytest.mark.parametrize("name", NET_ATTACKS)
def test_a_closed_network_is_closed_for_every_kind_of_socket(cell, servers, name):
    tcp, udp, got = servers
    env = {"TCP": tcp, "UDP": udp}
    assert "exit_code: 0" in cell.exec(NET_ATTACKS[name], "off", **env)
    if name != "raw io_uring":
        assert "exit_code: 0" in cell.exec(NET_ATTACKS[name], "strict", **env)
    got.clear()
    for profile in ("strict", "compat"):
        out = cell.exec(NET_ATTACKS[name], profile, GANTRY_TOOLS_EXEC_SANDBOX_NETWORK="deny", **env)
        assert "exit_code: 0" not in out and "exit_code:" in out, out
    assert got == []


@landlock
@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_local_sockets_of_others_are_out_of_reach(cell, kind):
    s = socket.socket(socket.AF_UNIX)
    name = "\0gantry-test-%d" % os.getpid() if kind == "abstract" else str(cell.out / "sock")
    s.bind(name)
    s.listen(1)
    own(cell.out)
    script = ("/usr/bin/python3 -c 'import socket, os; socket.socket(socket.AF_UNIX).connect("
              "os.environ[\"SOCK\"].replace(\"@\", chr(0)))'")
    env = {"SOCK": name.replace("\0", "@")}
    assert "exit_code: 0" in cell.exec(script, "off", **env)
    assert "exit_code: 1" in cell.exec(script, **env)
    granted = cell.exec(script, GANTRY_TOOLS_EXEC_SANDBOX_GRANTS="sockets", **env)
    # Landlock scopes abstract ones also then; of paths it knows nothing.
    assert ("exit_code: 0" in granted) == (kind == "path")
    s.close()


# --- other processes ------------------------------------------------------------------------


@pytest.fixture
def victim():
    """A process of the same user with a token in its environment."""
    p = subprocess.Popen([*AS_USER, "sleep", "600"], env={"PATH": "/usr/bin:/bin", "TOKEN": "tok-5f2b-victim"})
    yield p
    p.kill()
    p.wait()


PROCESS_ATTACKS = {
    "signal": "kill -CONT $VICTIM",
    "signal 0": "kill -0 $VICTIM",
    "environ": "tr '\\0' '\\n' </proc/$VICTIM/environ | grep tok-5f2b",
    "mem": "/usr/bin/python3 -c 'import os; p = os.environ[\"VICTIM\"]; a = [l for l in open(f\"/proc/{p}/maps\") if "
           "\"[stack]\" in l][0].split()[0].split(\"-\"); f = open(f\"/proc/{p}/mem\", \"rb\"); f.seek(int(a[0], 16)); "
           "assert b\"tok-5f2b\" in f.read(int(a[1], 16) - int(a[0], 16))'",
    "ptrace": "/usr/bin/python3 -c 'import ctypes, os, sys; l = ctypes.CDLL(None); p = int(os.environ[\"VICTIM\"]); "
              "r = l.ptrace(16, p, 0, 0); os.waitpid(p, 0x40000000) if r == 0 else 0; l.ptrace(17, p, 0, 0); "
              "sys.exit(0 if r == 0 else 1)'",
    "its root": "ls /proc/$VICTIM/root/",
    "its descriptors": "readlink /proc/$VICTIM/fd/0",
}


@landlock
@pytest.mark.parametrize("name", PROCESS_ATTACKS)
def test_processes_outside_are_out_of_reach(cell, victim, name):
    env = {"VICTIM": victim.pid}
    out = cell.exec(PROCESS_ATTACKS[name], "off", **env)
    if name in ("ptrace", "mem") and "exit_code: 0" not in out and yama():
        pytest.skip("this kernel has no ptrace between strangers at all")
    assert "exit_code: 0" in out, out
    out = cell.exec(PROCESS_ATTACKS[name], **env)
    assert "exit_code: 0" not in out and "exit_code:" in out and "tok-5f2b" not in out, out


def yama():
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as f:
            return f.read().strip() != "0"
    except OSError:
        return False


@landlock
def test_the_daemon_cannot_be_signalled_traced_or_read(cell, model):
    model.reply("up")
    d = cell.g.daemon()
    d.send("hi")
    d.out.wait("up")
    key = cell.g.env()["LLM_API_KEY"]
    look = "for f in environ cmdline mem maps; do cat /proc/$VICTIM/$f; done 2>/dev/null"
    # Its memory and environment are closed to every process of the user, whatever the profile.
    for profile in ("off", "strict"):
        for name in ("mem", "ptrace", "environ", "its descriptors"):
            assert "exit_code: 0" not in cell.exec(PROCESS_ATTACKS[name], profile, VICTIM=d.pid, DATA_DIR=cell.g.dir / "d2")
        assert key not in cell.exec(look, profile, VICTIM=d.pid, DATA_DIR=cell.g.dir / "d2", code=None)
    for pid in [d.pid, *d.children()]:
        out = cell.exec("kill -KILL $VICTIM", VICTIM=pid, DATA_DIR=cell.g.dir / "d2")
        assert "exit_code: 1" in out and "not permitted" in out
    model.reply("still here")
    d.send("alive?")
    d.out.wait("still here")
    assert "exit_code: 0" in cell.exec("kill -KILL $VICTIM", "off", VICTIM=d.pid, DATA_DIR=cell.g.dir / "d2")
    d.wait(20, code=None)


# --- using things up -----------------------------------------------------------------------

BOMB = """/usr/bin/python3 - <<'E'
import os, signal, sys
kids = []
try:
    while len(kids) < 560:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        kids.append(pid)
except OSError:
    print("stopped at", len(kids))
for k in kids:
    os.kill(k, signal.SIGKILL)
sys.exit(0 if len(kids) == 560 else 1)
E"""


def test_a_fork_bomb_is_stopped(cell):
    with open("/proc/loadavg") as f:
        running = int(f.read().split("/")[1].split()[0])
    if running > 500:
        pytest.skip("too many processes run here to tell")
    if not ROOT:
        pytest.skip("the limit counts all processes of the user")
    assert "exit_code: 0" in cell.exec(BOMB, "off")
    out = cell.exec(BOMB, GANTRY_TOOLS_EXEC_SANDBOX_MAX_PROCS=16)
    assert "stopped at" in out and "exit_code: 1" in out, out


def test_a_file_has_a_largest_size(cell):
    big = "head -c 8M /dev/zero >f; test $(stat -c %s f) = 8388608"
    assert "exit_code: 0" in cell.exec(big, "off")
    out = cell.exec(big, GANTRY_TOOLS_EXEC_SANDBOX_MAX_FILE_BYTES=1048576)
    assert "exit_code: 1" in out and (cell.work / "f").stat().st_size <= 1048576


@pytest.mark.skipif(SLOW != 1, reason="a sanitizer's own memory would count")
def test_a_process_has_a_largest_memory(cell):
    fat = "/usr/bin/python3 -c 'b = bytearray(200 << 20)'"
    assert "exit_code: 0" in cell.exec(fat, "off")
    out = cell.exec(fat, GANTRY_TOOLS_EXEC_SANDBOX_MAX_MEMORY_BYTES=100 << 20)
    assert "exit_code: 1" in out and "MemoryError" in out


@pytest.fixture
def disk(cell):
    """A small file system of its own."""
    disk = cell.g.dir / "disk"
    disk.mkdir()
    if not ROOT or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)],
                                  stderr=subprocess.DEVNULL).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


FILL = ("head -c 12M /dev/zero >f0; for i in $(seq 1000); do head -c 64K /dev/zero >f$i || exit 3; "
        "/bin/sleep 0.02; done; rm -f f*")


def test_a_command_that_fills_the_disk_is_ended_before_it_is_full(cell, disk):
    cell.work = disk / "work"
    cell.g.set(GANTRY_AGENT_WORKSPACE=cell.work)
    cell.work.mkdir()
    assert "exit_code: 3" in cell.exec(FILL, "off")
    subprocess.run("rm -f %s/f*" % cell.work, shell=True, check=True)
    out = cell.exec(FILL, code=1)
    assert "killed because it filled the disk" in out
    assert os.statvfs(disk).f_bavail > 0, "nothing is left for the journal"


@landlock
def test_the_temporary_directory_may_lie_on_another_file_system(cell, disk):
    """It is private and goes there too, and what fills it is ended."""
    tmp = disk / "tmp"
    tmp.mkdir(mode=0o1777)
    own(tmp)
    free = os.statvfs(disk).f_bavail
    out = cell.exec("""set -e
        test $(stat -c %d .) != $(stat -c %d $TMPDIR)
        echo x >$TMPDIR/f; mv $TMPDIR/f f; cat f; mkdir -p $TMPDIR/d/e; cp f $TMPDIR/d/e/; chmod 0 $TMPDIR/d
        echo $TMPDIR; ! touch $TMPDIR/../other""", TMPDIR=tmp)
    assert "exit_code: 0" in out and "%s/gantry-" % tmp in out, out
    assert os.listdir(tmp) == [] and (cell.work / "f").read_text() == "x\n"
    out = cell.exec("cd $TMPDIR; " + FILL, code=1, TMPDIR=tmp)
    assert "killed because it filled the disk" in out, out
    assert os.listdir(tmp) == [] and os.statvfs(disk).f_bavail == free


# --- what outlives its command ---------------------------------------------------------------


def sleepers(seconds):
    found = subprocess.run(["pgrep", "-f", "^sleep %s$" % seconds], capture_output=True, text=True).stdout
    return [int(p) for p in found.split()]


@pytest.mark.parametrize("profile", ["off", "compat", "strict"])
def test_nothing_of_a_command_survives_it(cell, profile):
    mark = "300.%d" % os.getpid()
    quiet = ">/dev/null 2>&1"
    script = ("setsid sleep {m} {q} & (trap '' TERM HUP; setsid setsid sleep {m}) {q} & "
              "setsid bash -c 'sleep {m} & disown' {q} & "
              "until test \"$(pgrep -fc '^sleep {m}$')\" = 3; do :; done").format(m=mark, q=quiet)
    # With a plain shell they do.
    subprocess.run([*AS_USER, "bash", "-c", script], check=True, timeout=60 * SLOW)
    pids = sleepers(mark)
    assert len(pids) == 3
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        wait_gone(pid)
    out = cell.exec(script, profile)
    assert "exit_code: 0" in out and "left in the background" in out, out
    assert sleepers(mark) == []


@pytest.mark.parametrize("profile", ["off", "strict"])
def test_nothing_of_a_command_survives_a_kill_of_the_daemon(cell, model, profile):
    mark = "301.%d" % os.getpid()
    (cell.work / "attack.sh").write_text("(setsid sleep %s &); echo $TMPDIR >where; setsid sleep %s" % (mark, mark))
    own(cell.work)
    model.reply(calls=[call("exec", command="bash attack.sh")])
    d = cell.g.daemon(GANTRY_TOOLS_EXEC_SANDBOX_PROFILE=profile)
    d.send("go")
    wait_until(lambda: len(sleepers(mark)) == 2, "both sleepers", 30)
    pids = sleepers(mark)
    os.kill(d.pid, signal.SIGKILL)
    for pid in pids:
        assert wait_gone(pid, 10)
    d.wait(20, code=None)
    where = (cell.work / "where").read_text().strip()
    assert profile == "off" or "gantry-" in where
    if where:
        wait_until(lambda: not os.path.exists(where), "the directory to go", 30)


# --- what the kernel lacks --------------------------------------------------------------------


def test_without_landlock_require_refuses_and_the_rest_says_what_is_missing(cell):
    script = "cat $OUT/f"
    cell.g.set(GANTRY_LANDLOCK="0")

    def seam(**env):
        (cell.work / "attack.sh").write_text(script)
        own(cell.work)
        return cell.g.run("tools", "call", "exec", json.dumps({"command": "bash attack.sh"}), seam=True, **env)

    r = seam()
    assert "exit_code: 0" in r.out and "outer" in r.out     # nothing holds it
    r = seam(code=1, GANTRY_TOOLS_EXEC_SANDBOX_REQUIRE="true")
    assert "files are not confined (no Landlock)" in r.out and "outer" not in r.out
    status = cell.g.run("run", input="/status\n", seam=True).out
    assert "sandbox of commands: strict" in status and "missing: files are not confined (no Landlock)" in status
    status = cell.g.run("run", input="/status\n").out
    assert "missing: nothing" in status or abi() < 6


@landlock
@pytest.mark.parametrize("version, missing", [(1, "moved between directories"), (2, "can be emptied"), (3, "signals"),
                                              (4, "devices"), (5, "signals"), (6, "nothing")])
def test_each_older_landlock_confines_what_it_can(cell, version, missing):
    cell.g.set(GANTRY_LANDLOCK=version)
    status = cell.g.run("run", input="/status\n", seam=True).out
    assert "Landlock ABI %d" % version in status and missing in status
    for name in ("read a key in home", "overwrite outside", "write through a hard link", "read the database",
                 "empty a file"):
        cell.reset()
        (cell.work / "attack.sh").write_text(FILE_ATTACKS[name])
        own(cell.work)
        out = cell.g.run("tools", "call", "exec", json.dumps({"command": "bash attack.sh"}), seam=True).out
        assert "exit_code: 0" not in out and "exit_code:" in out, (name, out)


# --- the daemon itself -------------------------------------------------------------------------

PORTS = ("bind", "listen", "accept", "bind udp", "io_uring")


def test_the_daemon_can_open_no_port(cell, model):
    model.default = "hello"

    def tried(**env):
        p = cell.g.run("run", input="hi\n", seam=True, GANTRY_LISTEN="1", **env).proc
        return {w: re.search(r"seam: %s: (\w+)" % w, p.err.text).group(1) for w in PORTS}

    assert set(tried(GANTRY_UNCONFINED="1").values()) == {"done"}
    got = tried()
    # A UDP socket may be bound: some C libraries do so to ask a name server.
    assert got["listen"] == got["accept"] == "EPERM" and got["io_uring"] == "ENOSYS"
    assert got["bind"] == ("EACCES" if abi() >= 4 else "done")
    assert cell.g.run("run", input="/status\n").out.count("no port can be opened") == 1


def test_children_may_listen_when_nobody_forbids_it(cell):
    assert "exit_code: 0" in cell.exec(NET_ATTACKS["listen"])


# --- tool servers ---------------------------------------------------------------------------


@landlock
def test_a_server_of_the_manifest_can_be_confined_alone(cell, model):
    server = cell.work / "server.py"
    server.write_text('''
import json, os, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m:
        continue
    r = {}
    if m["method"] == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}},
             "serverInfo": {"name": "s", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
    elif m["method"] == "tools/call":
        said = []
        for path in (os.environ["OUT"] + "/f", os.path.expanduser("~/.ssh/id_ed25519"), os.environ["DATA"] + "/gantry.db"):
            try:
                open(path, "rb").read(1)
                said.append("read")
            except OSError as e:
                said.append(e.strerror)
        try:
            open(os.environ["OUT"] + "/written", "w").write("x")
            said.append("wrote")
        except OSError as e:
            said.append(e.strerror)
        r = {"content": [{"type": "text", "text": ", ".join(said)}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
''')
    entry = '[[server]]\nname = "%s"\ncommand = "/usr/bin/python3"\nargs = ["%s"]\nsandbox = %s\n'
    cell.g.manifest.write_text(
        entry % ("free", server, '"off"') + entry % ("held", server, '"strict"') +
        entry % ("part", server, json.dumps("compat")) +
        entry % ("given", server, '{ read = ["%s"], write = ["%s"] }' % (cell.g.home / ".ssh", cell.out)))
    own(cell.g.dir)
    model.reply("the database is there now")
    cell.g.talk("hi")
    got = {n: cell.g.run("tools", "call", n + "__look", "{}").out.strip() for n in ("free", "held", "part", "given")}
    status = cell.g.run("run", input="/status\n").out
    assert re.search(r"^server held: .*, sandbox strict, network allowed; .*missing: ", status, re.M)
    assert not re.search(r"^server free: .*sandbox", status, re.M)
    no = "Permission denied"
    assert got == {"free": "read, read, read, wrote", "held": ", ".join([no] * 4), "part": "read, read, %s, wrote" % no,
                   "given": "read, read, %s, wrote" % no}


def test_a_server_whose_sandbox_is_required_does_not_start_without_landlock(cell, model):
    cell.g.manifest.write_text('[[server]]\nname = "s"\ncommand = "cat"\nsandbox = { require = true }\n')
    out = cell.g.run("tools", "list", seam=True, code=None, GANTRY_LANDLOCK="0")
    assert "no Landlock" in out.out + out.err
