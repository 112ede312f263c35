"""
The fixture bot: gantry's environment points at a Bot API fake, and the fake is judged.

What holds for every scene with Telegram is checked at its end: the server refused nothing
(bot.tolerate names what a scene expects), and the token stands in no output, log or database.
"""

import subprocess

import pytest

from fakes.telegram import ALLOWED, TOKEN, Telegram

from .fixtures import processes_of

WITH_TELEGRAM = {"CHANNEL": "telegram", "TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_ALLOWED_USERS": str(ALLOWED),
                 "TOOL_TRACE": "off"}


class Bot(Telegram):
    """The fake with gantry in front of it."""

    def __init__(self):
        super().__init__()
        self.gantry = None

    def connect(self, gantry):
        self.gantry = gantry
        gantry.secrets |= {TOKEN, TOKEN.partition(":")[2]}
        gantry.set(TELEGRAM_API_BASE_URL=self.url, **WITH_TELEGRAM)
        return self

    def run(self, **more):
        """`gantry run`, polling."""
        before = len(self.of("getUpdates"))
        p = self.gantry.start("run", stdin=subprocess.DEVNULL, **more)
        try:
            self.wait_calls("getUpdates", before + 1, 30)
        except AssertionError as e:
            raise AssertionError("%s\n%s" % (e, p.report())) from None
        return p

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
