"""
The scenes that are conversations: a life in which something fails, one without faults in which all
comes to its end, and the judge of tests/chaos.
"""

import re
import signal
import sqlite3
import subprocess

import judge
import world
from fakes.mcp_http import Far
from fakes.model import Model, Reply, call
from fakes.telegram import ALLOWED
from harness.fixtures import KEY, Gantry, Mcp
from harness.host import Host

REST = 40       # seconds within which a life is at rest, or over
SETTLE = 60
SAID = [(ALLOWED, None, "msg 1 tools"), (world.GROUP, None, "msg 2 ask"), (world.FORUM, world.TOPIC, "msg 3 exec"),
        (ALLOWED, None, "msg 4 memory"), (world.GROUP, None, "msg 5 later"), (world.FORUM, world.TOPIC, "msg 6 long"),
        (ALLOWED, None, "/status")]


def ended(p, out, one_line=False):
    """What may not be said of how a process ended in which something failed: sentences."""
    code, err = p.popen.returncode, p.err.text
    lines = [x for x in err.split("\n") if x and not x.startswith("{")]
    bad = []
    if "Assertion" in err:
        bad.append("an assertion failed: %s" % err[-600:])
    elif code == -signal.SIGABRT:
        if len(re.findall(r"^gantry: out of memory: .+$", err, re.M)) != 1:
            bad.append("it aborted without a line: %r" % err[-300:])
        out.append("aborted")
    elif code is not None and code < 0:
        bad.append("it died of signal %d: %s" % (-code, err[-600:]))
    elif code not in (0, 1, 2, None):
        bad.append("exit code %s" % code)
    elif code and not err.strip() and not (one_line and p.out.text.strip()):
        bad.append("it ended with %d and said nothing" % code)
    elif one_line and len([x for x in lines if x.startswith("gantry: ")]) > 1:
        bad.append("more than one line: %s" % lines)
    return bad


def over(p, seconds, how):
    """Wait for the end of a process, and bring it about when it does not come."""
    bad = []
    if not any(not p.running() for _ in world.ticks(seconds)):
        bad.append("it does not end %s" % how)
        p.kill()
    p.wait(20)
    return bad


def at_rest(w):
    """Nothing waits, in a database that may not be there yet."""
    try:
        return w.g.db_path.exists() and world.quiet(w)
    except sqlite3.Error:
        return False


class Telegram(world.World):
    """Everything on, over Telegram: the conversation is always the same."""

    def __init__(self, folder):
        super().__init__(folder, 1, False)
        self.notes = []

    def _configure(self):
        g = self.g
        self.stream = "true"
        self.mcp.add("srv", "linger=0.05", tools=["count", "echo"], timeout="5s")
        self.mcp.add("ask", "linger=0.05", tools=["count"])
        self.bot.configure(world.CONFIG % dict(persona=g.persona, work=self.work, stream="true", trace="compact"),
                           telegram='allow_from: [111]\ngroups: {"*": {require_mention: false}}', agent=False)
        path = g.dir / "config.yaml"
        path.write_text(re.sub(r"^tools: .*$", world.TOOLS, path.read_text(encoding="utf-8"), flags=re.M), encoding="utf-8")

    def live(self, **env):
        """The life in which something fails; sentences."""
        self.in_seam, self.polls_before = True, self.bot.long_polls()
        p = self.proc = self.g.start("run", *self.bot.args, seam=True, stdin=subprocess.DEVNULL, **env)
        for chat, thread, text in SAID:
            m = self.bot.say(text, chat, thread=thread)
            self.said.append((m.update, chat, thread, m.id, text))
        pressed, bad = set(), []
        for _ in world.ticks(REST):
            if not p.running() or (self.reads() and not self.bot.updates and at_rest(self)):
                break
            world.press_all(self, pressed)
        else:
            bad.append("after %d s it neither ended nor came to rest: %s" % (REST, world.waiting(self)))
        if p.running():
            p.term()
        bad += over(p, 20, "on SIGTERM")
        self.deaths += p.popen.returncode != 0
        return bad + ended(p, self.notes)

    def judged(self):
        bad = []
        try:
            if not world.settle(self, SETTLE):
                bad.append("something still waits after %d s without a fault: %s" % (SETTLE, world.waiting(self)))
            self.end(signal.SIGTERM)
            if self.g.procs[-1].popen.returncode != 0:
                bad.append("the clean end was none: %s" % self.g.procs[-1].popen.returncode)
        except AssertionError as e:
            return bad + [str(e)[-3000:]]
        return bad + judge.judge(self, world.PLACES)


