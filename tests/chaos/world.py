"""
One installation with everything on, the people who write to it, and what may befall it.

Everything that is chosen comes from one seeded generator, and only the loop of the run draws
from it; the fakes decide by what they are asked.  So a seed names the same messages, faults and
pauses each time; where in the program a death falls is the machine's part.
"""

import random
import re
import signal
import struct
import subprocess
import threading
import time

from fakes.mcp_http import Far, half_open
from fakes.model import Model, Reply, call
from fakes.telegram import ALLOWED
from harness.bot import Bot
from harness.fixtures import FAKES, KEY, PYTHON, Gantry, Mcp

GROUP, FORUM, TOPIC = -1001132277055, -1001557912345, 42
PLACES = [(ALLOWED, None), (GROUP, None), (FORUM, TOPIC)]
KINDS = ["plain", "tools", "long", "ask", "exec", "memory", "later", "dies", "hangs", "foe", "far"]
CONTROLS = ["/stop", "/new", "/status"]

CONFIG = """
log: {level: info, format: json}
agent: {model: test-model, persona_dir: %(persona)s, workspace: %(work)s, tool_trace: "%(trace)s",
  stream_replies: %(stream)s, max_history_messages: 8}
policy: {rules: [{tool: "ask__*", action: ask}, {tool: exec, action: allow}, {tool: "*", action: allow}]}
memory: {enabled: true}
cron: {enabled: true, tick_seconds: 1}
gateway: {grace: 2s}
"""
TOOLS = "tools: {exec: {enabled: true, allow: ['^echo [0-9a-z.]+ >> done && sleep 0.2$']}}"

# What the other sides do wrong, as the fakes say it.
TELEGRAM_FAULTS = [
    ("getUpdates", dict(http=502)), ("getUpdates", dict(reset=True)), ("getUpdates", dict(cut=12)),
    ("getUpdates", dict(error=(409, "Conflict: terminated by other getUpdates request"))),
    ("sendMessage", dict(flood=1)), ("sendMessage", dict(http=500)), ("sendMessage", dict(cut=9)),
    ("sendMessage", dict(reset=True)), ("sendMessage", dict(reset=True, done=True)),
    ("sendMessage", dict(error=(400, "Bad Request: can't parse entities: x"))),
    ("editMessageText", dict(flood=1)), ("editMessageText", dict(http=502)), ("sendChatAction", dict(reset=True)),
    ("answerCallbackQuery", dict(http=500))]
MODEL_FAULTS = [
    dict(status=429, headers={"Retry-After": "0"}, body={"error": {"message": "slow down"}}),
    dict(status=500, body=b"<html>oops"), dict(status=503, body={"error": {"message": "overloaded"}}),
    dict(text="a stream that is cut", close_after=120), dict(text="reset in the middle", reset=True, close_after=200),
    dict(sse=b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}\n\ndata: [DONE]\n\n"),
    dict(body=b"", status=200), dict(text="", calls=[]), dict(slow=True), dict(status=429, body={}, storm=12),
    dict(status=502, body=b"", storm=12)]
# What the kernel refuses, on the build with the seam; %d is when, at most the number.
KERNEL_FAULTS = [
    ("pwrite:%d-%d:ENOSPC", 120), ("fdatasync:%d:EIO", 120), ("pwrite:%d:EIO", 120), ("write:%d:EIO", 120),
    ("ftruncate:%d:EIO", 8), ("open:%d-%d:EMFILE", 120), ("kill:fdatasync:%d", 120), ("kill:pwrite:%d", 120),
    ("pwrite:%d-%d:SHORT", 120), ("write:%d-%d:SHORT", 120), ("read:%d-%d:SHORT", 60), ("pread:%d:EIO", 120),
    ("poll:%d-%d:EINTR", 400), ("recv:%d:ECONNRESET", 60), ("recv:%d-%d:SHORT", 60), ("send:%d-%d:EPIPE", 60),
    ("connect:%d-%d:ECONNREFUSED", 12), ("connect:%d:ETIMEDOUT", 12), ("resolve:%d-%d", 4), ("thread:%d-%d:EAGAIN", 30),
    ("eventfd:%d-%d:EMFILE", 60), ("pipe:%d:EMFILE", 20), ("socket:%d-%d:ENOBUFS", 20), ("lock:%d:ENOLCK", 400),
    ("alloc:%d:ENOMEM", 60000), ("child:fork:%d-%d:EAGAIN", 8), ("child:exec:%d:ENOMEM", 8), ("child:alloc:%d:ENOMEM", 20)]
