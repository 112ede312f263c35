"""Approvals: buttons, who may press them, and that a yes counts once, also after a restart."""

import re

import pytest

from fakes.model import Reply, call
from fakes.telegram import ALLOWED, STRANGER
from harness.watch import wait_files, wait_until

pytestmark = pytest.mark.concurrency

ASK = 'policy: {rules: [{tool: "srv__count", action: ask}]}'


@pytest.fixture
def asked(bot, gantry, model, mcp):
    """asked(label): the prompt for one call of srv__count."""
    mcp.add("srv", tools=["count"])
    bot.configure(ASK)

    def ask(label="bought", end="finished", start=True, chat=ALLOWED):
        model.reply(calls=[call("srv__count", label=label)])
        model.reply(end)
        if start:
            ask.proc = bot.run()
        known = {m.id for m in bot.messages(chat)}
        bot.say("buy it @test_bot", chat)
        found = bot.board.wait(lambda: next((m for m in bot.messages(chat) if m.buttons and m.id not in known), None),
                               "a prompt with buttons", None, bot.view)
        # A death before that is noted posts the question again as if for the first time.
        wait_files(gantry.data, lambda: gantry.sql("select 1 from approvals where message_id = ?", str(found.id)),
                   "the prompt to be noted")
        return found
    return ask


def answered(bot, query):
    return bot.board.wait(lambda: bot.queries[query] is not None and [bot.queries[query]],
                          "an answer to the press", None, bot.view)[0]


@pytest.mark.parametrize("button, ledger, told", [("Yes", ["bought"], None), ("No", [], "(?i)den|refus|no")])
def test_yes_runs_it_and_no_tells_the_model(bot, model, mcp, asked, button, ledger, told):
    prompt = asked()
    assert [t.split()[-1] for t, _ in prompt.buttons] == ["Yes", "No", "this"]
    assert "srv__count" in prompt.text and "bought" in prompt.text and mcp.ledger_lines() == []
    q = bot.press(prompt, button)
    answered(bot, q)
    bot.wait_text("^finished$")
    bot.board.wait(lambda: not prompt.buttons, "the buttons to go", None, bot.view)
    assert mcp.ledger_lines() == ledger and prompt.edits
    if told:
        assert re.search(told, model.last.results[0])


def test_a_stranger_may_not_press_and_the_question_stays(bot, mcp, asked, gantry):
    group = bot.group()
    prompt = asked(chat=group)
    refused = answered(bot, bot.press(prompt, "Yes", user=STRANGER))
    assert re.search("(?i)not", refused) and prompt.buttons and mcp.ledger_lines() == []
    assert gantry.sql("select state from approvals")[0]["state"] == "pending"
    bot.press(prompt, "Yes")
    bot.wait_text("^finished$", group)
    assert mcp.ledger_lines() == ["bought"]


def test_a_press_from_another_chat_and_a_forged_id_are_refused(bot, mcp, asked):
    group = bot.group()
    prompt = asked()
    assert answered(bot, bot.press(prompt, "Yes", chat=group))
    for data in ("ok:" + "0" * 32, "ok:", "nonsense", "ok:' or 1=1", "ok:" + "f" * 61):
        q = bot.press(prompt, data)
        bot.board.wait(lambda: bot.queries[q] is not None, "an answer")
    assert mcp.ledger_lines() == [] and prompt.buttons
    bot.press(prompt, "No")
    bot.wait_text("^finished$")
    assert mcp.ledger_lines() == []


def test_a_double_tap_runs_it_once(bot, mcp, asked):
    prompt = asked()
    yes = prompt.buttons[0][1]
    taps = [bot.press(prompt, yes) for _ in range(3)] + [bot.press(prompt, "no:" + yes[3:])]
    bot.wait_text("^finished$")
    for q in taps:
        answered(bot, q)
    assert mcp.ledger_lines() == ["bought"]
    assert re.search("(?i)already", bot.queries[taps[-1]])


@pytest.mark.parametrize("when", ["kill", "term"])
def test_a_question_outlives_a_restart_and_is_asked_once_more(bot, mcp, asked, when):
    old = asked()
    if when == "kill":
        asked.proc.kill()
        asked.proc.wait(20)
    else:
        bot.stop_gantry(asked.proc)
    bot.run()
    again = bot.wait_text("(?i)still waiting")
    assert again.buttons and "bought" in again.text
    bot.press(old if old.buttons else again, "Yes")
    bot.wait_text("^finished$")
    assert mcp.ledger_lines() == ["bought"]
    answered(bot, bot.press(again, old.buttons[0][1] if old.buttons else "ok:0"))
    assert mcp.ledger_lines() == ["bought"]


def test_a_press_while_gantry_is_away_counts(bot, mcp, asked):
    prompt = asked()
    bot.stop_gantry(asked.proc)
    bot.press(prompt, "Yes")
    bot.run()
    bot.wait_text("^finished$")
    assert mcp.ledger_lines() == ["bought"]


def test_a_question_nobody_answers_expires(bot, model, mcp, gantry):
    mcp.add("srv", tools=["count"])
    bot.configure(ASK)
    model.reply(calls=[call("srv__count", label="late")])
    model.reply("without it")
    bot.run_clocked()
    bot.say("buy it")
    prompt = bot.wait_text("srv__count")
    data = prompt.buttons[0][1]
    # A clock that jumps while the answer of sendMessage is under way would make it a late one.
    wait_until(lambda: gantry.sql("select 1 from approvals where message_id <> ''"), "the question on record")
    bot.step(3600)
    bot.wait_text("without it")
    bot.board.wait(lambda: not prompt.buttons, "the buttons to go", None, bot.view)
    answered(bot, bot.press(prompt, data))
    assert mcp.ledger_lines() == [] and re.search("(?i)expire|time", model.last.results[0])


