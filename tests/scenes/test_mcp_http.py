"""Servers behind a URL: what works, what is refused in one line, and what never hangs."""

import json
import pathlib
import re
import time

import pytest

from fakes.mcp_http import Far, half_open
from fakes.model import call
from harness.fixtures import beside
from harness.tls import Front, certificate
from harness.watch import wait_until


@pytest.fixture
def far(gantry, mcp):
    """far("sse", ...) starts such a server and puts it into the manifest; keys go there, too."""
    open_ones = []

    def start(*tricks, name="far", **keys):
        server = Far(*tricks)
        open_ones.append(server)
        mcp.servers.append({"name": name, "url": server.url, **keys})
        mcp.write()
        return server
    yield start
    for server in open_ones:
        server.close()


def use(gantry, text="hi", code=0, **env):
    return gantry.run("tools", "call", "far__echo", json.dumps({"text": text}), code=code, **env)


SHAPES = [[], ["sse"], ["session"], ["sse", "session"], ["sse", "session", "no-get"], ["legacy"], ["stay"], ["progress"],
          ["modern"], ["modern", "sse"], ["modern", "progress"]]


@pytest.mark.parametrize("tricks", SHAPES, ids="+".join)
def test_a_server_behind_a_url_is_used(gantry, far, tricks):
    server = far(*tricks)
    assert use(gantry, "日本").out == "日本\n"
    assert len(server.calls) == 1
    for r in server.requests:
        if r.verb == "POST":
            assert r.headers["Content-Type"] == "application/json"
            assert {"application/json", "text/event-stream"} <= set(re.split(r",\s*", r.headers["Accept"]))
    if "modern" in tricks:
        assert {r.headers["MCP-Protocol-Version"] for r in server.requests} == {"2026-07-28"}
        assert {"initialize", "notifications/initialized", "GET", "DELETE"}.isdisjoint(server.methods())
    elif "legacy" not in tricks:
        call_ = server.of("tools/call")[0]
        assert call_.headers["MCP-Protocol-Version"] == "2025-06-18"
        assert call_.headers["Mcp-Session-Id"] == ("s-1" if "session" in tricks else None)
        assert bool(server.of("DELETE")) == ("session" in tricks)


def test_both_forms_of_the_manifest_name_a_url(gantry, far, mcp):
    server = far("session")
    for kind in ("http", "streamable-http"):
        gantry.manifest.write_text(json.dumps({"mcpServers": {
            "far": {"type": kind, "url": server.url, "headers": {"X-Team": "blue"}}}}))
        assert use(gantry).out == "hi\n"
    assert server.requests[-1].headers["X-Team"] == "blue"


def test_headers_come_from_variables_and_files_and_are_never_shown(gantry, far, tmp_path):
    (tmp_path / "key").write_text("file-secret-4711\n")
    gantry.secrets |= {"file-secret-4711", "env-secret-0815", "in-a-text-2342"}
    server = far(headers={"Authorization": "Bearer ${FAR_TOKEN}"}, headers_env={"X-Api-Key": "FAR_KEY"},
                 headers_file={"X-File": str(tmp_path / "key")})
    assert use(gantry, FAR_TOKEN="in-a-text-2342", FAR_KEY="env-secret-0815").out == "hi\n"
    for r in server.requests:
        assert r.headers["Authorization"] == "Bearer in-a-text-2342"
        assert r.headers["X-Api-Key"] == "env-secret-0815" and r.headers["X-File"] == "file-secret-4711"
    out = use(gantry, code=1, FAR_TOKEN="in-a-text-2342")
    assert "FAR_KEY" in out.err and "X-Api-Key" in out.err


def test_a_forgotten_session_is_begun_anew_and_the_call_made_once(gantry, far):
    for tricks in (["session", "forget=1"], ["session", "forget=1", "forget400", "sse"]):
        server = far(*tricks, name="far")
        assert use(gantry).out == "hi\n"
        assert server.begun == 2 and len(server.calls) == 1
        gantry.mcp.servers.clear()


