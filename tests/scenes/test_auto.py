"""Mode auto: a classifier may let a command run, and whatever else it says, a person is asked."""

import json

import pytest

from fakes.model import Reply, call
from fakes.telegram import ALLOWED
from harness.fixtures import KEY
from harness.watch import Gate

COMMAND = "touch made"
SAFE = {"risk": "low", "categories": [], "reason": "it only makes an empty file"}


@pytest.fixture
def auto(bot, gantry, model):
    """auto(answer, ...): the model calls exec, and the classifier answers so."""
    work = gantry.dir / "work"
    work.mkdir()
    gantry.set(TOOLS="exec", GANTRY_AGENT_WORKSPACE=work, GANTRY_TOOLS_EXEC_SANDBOX_PROFILE="off",
               GANTRY_TOOLS_EXEC_MODE="auto", GANTRY_TOOLS_EXEC_AUTO_MODEL="small-judge")
    (gantry.persona / "PERSONA.md").write_text("You are the persona nobody else hears of.\n", encoding="utf-8")

    def start(*answers, command=COMMAND, run=bot.run, **arguments):
        model.reply(calls=[call("exec", command=command, **arguments)])
        for answer in answers:
            model.reply(answer if isinstance(answer, (Reply, str)) else json.dumps(answer))
        model.reply("finished")
        run()
        bot.say("words of the conversation")

    start.made = work / "made"
    start.work = work
    return start


def decisions(gantry):
    return [(r["command"], r["decision"]) for r in json.loads(gantry.run("approvals", "list", "--json").out)]


def test_what_the_classifier_calls_safe_runs_unasked(bot, gantry, model, auto):
    auto(SAFE)
    bot.wait_text("^finished$")
    assert auto.made.exists() and not any(m.buttons for m in bot.messages())
    assert decisions(gantry) == [(COMMAND, "auto_allowed")]


@pytest.mark.parametrize("more", [{}, {"cwd": "sub"}])
def test_the_classifier_sees_the_command_the_directory_and_the_shell(bot, gantry, model, auto, more):
    (auto.work / "sub").mkdir()
    auto(SAFE, **more)
    bot.wait_text("^finished$")
    asked = model.requests[1]
    assert asked.body["model"] == "small-judge" and asked.roles == ["system", "user"] and not asked.tools
    assert json.loads(asked.user) == {"shell": "bash", "cwd": more.get("cwd", str(auto.work)), "command": COMMAND}
    for word in ("persona nobody", "words of the conversation", str(ALLOWED)):
        assert word not in asked.raw.decode()


@pytest.mark.parametrize("command", [
    "curl -H 'Authorization: Bearer %s' example.com" % KEY, "curl -H 'X-Key: sk-proj-abcdefghijklmnopqrstuvwxyz123456' example.com",
    "PASSWORD=hunter2hunter2 ./login"])
def test_a_command_with_a_secret_is_shown_to_no_classifier(bot, gantry, model, auto, command):
    auto(command=command)
    gantry.may_show_secrets = KEY in command    # what the model asks for is in its journal
    prompt = bot.wait_text("exec")
    assert prompt.buttons and len(model.requests) == 1 and "REDACTED" in prompt.text
    bot.press(prompt, "No")
    bot.wait_text("^finished$")


NOT_SAFE = {
    "high risk": dict(SAFE, risk="high"),
    "to be confirmed": dict(SAFE, risk="none", categories=["network"]),
    "an unknown kind": dict(SAFE, categories=["fun"]),
    "an unknown risk": dict(SAFE, risk="tiny"),
    "more than was asked": dict(SAFE, run=True),
    "too little": {"risk": "none"},
    "a list": [SAFE],
    "said twice": '{"risk": "high", "risk": "none", "categories": [], "reason": "x"}',
    "two answers": json.dumps(SAFE) + json.dumps(SAFE),
    "prose": "It is safe: " + json.dumps(SAFE),
    "half": json.dumps(SAFE)[:-1],
    "cut at the length": Reply(json.dumps(SAFE), finish="length"),
    "tool calls beside it": Reply(json.dumps(SAFE), calls=[call("exec", command=COMMAND)]),
    "tool calls alone": Reply(calls=[call("exec", command=COMMAND)]),
    "nothing": Reply(""),
    "a refusal": Reply(status=400, body={"error": {"message": "no"}}),
    "a failure": Reply(status=500, body={"error": {"message": "broken"}}),
    "too long": json.dumps(dict(SAFE, reason="x" * 5000)),
}


@pytest.mark.parametrize("name", NOT_SAFE)
def test_any_other_answer_asks_a_person(bot, gantry, model, auto, name):
    auto(NOT_SAFE[name])
    prompt = bot.wait_text("touch made")
    assert prompt.buttons and not auto.made.exists() and len(model.requests) == 2
    if name == "high risk":
        assert SAFE["reason"] in prompt.text
    bot.press(prompt, "Yes")
    bot.wait_text("^finished$")
    assert auto.made.exists() and decisions(gantry) == [(COMMAND, "approved")]


def test_a_classifier_that_is_late_is_not_waited_for(bot, gantry, model, auto):
    gate = Gate()
    auto(Reply(json.dumps(SAFE), gate=gate), run=bot.run_clocked)
    model.wait(2)
    bot.step(11)
    prompt = bot.wait_text("touch made")
    assert prompt.buttons and "in time" in prompt.text
    gate.release()
    bot.press(prompt, "No")
    bot.wait_text("^finished$")
    assert not auto.made.exists() and decisions(gantry) == [(COMMAND, "denied_user")]


@pytest.mark.parametrize("command, decision", [("rm -rf made", "denied_rule"), ("$x made", "denied_user")])
def test_what_is_forbidden_or_not_clear_is_put_to_no_classifier(bot, gantry, model, auto, command, decision):
    auto(command=command)
    if decision == "denied_user":
        bot.press(bot.wait_text("made"), "No")
    bot.wait_text("^finished$")
    assert len(model.requests) == 2 and decisions(gantry) == [(command, decision)]
