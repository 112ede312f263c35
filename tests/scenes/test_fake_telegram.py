"""The Bot API fake itself: what it refuses, how it polls, and that a fault on command comes."""

import http.client
import json
import threading

import pytest

from fakes.telegram import ALLOWED, PNG, TOKEN, Telegram
from harness.telegram_check import Api, Refused, parse_html, utf16
from harness.watch import Gate


class Client:
    """A caller on one connection."""

    def __init__(self, fake, token=TOKEN):
        self.http = http.client.HTTPConnection("127.0.0.1", fake.port, timeout=20)
        self.token = token

    def __call__(self, method, **params):
        self.http.request("POST", "/bot%s/%s" % (self.token, method), json.dumps(params).encode(),
                          {"Content-Type": "application/json"})
        r = self.http.getresponse()
        return json.loads(r.read())

    def form(self, method, boundary, body):
        self.http.request("POST", "/bot%s/%s" % (self.token, method), body,
                          {"Content-Type": "multipart/form-data; boundary=" + boundary})
        return json.loads(self.http.getresponse().read())


@pytest.fixture(params=["corpora", "built in"])
def fake(request):
    f = Telegram(api=Api("" if request.param == "built in" else None)).start()
    yield f
    f.stop()


@pytest.fixture
def call(fake):
    return Client(fake)


def says(answer, text):
    assert not answer["ok"] and text in answer["description"], answer


@pytest.mark.parametrize("params, text", [
    ({"chat_id": ALLOWED, "text": "x", "colour": 1}, "unknown parameter colour"),
    ({"chat_id": ALLOWED, "text": 5}, "text is not String"),
    ({"chat_id": ALLOWED}, "text is missing"),
    ({"chat_id": 1.5, "text": "x"}, "chat_id is not Integer or String"),
    ({"chat_id": True, "text": "x"}, "chat_id is not Integer or String"),
    ({"chat_id": ALLOWED, "text": "x", "reply_parameters": {"message_id": "7"}}, "message_id is not Integer"),
    ({"chat_id": ALLOWED, "text": "x", "reply_markup": {"inline_keyboard": [[{"label": "y"}]]}}, "reply_markup is not"),
    ({"chat_id": ALLOWED, "text": " \n "}, "text is empty"),
    ({"chat_id": ALLOWED, "text": "<b></b>", "parse_mode": "HTML"}, "text is empty"),
    ({"chat_id": ALLOWED, "text": "a" * 4097}, "too long"),
    ({"chat_id": ALLOWED, "text": "\U0001f600" * 2049}, "too long"),
    ({"chat_id": ALLOWED, "text": "&amp;" * 4097, "parse_mode": "HTML"}, "too long"),
    ({"chat_id": ALLOWED, "text": "<b>x", "parse_mode": "HTML"}, "can't parse entities"),
    ({"chat_id": ALLOWED, "text": "<b><i>x</b></i>", "parse_mode": "HTML"}, "can't parse entities"),
    ({"chat_id": ALLOWED, "text": "<h1>x</h1>", "parse_mode": "HTML"}, "Unsupported start tag"),
    ({"chat_id": ALLOWED, "text": "a & b", "parse_mode": "HTML"}, "can't parse entities"),
    ({"chat_id": ALLOWED, "text": "x", "parse_mode": "Markdown"}, "parse_mode"),
    ({"chat_id": ALLOWED, "text": "x", "message_thread_id": 1}, "thread not found"),
    ({"chat_id": ALLOWED, "text": "x", "reply_parameters": {"message_id": 7}}, "to be replied not found"),
    ({"chat_id": ALLOWED, "text": "x",
      "reply_markup": {"inline_keyboard": [[{"text": "y", "callback_data": "d" * 65}]]}}, "BUTTON_DATA_INVALID"),
])
def test_a_bad_message_is_refused_and_is_a_violation(fake, call, params, text):
    says(call("sendMessage", **params), text)
    assert len(fake.violations) == 1 and text in fake.violations[0]
    assert fake.seen() == []