def test_a_stream_that_breaks_off_is_taken_up_behind_its_last_event(gantry, far):
    server = far("cut", "session")
    assert use(gantry).out == "hi\n"
    again = [r for r in server.of("GET") if r.headers["Last-Event-ID"]]
    assert len(again) == 1 and len(server.calls) == 1
    assert again[0].headers["Last-Event-ID"] == "e-%d" % server.calls[0]["id"]


def test_a_call_whose_stream_stays_cut_is_in_doubt(gantry, far):
    far("cut-dead")
    out = use(gantry, code=1, seconds=60)
    assert "stream" in out.out and "may or may not have had an effect" in out.out


def test_a_changed_list_is_heard_on_the_stream_of_changes(gantry, model, far):
    server = far("modern", "list-changed")
    d = gantry.daemon()
    server.wait(lambda: len(server.of("tools/list")) == 2, "the second list")
    model.reply("done")
    d.send("go")
    d.out.wait("done", 30)
    assert {"far__echo", "far__late"} <= set(model.last.tools)
    for q in server.streams:
        q.put(None)
    server.wait(lambda: len(server.of("subscriptions/listen")) == 2, "a second stream")
    d.finish()


def test_a_stop_closes_the_stream_of_a_call_where_there_is_no_session(gantry, model, far):
    server = far("modern", "silent")
    model.reply(calls=[call("far__echo", text="x")])
    d = gantry.daemon()
    d.send("go")
    server.wait(lambda: server.calls, "the call")
    d.send("/stop")
    d.out.wait("stopping", 20)
    d.finish()
    assert not server.of("notifications/cancelled")


def probe(gantry, server, code=0):
    return gantry.run(server.url, program=beside("mcp-probe"), code=code).out


@pytest.mark.parametrize("tricks", [["ask", "session"], ["ask-get", "session"], ["modern", "ask-input"]], ids="+".join)
def test_a_question_in_the_midst_of_a_call_reaches_its_caller(gantry, far, tricks):
    server = far(*tricks)
    out = probe(gantry, server)
    assert '"colour": "x"' in out or '"colour":"x"' in out
    if "modern" in tricks:
        again = server.of("tools/call")[1].body
        assert again["params"]["requestState"] == "st" and again["id"] != server.of("tools/call")[0].body["id"]
    else:
        assert list(server.replies.values())[0]["result"]["action"] == "accept"


@pytest.mark.parametrize("tricks", [["task", "session"], ["task", "ask-get", "session"]], ids="+".join)
def test_a_task_asks_where_its_result_is_asked_for(gantry, far, tricks):
    server = far(*tricks)
    assert '"colour": "x"' in probe(gantry, server).replace('":"', '": "')
    assert server.of("tools/call")[0].body["params"]["task"] == {}
    assert len(server.of("tasks/result")) == 1 and server.of("tasks/get")


def test_the_end_of_a_link_is_heard_on_the_servers_own_stream(gantry, model, far):
    server = far("link", "session")
    model.reply(calls=[call("far__echo", text="hi")])
    model.reply("finished")
    t = gantry.terminal()
    t.out.wait("> ")
    t.keys("go\r")
    t.out.wait("say that you did", 60)
    server.opened.set()
    server.push({"jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": {"elicitationId": "e1"}})
    t.out.wait("finished", 60)
    assert model.last.results == ["hi"] and len(server.of("tools/call")) == 2
    t.keys("\x04")
    t.wait()


def test_a_server_that_is_busy_is_asked_again_when_it_said(gantry, far):
    server = far("busy=1")
    began = time.monotonic()
    assert use(gantry).out == "hi\n"
    assert time.monotonic() - began >= 1 and len(server.of("tools/call")) == 2


def test_a_call_that_was_turned_away_for_long_had_no_effect(gantry, far):
    far("busy=3600")
    assert "429" in (out := use(gantry, code=1)).out and "it had no effect" in out.out


def test_a_call_that_a_server_may_have_begun_is_not_made_again(gantry, far):
    server = far("down=0")
    out = use(gantry, code=1).out
    assert "503" in out and "may or may not have had an effect" in out
    assert len(server.of("tools/call")) == 1