# Tool servers that mean harm, and servers behind a URL that are none (None: connections, and nothing said).
FOES = ["answers-to-ids-never-asked", "answers-twice", "odd-ids", "asks-with-our-ids", "floods-requests", "floods-notices",
        "floods-progress", "floods-log", "floods-stderr", "endless-line", "bad-utf8", "half-a-line", "wide-bomb", "odd-entries",
        "error-with-a-string", "closes-stdout", "stops-itself", "stops-reading", "deaf-with-a-family"]
FARS = [["sse"], ["session"], ["sse", "session"], ["html"], ["half-json"], ["silent"], ["cut"], ["init-silent"], None]
SERVER_TRICKS = [[], ["noise"], ["stderr-lines=200"], ["list-changed=3"], ["colliding-ids"], ["twice"], ["crlf"],
                 ["request-first"], ["grandchild"], ["ignore-eof"], ["bad-json"], ["string-ids"]]


def answer_to(n, kind):
    if kind != "long":
        return "answer %s." % n
    return "\n\n".join("answer %s part %d. " % (n, p) + "x" * 2500 for p in range(3))


def first_round(n, kind):
    """The calls that a message of that kind leads to."""
    if kind == "tools":
        return [call("srv__count", label=n + ".a"), call("srv__count", label=n + ".b")]
    if kind == "ask":
        return [call("ask__count", label=n + ".q"), call("srv__count", label=n + ".a")]
    if kind == "exec":
        return [call("exec", command="echo %s.e >> done && sleep 0.2" % n)]
    if kind == "memory":
        return [call("memory_store", kind="fact", subject="s" + n, content="fact %s." % n), call("memory_recall", query="s" + n)]
    if kind == "later":
        return [call("cron_schedule", prompt="job %s." % n, when="in 1s")]
    if kind == "dies":
        return [call("srv__die"), call("srv__echo", text=n)]
    if kind in ("foe", "far"):
        return [call(kind + "__echo", text=n)]
    if kind == "hangs":
        return [call("srv__hang")]
    return []


class Script:
    """The model: an answer is a function of the message, so it is the same however often it is
    asked for, but for the faults that the run puts in its way."""

    def __init__(self):
        self.faults, self.lock = [], threading.Lock()

    def break_next(self, fault):
        with self.lock:
            self.faults.append(fault)

    def heal(self):
        with self.lock:
            self.faults.clear()

    def __call__(self, request):
        with self.lock:
            fault = self.faults.pop(0) if self.faults else None
        if fault and "slow" not in fault:
            return Reply(**fault)
        reply = self.good(request)
        if fault and reply.status == 200:
            reply.chunk, reply.pause = 60, 0.01
        return reply

    @staticmethod
    def good(request):
        at = max(i for i, m in enumerate(request.messages) if m["role"] == "user" and
                 re.search(r"(msg \d+ \w+|job \d+\.)", str(m["content"])))
        said = str(request.messages[at]["content"])
        if re.findall(r"msg \d+ \w+|job \d+\.", said)[-1].startswith("job"):
            return Reply("done %s." % re.findall(r"job (\d+)\.", said)[-1])
        n, kind = re.findall(r"msg (\d+) (\w+)", said)[-1]
        rounds = sum(1 for m in request.messages[at:] if m.get("tool_calls"))
        if rounds == 0 and first_round(n, kind):
            return Reply("Working.", calls=first_round(n, kind))
        if rounds == 1 and kind == "tools":
            return Reply(calls=[call("srv__count", label=n + ".c")])
        return Reply(answer_to(n, kind), pause=0.002 if kind == "long" else 0, chunk=400 if kind == "long" else None)


