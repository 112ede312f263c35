"""Somebody who has never seen gantry: an empty home directory, and answers typed into a terminal."""

import re
import subprocess

from fakes.model import Reply

from .fixtures import FAKES, KEY, PYTHON, binary
from .process import Proc, Result
from .terminal import Terminal, plain


def fake_programs(folder, *names):
    """Programs that would fetch a tool server from the network: in their place stands the scripted one."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\nexec %s -S -E %s --log %s --ledger %s --tools echo\n" % (
            PYTHON, FAKES / "mcp_server.py", folder.parent / (name + ".log"), folder.parent / "ledger"))
        (folder / name).chmod(0o755)
    return folder


class Newcomer:
    """Somebody with an empty home directory, who types into a terminal."""

    def __init__(self, gantry):
        self.g, self.t, self.seen = gantry, None, 0
        self.dir = gantry.home / ".config" / "gantry"
        self.config = self.dir / "config.yaml"
        self.bin = fake_programs(gantry.dir / "bin", "npx")
        # The doctor, who looks at the end, asks the model too; a turn has a system message.
        gantry.model.apart = lambda request: request.roles == ["user"]
        gantry.model.aside = lambda request: Reply("pong")

    def env(self, **more):
        keep = ("HOME", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")
        env = {k: v for k, v in self.g.env().items() if k in keep}
        env.update({"PATH": "%s:/usr/bin:/bin" % self.bin, "TERM": "xterm-256color", **more})
        return {k: str(v) for k, v in env.items() if v is not None}

    def start(self, *args, prefix=(), rows=50, cols=200, **more):
        self.t = Terminal([*prefix, binary(), "onboard", *map(str, args)], self.env(**more), str(self.g.home),
                          rows=rows, cols=cols)
        self.seen = 0
        self.g.procs.append(self.t)
        return self

    @property
    def text(self):
        return plain(self.t.out.text).replace("\r", "")

    def see(self, pattern):
        """Wait until it was said after what was seen last; the match."""
        rx = re.compile(pattern, re.M)

        def look():
            m = rx.search(self.text, self.seen)
            return m if m or not self.t.running() else None
        m = self.t.board.wait(look, "%r" % pattern, 20, lambda: self.text)
        assert m, "it ended without %r:\n%s" % (pattern, self.text)
        self.seen = m.end()
        return m

    def answer(self, question, text=""):
        """Wait for a question (the end of its prompt) and answer it."""
        self.see(question + r"[^\n]*: $")
        self.seen = len(self.text)
        self.t.keys(text + "\r")
        return self

    def end(self, code=0):
        self.t.wait(30, code)
        assert self.t.mode == self.t.mode_before, "the terminal is not as it was"
        return self

    def run(self, *args, code=0, prefix=(), **more):
        """Without a terminal."""
        p = Proc([*prefix, binary(), "onboard", *map(str, args)], self.env(**more), str(self.g.home),
                 stdin=subprocess.DEVNULL, name="gantry onboard")
        self.g.procs.append(p)
        p.wait(30, code)
        return Result(p)

    def gantry(self, *args, input=None, code=0, **more):
        return self.g.run(*args, input=input, code=code, env=self.env(**more))

    def provider(self, model, key=KEY):
        """The first questions, with the fake as an endpoint of its own."""
        self.answer("Provider", "custom").answer("address", model.url).answer("key\\?").answer("Variable")
        return self.answer("API key", key)

    def rest(self, *, telegram="n", tools=("", "", "", "", "")):
        """Everything after the model, with defaults."""
        self.answer("Telegram\\?", telegram)
        self.answer("Workspace")
        for question, text in zip(("Read and write", "Fetch", "Run commands", "Remember", "Reminders"), tools):
            self.answer(question, text)
        return self.answer("Servers").answer("Time zone").answer("Write this")

    def nothing_written(self):
        left = [str(p) for p in self.g.home.rglob("*")]
        assert not left, left
