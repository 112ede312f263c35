"""A conversation on Telegram: from the first start to the words a person reads."""

import re

import pytest

from fakes.model import Reply, call
from fakes.telegram import ALLOWED, STRANGER, TOKEN
from harness.watch import Gate

pytestmark = pytest.mark.concurrency


def test_a_message_is_answered_and_the_next_knows_of_it(bot, model):
    model.reply("Hello **Ada**")
    model.reply("You are Ada.")
    d = bot.run()
    bot.say("I am Ada")
    m = bot.wait_text("Hello Ada")
    assert m.kinds() == ["bold"]
    bot.say("who am I?")
    bot.wait_text("You are Ada")
    assert bot.seen() == ["Hello Ada", "You are Ada."]
    assert [x["role"] for x in model.last.messages] == ["system", "user", "assistant", "user"]
    bot.stop_gantry(d)


def test_commands_are_announced_and_the_poll_asks_only_for_what_is_read(bot):
    bot.run()
    assert {"help", "new", "status", "stop", "whoami", "tools", "resend"} <= {c["command"] for c in bot.commands}
    poll = bot.wait_calls("getUpdates", 1, test=lambda c: c.params.get("timeout", 0) > 0)
    assert sorted(poll.params["allowed_updates"]) == ["callback_query", "message"]
    assert poll.params["timeout"] >= 20


def test_typing_is_shown_while_a_turn_works(bot, model):
    gate = Gate()
    model.reply("done", gate=gate)
    bot.run()
    bot.say("go")
    gate.wait_reached()
    assert bot.wait_calls("sendChatAction").params == {"chat_id": ALLOWED, "action": "typing"}
    bot.wait_calls("sendChatAction", 2)
    gate.release()
    bot.wait_text("done")


def test_an_answer_does_not_wait_for_a_typing_call_that_hangs(bot, model):
    hung = bot.fail("sendChatAction", hang=True, times=None)
    gate = Gate()
    model.reply("quick", gate=gate)
    bot.run()
    bot.say("go")
    bot.board.wait(lambda: hung.hits, "the typing call")
    gate.release()
    bot.wait_text("quick", seconds=2)


def test_an_answer_replies_to_nothing_that_is_gone(bot, model):
    gate = Gate()
    model.reply("answer", gate=gate)
    bot.run()
    m = bot.say("question")
    gate.wait_reached()
    m.deleted = True
    gate.release()
    bot.wait_text("answer")


def test_a_wrong_token_ends_the_start_with_one_clear_line(bot, gantry):
    bad = "987654321:AAwrong-Token_0123456789abcdefghijk"
    gantry.secrets.add(bad)
    p = gantry.start("run", TELEGRAM_BOT_TOKEN=bad)
    assert p.wait(30) not in (0, None)
    assert re.search("(?i)token", p.err.text) and not bot.of("getUpdates")
    assert bot.strangers == 1


def test_an_unreachable_server_is_asked_again_until_it_is_there(bot, gantry, model):
    bot.fail("getMe", http=502, times=2)
    model.reply("here")
    bot.run()
    assert len(bot.of("getMe")) == 3
    bot.say("hi")
    bot.wait_text("here")


def test_a_server_that_refuses_connections_is_waited_for(bot, gantry):
    port = bot.port
    p = gantry.start("run", TELEGRAM_API_BASE_URL="http://127.0.0.1:1")
    p.err.wait("(?i)telegram[^\n]*(unreach|connect|getMe)")
    assert p.running()
    p.term()
    assert p.wait(20) in (0, 143)
    assert port == bot.port


def test_the_menu_of_commands_may_fail(bot, model):
    bot.fail("setMyCommands", error=(400, "Bad Request: BOT_COMMAND_INVALID"))
    model.reply("fine")
    bot.run()
    bot.say("hi")
    bot.wait_text("fine")


def test_the_token_is_nowhere_not_even_when_calls_fail(bot, gantry, model):
    for how in (dict(http=502, body=("<html>%s</html>" % TOKEN).encode()),
                dict(error=(400, "Bad Request: /bot%s/ is bad" % TOKEN)), dict(reset=True)):
        bot.fail("sendMessage", **how)
        bot.fail("getUpdates", **how)
        bot.fail("sendChatAction", **how)
    model.answer(lambda r: Reply("answer"))
    d = bot.run(LOG_LEVEL="debug")
    for n in range(4):
        bot.say("n%d" % n)
    model.wait(4)
    bot.wait_seen(1)
    gantry.run("status", code=None)
    bot.stop_gantry(d)