class Pipe:
    """Lines on stdin, answers on stdout, a tool server behind a URL: `gantry run` with variables."""

    LINES = ["msg 1 tools", "msg 2 memory", "msg 3 far", "msg 4 long"]

    def __init__(self, folder):
        self.model = Model(key=KEY).start()
        self.g = Gantry(folder, self.model)
        self.g.mcp = self.mcp = Mcp(self.g)
        self.far = Far("sse", "session")
        self.notes, self.work, self.said, self.deaths = [], self.g.dir, [], 0
        self.mcp.add("srv", "linger=0.05", tools=["count", "echo"], timeout="5s")
        self.mcp.servers.append({"name": "far", "url": self.far.url, "timeout": "5s"})
        self.mcp.write()
        script = world.Script()

        def answer(request):
            at = max(i for i, m in enumerate(request.messages) if m["role"] == "user")
            said = str(request.messages[at]["content"])
            if "msg 3 far" in said and not any(m.get("tool_calls") for m in request.messages[at:]):
                return Reply(calls=[call("far__echo", text="over there")])
            return script(request)
        self.model.answer(answer)
        self.g.set(LOG_LEVEL="info", HISTORY_MAX_MESSAGES="6")

    def live(self, **env):
        p = self.g.start("run", seam=True, **env)
        bad = []
        try:
            for line in self.LINES:
                p.send(line)
        except (BrokenPipeError, OSError):
            pass
        p.close_stdin()
        bad += over(p, REST, "with its input")
        self.deaths += p.popen.returncode != 0
        self.out = p.out.text
        return bad + ended(p, self.notes)

    def judged(self):
        clean = self.g.procs[-1].popen.returncode == 0
        p = self.g.start("run")
        p.close_stdin()
        bad = over(p, SETTLE, "with its input")
        bad += [] if p.popen.returncode == 0 else ["the life without faults ended with %s: %s" % (p.popen.returncode, p.report())]
        self.out += p.out.text
        rows = {r["text"]: r for r in self.g.sql("select i.text, t.state from inbox i left join turns t on t.id = i.turn_id")}
        self.said = [(n, 0, None, n, line) for n, line in enumerate(self.LINES) if clean or line in rows]
        for line in rows:
            n = line.split()[1]
            if rows[line]["state"] == "done" and "answer %s" % n not in self.out:
                bad.append("%r is done and its answer was never printed" % line)
        return bad + judge.of_database(self)

    def close(self):
        bad = self.g.stop()
        self.far.close()
        self.model.stop()
        return bad

    bot = None


def answered(host, n):
    """Did the host get its answer, or will it never?"""
    return not host.proc.running() or any(isinstance(m, dict) and m.get("id") == n for m in host.messages())


class Hosted(Pipe):
    """`gantry mcp`: a host asks for a turn and calls a tool."""

    LINES = ["msg 1 tools", "msg 2 memory"]

    def live(self, **env):
        p = self.g.start("mcp", seam=True, **env)
        bad = []
        try:
            host = Host(p)
            n = host.request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "x", "version": "1"})
            if not any(answered(host, n) for _ in world.ticks(REST)):
                bad.append("the host was left without an answer")
            host.notify("notifications/initialized")
            for line in self.LINES:
                n = host.call("ask", {"text": line})
                if not any(answered(host, n) for _ in world.ticks(REST)):
                    bad.append("the host was left without an answer to %r" % line)
        except (BrokenPipeError, OSError):
            pass
        p.close_stdin()
        bad += over(p, REST, "with its input")
        self.deaths += p.popen.returncode != 0
        self.out = p.out.text
        return bad + ended(p, self.notes)

    def judged(self):
        p = self.g.start("run")
        p.close_stdin()
        bad = over(p, SETTLE, "with its input")
        bad += [] if p.popen.returncode == 0 else ["the life without faults ended with %s: %s" % (p.popen.returncode, p.report())]
        return bad + judge.of_database(self)