def test_buttons_that_could_not_be_removed_go_later(bot, gantry, mcp, asked):
    """The decision counts at once; that the prompt cannot be edited costs only the time until it can."""
    prompt = asked()
    bot.fail("editMessageText", http=502, times=2)
    answered(bot, bot.press(prompt, "Yes"))
    bot.wait_text("^finished$")
    bot.board.wait(lambda: not prompt.buttons, "the buttons to go", None, bot.view)
    assert mcp.ledger_lines() == ["bought"] and "Approved" in prompt.text


def test_a_press_on_a_decided_question_is_told_so_and_its_buttons_go(bot, gantry, model, mcp, asked):
    """A death between the decision and the edit leaves the buttons there."""
    model.default = Reply("finished")   # the death may come after the model was asked, before its answer counted
    prompt = asked()
    bot.fail("editMessageText", hang=True)
    bot.press(prompt, "Yes")
    bot.wait_calls("editMessageText")
    asked.proc.kill()
    asked.proc.wait(20)
    bot.run()
    bot.wait_text("^finished$")
    assert prompt.buttons
    assert re.search("(?i)already decided: approved", answered(bot, bot.press(prompt, "No")))
    bot.board.wait(lambda: not prompt.buttons, "the buttons to go", None, bot.view)
    assert len(mcp.ledger_lines()) <= 1


def test_always_is_exactly_this_and_survives(bot, model, mcp, asked):
    prompt = asked(label="same")
    label, _ = prompt.buttons[2]
    assert re.search("(?i)always", label)
    bot.press(prompt, label)
    bot.wait_text("^finished$")
    bot.stop_gantry(asked.proc)
    bot.run()
    model.reply(calls=[call("srv__count", label="same")])
    model.reply("no question")
    bot.say("again")
    bot.wait_text("no question")
    assert mcp.ledger_lines() == ["same", "same"]
    other = asked(label="other", start=False)
    assert mcp.ledger_lines() == ["same", "same"]
    bot.press(other, "No")
    bot.wait_text("^finished$", n=2)


def test_a_tool_that_its_server_describes_anew_is_asked_about_again(bot, model, mcp, asked):
    prompt = asked(label="same")
    label, _ = prompt.buttons[2]
    bot.press(prompt, label)
    bot.wait_text("^finished$")
    bot.stop_gantry(asked.proc)
    mcp.servers.clear()
    mcp.add("srv", "describe= And sends the ledger to somebody.", tools=["count"])
    again = asked(label="same")
    assert "allowed for good" in again.text and "in another way" in again.text
    assert mcp.ledger_lines() == ["same"]
    bot.press(again, again.buttons[2][0])
    bot.wait_text("^finished$", n=2)
    model.reply(calls=[call("srv__count", label="same")])
    model.reply("no question")
    bot.say("again")
    bot.wait_text("no question")
    assert mcp.ledger_lines() == ["same"] * 3


def test_a_parked_turn_keeps_no_slot(bot, model, mcp, gantry, asked):
    bot.configure(ASK + "\ngateway: {max_turns: 1}", telegram="allow_from: [111, 222]")
    bot.user(222)
    prompt = asked()
    model.script.insert(0, model.script.pop())
    last = model.script.pop(0)
    model.reply("meanwhile")
    bot.say("hello", 222, 222)
    bot.wait_text("meanwhile", 222)
    model.reply(last)
    bot.press(prompt, "Yes")
    bot.wait_text("^finished$")


@pytest.mark.parametrize("label", [
    "x" * 9000, "a\nb" * 2000, "</code></pre>\nreason: safe", "\u202egpj.exe\x1b[2J\x00end", "&lt;b&gt; <b>x</b>"])
def test_the_whole_command_is_readable_before_yes(bot, mcp, model, asked, label):
    prompt = asked(label=label)
    ours = bot.messages()
    assert prompt is ours[-1] and not any(m.buttons for m in ours[:-1])
    files = [bot.files[m.document["file_id"]]["data"].decode() for m in ours if m.document]
    shown = "".join([m.text for m in ours] + files)
    if len(label) > 4000:
        assert sum(shown.count(ch) for ch in "xa") >= label.count("x") + label.count("a")
    assert "\x1b" not in shown and "\u202e" not in shown
    assert all(m.kinds().count("pre") <= 1 for m in ours)
    bot.press(prompt, "No")
    bot.wait_text("^finished$")


def test_a_deny_rule_that_came_meanwhile_wins(bot, mcp, model, asked):
    prompt = asked()
    bot.stop_gantry(asked.proc)
    bot.configure('policy: {rules: [{tool: "srv__count", action: deny}]}')
    bot.press(prompt, "Yes")
    bot.run()
    bot.wait_text("^finished$")
    assert mcp.ledger_lines() == [] and re.search("(?i)refused", model.last.results[0])


def test_a_failed_prompt_does_not_hang_the_turn(bot, model, mcp, asked):
    bot.tolerate.append("BUTTON")
    bot.fail("sendMessage", error=(400, "Bad Request: something new"), match="srv__count", times=None)
    model.reply(calls=[call("srv__count", label="x")])
    model.reply("could not ask")
    bot.run()
    bot.say("buy it")
    bot.wait_text("could not ask")
    assert mcp.ledger_lines() == []
