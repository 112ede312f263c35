"""`gantry onboard`: a person at a terminal is led from nothing to an assistant that answers."""

import os
import re
import stat
import subprocess

import pytest

from fakes.model import Reply
from fakes.telegram import ALLOWED, TOKEN
from harness.fixtures import KEY, TREE, binary
from harness.process import Proc, Result
from harness.terminal import Terminal, plain
from harness.tls import Front, certificate
from harness.watch import Gate, limit

ROOT = os.getuid() == 0
AS_NOBODY = ["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups", "--"]
# Name, address and variable of each preset: what people rely on, written down a second time.
PRESETS = [
    ("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    ("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    ("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    ("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    ("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    ("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    ("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    ("ollama", "http://localhost:11434/v1", None),
    ("lmstudio", "http://localhost:1234/v1", None),
    ("llamacpp", "http://localhost:8080/v1", None),
]


class Newcomer:
    """Somebody with an empty home directory, who types into a terminal."""

    def __init__(self, gantry):
        self.g, self.t, self.seen = gantry, None, 0
        self.dir = gantry.home / ".config" / "gantry"
        self.config = self.dir / "config.yaml"

    def env(self, **more):
        keep = ("PATH", "HOME", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS")
        env = {k: v for k, v in self.g.env().items() if k in keep}
        env.update(TERM="xterm-256color", **more)
        return {k: str(v) for k, v in env.items() if v is not None}

    def start(self, *args, prefix=(), rows=50, cols=100, **more):
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


@pytest.fixture
def newcomer(gantry):
    gantry.secrets.add(KEY)
    return Newcomer(gantry)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_a_newcomer_gets_an_assistant_that_answers(newcomer, model):
    n = newcomer.start()
    n.provider(model)
    n.see("It has 1 model")
    n.answer("Model").rest()
    n.see("gantry chat")
    n.end()
    text = n.config.read_text()
    assert KEY not in text and "api_key_file: secrets/custom-key" in text
    assert (n.dir / "secrets" / "custom-key").read_text() == KEY + "\n"
    assert KEY not in n.t.out.text
    r = n.gantry("config", "validate")
    assert r.out == "OK: %s\n" % n.config and not r.err
    model.reply("Hello, newcomer.")
    r = n.gantry("prompt", "hi")
    assert r.out == "Hello, newcomer.\n"
    assert "personal assistant" in model.last.system


def test_everything_written_is_for_its_owner_alone(newcomer, model):
    newcomer.start().provider(model).answer("Model").rest().end()
    for p in [newcomer.dir, *newcomer.dir.rglob("*"), newcomer.g.home / "gantry-workspace"]:
        assert mode(p) == (0o700 if p.is_dir() else 0o600), p


@pytest.mark.parametrize("name, url, variable", PRESETS, ids=[p[0] for p in PRESETS])
def test_each_preset_knows_its_address_and_the_name_of_its_key(newcomer, name, url, variable):
    key = {variable: KEY} if variable else {}
    newcomer.run("--yes", "--provider", name, "--model", "m-1", "--no-check", **key)
    r = newcomer.gantry("config", "show", **key)
    assert re.search(r"^ *base_url: \"?%s\"?( |$)" % re.escape(url), r.out, re.M), r.out
    assert re.search(r"^ *model: m-1\b", r.out, re.M)
    if variable:
        assert "<set:env:%s>" % variable in r.out
    else:
        assert re.search(r"^ *no_key: true", r.out, re.M)
    assert newcomer.gantry("config", "validate", **key).out.startswith("OK")