def test_a_call_that_began_is_in_doubt_when_a_later_part_is_turned_away(gantry, far):
    server = far("modern")

    def guard(turn):
        if turn.request.method != "tools/call":
            return False
        if server.first("leg"):
            turn.json(turn.wrap(turn.request.body, {"resultType": "input_required", "requestState": "st"}))
        else:
            turn.plain(429, [("Retry-After", "3600")])
        return True
    server.guard = guard
    out = use(gantry, code=1).out
    assert "429" in out and "may or may not have had an effect" in out
    assert len(server.of("tools/call")) == 2


@pytest.mark.parametrize("status,effect", [(413, "it had no effect"), (500, "may or may not have had an effect")])
def test_a_call_that_an_older_server_refuses_fails_at_once(gantry, far, status, effect):
    server = far("legacy")
    server.guard = lambda turn: turn.request.method == "tools/call" and not turn.plain(status)
    began = time.monotonic()
    out = use(gantry, code=1).out
    assert str(status) in out and effect in out
    assert time.monotonic() - began < 20


def test_a_session_that_is_lost_again_and_again_is_asked_once_each_time(gantry, far):
    server = far("session")

    def guard(turn):
        if turn.request.method == "tools/call":
            server.sessions.clear()
        return False
    server.guard = guard
    use(gantry, code=1, seconds=60, GANTRY_MCP_CALL_TIMEOUT="3s")
    assert server.begun >= 2 and len(server.of("tools/call")) <= server.begun


HOSTILE = [("redirect", "other.example", False), ("html", "text/html", False), ("empty", "no answer", False),
           ("half-json", "", False), ("rubbish", "", False), ("headers", "headers", False),
           ("huge-event", "over", False), ("huge-json", "over", False), ("silent", "no answer", False),
           ("drip", "no answer", False)]


@pytest.mark.parametrize("how,says,harmless", HOSTILE, ids=[h[0] for h in HOSTILE])
def test_a_hostile_answer_to_a_call_is_one_line_and_no_hang(gantry, far, how, says, harmless):
    far(how, timeout=3 if says == "no answer" and how != "empty" else 60)
    out = use(gantry, code=1, GANTRY_MCP_LINE_MAX=str(1 << 20), seconds=40)
    assert says in out.out and len(out.out.splitlines()) == 1
    assert ("it had no effect" in out.out) == harmless
    assert "secret" not in out.out + out.err


@pytest.mark.parametrize("how", [h[0] for h in HOSTILE])
def test_a_hostile_handshake_is_one_line_and_no_hang(gantry, far, how):
    far("init-" + how)
    out = gantry.run("tools", "list", code=1, GANTRY_MCP_LINE_MAX=str(1 << 20), GANTRY_MCP_START_TIMEOUT="2s",
                     seconds=40)
    assert len(re.findall(r"server far is not ready", out.err)) == 1
    assert "secret" not in out.err


def test_a_server_that_takes_connections_and_is_silent_is_named(gantry, mcp):
    s = half_open()
    mcp.servers.append({"name": "far", "url": "http://127.0.0.1:%d/mcp" % s.getsockname()[1]})
    mcp.write()
    out = gantry.run("tools", "list", code=1, GANTRY_MCP_START_TIMEOUT="1s", seconds=40)
    assert "server far is not ready" in out.err
    s.close()


def test_an_endpoint_on_another_host_is_refused(gantry, far):
    server = far("legacy", "elsewhere")
    out = gantry.run("tools", "list", code=1, seconds=40)
    assert "another host" in out.err
    assert all(r.path == "/mcp" for r in server.requests)


def test_plain_http_to_another_machine_is_refused_unless_it_is_allowed(gantry, mcp):
    mcp.servers.append({"name": "far", "url": "http://mcp.example/mcp"})
    mcp.write()
    assert "allow_http" in gantry.run("tools", "list", code=1).err
    mcp.servers[0]["allow_http"] = True
    mcp.write()
    assert "allow_http" not in gantry.run("tools", "list", code=1, GANTRY_MCP_START_TIMEOUT="1s").err


def test_who_is_not_let_in_is_told_what_to_do(gantry, far):
    far("needs=X-Key:abc")
    assert re.search("403|token|sign|let in", gantry.run("tools", "list", code=1).err)


