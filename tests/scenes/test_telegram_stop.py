"""Commands, /stop and /new in every wait, what waits behind a turn, and steering one."""

import re

import pytest

from fakes.model import Reply, call
from fakes.telegram import ALLOWED
from harness.watch import Gate, wait_files

pytestmark = pytest.mark.concurrency

PLACES = ["start", "headers", "first", 400]


@pytest.mark.parametrize("at", PLACES)
@pytest.mark.parametrize("stream", ["true", "false"])
def test_stop_ends_a_turn_wherever_the_model_is(bot, model, at, stream):
    gate = Gate()
    model.reply("never to be seen in full, however long it may become" * 10, gate=gate, gate_at=at)
    model.reply("next")
    bot.run(STREAM_REPLIES=stream)
    bot.say("go")
    gate.wait_reached()
    bot.say("/stop")
    model.wait_dropped(model.requests[0])
    bot.wait_text("(?i)stop")
    bot.say("and now")
    bot.wait_text("^next$")
    assert "become" * 1 not in "".join(str(m["content"]) for m in model.last.messages)


def test_a_thought_that_is_stopped_leaves_no_blank_message(bot, model):
    gate = Gate()
    model.reply("", reasoning="hmm", gate=gate, gate_at="end")
    model.reply("next")
    bot.run(STREAM_REPLIES="true")
    bot.say("go")
    gate.wait_reached()
    bot.say("/cancel")
    bot.wait_text("(?i)stop")
    gate.release()
    bot.say("and now")
    bot.wait_text("^next$")
    assert all(m.get("content") or m.get("tool_calls") for m in model.last.messages), model.last.messages
    assert all(t.strip() and "hmm" not in t for t in bot.seen())


def test_stop_ends_a_tool_and_the_next_request_is_whole(bot, gantry, model, mcp):
    mcp.add("srv", tools=["hang"])
    model.reply(calls=[call("srv__hang")])
    model.reply("next")
    bot.run()
    bot.say("go")
    mcp.wait(lambda: mcp.calls(), "the call")
    bot.say("/stop")
    bot.wait_text("(?i)stopping")
    bot.say("and now")
    bot.wait_text("^next$")


def test_stop_ends_a_turn_that_waits_for_a_slot(bot, gantry, model):
    gate, other = Gate(), 222
    gantry.set(TELEGRAM_ALLOWED_USERS="111,222")
    bot.user(other)
    model.reply("first", gate=gate)
    model.reply("third")
    bot.run(GANTRY_GATEWAY_MAX_TURNS="1")
    bot.say("one")
    gate.wait_reached()
    bot.say("two", other, other)
    bot.say("/stop", other, other)
    m = bot.wait_seen(1, other)[0]
    assert "1" in m.text or "dropped" in m.text
    gate.release()
    bot.wait_text("first")
    bot.say("three", other, other)
    bot.wait_text("third", other)
    assert "two" not in str(model.last.messages)


def test_stop_ends_a_turn_that_waits_for_a_retry(bot, model):
    model.reply(status=429, headers={"Retry-After": "30"}, body={"error": {"message": "slow down"}})
    model.reply("next")
    bot.run()
    bot.say("go")
    model.wait(1)
    bot.say("/stop")
    bot.wait_text("(?i)stopping")
    bot.say("and now")
    bot.wait_text("^next$")


def test_stop_ends_a_turn_that_waits_for_an_approval(bot, model, mcp):
    mcp.add("srv", tools=["count"])
    bot.configure('policy: {rules: [{tool: "srv__count", action: ask}]}')
    model.reply(calls=[call("srv__count", label="x")])
    model.reply("next")
    bot.run()
    bot.say("go")
    prompt = bot.wait_text("srv__count")
    bot.say("/stop")
    bot.wait_text("(?i)stop")
    bot.board.wait(lambda: not prompt.buttons, "the buttons to go", None, bot.view)
    q = bot.press(prompt, "ok:" + "0" * 32)
    bot.say("and now")
    bot.wait_text("^next$")
    assert mcp.ledger_lines() == [] and bot.queries[q]


def test_stop_and_new_drop_what_waits_and_say_how_much(bot, model):
    for command, word in (("/stop", "2"), ("/new@test_bot", "2")):
        gate = Gate()
        model.reply("never", gate=gate)
        if command == "/stop":
            d = bot.run()
        bot.say("running")
        gate.wait_reached()
        bot.say("waiting one")
        bot.say("waiting two")
        bot.say(command)
        m = bot.wait_text(r"(?i)(stopping|reset).*\b%s\b" % word)
        assert "dropped" in m.text
    model.reply("fresh")
    bot.say("after")
    bot.wait_text("fresh")
    assert len(model.requests) == 3
    assert not re.search("waiting|running", " ".join(m["content"] for m in model.last.messages if m["role"] == "user"))
    bot.stop_gantry(d)


def test_cancel_is_stop_and_nothing_to_stop_is_said(bot):
    bot.run()
    bot.say("/cancel")
    bot.wait_text("(?i)nothing")
    bot.say("/STOP")
    bot.wait_text("(?i)nothing", n=2)


