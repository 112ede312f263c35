"""What tool servers ask of a person: a question in the chat, a prompt at the terminal; answered by whom it is for."""

import json
import re

import pytest

from fakes.model import call
from fakes.telegram import ALLOWED, STRANGER
from harness.watch import wait_files, wait_until

pytestmark = pytest.mark.concurrency


def form(message="Please tell", required=(), **fields):
    return {"message": message,
            "requestedSchema": {"type": "object", "properties": fields, "required": list(required)}}


@pytest.fixture
def asking(bot, gantry, model, mcp):
    """asking(params): the first message of the question that one call of srv__ask makes."""
    mcp.add("srv", tools=["ask", "ask_late", "echo"])
    bot.configure()

    def ask(params, chat=ALLOWED, start=True, tool="srv__ask", **args):
        model.reply(calls=[call(tool, params=params, **args)])
        model.reply("finished")
        if start:
            ask.proc = bot.run()
        bot.say("go on @test_bot", chat)
        found = bot.wait_text("The tool server srv asks", chat)
        noted(gantry, found)
        return found
    return ask


def noted(gantry, message):
    """The database knows where it stands."""
    wait_files(gantry.data, lambda: gantry.sql("select 1 from questions where message_id = ?", str(message.id)),
               "the question to be noted")


def given(model):
    """What the server was answered."""
    return json.loads(model.last.results[-1])


def answered(bot, query):
    return bot.board.wait(lambda: bot.queries[query] is not None and [bot.queries[query]],
                          "an answer to the press", None, bot.view)[0]


def test_a_reply_is_the_answer_and_queues_behind_nothing(bot, gantry, model, asking):
    asked = asking(form(required=["name"], name={"type": "string", "minLength": 3, "description": "your name"}))
    assert "Please tell" in asked.text and "your name" in asked.text and "at least 3 characters" in asked.text
    assert [t for t, _ in asked.buttons] == ["Decline", "Cancel"]
    bot.say("Al")
    bot.wait_text("Not taken: that is too short: at least 3 characters. Try again")
    bot.say("Alice")
    bot.wait_text("^finished$")
    assert given(model) == {"action": "accept", "content": {"name": "Alice"}}
    bot.board.wait(lambda: not asked.buttons, "the buttons to go", None, bot.view)
    row = gantry.sql("select * from questions")[0]
    assert row["state"] == "answered" and row["decided_by"] == str(ALLOWED)
    assert gantry.sql("select count(*) n from inbox")[0]["n"] == 1
    assert len(model.requests) == 2


