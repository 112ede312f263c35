"""
Bot API servers nobody here wrote.

telegram-test-api holds a plain conversation.  It cannot do more: it answers every poll at once,
ignores the offset, checks no parameter, knows neither photos, files, topics, HTML nor limits,
and answers 500 to the methods it lacks (setMyCommands, sendChatAction).

steady checks parameters against the Bot API's documentation, for all of its methods, and keeps
no state: one request of each kind that gantry sends to the scenes' server is sent to it again.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request

import pytest

from fakes.model import Reply, call
from fakes.telegram import ALLOWED, PNG, TOKEN
from harness.process import Proc
from harness.watch import Gate, Hung, limit

START = """
const Server = require(process.argv[1]);
new Server({port: Number(process.argv[2]), host: '127.0.0.1'}).start().then(() => console.log('ready'));
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class TestApi:
    """telegram-test-api, with a person at it."""

    __test__ = False

    def __init__(self, port):
        self.url, self.n = "http://127.0.0.1:%d" % port, 0

    def post(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as r:
            return json.load(r)

    def say(self, text):
        self.n += 1
        message = {"botToken": TOKEN, "date": 1700000000 + self.n, "text": text,
                   "from": {"id": ALLOWED, "first_name": "A", "is_bot": False},
                   "chat": {"id": ALLOWED, "first_name": "A", "type": "private"}}
        if text.startswith("/"):
            message["entities"] = [{"type": "bot_command", "offset": 0, "length": len(text)}]
        self.post("/sendCommand" if text.startswith("/") else "/sendMessage", message)

    def history(self):
        return [m["message"] for m in self.post("/getUpdatesHistory", {"token": TOKEN})["result"]
                if "chat_id" in m.get("message", {})]


@pytest.fixture
def served(rig, gantry, tmp_path):
    """gantry run against telegram-test-api."""
    port = free_port()
    p = Proc([rig.node, "-e", START, str(rig.modules / "telegram-test-api"), str(port)],
             {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, str(tmp_path), stdin=subprocess.DEVNULL)
    p.out.wait("ready", 60)
    gantry.secrets.add(TOKEN)
    gantry.set(CHANNEL="telegram", TELEGRAM_BOT_TOKEN=TOKEN, TELEGRAM_ALLOWED_USERS=str(ALLOWED),
               TELEGRAM_API_BASE_URL="http://127.0.0.1:%d" % port)
    yield TestApi(port)
    gantry.stop()
    p.kill()
    p.wait(20)


def test_a_plain_conversation_with_telegram_test_api(served, gantry, model):
    model.reply("Hello **Ada** & co")
    model.reply("You are Ada.")
    d = gantry.start("run", stdin=subprocess.DEVNULL)
    served.say("I am Ada")
    first = wait_until(lambda: served.history(), 1)
    assert first[0]["text"] == "Hello <b>Ada</b> &amp; co" and first[0]["chat_id"] in (ALLOWED, str(ALLOWED))
    served.say("who am I?")
    assert wait_until(lambda: served.history(), 2)[1]["text"] == "You are Ada."
    served.say("/status")
    assert "test-model" in wait_until(lambda: served.history(), 3)[2]["text"]
    d.term()
    assert d.wait(20) in (0, 143)


def wait_until(look, n):
    """This server tells nothing by itself, so it is asked again until it has n answers."""
    for _ in range(int(limit(20) / 0.05)):
        found = look()
        if len(found) >= n:
            return found
        threading.Event().wait(0.05)
    raise Hung("%d answers are there, not %d: %s" % (len(found), n, found))


# steady ------------------------------------------------------------------------------------------

@pytest.fixture
def steady(rig, tmp_path):
    corpora = os.environ.get("GANTRY_CORPORA")
    if not corpora:
        pytest.skip("GANTRY_CORPORA is not set")
    corpora = pathlib.Path(corpora)
    document = tmp_path / "tg-openapi.json"
    with open(document, "wb") as f:
        subprocess.run([sys.executable, str(corpora / "tg-openapi.py"), str(corpora / "telegram-api.json")],
                       stdout=f, check=True)
    port = free_port()
    p = Proc([str(rig.modules / "@stdy" / "cli-linux-x64" / "bin" / "steady"), "--host", "127.0.0.1", "--no-color",
              "-p", str(port), str(document)], {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, str(tmp_path),
             stdin=subprocess.DEVNULL)
    p.out.wait("Ready to accept", 60)
    yield "http://127.0.0.1:%d" % port
    p.kill()
    p.wait(20)


def judged(url, method, kind, body):
    """steady's word on a request: None, or what it has against it."""
    request = urllib.request.Request("%s/bot%s/%s" % (url, TOKEN, method), body or b"{}",
                                     {"Content-Type": kind or "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as r:
            r.read()
    except urllib.error.HTTPError as e:
        return e.read().decode("utf-8", "replace")
    return None


def test_steady_is_strict_itself(steady):
    assert judged(steady, "sendMessage", "application/json", b'{"chat_id":1,"text":"x"}') is None
    assert "colour" in judged(steady, "sendMessage", "application/json", b'{"chat_id":1,"text":"x","colour":1}')


def test_one_request_of_each_kind_is_what_the_documentation_says(steady, bot, gantry, model, mcp):
    mcp.add("srv", tools=["count", "slow"])
    forum = bot.forum(42)
    bot.configure("""policy: {rules: [{tool: "srv__count", action: ask}]}
agent: {model: test-model, persona_dir: %s, tool_trace: full, stream_replies: true}""" % gantry.persona, agent=False,
                  telegram='allow_from: [%d]\ngroups: {"*": {require_mention: false}}' % ALLOWED)
    bot.webhook = "https://hook.example/x"
    gate = Gate()
    model.reply("one two three four", gate=gate, gate_at="end")
    bot.run()
    bot.say("stream", forum, thread=42)
    gate.wait_reached()
    bot.wait_text("four", forum, 42)
    gate.release()
    model.reply(calls=[call("srv__count", label="short")])
    model.reply("![p](https://ex.com/a.png) words " + "x " * 3000)
    bot.photo(PNG, "look")
    prompt = bot.wait_text("short")
    bot.board.wait(lambda: prompt.buttons, "the buttons")
    bot.press(prompt, "Yes")
    bot.wait_text("x x$")
    model.reply(calls=[call("srv__count", label="y" * 9000)])
    model.answer(lambda r: Reply("end"))
    bot.say("long command")
    long = bot.board.wait(lambda: next((m for m in bot.messages() if m.buttons), None), "the second question")
    bot.press(long, "No")
    bot.wait_text("^end$")
    kinds = {}
    for c in list(bot.calls):
        if c.method != "file":
            kinds.setdefault((c.method, tuple(sorted(c.params)), tuple(sorted(c.files))), c)
    methods = {k[0] for k in kinds}
    assert {"getMe", "getUpdates", "setMyCommands", "sendMessage", "editMessageText", "sendChatAction", "sendPhoto",
            "answerCallbackQuery", "getFile", "deleteWebhook"} <= methods, methods
    faults = {k: judged(steady, k[0], *c.raw) for k, c in kinds.items()}
    assert not any(faults.values()), {k: v for k, v in faults.items() if v}
    print("\n%d kinds of requests of %d methods" % (len(kinds), len(methods)))
