"""What a server says of its tools is held to: arguments before a call, results after it."""

import json

import pytest

from fakes.model import call

pytestmark = pytest.mark.concurrency


def told(model):
    """All tool results of the last request."""
    return [m["content"] for m in model.last.messages if m["role"] == "tool"]


def test_arguments_that_do_not_fit_never_reach_the_server(gantry, model, mcp):
    mcp.add("srv", tools=["add", "echo"])
    model.reply(calls=[call("srv__add", a=1, b="2"), call("srv__add", a=1)])
    model.reply(calls=[call("srv__add", a=1, b=2)])
    model.reply("three")
    assert gantry.talk("go").out == "three\n"
    first, second, third = told(model)
    assert first == ("error: arguments.b: must be a number, not a string; srv__add was not called: "
                       "correct the arguments and call it again")
    assert second.startswith("error: arguments: b is missing; ")
    assert third == "3"
    assert len(mcp.received("tools/call")) == 1


def test_a_null_that_says_not_given_is_left_out_and_numbers_stay_exact(gantry, model, mcp):
    mcp.add("srv", tools=["big", "echo"])
    model.reply(calls=[call("srv__big", _raw='{"char":null,"n":3,"x":12345678901234567890123, "y":9007199254740993,"r":1.10}'),
                       call("srv__echo", _raw='{"text":null}')])
    model.reply("done")
    gantry.talk("go")
    big, echo = told(model)
    assert big == "xxx" and "arguments.text: must be a string, not null" in echo     # it is required
    sent = [r["raw"] for r in map(json.loads, mcp.logs["srv"].read_text().splitlines()) if "tools/call" in r["raw"]]
    assert len(sent) == 1 and '{"n":3,"x":12345678901234567890123, "y":9007199254740993,"r":1.10}' in sent[0]


def test_a_result_that_is_not_what_was_promised_is_told_and_logged_once(gantry, model, mcp):
    mcp.add("srv", tools=["structured", "structured_wrong", "structured_missing"])
    model.reply(calls=[call("srv__structured"), call("srv__structured_wrong"), call("srv__structured_missing")])
    model.reply(calls=[call("srv__structured_wrong")])
    model.reply("done")
    gantry.talk("go")
    right, wrong, missing, again = told(model)
    assert "promises" not in right
    assert wrong.startswith("36 or so\n") and wrong.endswith(
        "[the result is not what the tool's output schema promises: "
        "structuredContent.total: must be a number, not a string]")
    assert missing.startswith("36 or so\n") and "structuredContent is missing" in missing
    assert again == wrong
    err = gantry.procs[-1].err.text
    assert err.count("mcp.mismatch") == 2
