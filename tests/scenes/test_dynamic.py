"""Many tools, few shown: the model switches on what it needs (tools.dynamic)."""

from fakes.model import Reply, call


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


def test_a_person_switches_them_too(gantry, model, mcp):
    mcp.add("srv", tools=["echo", "add"])
    gantry.set(GANTRY_TOOLS_DYNAMIC="true")
    model.answer(lambda r: Reply("hello"))
    d = gantry.daemon()

    def say(text, answer):
        d.send(text)
        return d.out.wait(answer)

    say("hi", "hello")                        # the servers are up
    model.wait(1)
    say("/tools", r"(?s)tools \(\d+, \d+ of them shown to the model, about \d+ tokens of schema, estimated; \d+ with all\):"
                  r"\nprefixes that are on: none;.*- srv__echo  \(server=srv tool=echo\)  off")
    say("/brief srv__echo,nope", r"on: srv__echo \(six hours after the last use\); no such prefix: nope")
    say("/status", r"tools=\d+ \(\d+ shown to the model, the others off until their prefix is on\)\n"
                   r"schema_est_tokens=\d+ \(estimate; \d+ with all\)")
    say("/tokens", r"tools: \d+ \(\d+ of \d+ tools\)")
    say("what now?", "hello")
    model.wait(2)
    say("/short srv", r"on: srv \(27 hours after the last use\)")
    say("and now?", "hello")
    model.wait(3)
    say("/off srv__add", r"not on by itself: srv__add \(on with srv\)")
    say("/off srv,srv__echo", r"off: srv, srv__echo")
    say("/off srv", r"not on by itself: srv\n")
    say("and now?", "hello")
    model.wait(4)
    say("/brief " + ",".join("abcdefghi"), "At most 8 prefixes at once")
    say("/brief ,", "Name a prefix")
    d.finish()
    shown = [[t for t in request.tools if "__" in t] for request in model.requests]
    assert shown == [[], ["srv__echo"], ["srv__add", "srv__echo"], []]


def test_without_dynamic_tools_there_is_nothing_to_switch(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    r = gantry.talk("/brief srv", "/tools")
    assert "tools.dynamic is off" in r.out
    assert not gantry.sql("select 1 from tool_holds")