@pytest.mark.parametrize("text", ["a" * 4096, "\U0001f600" * 2048, "&amp;" * 4096,
                                  '<b>x <a href="https://e.x/?a=1&amp;b">y</a></b>',
                                  '<pre><code class="language-c++">a &lt; b</code></pre>'])
def test_a_good_message_is_seen(fake, call, text):
    answer = call("sendMessage", chat_id=ALLOWED, text=text, parse_mode="HTML")
    assert answer["ok"] and fake.messages()[0].id == answer["result"]["message_id"]
    assert not fake.violations


def test_entities_are_those_of_the_tags():
    text, found = parse_html('\U0001f44b <b>a<i>b</i></b> <pre><code class="language-c">x &amp; y</code></pre>')
    assert text == "\U0001f44b ab x & y" and utf16("\U0001f44b") == 2
    assert [(e["type"], e["offset"], e["length"]) for e in found] == [
        ("italic", 4, 1), ("bold", 3, 2), ("code", 6, 5), ("pre", 6, 5)]
    with pytest.raises(Refused):
        parse_html('<a href="javascript:x">y</a>')


def test_edits_change_what_is_seen_and_nothing_else_may_be_edited(fake, call):
    n = call("sendMessage", chat_id=ALLOWED, text="one")["result"]["message_id"]
    assert call("editMessageText", chat_id=ALLOWED, message_id=n, text="two")["ok"]
    assert fake.seen() == ["two"] and fake.messages()[0].edits == ["one"]
    says(call("editMessageText", chat_id=ALLOWED, message_id=n, text="two"), "not modified")
    theirs = fake.say("mine")
    says(call("editMessageText", chat_id=ALLOWED, message_id=theirs.id, text="x"), "can't be edited")
    says(call("editMessageText", chat_id=ALLOWED, message_id=9999, text="x"), "not found")
    assert call("deleteMessage", chat_id=ALLOWED, message_id=n)["ok"] and fake.seen() == []
    assert len(fake.violations) == 3


def test_a_poll_waits_redelivers_and_is_confirmed_by_the_next(fake, call):
    got = []
    waiter = threading.Thread(target=lambda: got.append(call("getUpdates", timeout=20)))
    waiter.start()
    fake.wait_calls("getUpdates")
    m = fake.say("hello")
    waiter.join(20)
    assert [u["message"]["text"] for u in got[0]["result"]] == ["hello"]
    assert call("getUpdates")["result"] == got[0]["result"] and fake.given == []
    assert call("getUpdates", offset=m.update + 1)["result"] == [] and fake.given == [m.update]
    fake.jump_back()
    low = fake.say("after a quiet week")
    assert low.update < m.update
    assert [u["update_id"] for u in call("getUpdates", offset=m.update + 1)["result"]] == [low.update]
    assert call("getUpdates", offset=low.update + 1)["result"] == []


def test_a_second_poll_ends_the_first_with_409_and_a_webhook_is_another_409(fake, call):
    got = []
    waiter = threading.Thread(target=lambda: got.append(call("getUpdates", timeout=20)))
    waiter.start()
    fake.board.wait(lambda: fake.waiting, "the first poll to wait")
    assert Client(fake)("getUpdates")["ok"]
    waiter.join(20)
    says(got[0], "terminated by other getUpdates")
    fake.webhook = "https://hook.example/x"
    says(call("getUpdates"), "webhook is active")
    assert call("deleteWebhook")["ok"] and call("getUpdates")["ok"]


def test_only_asked_for_kinds_are_delivered(fake, call):
    fake.edit(fake.say("x"), "y")
    got = call("getUpdates", allowed_updates=["message"])["result"]
    assert [list(u)[1] for u in got] == ["message"]