def test_a_changed_list_is_heard_on_the_servers_own_stream(gantry, model, far):
    server = far("list-changed", "session")
    d = gantry.daemon()
    server.wait(lambda: len(server.of("tools/list")) == 2, "the second list")
    model.reply("done")
    d.send("go")
    d.out.wait("done", 30)
    assert {"far__echo", "far__late"} <= set(model.last.tools)
    d.finish()


@pytest.mark.parametrize("tricks,method,status", [(["session"], "GET", 500), (["modern"], "subscriptions/listen", 429)],
                         ids=["GET", "listen"])
def test_a_stream_that_is_refused_once_is_asked_for_again(gantry, far, tricks, method, status):
    server = far("list-changed", *tricks)
    server.guard = lambda turn: (turn.request.method or turn.request.verb) == method and server.first("refused") and \
        not turn.plain(status, [("Retry-After", "3600")])
    d = gantry.daemon()
    server.wait(lambda: len(server.of("tools/list")) >= 2 and len(server.of(method)) >= 2 and server.streams,
                "a second stream, and the list")
    d.finish()
    assert server.begun <= 1


def test_who_may_not_listen_may_call(gantry, model, far):
    server = far("session")
    server.guard = lambda turn: turn.request.verb == "GET" and not turn.plain(403)
    d = gantry.daemon()
    server.wait(lambda: server.of("GET"), "the stream")
    for _ in range(2):
        model.reply(calls=[call("far__echo", text="x")])
        model.reply("done")
        d.send("go")
        d.out.wait("done", 30)
    assert model.last.results[-1] == "x"
    d.finish()
    assert server.begun == 1 and len(server.of("GET")) == 1


def test_an_older_servers_stream_costs_nothing_while_nothing_comes(gantry, far):
    server = far("legacy")
    d = gantry.daemon()
    server.wait(lambda: server.of("tools/list"), "the list")
    seen = []

    def resting():
        """All threads sleep, twenty looks long, and none of them runs in between."""
        now = {}
        for task in pathlib.Path("/proc/%d/task" % d.pid).iterdir():
            now[task.name] = ((task / "stat").read_text().rsplit(")", 1)[1].split()[0], (task / "schedstat").read_text())
        if any(state != "S" for state, _ in now.values()) or (seen and seen[-1] != now):
            seen.clear()
        seen.append(now)
        return len(seen) > 20
    wait_until(resting, "rest", 60)
    assert len(server.of("GET")) == 1
    d.finish()


def test_a_stop_during_a_call_tells_the_server_and_ends_at_once(gantry, model, far):
    server = far("silent", "session")
    model.reply(calls=[call("far__echo", text="x")])
    d = gantry.daemon()
    d.send("go")
    server.wait(lambda: server.calls, "the call")
    d.send("/stop")
    d.out.wait("stopping", 20)
    server.wait(lambda: server.of("notifications/cancelled"), "the notice")
    assert server.of("notifications/cancelled")[0].body["params"]["requestId"] == server.calls[0]["id"]
    d.finish()
    assert server.of("DELETE")


def test_the_daemon_goes_on_when_the_server_comes_back(gantry, model, far):
    server = far("session")
    d = gantry.daemon()
    model.reply(calls=[call("far__echo", text="one")])
    model.reply("first")
    d.send("go")
    d.out.wait("first", 30)
    server.sessions.clear()
    for q in server.streams:
        q.put(None)
    model.reply(calls=[call("far__echo", text="two")])
    model.reply("second")
    d.send("again")
    d.out.wait("second", 30)
    assert model.last.results == ["two"]
    d.finish()


def test_tls_is_checked_against_the_bundle_of_the_server(gantry, far, mcp, tmp_path):
    ours, other = certificate(tmp_path, "ours", "IP:127.0.0.1"), certificate(tmp_path, "other", "IP:127.0.0.1")
    server = far("session")
    front = Front(server.url, *ours)
    mcp.servers[0]["url"] = front.url
    for ca, code in ((None, 1), (other, 1), (ours, 0)):
        mcp.servers[0].pop("ca", None)
        if ca:
            mcp.servers[0]["ca"] = str(ca[0])
        mcp.write()
        seen = len(server.requests)
        r = use(gantry, code=code)
        assert r.out == "hi\n" if code == 0 else ("certificate" in r.out + r.err and len(server.requests) == seen)
    front.close()
