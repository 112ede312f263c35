"""Many tools, few shown: the model switches on what it needs (tools.dynamic)."""

from fakes.model import call


def test_the_model_switches_on_what_it_needs(gantry, model, mcp):
    mcp.add("srv", tools=["echo", "add"])
    gantry.set(GANTRY_TOOLS_DYNAMIC="true")
    model.reply(calls=[call("srv__echo", text="x")])
    model.reply(calls=[call("tools_enable", prefixes=["srv__echo", "nope"])])
    model.reply(calls=[call("srv__echo", text="now")])
    model.reply("done")
    model.reply("still on")
    r = gantry.talk("go", "again")
    assert r.out.splitlines()[-1] == "still on"
    shown = [[t for t in request.tools if "__" in t] for request in model.requests]
    assert shown == [[], [], ["srv__echo"], ["srv__echo"], ["srv__echo"]]
    index = [t["function"]["description"] for t in model.requests[0].body["tools"]
             if t["function"]["name"] == "tools_enable"]
    assert "srv (2), srv__add (1), srv__echo (1)." in index[0]
    assert "is switched off; call tools_enable" in model.requests[1].results[0]
    assert model.requests[2].results == ["on: srv__echo (1); no such prefix: nope"]
    assert model.requests[3].results == ["now"]
    assert len([c for c in mcp.calls() if c]) == 1


def test_the_guard_comes_after_the_name_was_mended(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    gantry.set(GANTRY_TOOLS_DYNAMIC="true")
    model.reply(calls=[call("echo", text="x")])             # no prefix: would look like one of ours
    model.reply(calls=[call("srv-echo", text="x")])
    model.reply("done")
    gantry.talk("go")
    assert not mcp.calls()
    assert all("switched off" in r.results[0] or "no tool" in r.results[0] for r in model.requests[1:])
