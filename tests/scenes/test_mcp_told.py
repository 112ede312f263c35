"""What a tool server is told: from which level on to log, and where it may work."""

import json
import signal

import pytest

from fakes.model import call

pytestmark = pytest.mark.concurrency


def levels(mcp):
    return [m["params"]["level"] for m in mcp.received("logging/setLevel")]


@pytest.mark.parametrize("ours, theirs", [("debug", "debug"), ("warn", "warning"), ("error", "error")])
def test_it_is_told_the_level_of_our_log(gantry, model, mcp, ours, theirs):
    mcp.add("srv", tools=["echo"])
    d = gantry.daemon(LOG_LEVEL=ours)
    mcp.wait(lambda: levels(mcp) == [theirs], "the level", 30)
    d.finish()


def test_another_level_in_the_manifest_is_told_after_a_reload(gantry, model, mcp):
    mcp.add("srv", tools=["echo"], log_level="notice")
    d = gantry.daemon()
    mcp.wait(lambda: levels(mcp) == ["notice"], "the level", 30)
    mcp.servers[0]["log_level"] = "alert"
    mcp.write()
    d.popen.send_signal(signal.SIGHUP)
    mcp.wait(lambda: levels(mcp) == ["notice", "alert"], "the other level", 30)
    d.finish()


def test_the_manifests_level_and_roots_come_first(gantry, model, mcp):
    mcp.add("srv", tools=["roots"], log_level="critical", roots=["/srv/a b", "/srv/c"])
    model.reply(calls=[call("srv__roots")])
    model.reply("done")
    gantry.talk("go")
    assert levels(mcp) == ["critical"]
    roots = json.loads(model.last.results[0])["result"]["roots"]
    assert roots == [{"uri": "file:///srv/a%20b", "name": "a b"}, {"uri": "file:///srv/c", "name": "c"}]


def test_other_roots_are_told_to_the_server_that_is_there(gantry, model, mcp):
    """Asked again, it hears the new ones, and no process of it had to go."""
    mcp.add("srv", tools=["roots", "pid"], roots=["/srv/a"])
    changed = lambda: mcp.received("notifications/roots/list_changed")
    d = gantry.daemon()

    def use(tool, reply):
        model.reply(calls=[call("srv__" + tool)])
        model.reply(reply)
        d.send(reply)
        d.out.wait("%s\n" % reply, 60)
        return model.last.results[-1]
    pid = use("pid", "first")
    assert not changed()
    mcp.servers[0]["roots"] = ["/srv/b", "/srv/c"]
    mcp.write()
    d.popen.send_signal(signal.SIGHUP)
    mcp.wait(lambda: len(changed()) == 1, "the notice", 30)
    roots = json.loads(use("roots", "second"))["result"]["roots"]
    assert [r["uri"] for r in roots] == ["file:///srv/b", "file:///srv/c"]
    assert use("pid", "third") == pid
    d.finish()
    assert len(changed()) == 1 and len(mcp.received("initialize")) == 1


def test_a_server_without_a_handshake_hears_the_level_with_each_request(gantry, model, mcp):
    mcp.add("srv", "stateless", tools=["log"], log_level="warning")
    d = gantry.daemon()
    model.reply(calls=[call("srv__log", text="from the server")])
    model.reply("done")
    d.send("go")
    d.out.wait("done", 60)
    d.err.wait("mcp.log.*from the server", 30)
    meta = mcp.received("tools/call")[0]["params"]["_meta"]
    assert meta["io.modelcontextprotocol/logLevel"] == "warning"
    mcp.servers[0]["log_level"] = "error"
    mcp.write()
    d.popen.send_signal(signal.SIGHUP)
    mcp.wait(lambda: len(mcp.received("tools/list")) == 2, "its next life", 30)
    model.reply(calls=[call("srv__log")])
    model.reply("over")
    d.send("again")
    d.out.wait("over", 60)
    assert mcp.received("tools/call")[1]["params"]["_meta"]["io.modelcontextprotocol/logLevel"] == "error"
    assert not levels(mcp)
    d.finish()


def test_a_level_that_is_none_is_named(gantry, mcp):
    mcp.add("srv", tools=["echo"], log_level="loud")
    assert "log_level" in gantry.run("tools", "list", code=None).err