def test_chats_refuse_by_their_state(fake, call):
    group = fake.group(-5, "group")
    says(call("sendMessage", chat_id=12345, text="x"), "chat not found")
    fake.chats[ALLOWED].blocked = True
    says(call("sendMessage", chat_id=ALLOWED, text="x"), "blocked by the user")
    fake.migrate(group, -1007, announce=False)
    assert call("sendMessage", chat_id=group, text="x")["parameters"] == {"migrate_to_chat_id": -1007}
    fake.chats[-1007].gone = True
    says(call("sendMessage", chat_id=-1007, text="x"), "group chat was deleted")
    forum = fake.forum(42)
    assert call("sendMessage", chat_id=forum, text="x", message_thread_id=42)["ok"]
    assert not fake.violations
    says(call("sendMessage", chat_id=forum, text="x", message_thread_id=43), "thread not found")
    assert fake.seen(forum, 42) == ["x"]


def test_a_flooded_chat_wants_its_peace(fake, call):
    fake.fail("sendMessage", flood=30)
    assert call("sendMessage", chat_id=ALLOWED, text="x")["parameters"] == {"retry_after": 30}
    fake.chats[ALLOWED].quiet_from -= 1
    call("sendMessage", chat_id=ALLOWED, text="x")
    assert "before its flood wait is over" in fake.violations[0]


@pytest.mark.parametrize("how, answer", [
    (dict(http=502), b"<html>"), (dict(error=(500, "Internal Server Error")), b"error_code"),
    (dict(cut=10), None), (dict(reset=True), None)])
def test_a_fault_comes_once(fake, how, answer):
    fake.fail("sendMessage", **how)
    c = Client(fake)
    try:
        c.http.request("POST", "/bot%s/sendMessage" % TOKEN, b'{"chat_id":111,"text":"x"}',
                       {"Content-Type": "application/json"})
        raw = c.http.getresponse().read()
        assert answer and answer in raw
    except (http.client.HTTPException, ConnectionError):
        assert answer is None
    assert fake.seen() == (["x"] if "cut" in how else [])
    assert Client(fake)("sendMessage", chat_id=ALLOWED, text="x")["ok"]
    assert not fake.violations


def test_a_gate_holds_an_answer_whose_message_is_seen(fake, call):
    gate = Gate()
    fake.fail("sendMessage", gate=gate)
    got = []
    t = threading.Thread(target=lambda: got.append(call("sendMessage", chat_id=ALLOWED, text="x")))
    t.start()
    gate.wait_reached()
    assert fake.seen() == ["x"] and not got
    gate.release()
    t.join(20)
    assert got[0]["ok"]


def test_an_upload_is_read_and_a_photo_can_be_fetched(fake, call):
    body = b"\r\n".join([b"--B", b'Content-Disposition: form-data; name="chat_id"', b"", b"111", b"--B",
                         b'Content-Disposition: form-data; name="document"; filename="a.txt"',
                         b"Content-Type: text/plain", b"", b"some text\r\n--x", b"--B--", b""])
    assert call.form("sendDocument", "B", body)["result"]["document"]["file_name"] == "a.txt"
    assert call.form("sendDocument", "B", body)["result"]["document"]["file_size"] == len(b"some text\r\n--x")
    m = fake.photo(PNG, "look")
    path = call("getFile", file_id=m.photo[-1]["file_id"])["result"]["file_path"]
    call.http.request("GET", "/file/bot%s/%s" % (TOKEN, path))
    assert call.http.getresponse().read() == PNG
    assert not fake.violations


def test_a_button_is_answered_once(fake, call):
    call("sendMessage", chat_id=ALLOWED, text="may I?",
         reply_markup={"inline_keyboard": [[{"text": "Yes", "callback_data": "ok:1"}]]})
    q = fake.press(fake.messages()[0], "Yes")
    assert call("getUpdates")["result"][0]["callback_query"]["data"] == "ok:1"
    assert call("answerCallbackQuery", callback_query_id=q, text="done")["ok"]
    says(call("answerCallbackQuery", callback_query_id=q), "query is too old")


def test_another_token_is_no_bot(fake):
    assert Client(fake, "1:other")("getMe")["error_code"] == 401
    assert Client(fake, "nonsense")("getMe")["error_code"] == 404
    assert fake.strangers == 2
