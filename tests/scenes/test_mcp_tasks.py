"""Calls that a server of 2025-11-25 wants to be made as tasks: waited for, told of, asked in, stopped."""

import json

import pytest

from fakes.model import call
from test_asks import form, noted

pytestmark = pytest.mark.concurrency


@pytest.fixture
def long(gantry, model, mcp):
    """long(gate, ...): a daemon in whose turn the tool works, a step until each of these files is there."""
    mcp.add("srv", "tasks", tools=["long", "echo"])

    def start(*gates, **args):
        d = gantry.daemon()
        model.reply(calls=[call("srv__long", gates=[str(gantry.dir / g) for g in gates], **args)])
        model.reply("done")
        d.send("go")
        return d
    return start


def test_a_tool_that_wants_to_be_a_task_is_called_as_one(gantry, model, mcp, long):
    """What it says of its progress and of its state is shown, and its result is the call's."""
    d = long("one", "two")
    d.err.wait("10%.*step 1", 30)
    (gantry.dir / "one").write_text("")
    d.err.wait("step 2", 30)
    (gantry.dir / "two").write_text("")
    d.out.wait("done", 60)
    assert model.last.results == ["the long task is done"]
    d.finish()
    assert mcp.received("tools/call")[0]["params"]["task"] == {}
    assert len(mcp.received("tasks/get")) > 1 and len(mcp.received("tasks/result")) == 1
    assert not mcp.received("tasks/cancel")


def test_other_tools_of_that_server_are_called_plainly(gantry, model, mcp):
    mcp.add("srv", "tasks", tools=["long", "echo"])
    model.reply(calls=[call("srv__echo", text="hi")])
    model.reply("done")
    gantry.talk("go")
    assert "task" not in mcp.received("tools/call")[0]["params"] and model.last.results == ["hi"]


def test_a_server_that_takes_no_tasks_is_not_given_one(gantry, model, mcp):
    mcp.add("srv", tools=["long"])
    model.reply(calls=[call("srv__long")])
    model.reply("done")
    gantry.talk("go")
    assert "task" not in mcp.received("tools/call")[0]["params"] and "only as a task" in model.last.results[0]


def test_stop_cancels_such_a_task(gantry, model, mcp, long):
    d = long("never")
    mcp.wait(lambda: mcp.received("tasks/get"), "a task that is asked for")
    d.send("/stop")
    mcp.wait(lambda: "task cancelled" in mcp.events(), "a task that is cancelled")
    d.finish()
    assert not mcp.received("notifications/cancelled")


def test_a_task_that_fails_says_why(gantry, model, mcp, long):
    d = long(end="failed")
    d.out.wait("done", 60)
    assert "it broke" in model.last.results[0]
    d.finish()


def test_a_task_of_a_server_that_dies_is_in_doubt(gantry, model, mcp):
    mcp.add("srv", "tasks", "die-at=tasks/get", tools=["long"])
    model.reply(calls=[call("srv__long", gates=["/nonexistent"])])
    model.reply("done")
    gantry.talk("go", seconds=60)
    assert "the task that the call became is lost" in model.last.results[0]


def test_what_a_task_asks_is_asked_of_the_person(bot, gantry, model, mcp):
    mcp.add("srv", "tasks", tools=["long"])
    bot.configure()
    model.reply(calls=[call("srv__long", ask=form(required=["name"], name={"type": "string"}))])
    model.reply("finished")
    bot.run()
    bot.say("go on @test_bot")
    noted(gantry, bot.wait_text("The tool server srv asks"))
    bot.say("Alice")
    bot.wait_text("^finished$")
    assert json.loads(model.last.results[-1]) == {"action": "accept", "content": {"name": "Alice"}}
    assert len(mcp.received("tasks/result")) == 1
