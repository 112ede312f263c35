"""What servers have to read: listed, read, followed from a result, and told when it changes."""

import re

import pytest

from fakes.model import call
from harness.watch import wait_until

ON = {"GANTRY_MCP_RESOURCES": "true"}


def told(model):
    """All tool results of the last request."""
    return [m["content"] for m in model.last.messages if m["role"] == "tool"]


def ask(gantry, model, *calls, **settings):
    model.reply(calls=list(calls))
    model.reply("done")
    assert gantry.talk("go", **ON, **settings).out == "done\n"
    return told(model)[-len(calls):]


@pytest.mark.concurrency
def test_the_tools_are_there_only_when_asked_for(gantry, model, mcp):
    mcp.add("srv", "resources", tools=["echo"])
    model.reply("hi")
    gantry.talk("hello")
    assert model.last.tools and not [t for t in model.last.tools if "resource" in t]
    model.reply("hi")
    gantry.talk("hello", **ON)
    assert [t for t in model.last.tools if "resource" in t] == ["mcp_read_resource", "mcp_resources"]


@pytest.mark.concurrency
def test_resources_are_listed_page_by_page_and_read(gantry, model, mcp):
    mcp.add("one", "resources", "page=2", tools=["echo"]).add("two", "resources", tools=["echo"])
    mcp.add("none", tools=["echo"])
    all_, page, templates = ask(gantry, model, call("mcp_resources"), call("mcp_resources", server="one", cursor="0:2"),
                                call("mcp_resources", action="templates", server="two"))
    assert all_.startswith("server one:\n- note://one  The first note  (text/plain)\n- note://long  long: A long note\n"
                           "more: server one, cursor 0:2\nserver two:\n")
    assert "- pic://dot  dot  (image/png)  70 bytes\n" in all_ and "none" not in all_
    assert page == "- pic://dot  dot  (image/png)  70 bytes\n- data://json  json  (application/json)\n"
    assert templates == "- note://{name}  notes\n"
    text, image, data, missing, which = ask(
        gantry, model, call("mcp_read_resource", server="one", uri="note://one"),
        call("mcp_read_resource", server="one", uri="pic://dot"),
        call("mcp_read_resource", server="two", uri="data://json"),
        call("mcp_read_resource", server="two", uri="note://nothing"), call("mcp_read_resource", uri="note://one"))
    assert text == "first" and data == '{"n":36}'
    assert image == "[image/png, 70 bytes, not shown]"
    assert "Resource not found" in missing and which == "error: say which server: one, two"


@pytest.mark.concurrency
def test_a_long_resource_is_read_in_parts(gantry, model, mcp):
    mcp.add("srv", "resources", tools=["resource_link"])
    first, = ask(gantry, model, call("mcp_read_resource", uri="note://long"), TOOL_RESULT_MAX_CHARS="10000")
    assert first.endswith("789\n[bytes 0 to 10000 of 40003; go on with offset 10000]")
    last, past = ask(gantry, model, call("mcp_read_resource", uri="note://long", offset=40000),
                     call("mcp_read_resource", uri="note://long", offset=50000), TOOL_RESULT_MAX_CHARS="10000")
    assert last == "END\n[bytes 40000 to 40003 of 40003]" and "it has 40003 bytes" in past


def test_a_link_of_a_result_can_be_followed(gantry, model, mcp):
    mcp.add("srv", "resources", tools=["resource_link"])
    link, = ask(gantry, model, call("srv__resource_link"))
    uri = re.search(r"\[link linked: (\S+)", link).group(1)
    assert uri == "file:///linked.txt"
    missing, = ask(gantry, model, call("mcp_read_resource", server="srv", uri=uri))
    assert "Resource not found" in missing and mcp.received("resources/read")[-1]["params"]["uri"] == uri


def subscribe(bot, model, uri="note://one"):
    model.reply(calls=[call("mcp_resources", action="subscribe", uri=uri)])
    model.reply("subscribed")
    bot.say("tell me when it changes")
    bot.wait_text("^subscribed$")


def test_a_change_of_a_resource_reaches_the_chat_that_subscribed_also_after_a_restart(bot, gantry, model, mcp):
    mcp.add("srv", "resources", tools=["touch"])
    bot.configure()
    proc = bot.run_clocked(**ON)
    subscribe(bot, model)
    model.reply(calls=[call("srv__touch", text="note://one"), call("srv__touch", text="note://one")])
    model.reply("touched it")
    bot.say("touch it")
    bot.wait_text("^touched it$")
    wait_until(lambda: gantry.sql("select 1 from system_rows where what = 'resource'"), "the change on record")
    model.reply(calls=[call("mcp_read_resource", uri="note://one")])
    model.reply("it was touched")
    bot.step(5)
    bot.wait_text("note://one:\\s+it was touched")
    assert told(model)[-1] == "touched 2 times"
    assert len(gantry.sql("select 1 from inbox where kind = 'watch'")) == 1
    bot.stop_gantry(proc)
    before = len(mcp.received("resources/subscribe"))
    bot.run_clocked(**ON)
    mcp.wait(lambda: len(mcp.received("resources/subscribe")) > before, "the subscription to be made again")
    wait_until(lambda: not gantry.sql("select 1 from system_rows where what = 'resubscribe'"), "the row to be over")
    model.reply(calls=[call("srv__touch", text="note://one")])
    model.reply("touched again")
    bot.say("touch it")
    bot.wait_text("^touched again$")
    wait_until(lambda: gantry.sql("select 1 from system_rows where what = 'resource'"), "the change on record")
    model.reply("[silent]")
    n = len(model.requests)
    bot.step(120)
    model.wait(n + 1)
    wait_until(lambda: len(gantry.sql("select 1 from inbox where kind = 'watch' and state = 'done'")) == 2, "the turn's end")
    model.reply(calls=[call("mcp_resources", action="subscriptions"), call("mcp_resources", action="unsubscribe", uri="note://one")])
    model.reply("no more")
    bot.say("enough")
    bot.wait_text("^no more$")
    assert told(model)[-2:] == ["server srv: note://one\n", "unsubscribed"]
    assert not gantry.sql("select 1 from resource_watches") and mcp.received("resources/unsubscribe")
