"""
The fixture bot: gantry's environment points at a Bot API fake, and the fake is judged.

What holds for every scene with Telegram is checked at its end: the server refused nothing
(bot.tolerate names what a scene expects), and the token stands in no output, log or database.
"""

import struct
import subprocess
import threading

import pytest

from fakes.telegram import ALLOWED, TOKEN, Telegram

from .fixtures import processes_of
from .watch import wait_until

WITH_TELEGRAM = {"CHANNEL": "telegram", "TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_ALLOWED_USERS": str(ALLOWED),
                 "TOOL_TRACE": "off"}


class Bot(Telegram):
    """The fake with gantry in front of it."""

    def __init__(self):
        super().__init__()
        self.gantry, self.args, self.clock = None, [], None
        # The last edit of a streamed answer may find that all of it stands there already.
        self.tolerate.append("message is not modified")

    def connect(self, gantry):
        self.gantry = gantry
        gantry.secrets |= {TOKEN, TOKEN.partition(":")[2]}
        gantry.set(TELEGRAM_API_BASE_URL=self.url, **WITH_TELEGRAM)
        return self

    def configure(self, text="", telegram="allow_from: [%d]" % ALLOWED, agent=True):
        """Start from a file from now on; text is YAML at the top level, telegram below its key.
        agent: write that key too."""
        g = self.gantry
        if agent:
            text = "agent: {model: test-model, persona_dir: %s, tool_trace: \"off\"}\n%s" % (g.persona, text)
        self.args = ["--config", str(g.dir / "config.yaml")]
        (g.dir / "config.yaml").write_text("""
openai: {api_key_env: LLM_API_KEY, base_url: %s}
storage: {dsn: %s}
mcp: {manifest: %s}
tools: {filesystem: {enabled: false}, web_fetch: {enabled: false}, exec: {enabled: false}}
channels:
  telegram:
    api_base_url: %s
%s
%s
""" % (g.model.url, g.db_path, g.manifest, self.url,
       "\n".join("    " + line for line in telegram.splitlines()), text), encoding="utf-8")
        return self

    def long_polls(self):
        return len([c for c in self.of("getUpdates") if c.params.get("timeout")])

    def run(self, seam=False, **more):
        """`gantry run`, polling."""
        before = self.long_polls()
        p = self.gantry.start("run", *self.args, seam=seam, stdin=subprocess.DEVNULL, **more)
        threading.Thread(target=lambda: (p.popen.wait(), self.board.changed()), daemon=True).start()
        self.board.wait(lambda: self.long_polls() > before or not p.running(), "the first long poll", 30, p.report)
        assert p.running(), p.report()
        return p

    def run_clocked(self, **more):
        """The same on the seam build, whose clock step() moves."""
        self.clock = self.gantry.dir / "clock"
        self.clock.write_bytes(struct.pack("=q", 0))
        self.offset_ms = 0
        return self.run(seam=True, GANTRY_CLOCK=str(self.clock), **more)

    def idle(self):
        """No piece and no request is on its way: what a jump of the clock would make late."""
        return not [c for c in list(self.calls) if c.method != "getUpdates" and not c.fault and c.departed is None] and \
            not self.gantry.sql("select 1 from pieces where state = 'sending'")

    def step(self, seconds, busy=False):
        """Time passes for gantry (the file is mapped: written in place), once nothing is on its way, unless busy."""
        if not busy:
            wait_until(self.idle, "the sends to be over")
        self.offset_ms += int(seconds * 1000)
        with open(self.clock, "r+b") as f:
            f.write(struct.pack("=q", self.offset_ms))
        for chat in self.chats.values():
            chat.quiet_from, chat.quiet_until = chat.quiet_from - seconds, chat.quiet_until - seconds

    def stop_gantry(self, proc, seconds=30):
        proc.term()
        proc.wait(seconds, 0)

    def report(self):
        return self.view() + "\n" + "\n".join("%.3f %r" % (c.arrived, c) for c in self.calls[-40:])


@pytest.fixture
def bot(gantry):
    b = Bot().start().connect(gantry)
    yield b
    bad = gantry.stop()
    b.stop()
    bad += ["the Bot API refused: " + v for v in b.violations]
    if bad:
        pytest.fail("\n".join(bad) + "\n" + b.report()[-8000:], pytrace=False)


def chats_of(item):
    """What was seen in the chats of a failed test."""
    b = item.funcargs.get("bot") if hasattr(item, "funcargs") else None
    return b.report() + "\n" + processes_of(item) if b else processes_of(item)