class World:
    """What there is while a run lasts."""

    def __init__(self, folder, seed, seam):
        self.rng = random.Random(seed)
        self.seam = seam
        self.model = Model(key=KEY).start()
        self.g = Gantry(folder, self.model)
        self.g.mcp = self.mcp = Mcp(self.g)
        self.bot = Bot().start().connect(self.g)
        self.script = Script()
        self.model.answer(self.script)
        self.bot.tolerate += ["not modified", "query is too old", "message to edit not found"]
        self.work = self.g.dir / "work"
        self.work.mkdir()
        self.clock = self.g.dir / "clock"
        self.offsets = [0, 0]
        self.proc, self.far = None, None
        self.said = []              # (update id, chat, thread, text, is a control word)
        self.deaths = 0
        self.log = []
        self._people()
        self._configure()

    def note(self, text):
        self.log.append("%8.3f %s" % (time.monotonic(), text))

    def _people(self):
        self.bot.group(GROUP)
        self.bot.forum(TOPIC, chat_id=FORUM)

    def _configure(self):
        g, rng = self.g, self.rng
        self.stream = rng.choice(["true", "false"])
        self.mcp.add("srv", "linger=0.2", *rng.choice(SERVER_TRICKS), tools=["count", "echo", "die", "hang"], timeout="2s")
        self.mcp.add("ask", "linger=0.1", tools=["count"])
        self.mcp.command("foe", PYTHON, ["-S", "-E", str(FAKES / "mcp_hostile.py"), rng.choice(FOES)], timeout="2s")
        tricks = rng.choice(FARS)
        self.far = half_open() if tricks is None else Far(*tricks)
        self.mcp.servers.append({"name": "far", "timeout": "2s", "url": self.far.url if tricks else
                                 "http://127.0.0.1:%d/mcp" % self.far.getsockname()[1]})
        self.mcp.write()
        # Nobody waits long for those.
        g.set(GANTRY_MCP_TURN_WAIT="2s", GANTRY_MCP_START_TIMEOUT="5s")
        self.bot.configure(CONFIG % dict(persona=g.persona, work=self.work, stream=self.stream,
                                         trace=rng.choice(["off", "compact", "full"])),
                           telegram='allow_from: [111]\ngroups: {"*": {require_mention: false}}', agent=False)
        path = g.dir / "config.yaml"
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"^tools: .*$", TOOLS, text, flags=re.M), encoding="utf-8")

    # The program ----------------------------------------------------------------------------

    def start(self, fault=None):
        """One life.  With a fault, or where the clock is to be set, the build with the seam."""
        seam = self.seam and (fault is not None or any(self.offsets) or self.rng.random() < 0.5)
        more = {}
        if seam:
            self.clock.write_bytes(struct.pack("=qq", *self.offsets))
            more["GANTRY_CLOCK"] = self.clock
            if fault:
                more["GANTRY_FAULT"] = fault
        self.in_seam, self.polls_before = seam, self.bot.long_polls()
        self.names(seam)
        self.note("start%s" % (" with " + fault if fault else " with a clock" if seam else ""))
        self.proc = self.g.start("run", *self.bot.args, seam=seam, stdin=subprocess.DEVNULL, **more)

    def names(self, seam):
        """The model by a name in lives whose look-ups can fail."""
        path = self.g.dir / "config.yaml"
        host = "model.test" if seam else "127.0.0.1"
        path.write_text(re.sub(r"(, base_url: http://)[^:/]+", r"\g<1>" + host, path.read_text(encoding="utf-8")), encoding="utf-8")

    def end(self, how):
        """The life ends: by SIGKILL, or by SIGTERM and a clean end."""
        p = self.proc
        if p.running():
            self.note("kill -9" if how == signal.SIGKILL else "SIGTERM")
            p.kill(how)
        p.wait(60)
        code = p.popen.returncode
        self.note("ended with %s" % code)
        if code == -signal.SIGKILL:
            p.expect_signal = signal.SIGKILL
        if code == -signal.SIGABRT and p.err.text.split("\n")[-2:][0].startswith("gantry: out of memory"):
            p.expect_signal = signal.SIGABRT
        self.deaths += code != 0
        self.proc = None

    # What happens ---------------------------------------------------------------------------

    def say(self):
        chat, thread = self.rng.choice(PLACES)
        control = self.rng.random() < 0.15
        n = str(len(self.said) + 1)
        kind = self.rng.choice(KINDS)
        text = self.rng.choice(CONTROLS) if control else "msg %s %s" % (n, kind)
        m = self.bot.say(text, chat, thread=thread)
        self.said.append((m.update, chat, thread, m.id, text))
        self.note("%s says %r" % (chat, text))

    def press(self):
        asked = [m for chat, _ in PLACES for m in self.bot.messages(chat) if m.buttons]
        if asked:
            m = self.rng.choice(asked)
            button = self.rng.choice(m.buttons)
            self.note("presses %r of %d" % (button[0], m.id))
            self.bot.press(m, button[1])

    def fault_of_telegram(self):
        method, how = self.rng.choice(TELEGRAM_FAULTS)
        self.note("%s will end with %s" % (method, how))
        self.bot.fail(method, **how)

    def fault_of_model(self):
        fault = self.rng.choice(MODEL_FAULTS)
        self.note("the model will answer %s" % str(fault)[:60])
        often = self.rng.choice([1, 1, 3])
        for _ in range(fault.get("storm", often)):
            self.script.break_next({k: v for k, v in fault.items() if k != "storm"})

    def refuse(self):
        """Nobody listens at Telegram's address, or nobody reads what comes to the model's."""
        how = self.rng.random()
        if how < 0.4:
            self.model.accept = not self.model.accept
            self.note("the model %s connections" % ("reads" if self.model.accept else "leaves unread what comes by"))
        elif how < 0.7:
            self.note("all of Telegram's calls are reset")
            self.bot.fail(None, reset=True, times=6)
        else:
            self.note("all of Telegram's calls end with 502")
            self.bot.fail(None, http=502, times=12)

    def freeze(self):
        if self.proc and self.proc.running():
            self.note("SIGSTOP, SIGCONT")
            self.proc.popen.send_signal(signal.SIGSTOP)
            pause(self.rng.uniform(0.05, 0.4))
            self.proc.popen.send_signal(signal.SIGCONT)

    def reload(self):
        if self.proc and self.proc.running() and self.reads():
            self.note("SIGHUP")
            self.proc.popen.send_signal(signal.SIGHUP)

    def reads(self):
        """Is it past its start, where a SIGHUP would end it?"""
        return self.bot.long_polls() > self.polls_before

    def set_clock(self):
        if self.proc and self.in_seam:
            which, by = self.rng.choice([(0, 5), (0, 90), (0, 3600), (1, -3600), (1, 86400)])
            self.offsets[which] += by * 1000
            self.note("clock %+d s%s" % (by, ", of the wall alone" if which else ""))
            with open(self.clock, "r+b") as f:
                f.write(struct.pack("=qq", *self.offsets))
            # Waits that were asked for are over by that clock.
            for chat in self.bot.chats.values():
                chat.quiet_from, chat.quiet_until = chat.quiet_from - abs(by), chat.quiet_until - abs(by)

    def heal(self):
        self.bot.heal()
        self.script.heal()
        self.model.accept = True

    def close(self):
        bad = self.g.stop()
        if self.far:
            self.far.close()
        self.bot.stop()
        self.model.stop()
        return bad


