"""
The fixtures of every scene: gantry (the binary in a directory of its own), model, mcp.

What holds for every test is checked at its end, whatever the test was about: no process
survives, no sanitizer spoke, no crash, every request to the model and every MCP message was
valid, and no secret stands in any output or in the database.
"""

import json
import os
import pathlib
import shutil
import signal
import sqlite3
import tempfile
import urllib.parse

import pytest

from fakes.model import Model

from . import mcp_check
from .process import (Proc, Result, become_subreaper, command_of, descendants, reap_orphans,
                      wait_gone)
from .terminal import Terminal
from .watch import wait_files

TREE = pathlib.Path(__file__).resolve().parents[3]
FAKES = TREE / "tests" / "scenes" / "fakes"
PYTHON = "/usr/bin/python3"
# No prefix or label that a pattern would know: it has to be hidden by its value.
KEY = "Plain-K3y/with+odd=chars.0123456789abcdef"
PASSED_ON = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS", "LLVM_PROFILE_FILE")


def binary(seam=False):
    """The program under test: GANTRY, or with the time and fault seam GANTRY_TEST."""
    path = os.environ.get("GANTRY_TEST" if seam else "GANTRY")
    path = pathlib.Path(path) if path else TREE / "build" / ("test" if seam else ".") / "gantry"
    if not path.exists():
        pytest.fail("no binary to test at %s: make build" % path)
    return str(path.resolve())


def beside(name):
    """Another program of the build, which stands beside that with the seam."""
    path = pathlib.Path(binary(seam=True)).with_name(name)
    if not path.exists():
        pytest.fail("no %s at %s: make build" % (name, path))
    return str(path)


