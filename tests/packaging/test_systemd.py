"""The unit is one that systemd takes, and it is as closed as gantry and its tools can bear."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
# Of ten; 10 is a service that may do everything.  What the rest is made of stands in the unit.
EXPOSURE_MAX = 3.5


@pytest.fixture
def root(tree, static, tmp_path):
    """A root that holds what the unit speaks of."""
    unit = tmp_path / "etc/systemd/system/gantry.service"
    unit.parent.mkdir(parents=True)
    shutil.copy(tree / "packaging/systemd/gantry.service", unit)
    for path in "usr/bin/gantry", "bin/kill":
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(static, tmp_path / path)
    shutil.copytree("/lib/systemd/system", tmp_path / "lib/systemd/system", symlinks=True)
    return tmp_path


def analyze(*words):
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, timeout=120)


def test_systemd_takes_every_line(root):
    r = analyze("verify", "--root=%s" % root, "gantry.service")
    ours = [line for line in (r.stdout + r.stderr).splitlines() if "gantry" in line]
    assert not ours, ours


def test_a_wrong_line_would_be_seen(root):
    unit = root / "etc/systemd/system/gantry.service"
    unit.write_text(unit.read_text().replace("ProtectClock=yes", "ProtectClocks=yes"))
    r = analyze("verify", "--root=%s" % root, "gantry.service")
    assert "ProtectClocks" in r.stdout + r.stderr


def test_it_is_as_closed_as_it_can_be(root, figures):
    r = analyze("security", "--offline=true", "--root=%s" % root, "--no-pager", "gantry.service")
    exposure = float(re.search(r"Overall exposure level for gantry.service: ([0-9.]+)", r.stdout)[1])
    figures("exposure %.1f" % exposure)
    assert exposure <= EXPOSURE_MAX


def test_what_tools_need_is_left_to_them(tree):
    text = (tree / "packaging/systemd/gantry.service").read_text()
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for taken in "MemoryDenyWriteExecute=", "RestrictNamespaces=", "ProcSubset=", "PrivateNetwork=":
        assert not any(line.startswith(taken) for line in lines)
    calls = next(line for line in lines if line.startswith("SystemCallFilter="))
    for call in "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp":
        assert call in calls


# --- the filter of calls, applied as systemd would ---------------------------------------------------


@pytest.fixture
def under(tree, static, tmp_path):
    """Run the program, inside the unit's SystemCallFilter or not; its data directory is one of its own."""
    def run(*words, inside=True, env=None, **more):
        home = tmp_path / ("in" if inside else "out")
        (home / "persona").mkdir(parents=True, exist_ok=True)
        (home / "mcp.toml").touch()
        before = [sys.executable, tree / "tests/packaging/filtered.py", tree / "packaging/systemd/gantry.service"] if inside else []
        return subprocess.run([*before, static, *words], capture_output=True, text=True, timeout=120, cwd=home,
                              env={"PATH": os.environ["PATH"], "HOME": str(home), "DATA_DIR": str(home / "data"),
                                   "PERSONA_DIR": str(home / "persona"), "MCP_MANIFEST": str(home / "mcp.toml"),
                                   "CHANNEL": "stdio", "LLM_BASE_URL": "http://127.0.0.1:9/v1", "LLM_API_KEY": "k", "LLM_MODEL": "m",
                                   "TOOLS": "exec", "GANTRY_TOOLS_EXEC_SANDBOX_REQUIRE": "true",
                                   "GANTRY_TOOLS_EXEC_ALLOW": ".*", **(env or {})}, **more)
    return run


def test_the_filter_refuses_what_is_not_in_it(tree):
    """To trace no process at all is ESRCH for anybody; under the filter it is EPERM, and what is in the list goes through."""
    sys.path.insert(0, str(tree / "tests/packaging"))
    import filtered
    code = ("import ctypes, os; c = ctypes.CDLL(None, use_errno=True); c.syscall(%d, 16, 0, 0, 0); "
            "print(ctypes.get_errno()); print(os.getpid() > 0)" % filtered.numbers()["ptrace"])
    for before, said in ([], errno.ESRCH), ([sys.executable, tree / "tests/packaging/filtered.py",
                                             tree / "packaging/systemd/gantry.service"], errno.EPERM):
        r = subprocess.run([*before, sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert r.stdout.split() == [str(said), "True"]
    names = filtered.allowed(tree / "packaging/systemd/gantry.service")
    assert {"openat2", "clone3", "execveat", "landlock_restrict_self", "seccomp", "pidfd_open"} <= names
    assert not {"reboot", "mount", "swapon", "bpf", "ptrace", "kexec_load"} & names


COMMANDS = [
    "echo hello; id -u >/dev/null && echo there",
    "echo x >f && chmod 755 f && stat -c %a f && rm f",
    "mkdir -p d/e && cd d && (sleep 0; pwd | tail -c 3) | cat",
    "cat /etc/shadow 2>/dev/null; echo $?",
    "ls \"$HOME/data\" 2>/dev/null; echo $?",
    "python3 -c 'import socket; s = socket.socket(); s.bind((\"127.0.0.1\", 0)); s.listen()' 2>&1 | tail -1; true",
    "ulimit -c; nice -n 1 true; timeout 5 sort </dev/null; echo done",
    "unshare -U true 2>/dev/null; echo $?",
]


def test_the_sandbox_of_commands_is_the_same_inside_the_unit_s_filter(under):
    said = {}
    for inside in False, True:
        for command in COMMANDS:
            r = under("tools", "call", "exec", json.dumps({"command": command}), inside=inside)
            said.setdefault(command, []).append((r.returncode, re.sub(r"duration_ms: .*", "", r.stdout)))
    for command, (without, within) in said.items():
        assert within == without, command
    assert "hello\nthere" in said[COMMANDS[0]][1][1] and "755" in said[COMMANDS[1]][1][1]


def test_doctor_finds_the_same_sandbox_inside_the_unit_s_filter(under):
    rows = []
    for inside in False, True:
        found = json.loads(under("doctor", "--offline", "--json", inside=inside).stdout)
        rows.append([(r["status"], r["message"]) for r in found if r["check"] == "sandbox"])
    assert rows[0] == rows[1] and rows[1]