def pause(seconds):
    threading.Event().wait(seconds)


def ticks(seconds):
    """Looks at something, ten a second.  They are counted and no clock is read, so that a machine
    that was held up meanwhile ends nobody's patience."""
    for n in range(int(seconds * 10)):
        yield n
        pause(0.1)


def kernel_fault(rng):
    text, most = rng.choice(KERNEL_FAULTS)
    first = rng.randint(1, most)
    return text % ((first, first + rng.randint(0, 6)) if text.count("%d") == 2 else first)


def live(w):
    """Some lives of the program, each with a few things that happen."""
    rng = w.rng
    acts = [w.say] * 8 + [w.press] * 3 + [w.fault_of_telegram] * 3 + [w.fault_of_model] * 2 + \
           [w.refuse, w.freeze, w.reload, w.set_clock]
    for _ in range(rng.randint(2, 5)):
        w.start(kernel_fault(rng) if w.seam and rng.random() < 0.5 else None)
        for _ in range(rng.randint(3, 9)):
            rng.choice(acts)()
            pause(rng.choice([0, 0.01, 0.05, 0.2, 0.4]) * rng.random())
        pause(rng.uniform(0, 0.5))
        w.end(rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))


WAITING = ("select 'inbox' as what, id, state from inbox where state in ('ready', 'claimed') union all "
           "select 'turn', id, state from turns where state in ('ready', 'running', 'parked') union all "
           "select 'outbox', id, state from outbox where state in ('raw', 'ready') union all "
           "select 'run', id, state from job_runs where state = 'started' union all "
           "select 'job', id, 'due' from jobs where enabled = 1 and next_at_ms > 0")


def waiting(w):
    """What still waits, asked of the database alone."""
    return [tuple(r) for r in w.g.sql(WAITING)]


def press_all(w, pressed):
    """Press the first button of each question that was not pressed yet."""
    for chat, _ in PLACES:
        for m in w.bot.messages(chat):
            if m.buttons and (m.id, len(m.edits)) not in pressed:
                pressed.add((m.id, len(m.edits)))
                w.bot.press(m, m.buttons[0][1])


def quiet(w):
    """Does nothing wait any more?"""
    return not waiting(w)


def settle(w, seconds):
    """A last life without faults, in which everything comes to its end; False: it does not."""
    w.heal()
    w.start()
    pressed = set()
    last = w.said[-1][0] if w.said else 0
    for _ in ticks(seconds):
        assert w.proc.running(), "it does not stay up:\n" + w.proc.report()
        press_all(w, pressed)
        if w.reads() and w.bot.next_update > last and not w.bot.updates and w.g.db_path.exists() and quiet(w):
            return True
    return False