def test_field_after_field_with_buttons_for_what_can_be_chosen(bot, model, asking):
    asked = asking(form(
        required=["size", "many"],
        size={"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
        sure={"type": "boolean", "default": True},
        many={"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["red", "blue", "green"]}},
        note={"type": "string"},
        age={"type": "integer", "minimum": 1, "maximum": 150}))
    assert [t for t, _ in asked.buttons] == ["Small", "Large", "Decline", "Cancel"]
    bot.press(asked, "Large")
    sure = bot.wait_text("sure")
    assert [t for t, _ in sure.buttons] == ["Yes", "No", "Default: true", "Decline", "Cancel"]
    assert re.search("✅ Large", bot.board.wait(lambda: not asked.buttons and asked.text, "the choice", None, bot.view))
    bot.press(sure, "No")
    many = bot.wait_text("many \\(3 of 5\\)")
    assert answered(bot, bot.press(many, "Done")) == "Not taken: choose at least 1."
    bot.press(many, "red")
    bot.board.wait(lambda: "☑ red" in [t for t, _ in many.buttons], "the mark", None, bot.view)
    bot.press(many, "green")
    bot.board.wait(lambda: "☑ green" in [t for t, _ in many.buttons], "the mark", None, bot.view)
    bot.press(many, "Done")
    note = bot.wait_text("note \\(4 of 5, optional\\)")
    bot.press(note, "Skip")
    bot.wait_text("age \\(5 of 5")
    bot.say("two hundred")
    bot.wait_text("Not taken: that is no whole number")
    bot.say("42")
    bot.wait_text("^finished$")
    assert given(model) == {"action": "accept",
                            "content": {"size": "l", "sure": False, "many": ["red", "green"], "age": 42}}


@pytest.mark.parametrize("button, action", [("Decline", "decline"), ("Cancel", "cancel")])
def test_one_can_always_decline_and_cancel(bot, model, asking, button, action):
    asked = asking(form(name={"type": "string"}))
    bot.press(asked, button)
    bot.wait_text("^finished$")
    assert given(model) == {"action": action}
    bot.board.wait(lambda: not asked.buttons, "the buttons to go", None, bot.view)


def test_too_many_answers_that_do_not_fit_cancel_it(bot, model, asking):
    asking(form(n={"type": "integer"}))
    for i in range(5):
        bot.say("no number")
        bot.wait_text("Not taken|Cancelled, after", n=i + 1)
    bot.wait_text("^finished$")
    assert given(model) == {"action": "cancel"}


def test_a_stranger_and_another_member_answer_nothing(bot, gantry, model, asking):
    other = 7000007
    group = bot.group()
    bot.configure(telegram="allow_from: [%d]\ngroups: {\"%d\": {require_mention: true, allow_from: [%d, %d]}}"
                  % (ALLOWED, group, ALLOWED, other))
    model.reply(calls=[call("srv__ask", params=form(ok={"type": "boolean"}))])
    model.reply("finished")
    bot.run()
    bot.say("go on @test_bot", group, user=other)
    asked = bot.wait_text("The tool server srv asks", group)
    noted(gantry, asked)
    assert re.search("(?i)not allowed", answered(bot, bot.press(asked, "Yes", user=STRANGER)))
    bot.say("yes", group, user=STRANGER, reply_to=asked)
    # Who owns the bot may answer for him; here that is the one who asked.
    bot.say("yes", group, user=other)       # no reply to it: people talk in a group
    assert gantry.sql("select state from questions")[0]["state"] == "pending"
    bot.say("yes", group, user=other, reply_to=asked)
    bot.wait_text("^finished$", group)
    assert given(model) == {"action": "accept", "content": {"ok": True}}


def test_old_and_forged_buttons_do_nothing(bot, gantry, model, asking):
    asked = asking(form(a={"type": "boolean"}, b={"type": "boolean"}))
    yes = next(d for t, d in asked.buttons if t == "Yes")
    bot.press(asked, "Yes")
    second = bot.wait_text("b \\(2 of 2")
    noted(gantry, second)
    assert answered(bot, bot.press(asked, yes)) == "That was answered already."
    for data in ("qs:", "qs:%s:0:0" % ("0" * 32), yes[:-1] + "99", yes[:-3] + "-1:0", "qs:' or 1=1", yes[:-1]):
        q = bot.press(second, data)
        bot.board.wait(lambda: bot.queries[q] is not None, "an answer")
    assert tuple(gantry.sql("select answers, state from questions")[0]) == ('"a":true', "pending")
    bot.press(second, "No")
    bot.wait_text("^finished$")
    assert given(model)["content"] == {"a": True, "b": False}
    assert answered(bot, bot.press(second, yes))


def test_stop_and_new_end_it(bot, gantry, model, asking):
    asked = asking(form(a={"type": "string"}))
    bot.say("/stop")
    bot.board.wait(lambda: not asked.buttons, "the buttons to go", None, bot.view)
    wait_files(gantry.data, lambda: gantry.sql("select state from turns")[0]["state"] == "canceled", "the end")
    assert gantry.sql("select state from questions")[0]["state"] == "cancelled"
    bot.say("and now?")
    bot.wait_text("^finished$")


def test_its_time_ends(bot, gantry, model, mcp):
    mcp.add("srv", tools=["ask"])
    bot.configure("", agent=True)
    model.reply(calls=[call("srv__ask", params=form(a={"type": "string"}))])
    model.reply("finished")
    bot.run_clocked(GANTRY_MCP_QUESTION_TIMEOUT="5m")
    bot.say("go on")
    asked = bot.wait_text("The tool server srv asks")
    noted(gantry, asked)
    bot.step(301)
    bot.wait_text("^finished$")
    assert given(model) == {"action": "cancel"}
    bot.board.wait(lambda: not asked.buttons, "the buttons to go", None, bot.view)
    assert gantry.sql("select state from questions")[0]["state"] == "expired"


def test_after_a_restart_the_question_is_void_and_the_call_in_doubt(bot, gantry, model, asking):
    asked = asking(form(a={"type": "string"}))
    asking.proc.kill()
    asking.proc.wait(20)
    bot.run()
    bot.wait_text("^finished$")
    assert "may or may not" in model.last.results[-1]
    assert gantry.sql("select state from questions")[0]["state"] == "void"
    bot.board.wait(lambda: not asked.buttons, "the buttons to go", None, bot.view)
    model.reply("an ordinary message")
    bot.say("hello")
    bot.wait_text("^an ordinary message$")


def test_a_link_is_shown_with_its_host_and_never_opened(bot, model, asking):
    asked = asking({"mode": "url", "message": "Sign in", "elicitationId": "e1",
                    "url": "https://аpple.com@evil.example/x"})
    assert "Host: evil.example" in asked.text and "before the @" in asked.text
    assert [t for t, _ in asked.buttons] == ["I opened it", "Decline", "Cancel"]
    sent = next(c for c in bot.of("sendMessage") if "Sign in" in c.params["text"])
    assert json.loads(sent.params["link_preview_options"]) == {"is_disabled": True} \
        if isinstance(sent.params["link_preview_options"], str) \
        else sent.params["link_preview_options"] == {"is_disabled": True}
    bot.press(asked, "I opened it")
    bot.wait_text("^finished$")
    assert given(model) == {"action": "accept"}


def test_a_secret_is_warned_about_and_words_are_visible(bot, model, asking):
    asked = asking(form(message="<b>bold</b> \u202eevil\u0007", pw={"type": "string", "title": "Your password"}))
    assert "looks like a question for a secret" in asked.text
    assert "<b>bold</b>" in asked.text and "\\u202e" in asked.text and "\\x07" in asked.text
    bot.press(asked, "Decline")
    bot.wait_text("^finished$")


@pytest.mark.parametrize("params", [
    form(**{"f%d" % i: {"type": "string"} for i in range(10000)}),
    form(deep={"type": "object", "properties": {"x": {"type": "object", "properties": {}}}}),
    {"message": "m"}, {}, {"mode": "url", "message": "m", "url": "javascript:alert(1)"},
])
def test_what_cannot_be_asked_is_refused_and_nothing_is_shown(bot, gantry, model, mcp, params):
    mcp.add("srv", tools=["ask"])
    bot.configure()
    # Too much for the model's own arguments; the server has it from there all the same.
    model.reply(calls=[call("srv__ask", params=params)])
    model.reply("finished")
    bot.run()
    bot.say("go on")
    bot.wait_text("^finished$")
    assert given(model)["code"] == -32602
    assert gantry.sql("select count(*) n from questions")[0]["n"] == 0
    assert not [m for m in bot.messages(ALLOWED) if "asks" in m.text]


def test_a_megabyte_of_words_is_cut(bot, model, asking):
    asked = asking(form(message="w" * 100000, a={"type": "string"}))
    assert len(asked.text) < 4096
    bot.say("x")
    bot.wait_text("^finished$")
    assert given(model)["content"] == {"a": "x"}


def test_a_server_that_does_not_stop_asking_is_refused(bot, model, asking):
    asked = asking(form(a={"type": "boolean"}), times=25)
    for i in range(20):
        bot.press(bot.wait_text("The tool server srv asks", n=i + 1), "Cancel")
    bot.wait_text("^finished$")
    got = given(model)
    assert got[:20] == [{"action": "cancel"}] * 20 and all(g["code"] == -32602 for g in got[20:])
    assert len(got) == 25 and asked


def test_a_question_after_its_call_is_refused(bot, gantry, model, mcp):
    mcp.add("srv", tools=["ask_late"])
    bot.configure()
    model.reply(calls=[call("srv__ask_late", params=form(a={"type": "string"}))])
    model.reply("finished")
    bot.run()
    bot.say("go on")
    bot.wait_text("^finished$")
    assert model.last.results[-1] == "done already"
    wait_until(lambda: [m for m in mcp.log() if '"error"' in m.get("raw", "")] if hasattr(mcp, "log") else [1],
               "the refusal")
    assert gantry.sql("select count(*) n from questions")[0]["n"] == 0


# --- at the terminal ------------------------------------------------------------------------------


def test_at_the_terminal_the_next_line_is_the_reply(gantry, model, mcp):
    mcp.add("srv", tools=["ask"])
    model.reply(calls=[call("srv__ask", params=form(
        required=["name"], name={"type": "string", "minLength": 3}, n={"type": "integer", "default": 7},
        color={"type": "string", "enum": ["red", "blue"]}))])
    model.reply("finished")
    t = gantry.terminal("chat")
    t.out.wait("(?s)> ")
    t.keys("go on\r")
    t.out.wait("(?s)The tool server srv asks:.*Please tell.*name \\(1 of 3\\).*Your answer \\(/decline, /cancel\\): ")
    t.keys("Al\r")
    t.out.wait("(?s)that is too short: at least 3 characters.*Your answer")
    t.keys("Alice\r")
    t.out.wait("(?s)n \\(2 of 3, optional\\).*Default: 7.*Your answer \\(empty: the default; /decline, /cancel\\): ")
    t.keys("\r")
    t.out.wait("(?s)1\\. red.*2\\. blue.*Your answer")
    t.keys("2\r")
    t.out.wait("(?s)finished")
    assert given(model) == {"action": "accept", "content": {"name": "Alice", "n": 7, "color": "blue"}}


@pytest.mark.parametrize("word, action", [("/decline", "decline"), ("/cancel", "cancel")])
def test_at_the_terminal_words_decline_and_cancel(gantry, model, mcp, word, action):
    mcp.add("srv", tools=["ask"])
    model.reply(calls=[call("srv__ask", params=form(a={"type": "string"}))])
    model.reply("finished")
    t = gantry.terminal("chat")
    t.out.wait("(?s)> ")
    t.keys("go on\r")
    t.out.wait("(?s)Your answer")
    t.keys(word + "\r")
    t.out.wait("(?s)finished")
    assert given(model) == {"action": action}


def test_nobody_is_asked_in_a_pipe(gantry, model, mcp):
    mcp.add("srv", tools=["ask"])
    model.reply(calls=[call("srv__ask", params=form(a={"type": "string"}))])
    model.reply("finished")
    done = gantry.run("prompt", "go on")
    assert "finished" in done.out
    assert given(model) == {"action": "cancel"}