def test_strangers_are_neither_answered_nor_asked_about(bot, model):
    model.reply("only you")
    d = bot.run()
    bot.user(STRANGER)
    bot.say("hello?", chat=STRANGER, user=STRANGER)
    bot.say("/status", chat=STRANGER, user=STRANGER)
    bot.say("/stop", chat=STRANGER, user=STRANGER)
    bot.say("hi")
    bot.wait_text("only you")
    assert bot.seen(STRANGER) == [] and not [c for c in bot.calls if c.chat == STRANGER]
    assert "999" in d.err.text


@pytest.mark.parametrize("update", [
    ("channel_post", {"message_id": 5, "date": 1, "text": "hi",
                      "sender_chat": {"id": -1001132277055, "type": "channel", "title": "c"},
                      "chat": {"id": -1001132277055, "type": "channel", "title": "c"}}),
    ("message", {"message_id": 5, "date": 1, "text": "hi", "chat": {"id": ALLOWED, "type": "private"}}),
    ("message", {"message_id": 5, "date": 1, "text": "hi", "chat": {"id": ALLOWED, "type": "private"},
                 "from": {"id": ALLOWED, "is_bot": True, "first_name": "B"}}),
    ("message", {"message_id": "5", "chat": [], "from": 7}),
    ("message", {}), ("poll", {"id": "1"}), ("callback_query", {"id": "9"}),
    ("callback_query", {"id": "9", "from": {"id": ALLOWED, "is_bot": False, "first_name": "A"}, "data": "ok:1"}),
])
def test_an_odd_update_is_passed_over(bot, model, update):
    model.reply("still here")
    bot.tolerate.append("query is too old")
    bot.run()
    odd = bot.raw(*update)
    bot.say("hi")
    bot.wait_text("still here")
    bot.wait_confirmed(odd)


