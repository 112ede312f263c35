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


def test_a_level_that_is_none_is_named(gantry, mcp):
    mcp.add("srv", tools=["echo"], log_level="loud")
    assert "log_level" in gantry.run("tools", "list", code=None).err
