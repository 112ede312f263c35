"""What tool servers ask of a person: a question in the chat, a prompt at the terminal; answered by whom it is for."""

import json
import re
import sqlite3
import subprocess

import pytest

from fakes.model import call
from fakes.telegram import ALLOWED, STRANGER
from harness.fixtures import FAKES, PYTHON
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


def test_field_after_field_with_buttons_for_what_can_be_chosen(bot, gantry, model, asking):
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
    noted(gantry, bot.wait_text("age \\(5 of 5"))
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


def test_what_was_written_before_the_question_was_seen_answers_nothing(bot, gantry, model, mcp):
    mcp.add("srv", tools=["ask"])
    bot.configure()
    model.reply(calls=[call("srv__ask", params=form(required=["a"], a={"type": "string"}))])
    model.reply("finished")
    model.reply("an ordinary answer")
    bot.fail("sendMessage", flood=2)
    bot.run()
    bot.say("go on")
    wait_files(gantry.data, lambda: gantry.sql("select 1 from questions where message_id = ''"), "a question")
    bot.say("by the way")
    noted(gantry, bot.wait_text("The tool server srv asks"))
    assert [r["state"] for r in gantry.sql("select state from questions")] == ["pending"]
    assert gantry.sql("select count(*) n from inbox")[0]["n"] == 2
    bot.say("words")
    bot.wait_text("^finished$")
    bot.wait_text("^an ordinary answer$")
    assert '"words"' in gantry.sql("select result from questions")[0]["result"]


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


def test_a_link_whose_end_the_server_tells_needs_no_press(bot, gantry, model, mcp, asking):
    mcp.servers.clear()
    mcp.add("srv", tools=["ask_link"])
    asked = asking({"mode": "url", "message": "Sign in", "elicitationId": "e1", "url": "https://a.example/x"},
                   tool="srv__ask_link", gate=str(gantry.dir / "gate"))
    (gantry.dir / "gate").write_text("")
    bot.wait_text("^finished$")
    assert given(model) == {"action": "accept"}
    bot.board.wait(lambda: not asked.buttons and "Answered" in asked.text, "the end of the question", None, bot.view)
    assert [r["state"] for r in gantry.sql("select state from questions")] == ["answered"]


@pytest.fixture
def linked(bot, gantry, model, mcp):
    """linked(n): the first message of a call that wants n links to be opened first."""
    mcp.add("srv", tools=["linked"])
    bot.configure()

    def start(n=1):
        model.reply(calls=[call("srv__linked", gate=str(gantry.dir / "gate"), n=n)])
        model.reply("finished")
        bot.run()
        bot.say("go on @test_bot")
        found = bot.wait_text("Connect account 0")
        noted(gantry, found)
        return found
    return start


def test_a_call_that_needs_a_link_first_is_made_again_when_its_server_says_so(bot, gantry, model, mcp, linked):
    asked = linked()
    assert "https://accounts.example/connect?n=0" in asked.text and "Host: accounts.example" in asked.text
    (gantry.dir / "gate").write_text("")
    bot.wait_text("^finished$")
    assert model.last.results == ["linked"] and len(mcp.calls()) == 2
    bot.board.wait(lambda: not asked.buttons, "the buttons to go", None, bot.view)


def test_a_call_that_needs_links_is_made_again_when_the_person_says_so(bot, gantry, model, mcp, linked):
    asked = linked(n=2)
    bot.press(asked, "I opened it")
    other = bot.wait_text("Connect account 1")
    noted(gantry, other)
    bot.press(other, "I opened it")
    # It was not done yet, so it is asked again.
    again = bot.board.wait(lambda: next((m for m in bot.messages() if "account 0" in m.text and m is not asked), None),
                           "the first link once more", None, bot.view)
    noted(gantry, again)
    assert len(mcp.calls()) == 2
    bot.press(again, "Decline")
    bot.wait_text("^finished$")
    assert "An account is not connected" in model.last.results[0]
    assert "https://accounts.example/connect?n=1" in model.last.results[0] and len(mcp.calls()) == 2