def toml(value):
    """A value in TOML (JSON's strings, numbers, booleans and arrays are TOML's)."""
    if isinstance(value, dict):
        return "{ " + ", ".join("%s = %s" % (json.dumps(k), toml(v)) for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


class Gantry:
    """One installation: its directories, its environment, the processes a test started in it."""

    def __init__(self, root, model):
        self.dir, self.model = pathlib.Path(root), model
        self.home, self.data = self.dir / "home", self.dir / "data"
        self.persona, self.manifest = self.dir / "persona", self.dir / "mcp.toml"
        for d in (self.home, self.data, self.persona):
            d.mkdir()
        (self.persona / "PERSONA.md").write_text("You are a test persona.\n", encoding="utf-8")
        self.manifest.write_text("", encoding="utf-8")
        self.db_path = self.data / "gantry.db"
        self.procs, self.secrets, self.settings, self.mcp = [], {KEY}, {}, None
        self.prefix = []    # what starts the program, for instance as another user
        self.may_show_secrets = False
        self.expect_leftovers = False

    # Start ----------------------------------------------------------------------------------

    def env(self, **more):
        """The whole environment of a process: nothing is inherited but PATH and sanitizer options.
        A value of None leaves the variable out."""
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8",
               "LLM_BASE_URL": self.model.url, "LLM_API_KEY": KEY, "LLM_MODEL": "test-model",
               "CHANNEL": "stdio", "PERSONA_DIR": str(self.persona), "DATA_DIR": str(self.data),
               "MCP_MANIFEST": str(self.manifest), "LOG_LEVEL": "debug",
               # A loaded machine starts the fake servers slowly.
               "GANTRY_MCP_TURN_WAIT": "60s"}
        env.update({k: os.environ[k] for k in PASSED_ON if k in os.environ})
        env.update(self.settings)
        env.update(more)
        return {k: str(v) for k, v in env.items() if v is not None}

    def set(self, **settings):
        """Settings (environment variables) for everything this test starts from now on."""
        self.settings.update(settings)
        return self

    def start(self, *args, env=None, seam=False, program=None, cwd=None, stdin="pipe", **more):
        """Start `gantry args...`, or that program; more are environment variables on top of env()."""
        p = Proc([*self.prefix, program or binary(seam), *map(str, args)], env if env is not None else self.env(**more),
                 str(cwd or self.dir), stdin=stdin, name="gantry " + " ".join(map(str, args)))
        self.procs.append(p)
        return p

    def daemon(self, **more):
        """`gantry run` with its messages on stdin."""
        return self.start("run", **more)

    def terminal(self, *args, env=None, rows=40, cols=100, err="tty", seam=False, **more):
        """A command on a terminal of its own, `gantry chat` unless told."""
        env = env if env is not None else self.env(TERM="xterm-256color", **more)
        t = Terminal([binary(seam), *(map(str, args) if args else ("chat",))], env, str(self.dir),
                     rows=rows, cols=cols, err=err)
        self.procs.append(t)
        return t

    def run(self, *args, input=None, code=0, seconds=None, **more):
        """Run a command to its end; code None takes any exit code."""
        p = self.start(*args, **more)
        if input is not None:
            data = input.encode() if isinstance(input, str) else input
            try:
                p.stdin.write(data)
            except BrokenPipeError:
                pass
        p.close_stdin()
        p.wait(seconds, code)
        return Result(p)

    def talk(self, *lines, code=0, **more):
        """A whole conversation through pipes; the Result."""
        return self.run("run", input="".join(line + "\n" for line in lines), code=code, **more)

    # Look -----------------------------------------------------------------------------------

    def sql(self, query, *args):
        """Rows of the database as it is on disk now.  A copy is read: nothing of ours ever
        opens a database that a process under test may hold."""
        with tempfile.TemporaryDirectory() as d:
            for suffix in ("", "-wal"):
                src = str(self.db_path) + suffix
                if os.path.exists(src):
                    shutil.copy(src, os.path.join(d, "gantry.db" + suffix))
            con = sqlite3.connect(os.path.join(d, "gantry.db"))
            con.row_factory = sqlite3.Row
            try:
                return con.execute(query, args).fetchall()
            finally:
                con.close()

    def log_lines(self, proc=None):
        """The JSON log lines of a process's stderr."""
        out = []
        for line in (proc or self.procs[-1]).err.lines:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict):
                out.append(row)
        return out

    # End ------------------------------------------------------------------------------------

    def stop(self):
        """End what still runs; sentences about what went wrong."""
        bad = []
        for p in self.procs:
            if p.running():
                p.close_stdin()
                if isinstance(p, Terminal):
                    p.expect_signal = signal.SIGTERM
                p.popen.send_signal(signal.SIGTERM)
                try:
                    p.wait(15)
                except AssertionError:
                    bad.append("%s did not stop on SIGTERM\n%s" % (p.name, p.report()))
                    p.kill()
                    p.wait(5)
        for p in self.procs:
            if p.crashed():
                bad.append("%s crashed with signal %d\n%s" % (p.name, -p.popen.returncode, p.report()))
            if p.sanitizer_report():
                bad.append("a sanitizer spoke in %s:\n%s" % (p.name, p.sanitizer_report()))
        return bad

    def replay(self, path):
        """What `gantry replay all` says of this scene's turns, added to a file."""
        if self.db_path.exists():
            p = Proc([binary(), "replay", "all"], self.env(GANTRY_CONFIG=None), str(self.dir), name="replay")
            p.close_stdin()
            p.wait(60)
            with open(path, "a", encoding="utf-8") as f:
                f.write("%s: %s%s\n" % (os.environ.get("PYTEST_CURRENT_TEST", ""), p.out.text, p.err.text))

    def _needles(self):
        for s in self.secrets:
            for form in {s, urllib.parse.quote(s, safe=""), urllib.parse.quote(s),
                         json.dumps(s)[1:-1], s.replace("/", "\\/")}:
                yield form.encode()

    def leaks(self):
        """Where a secret stands that should not: outputs, database, other files we wrote."""
        places = []
        for p in self.procs:
            places += [("stdout of " + p.name, bytes(p.out.data)), ("stderr of " + p.name, bytes(p.err.data))]
        for f in self.data.rglob("*"):
            if f.is_file():
                places.append((str(f.relative_to(self.dir)), f.read_bytes()))
        return ["a secret stands in %s" % where for where, data in places
                if any(n in data for n in self._needles())]


