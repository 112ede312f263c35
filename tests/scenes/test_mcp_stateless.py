"""Servers of both eras: what each speaks is found out, remembered, and found out again when it changes."""

import pytest

from fakes.model import call
from test_mcp import use


def test_a_server_without_a_handshake_is_used_like_any_other(gantry, model, mcp):
    mcp.add("srv", "stateless")
    assert use(gantry, model, "srv__echo", text="日本") == "日本"
    assert not mcp.received("initialize") and not mcp.received("notifications/initialized")
    assert use(gantry, model, "srv__again", n=3) == "after 3"
    assert "2026-07-28" in gantry.procs[-1].err.text


def test_a_server_of_both_eras_is_spoken_to_in_the_newer_one(gantry, model, mcp):
    mcp.add("srv", "dual")
    assert use(gantry, model, "srv__add", a=2, b=3) == "5"
    assert not mcp.received("initialize")


@pytest.mark.parametrize("tricks", [[], ["unsupported=2025-06-18"], ["deaf-to-unknown"], ["die-at=server/discover"]],
                         ids=["unknown-method", "unsupported", "deaf", "dies"])
def test_any_other_answer_silence_or_death_leads_to_the_handshake_and_is_remembered(gantry, model, mcp, tricks):
    mcp.add("srv", *tricks, tools=["echo"])
    for _ in range(2):
        assert use(gantry, model, "srv__echo", text="hi", settings={"GANTRY_MCP_START_TIMEOUT": "9s"}) == "hi"
    # The second start asked nothing that it knew.
    assert len(mcp.received("server/discover")) == 1
    assert len(mcp.received("initialize")) == 2


@pytest.mark.parametrize("first, then", [("stateless", "twice"), ("twice", "stateless")])
def test_a_server_that_changes_its_era_is_found_out_again(gantry, model, mcp, first, then):
    mcp.add("srv", first, tools=["echo"])
    assert use(gantry, model, "srv__echo", text="hi") == "hi"
    mcp.servers.clear()
    mcp.add("srv", then, tools=["echo"])
    d = gantry.daemon()
    d.err.wait("mcp.connected", 60)
    model.reply(calls=[call("srv__echo", text="ho")])
    model.reply("done")
    d.send("go")
    d.out.wait("done", 60)
    assert model.last.results == ["ho"]
    d.finish()


def test_a_server_that_speaks_only_what_is_yet_to_come_is_refused_with_a_reason(gantry, model, mcp):
    mcp.add("bad", "unsupported=2099-01-01").add("good", tools=["echo"])
    assert use(gantry, model, "good__echo", text="hi") == "hi"
    assert not any(t.startswith("bad__") for t in model.last.tools)
    assert "2099-01-01" in gantry.procs[-1].err.text
    assert not mcp.received("initialize", "bad")


def test_a_change_of_tools_is_heard_on_the_stream(gantry, model, mcp):
    mcp.add("srv", "stateless", "list-changed=5", tools=["echo"])
    d = gantry.daemon()
    d.err.wait("mcp.tools", 30)
    model.reply(calls=[call("srv__late")])
    model.reply("done")
    d.send("go")
    d.out.wait("done", 60)
    assert model.last.results == ["late tool ran"]
    d.finish()
    assert len(mcp.received("tools/list")) <= 3
    wanted = mcp.received("subscriptions/listen")[0]["params"]["notifications"]
    assert wanted == {"toolsListChanged": True}


def test_a_stream_of_changes_that_ends_is_asked_for_again(gantry, model, mcp):
    mcp.add("srv", "stateless", "listen-ends=2", tools=["echo"])
    d = gantry.daemon()
    mcp.wait(lambda: len(mcp.received("subscriptions/listen")) == 3, "a third request to listen", 30)
    d.finish()


def test_a_call_that_becomes_a_task_is_waited_for(gantry, model, mcp):
    mcp.add("srv", "stateless", tools=["task"])
    gate = gantry.dir / "gate"
    d = gantry.daemon()
    model.reply(calls=[call("srv__task", gate=str(gate))])
    model.reply("done")
    d.send("go")
    mcp.wait(lambda: len(mcp.received("tasks/get")) > 2, "a task that is asked for")
    gate.write_text("")
    d.out.wait("done", 60)
    assert model.last.results == ["the task is done"]
    d.finish()


def test_stop_cancels_a_task(gantry, model, mcp):
    mcp.add("srv", "stateless", tools=["task"])
    d = gantry.daemon()
    model.reply(calls=[call("srv__task", gate="/nonexistent")])
    d.send("go")
    mcp.wait(lambda: mcp.received("tasks/get"), "a task that is asked for")
    d.send("/stop")
    mcp.wait(lambda: "task cancelled" in mcp.events(), "a task that is cancelled")
    d.finish()
    assert not mcp.received("notifications/cancelled")


def test_a_task_whose_server_dies_leaves_the_call_in_doubt(gantry, model, mcp):
    mcp.add("srv", "stateless", "die-at=tasks/get", tools=["task"])
    result = use(gantry, model, "srv__task", gate="/nonexistent")
    assert "the task that the call became is lost" in result


def test_progress_keeps_a_call_alive_up_to_the_limit(gantry, model, mcp):
    mcp.add("srv", "stateless", tools=["task"])
    result = use(gantry, model, "srv__task", gate="/nonexistent",
                 settings={"GANTRY_MCP_CALL_TIMEOUT": "1s", "GANTRY_MCP_CALL_MAX": "3s"})
    assert "within 3000 ms" in result
    assert "task cancelled" in mcp.events()