def test_where_nobody_can_open_a_link_the_model_is_told(gantry, model, mcp):
    mcp.add("srv", tools=["linked"])
    model.reply(calls=[call("srv__linked", gate=str(gantry.dir / "gate"))])
    model.reply("finished")
    assert gantry.talk("go", seconds=60).out.endswith("finished\n")
    assert "the user has to open:\nConnect account 0: https://accounts.example/connect?n=0" in model.last.results[0]
    assert len(mcp.calls()) == 1


def test_a_link_at_a_terminal_goes_when_it_is_done(gantry, model, mcp):
    mcp.add("srv", tools=["linked"])
    model.reply(calls=[call("srv__linked", gate=str(gantry.dir / "gate"))])
    model.reply("finished")
    t = gantry.terminal()
    t.out.wait("> ")
    t.keys("go\r")
    t.out.wait("say that you did", 30)
    (gantry.dir / "gate").write_text("")
    t.out.wait("finished", 30)
    assert model.last.results == ["linked"]
    t.keys("\x04")
    t.wait()


def test_a_secret_is_warned_about_and_words_are_visible(bot, model, asking):
    asked = asking(form(message="<b>bold</b> \u202eevil\u0007", pw={"type": "string", "title": "Your password"}))
    assert "looks like a question for a secret" in asked.text
    assert "<b>bold</b>" in asked.text and "\\u202e" in asked.text and "\\x07" in asked.text
    bot.press(asked, "Decline")
    bot.wait_text("^finished$")