class Mcp:
    """The manifest of a test, and the scripted servers in it."""

    def __init__(self, gantry):
        self.gantry, self.servers, self.logs = gantry, [], {}
        self.ledger = gantry.dir / "ledger"
        self.judged = True

    def add(self, name="srv", *do, tools=None, revision=None, **keys):
        """A scripted server; do are tricks of fakes/mcp_server.py, keys go into the manifest."""
        log = self.gantry.dir / ("mcp-%s.log" % name)
        args = ["-S", "-E", str(FAKES / "mcp_server.py"), "--log", str(log), "--ledger", str(self.ledger)]
        if tools is not None:
            args += ["--tools", ",".join(tools)]
        if revision:
            args += ["--revision", revision]
        for trick in do:
            args += ["--do", trick]
        self.logs[name] = log
        return self.command(name, PYTHON, args, **keys)

    def command(self, name, command, args=(), **keys):
        """Any program as a server.  Pass tee=True to record its traffic."""
        argv = [command, *args]
        if keys.pop("tee", False):
            log = self.gantry.dir / ("mcp-%s.log" % name)
            self.logs[name] = log
            argv = [PYTHON, "-S", "-E", str(FAKES / "mcp_tee.py"), str(log), *argv]
        if "only" in keys:      # the manifest's own key is called tools
            keys["tools"] = keys.pop("only")
        self.servers.append({"name": name, "command": argv[0], "args": argv[1:], **keys})
        self.write()
        return self

    def write(self):
        text = ""
        for s in self.servers:
            text += "[[server]]\n" + "".join("%s = %s\n" % (k, toml(v)) for k, v in s.items()) + "\n"
        self.gantry.manifest.write_text(text, encoding="utf-8")

    def calls(self, name="srv"):
        return mcp_check.calls(self.logs[name]) if self.logs[name].exists() else []

    def received(self, method, name="srv"):
        return mcp_check.received(self.logs[name], method) if self.logs[name].exists() else []

    def events(self, name="srv"):
        log = self.logs[name]
        return [r["raw"] for r in mcp_check.read_log(log) if r["dir"] == "event"] if log.exists() else []

    def wait(self, test, what, seconds=None):
        """Wait until test() holds, which looks at logs or the ledger."""
        return wait_files(self.gantry.dir, test, what, seconds)

    def ledger_lines(self):
        return self.ledger.read_text(encoding="utf-8").splitlines() if self.ledger.exists() else []

    def faults(self):
        bad = []
        for log in self.logs.values():
            if log.exists() and self.judged:
                bad += mcp_check.check_log(str(log))
        return bad


def survivors(before, procs):
    """Descendants of the test run that were not there before; waits for those that are dying."""
    ours = {p.pid for p in procs}
    left = []
    for pid, (_, state, start) in descendants().items():
        if (pid, start) in before or pid in ours or state == "Z":
            continue
        if not wait_gone(pid, 5):
            left.append((pid, command_of(pid)))
    reap_orphans(ours | {pid for pid, _ in before})
    return left


@pytest.fixture
def model():
    m = Model(key=KEY).start()
    yield m
    m.stop()
    assert not m.violations, "the model refused:\n  " + "\n  ".join(m.violations)


@pytest.fixture
def gantry(tmp_path, model):
    become_subreaper()
    before = {(pid, st[2]) for pid, st in descendants().items()}
    g = Gantry(tmp_path, model)
    yield g
    bad = g.stop()
    left = survivors(before, g.procs)
    if left and not g.expect_leftovers:
        bad.append("left behind: %s" % left)
    for pid, _ in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    if not g.may_show_secrets:
        bad += g.leaks()
    if os.environ.get("GANTRY_REPLAY"):
        g.replay(os.environ["GANTRY_REPLAY"])
    if g.mcp:
        bad += g.mcp.faults()
    if bad:
        pytest.fail("\n".join(bad) + "\n" + "\n".join(p.report() for p in g.procs)[-8000:], pytrace=False)


@pytest.fixture
def mcp(gantry):
    gantry.mcp = Mcp(gantry)
    return gantry.mcp


def processes_of(item):
    """What the processes of a failed test said."""
    g = item.funcargs.get("gantry") if hasattr(item, "funcargs") else None
    return "\n".join(p.report() for p in g.procs) if g else ""