def test_a_tool_is_traced_and_the_answer_follows(bot, gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    gate = Gate()
    model.reply("Let me look.", calls=[call("srv__echo", text="tulip")])
    model.reply("It says tulip.", gate=gate)
    bot.run(STREAM_REPLIES="true", TOOL_TRACE="full")
    bot.say("go")
    bot.wait_text("echo")
    gate.release()
    bot.wait_text("It says tulip")
    traced = [c.text for c in bot.of("sendMessage", "editMessageText")]
    assert any("echo" in t for t in traced)
    bot.board.wait(lambda: sum("It says tulip" in t for t in bot.seen()) == 1, "the answer, once", None, bot.view)


@pytest.mark.parametrize("trace", ["compact", "off"])
def test_a_tool_that_takes_long_is_named(bot, model, mcp, gantry, trace):
    mcp.add("srv", tools=["slow"])
    gate = gantry.dir / "gate"
    model.reply(calls=[call("srv__slow", gate=str(gate))])
    model.reply("at last")
    bot.run_clocked(TOOL_TRACE=trace)
    bot.say("go")
    mcp.wait(lambda: mcp.calls(), "the tool call")
    bot.step(7)
    bot.wait_calls("sendChatAction", 2)     # so much time has passed, and nothing was said
    assert not bot.seen()
    bot.step(2)
    bot.wait_text("running srv__slow")
    gate.write_text("")
    bot.wait_text("at last")


def test_send_speaks_with_and_without_the_daemon(bot, gantry, model):
    group = bot.forum(42)
    r = gantry.run("send", "--chat", ALLOWED, "plain *words*")
    assert [m.text for m in bot.wait_seen(1)] == ["plain words"], r
    bot.run()
    gantry.run("send", "--chat", group, "--thread", 42, "in the topic")
    bot.wait_text("in the topic", group, 42)
    gantry.run("send", "--chat", ALLOWED, "-", input="from a pipe\nline two\n")
    bot.wait_text("from a pipe\nline two")
    assert not model.requests


@pytest.mark.parametrize("args, word", [
    (["--chat", "12a", "x"], "chat"), (["x"], "chat"), (["--chat", "111"], "(?i)missing|text"),
    (["--chat", "111", "  "], "(?i)text|empty"), (["--chat", "111", "--thread", "x", "y"], "thread")])
def test_send_says_what_is_wrong(bot, gantry, args, word):
    r = gantry.run("send", *args, code=None)
    assert r.code not in (0, None) and re.search(word, r.err), r
    assert not bot.of("sendMessage")


def test_send_tells_a_refusal(bot, gantry):
    r = gantry.run("send", "--chat", 222, "x", code=None)
    assert r.code != 0 and "chat not found" in r.err, r


@pytest.mark.parametrize("how, code, words", [
    (dict(flood=1), 0, ""), (dict(flood=90), 1, "Too Many Requests"), (dict(http=502), 0, ""),
    (dict(http=502, times=2), 1, "502"), (dict(cut=20), 1, "may or may not have arrived"),
    (dict(reset=True, done=True), 1, "may or may not have arrived"),
    (dict(error=(400, "Bad Request: can't parse entities: x")), 0, ""),
    (dict(error=(403, "Forbidden: bot was blocked by the user")), 1, "blocked")])
def test_send_knows_what_became_of_it(bot, gantry, how, code, words):
    bot.fail("sendMessage", **how)
    r = gantry.run("send", "--chat", ALLOWED, "the *words*", code=None)
    assert r.code == code and words in r.err, r
    assert bot.seen() == ["the *words*" if "entities" in str(how) else "the words"] * (
        code == 0 or bool(how.get("done") or how.get("cut")))
    # Nothing stays for a daemon to send once more.
    assert not gantry.sql("select 1 from outbox where state not in ('done', 'dead')")


def test_send_follows_a_group_that_moved(bot, gantry):
    old = bot.group()
    new = bot.migrate(old, -1001999999999, announce=False)
    assert gantry.run("send", "--chat", old, "hello").code == 0
    assert bot.seen(new) == ["hello"]


def test_a_blocked_bot_or_a_deleted_chat_does_not_hold_up_the_others(bot, gantry, model):
    model.answer(lambda r: Reply("to " + r.user))
    other = bot.group()
    bot.chats[ALLOWED].blocked = True
    bot.run()
    bot.say("blocked")
    model.wait(1)
    bot.say("the group", chat=other)
    bot.wait_text("to the group", other)
    bot.board.wait(lambda: [c for c in bot.of("sendMessage", chat=ALLOWED) if c.departed], "the refused send")
    bot.chats[ALLOWED].blocked = False
    bot.say("free again")
    bot.wait_text("to free again")
    assert not [t for t in bot.seen() if "blocked" in t]
    assert gantry.sql("select state from pieces where error like '%blocked%'")[0]["state"] == "dead"


def test_a_blank_answer_sends_no_blank_message(bot, model):
    model.reply("  \n")
    model.reply("  \n")
    bot.run()
    bot.say("go")
    m = bot.wait_seen(1)
    assert m[0].text.strip()


@pytest.mark.parametrize("word", ["NO_REPLY", "[silent]\nall is well"])
def test_a_model_that_chooses_silence_says_nothing(bot, model, word):
    model.reply(word)
    model.reply("now I speak")
    bot.run(STREAM_REPLIES="true")
    bot.say("note this")
    bot.board.wait(lambda: model.requests, "the request")
    bot.say("and now?")
    bot.wait_text("now I speak")
    assert bot.seen() == ["now I speak"]


def test_no_more_turns_run_at_once_than_allowed(bot, gantry, model):
    gate = Gate()
    chats = range(201, 206)
    bot.configure("gateway: {max_turns: 2}", telegram="allow_from: [%s]" % ", ".join(map(str, chats)))
    for c in chats:
        bot.user(c)
    model.answer(lambda r: Reply("re " + r.user.split("\n")[0], gate=gate))
    bot.run()
    for c in chats:
        bot.wait_confirmed(bot.say("m%d" % c, c, c))
    model.wait(2)
    assert len(model.requests) == 2
    gate.release()
    for c in chats:
        bot.wait_text("re m%d" % c, c)