@pytest.mark.parametrize("params", [
    form(**{"f%d" % i: {"type": "string"} for i in range(10000)}),
    form(deep={"type": "object", "properties": {"x": {"type": "object", "properties": {}}}}),
    form(many={"type": "string", "enum": [str(i) for i in range(1000)]}),
    form(bottomless={"type": "string", "not": json.loads("[" * 300 + "]" * 300), "enum": [{}]}),
    form(**{"": {"type": "string"}}), form(odd=["string"]), form(odd={"type": ["string"]}), form(odd={"type": "string", "enum": []}),
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


def test_what_should_be_words_and_is_not_is_left_out(bot, model, asking):
    asked = asking({"message": ["Please"], "requestedSchema": {"type": "object", "required": {"a": True}, "properties": {
        "a": {"type": "string", "title": 7, "description": {"x": 1}, "minLength": "3", "maxLength": -1, "pattern": 5, "format": []}}}})
    assert "Expected: a text\n" in asked.text
    bot.say("x")
    bot.wait_text("^finished$")
    assert given(model)["content"] == {"a": "x"}


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


def test_an_id_that_repeats_confuses_nobody(bot, gantry, model, mcp):
    mcp.add("srv", tools=["ask_same", "echo"])
    bot.configure()
    model.reply(calls=[call("srv__ask_same", params=form(a={"type": "boolean"}))])
    model.reply("finished")
    bot.run()
    bot.say("go on")
    bot.press(bot.wait_text("The tool server srv asks"), "Yes")
    bot.wait_text("^finished$")
    assert given(model) in ({"action": "accept", "content": {"a": True}}, {"code": -32600, "message": given(model).get("message")})
    model.reply(calls=[call("srv__echo", text="still there")])
    model.reply("it is")
    bot.say("and now")
    bot.wait_text("^it is$")
    assert model.last.results[-1] == "still there"
    assert gantry.sql("select count(*) n from questions where state = 'pending'")[0]["n"] == 0


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


def test_of_a_daemon_at_a_terminal_the_next_line_is_the_reply_and_stop_stops(gantry, model, mcp):
    mcp.add("srv", tools=["ask"])
    model.reply(calls=[call("srv__ask", params=form(a={"type": "integer"}))])
    model.reply("finished")
    t = gantry.terminal("run", CHANNEL="stdio")
    t.out.wait("(?s)> ")
    t.keys("go on\r")
    t.out.wait("(?s)The tool server srv asks.*Your answer")
    t.keys("many\r")
    t.out.wait("(?s)that is no whole number.*Your answer")
    t.keys("7\r")
    t.out.wait("(?s)finished")
    assert given(model) == {"action": "accept", "content": {"a": 7}}
    assert gantry.sql("select count(*) n from inbox")[0]["n"] == 1
    model.reply(calls=[call("srv__ask", params=form(a={"type": "integer"}))])
    t.keys("once more\r")
    t.out.wait("(?s)once more.*Your answer")
    t.keys("/stop\r")
    wait_files(gantry.data, lambda: [r["state"] for r in gantry.sql("select state from turns order by started_at_ms")]
               == ["done", "canceled"], "the end of the turn")


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


# --- the stateless era ----------------------------------------------------------------------------


@pytest.fixture
def stateless(bot, gantry, model, mcp):
    """stateless(params): the first message of the question for which one call comes back."""
    mcp.command("srv", PYTHON, ["-S", "-E", str(FAKES / "mcp_stateless.py"), "--ledger", str(mcp.ledger),
                                "--log", str(gantry.dir / "stateless.log")])
    bot.configure()

    def ask(tool="ask", seam=False, env=(), **args):
        model.reply(calls=[call("srv__" + tool, **args)])
        model.reply("finished")
        ask.proc = bot.run(seam=seam, **dict(env))
        bot.say("go on")
        found = bot.wait_text("The tool server srv asks")
        noted(gantry, found)
        return found
    return ask


def parked(gantry):
    wait_files(gantry.data, lambda: gantry.sql("select state from turns")[0]["state"] == "parked", "the turn to park")


NAME = form(required=["name"], name={"type": "string"})


def test_a_call_that_came_back_parks_and_is_made_again_with_the_answer(bot, gantry, model, mcp, stateless):
    asked = stateless(params=NAME, label="once")
    parked(gantry)
    assert mcp.ledger_lines() == [] and len(model.requests) == 1
    bot.say("Ada")
    bot.wait_text("^finished$")
    assert given(model) == [{"q": {"action": "accept", "content": {"name": "Ada"}}}]
    assert mcp.ledger_lines() == ["once"]
    bot.board.wait(lambda: not asked.buttons, "the buttons to go", None, bot.view)


def test_round_after_round_and_two_questions_at_once(bot, gantry, model, mcp, stateless):
    stateless(params=form(sure={"type": "boolean"}), rounds=3, label="thrice")
    for i in range(3):
        found = bot.wait_text("The tool server srv asks", n=i + 1)
        bot.press(found, "Yes" if i != 1 else "Decline")
    bot.wait_text("^finished$")
    yes = {"action": "accept", "content": {"sure": True}}
    assert given(model) == [{"q": yes}, {"q": {"action": "decline"}}, {"q": yes}]
    assert mcp.ledger_lines() == ["thrice"]
    model.reply(calls=[call("srv__both", first=form("one?", a={"type": "boolean"}), second=form("two?", b={"type": "string"}))])
    model.reply("both finished")
    bot.say("and now both")
    one = bot.wait_text("one\\?")
    two = bot.wait_text("two\\?")
    noted(gantry, two)
    kept = [tuple(r) for r in gantry.sql("select key, request_state <> '' from questions where request_state || key <> '' order by idx")]
    assert kept == [("x", 1), ("y", 0)]
    bot.press(one, "No")
    bot.board.wait(lambda: not one.buttons, "the first to be over", None, bot.view)
    assert len(model.requests) == 3
    bot.say("words")
    bot.wait_text("^both finished$")
    assert given(model) == [{"x": {"action": "accept", "content": {"a": False}},
                             "y": {"action": "accept", "content": {"b": "words"}}}]
    assert not gantry.sql("select 1 from questions where request_state || key <> ''")


def test_of_two_open_questions_a_message_answers_the_one_that_it_replies_to(bot, gantry, model, mcp, stateless):
    field = {"a": {"type": "string"}}
    stateless("both", first=form("one?", ["a"], **field), second=form("two?", ["a"], **field))
    one, two = bot.wait_text("one\\?"), bot.wait_text("two\\?")
    noted(gantry, one)
    noted(gantry, two)
    bot.say("for whom?")
    bot.wait_text("^Not taken: more than one question is open here")
    bot.say("second", reply_to=two)
    bot.board.wait(lambda: not two.buttons, "the second to be over", None, bot.view)
    bot.say("first")
    bot.wait_text("^finished$")
    assert given(model) == [{"x": {"action": "accept", "content": {"a": "first"}},
                             "y": {"action": "accept", "content": {"a": "second"}}}]


@pytest.mark.parametrize("when", ["kill", "term"])
def test_the_question_outlives_a_restart_and_is_asked_once_more(bot, gantry, model, mcp, stateless, when):
    stateless(params=NAME, label="once")
    parked(gantry)
    if when == "kill":
        stateless.proc.kill()
        stateless.proc.wait(20)
    else:
        bot.stop_gantry(stateless.proc)
    bot.run()
    bot.wait_text("Still waiting")
    bot.say("Ada")
    bot.wait_text("^finished$")
    assert given(model) == [{"q": {"action": "accept", "content": {"name": "Ada"}}}]
    assert mcp.ledger_lines() == ["once"]


def test_a_question_that_cannot_be_shown_is_over_and_nothing_of_it_is_sent(bot, gantry, model, mcp, stateless):
    stateless(params=NAME, label="never")
    parked(gantry)
    stateless.proc.kill()
    stateless.proc.wait(20)
    with sqlite3.connect(gantry.db_path) as con:
        con.execute("update questions set params = '{'")
    con.close()
    sent = len(bot.seen())
    bot.run()
    bot.wait_text("^finished$")
    assert given(model) == [{"q": {"action": "cancel"}}]
    assert gantry.sql("select state from questions")[0]["state"] == "expired"
    assert bot.seen()[sent:] == ["finished"]


def test_a_reply_while_gantry_is_away_counts(bot, gantry, model, mcp, stateless):
    stateless(params=NAME, label="once")
    parked(gantry)
    stateless.proc.kill()
    stateless.proc.wait(20)
    bot.say("Ada")
    bot.run()
    bot.wait_text("^finished$")
    assert given(model) == [{"q": {"action": "accept", "content": {"name": "Ada"}}}]
    assert mcp.ledger_lines() == ["once"]


def test_killed_in_the_repeated_call_it_is_in_doubt_and_not_made_a_third_time(bot, gantry, model, mcp, stateless):
    gate = gantry.dir / "gate"
    stateless("hang_after", params=NAME, gate=str(gate))
    parked(gantry)
    bot.say("Ada")
    wait_files(gantry.data, lambda: gantry.sql("select state from tool_calls")[0]["state"] == "running", "the call to run")
    stateless.proc.kill()
    stateless.proc.wait(20)
    gate.touch()
    bot.run()
    bot.wait_text("^finished$")
    assert "may or may not" in model.last.results[-1] and mcp.ledger_lines() in ([], ["hang_after"])


@pytest.mark.parametrize("n", range(1, 13))
def test_dying_at_any_commit_loses_no_answer_and_does_nothing_twice(bot, gantry, model, mcp, stateless, n):
    """From the reply on, it dies when it makes something lasting for the n-th time; the answer comes all the same."""
    stateless(params=NAME, label="once", seam=True)
    parked(gantry)
    stateless.proc.kill()
    stateless.proc.wait(20)
    bot.say("Ada")
    p = gantry.start("run", *bot.args, seam=True, stdin=subprocess.DEVNULL, GANTRY_FAULT="kill:fdatasync:%d" % n)
    wait_until(lambda: not p.running() or "finished" in bot.seen(), "an end")
    p.kill()
    p.wait(20)
    bot.run()
    bot.wait_text("^finished$")
    last = model.last.results[-1]
    if "may or may not" in last:
        assert mcp.ledger_lines() in ([], ["once"])
    else:
        assert given(model) == [{"q": {"action": "accept", "content": {"name": "Ada"}}}]
        assert mcp.ledger_lines() == ["once"]
    assert gantry.sql("select count(*) n from questions where state = 'pending'")[0]["n"] == 0


@pytest.mark.parametrize("word", ["/stop", "/new"])
def test_a_parked_question_ends_with_its_turn(bot, gantry, model, mcp, stateless, word):
    asked = stateless(params=NAME, label="never")
    parked(gantry)
    bot.say(word)
    bot.board.wait(lambda: not asked.buttons, "the buttons to go", None, bot.view)
    wait_files(gantry.data, lambda: gantry.sql("select state from turns")[0]["state"] == "canceled", "the end")
    bot.say("Ada")
    bot.wait_text("^finished$")         # a message like any other
    assert mcp.ledger_lines() == []


def test_a_parked_question_expires(bot, gantry, model, mcp):
    mcp.command("srv", PYTHON, ["-S", "-E", str(FAKES / "mcp_stateless.py"), "--ledger", str(mcp.ledger)])
    bot.configure("")
    model.reply(calls=[call("srv__ask", params=NAME, label="told")])
    model.reply("finished")
    bot.run_clocked(GANTRY_MCP_QUESTION_TIMEOUT="5m")
    bot.say("go on")
    noted(gantry, bot.wait_text("The tool server srv asks"))
    parked(gantry)
    bot.step(301)
    bot.wait_text("^finished$")
    assert given(model) == [{"q": {"action": "cancel"}}]


def test_at_the_terminal_a_call_that_came_back_is_answered_at_once(gantry, model, mcp):
    mcp.command("srv", PYTHON, ["-S", "-E", str(FAKES / "mcp_stateless.py"), "--ledger", str(mcp.ledger)])
    model.reply(calls=[call("srv__ask", params=NAME, label="once")])
    model.reply("finished")
    t = gantry.terminal("chat")
    t.out.wait("(?s)> ")
    t.keys("go on\r")
    t.out.wait("(?s)Your answer")
    t.keys("Ada\r")
    t.out.wait("(?s)finished")
    assert given(model) == [{"q": {"action": "accept", "content": {"name": "Ada"}}}]
    t.keys("\x04")


# --- how far a call is ------------------------------------------------------------------------------


def test_a_chat_sees_how_far_a_call_is_in_one_line(bot, gantry, model, mcp):
    mcp.add("srv", tools=["steps"])
    bot.gantry.set(TOOL_TRACE="compact", STREAM_REPLIES="true")
    gates = [str(gantry.dir / ("gate%d" % i)) for i in range(3)]
    model.reply(calls=[call("srv__steps", gates=gates, text="page\u202e")])
    model.reply("finished")
    bot.run()
    bot.say("go on")
    bot.wait_text("… srv__steps 16%: page\\\\u202e 1")
    open(gates[0], "w").close()
    found = bot.wait_text("… srv__steps 33%: page\\\\u202e 2")
    assert "16%" not in found.text
    open(gates[1], "w").close()
    open(gates[2], "w").close()
    done = bot.wait_text("finished")
    assert "…" not in done.text


def test_the_terminal_shows_how_far_a_call_is_beside_the_spinner(gantry, model, mcp):
    mcp.add("srv", tools=["steps"])
    gates = [str(gantry.dir / ("gate%d" % i)) for i in range(2)]
    model.reply(calls=[call("srv__steps", gates=gates, text="page")])
    model.reply("finished")
    t = gantry.terminal("chat")
    t.out.wait("(?s)> ")
    t.keys("go on\r")
    t.out.wait("(?s)… srv__steps 25%: page 1")
    for g in gates:
        open(g, "w").close()
    t.out.wait("(?s)✓ srv__steps.*finished")
    assert "25%" not in t.screen.text
    t.keys("\x04")