def test_new_forgets_and_its_answer_comes_mid_turn(bot, model):
    gate = Gate()
    model.reply("tulips noted")
    model.reply("late", gate=gate)
    model.reply("fresh")
    bot.run()
    bot.say("remember tulips")
    bot.wait_text("tulips noted")
    bot.say("more")
    gate.wait_reached()
    bot.say("/new")
    bot.wait_text("(?i)reset")
    bot.say("what do you know?")
    bot.wait_text("fresh")
    assert "tulips" not in str(model.last.messages) and "late" not in "".join(bot.seen())


@pytest.mark.parametrize("command, answer", [
    ("/help", "/status"), ("/start", "/help"), ("/status", "test-model"), ("/whoami", str(ALLOWED)),
    ("/tools", "srv__echo"), ("/perf", "(?i)turn"), ("/Status@Test_Bot", "test-model")])
def test_read_only_commands_answer_at_once_beside_a_turn(bot, model, mcp, command, answer):
    mcp.add("srv", tools=["echo"])
    gate = Gate()
    model.reply("done", gate=gate)
    bot.run()
    bot.say("go")
    gate.wait_reached()
    bot.say(command)
    bot.wait_text(answer)
    assert len(model.requests) == 1
    gate.release()
    bot.wait_text("^done$")


def test_a_command_with_words_and_an_unknown_one_go_to_the_model(bot, model):
    model.answer(lambda r: Reply("model: " + r.user.split("\n")[0]))
    bot.run()
    bot.say("/new please")
    bot.wait_text("model: /new please")
    bot.say("/nonsense")
    bot.wait_text("model: /nonsense")


def test_one_session_takes_turns_and_two_run_together(bot, gantry, model):
    gates = {n: Gate() for n in ("a1", "a2", "b1")}
    model.answer(lambda r: Reply("end " + r.user[:2], gate=gates[r.user[:2]]))
    gantry.set(TELEGRAM_ALLOWED_USERS="111,222")
    bot.user(222)
    bot.run()
    bot.say("a1")
    gates["a1"].wait_reached()
    bot.say("a2")
    bot.say("b1", 222, 222)
    gates["b1"].wait_reached()
    assert not gates["a2"].reached.is_set()
    gates["b1"].release()
    bot.wait_text("end b1", 222)
    gates["a1"].release()
    gates["a2"].wait_reached()
    gates["a2"].release()
    bot.wait_text("end a2")
    assert bot.seen() == ["end a1", "end a2"]


def test_a_burst_gets_one_notice_and_every_message_its_answer(bot, gantry, model):
    gate = Gate()
    model.reply("end m0", gate=gate)
    model.answer(lambda r: Reply("end " + r.user.split("\n")[0]))
    d = bot.run()
    bot.say("m0")
    gate.wait_reached()
    for n in range(1, 13):
        bot.say("m%d" % n)
    bot.wait_text("(?i)still working")
    bot.wait_confirmed(bot.say("m13"))
    wait_files(gantry.data, lambda: gantry.sql("select 1 from pieces where state = 'sent'"), "the notice to be noted")
    d.kill()
    d.wait(20)
    bot.run()
    model.wait(2)
    gate.release()
    bot.wait_text("end m13$", seconds=60)
    answers = [t for t in bot.seen() if t.startswith("end m")]
    assert answers == ["end m%d" % n for n in range(14)]
    assert len([t for t in bot.seen() if re.search("(?i)still working", t)]) == 1


def test_steer_joins_the_running_turn_before_the_next_model_call(bot, gantry, model, mcp):
    mcp.add("srv", tools=["slow"])
    flag = gantry.dir / "flag"
    gate = Gate()
    model.reply(calls=[call("srv__slow", gate=str(flag))])
    model.reply("never", gate=gate)
    model.reply("with both")
    bot.run(GANTRY_GATEWAY_FOLLOWUP="steer")
    bot.say("yesterday's ride")
    mcp.wait(lambda: mcp.calls(), "the call")
    bot.wait_confirmed(bot.say("from the other watch"))
    flag.write_text("")
    gate.wait_reached()
    assert "from the other watch" in str(model.requests[1].messages)
    bot.say("the long one")
    model.wait_dropped(model.requests[1])
    bot.wait_text("with both")
    users = [m["content"] for m in model.last.messages if m["role"] == "user"]
    assert all(any(w in u for u in users) for w in ("yesterday", "other watch", "long one"))
    assert len(mcp.calls()) == 1 and bot.seen() == ["with both"]


def test_a_steer_that_comes_too_late_is_a_turn_of_its_own(bot, model):
    model.answer(lambda r: Reply("end " + r.user.split("\n")[0]))
    bot.run(GANTRY_GATEWAY_FOLLOWUP="steer")
    for n in range(5):
        bot.say("m%d" % n)
        bot.wait_text("end m%d" % n)
    assert len(model.requests) == 5


def test_a_restart_of_the_daemon_answers_what_was_running_and_waiting(bot, model):
    gate = Gate()
    model.reply("lost", gate=gate)
    model.answer(lambda r: Reply("end " + r.user.split("\n")[0]))
    d = bot.run(GANTRY_GATEWAY_GRACE="100ms")
    bot.say("m0")
    gate.wait_reached()
    bot.wait_confirmed(bot.say("m1"))
    bot.stop_gantry(d)
    gate.release()
    bot.say("m2 while it was away")
    bot.run()
    bot.wait_text("end m2")
    assert bot.seen() == ["end m0", "end m1", "end m2 while it was away"]
