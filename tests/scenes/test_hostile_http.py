"""Tool servers behind a URL that mean harm, one way each: nothing hangs, crashes or grows; the others serve; one line says it."""

import re

import pytest

from fakes.mcp_http import Far
from fakes.mcp_http_hostile import SESSIONS, WAYS, Bridge, session
from test_hostile_servers import IN_DOUBT, lines_about, meet_at

TOO_LATE = "no answer within|was not complete within"
ENDED = "stream ended before the answer"
HEADERS = "too many response headers"
BROKEN_OFF = "connection closed in the middle of the answer"
# What is said of each; None: nothing, it is taken as an answer.
SAID = {
    "gigabyte-body": "over 16777216 bytes", "gigabyte-event": "over 16777216 bytes", "many-data-lines": TOO_LATE + "|over",
    "one-long-header": HEADERS, "endless-headers": HEADERS, "endless-informational": HEADERS, "long-status-line": HEADERS,
    "endless-comments": TOO_LATE, "endless-notices": TOO_LATE,
    "redirect-elsewhere": r"redirects to elsewhere\.example", "redirect-to-itself": r"redirects to 127\.0\.0\.1",
    "redirect-to-a-file": "redirects to nowhere",
    "a-picture": "image/png", "no-type-at-all": ENDED, "a-stream-that-is-json": ENDED, "json-that-is-a-stream": ENDED + "|JSON",
    "gzip-bomb": "over 16777216 bytes", "deflate-bomb-of-events": "over 16777216 bytes", "gzip-in-gzip": None,
    "unknown-coding": "broken content encoding",
    "shorter-than-said": BROKEN_OFF, "bad-length": "not an HTTP answer", "bad-chunks": "connection lost",
    "dies-mid-event": BROKEN_OFF, "dies-mid-body": BROKEN_OFF, "dies-mid-header": "closed in the middle of the headers",
    "dies-at-once": "closed before an answer", "resets": "connection (lost|closed before an answer)", "no-http": "not an HTTP answer",
    "odd-status": "status 799", "switches-protocols": "closed before an answer", "no-content": "no answer",
    "refuses-at-length": "status 500", "challenges-at-length": HEADERS, "busy-for-ever": "status 503",
    "huge-event-id": ENDED, "event-id-of-control-characters": ENDED,
    "retry-at-once": TOO_LATE, "retry-in-ages": TOO_LATE,
    "answers-never-asked-for": None, "answers-twice": None,
}


def warned(d, name="evil"):
    return lines_about(d, '"level":"(WARN|ERROR)"', name)


@pytest.fixture
def at(mcp):
    """at(name, server, **keys): it is in the manifest under that name."""
    open_ones = []

    def put(name, server, **keys):
        open_ones.append(server)
        mcp.servers.append({"name": name, "url": server.url, **keys})
        mcp.write()
        return server
    yield put
    for server in open_ones:
        server.close()


def test_every_way_is_expected():
    assert set(WAYS) == set(SAID)


def groups(names, size=7):
    """Some at a time: each is a server of its own, and they are all there at once."""
    names = list(names)
    return [names[i:i + size] for i in range(0, len(names), size)]


# A way that only a limit ends is given few seconds, another as many as the slowest machine needs.
TIMED = [name for name in WAYS if TOO_LATE in (SAID[name] or "")]
OTHERS = [name for name in WAYS if name not in TIMED]


@pytest.mark.parametrize("names", groups(TIMED) + groups(OTHERS), ids=lambda names: names[0])
def test_a_hostile_answer_to_a_call_is_one_line(gantry, model, mcp, at, names):
    for name in names:
        at(name, Far(), timeout=4 if name in TIMED else 60).guard = WAYS[name]("tools/call")
    results, d = meet_at(gantry, model, mcp, [name + "__echo" for name in names], seconds=200)
    for i, name in enumerate(names):
        if SAID[name] is None:
            assert results[i] == "hello %d" % i and not warned(d, name)
            continue
        assert re.search(SAID[name], results[i]) and IN_DOUBT in results[i], (name, results[i])
        (line,) = warned(d, name)
        assert '"msg":"mcp.call"' in line and re.search(SAID[name], line), line
    assert "secret" not in d.err.text + "".join(results)


@pytest.mark.parametrize("names", groups(TIMED) + groups([name for name in OTHERS if SAID[name]]), ids=lambda names: names[0])
def test_a_hostile_handshake_is_a_line_each_time_it_is_tried(gantry, model, mcp, at, names):
    for name in names:
        at(name, Far()).guard = WAYS[name]("initialize")
    _, d = meet_at(gantry, model, mcp, (), settings={"GANTRY_MCP_START_TIMEOUT": "4s" if names[0] in TIMED else "60s"},
                   until=['"msg":"mcp.failed","server":"%s"' % name for name in names], seconds=200)
    for name in names:
        lines = warned(d, name)
        assert len(lines) in range(1, 10)
        assert all('"msg":"mcp.failed"' in line and re.search(SAID[name], line) for line in lines), lines
    assert "secret" not in d.err.text


def test_the_answer_that_is_waited_for_is_heard_among_forged_ones(gantry, model, mcp, at):
    names = [name for name in OTHERS if SAID[name] is None]
    for name in names:
        at(name, Far()).guard = WAYS[name]("initialize")
    results, d = meet_at(gantry, model, mcp, [name + "__echo" for name in names], settings={"GANTRY_MCP_START_TIMEOUT": "60s"})
    assert results == ["hello %d" % i for i in range(len(names))]


@pytest.mark.parametrize("where", ["notifications/initialized", "tools/list", "GET"])
def test_harm_at_any_other_step_stays_with_its_server(gantry, model, mcp, at, where):
    names = ["dies-at-once", "resets", "dies-mid-header", "endless-comments", "gzip-bomb", "no-http", "redirect-elsewhere"]
    for name in names:
        at(name, Far()).guard = WAYS[name](where)
    _, d = meet_at(gantry, model, mcp, (), settings={"GANTRY_MCP_START_TIMEOUT": "4s"})
    assert all(len(warned(d, name)) < 10 for name in names)


def test_a_session_id_that_is_none_is_refused_or_sent_back_as_it_is(gantry, model, mcp, at):
    servers = {name: at(name, Far()) for name in SESSIONS}
    for name, server in servers.items():
        server.guard = session(SESSIONS[name])
    results, d = meet_at(gantry, model, mcp, [name + "__echo" for name in SESSIONS])
    for i, (name, server) in enumerate(servers.items()):
        sent = {r.headers.get("Mcp-Session-Id") for r in server.requests if r.method not in ("initialize", "server/discover")}
        if name == "control-characters":
            assert len(warned(d, name)) in range(1, 10) and not sent
            assert all("its session id has control characters" in line for line in warned(d, name))
        else:
            assert results[i] == "hello %d" % i and not warned(d, name)
            assert sent <= {None, SESSIONS[name].decode("latin-1")}
    assert "\x1b" not in d.err.text


# As over a pipe --------------------------------------------------------------------------------------


def test_a_list_without_end_or_measure_ends(gantry, model, mcp, at):
    ends = {
        "endless-cursors": "does not end; what it had so far is taken",
        "endless-empty-pages": "does not end; what it had so far is taken",
        "long-cursors": "does not end; what it had so far is taken",
        "too-many-tools": "more than 4096 tools",
        "huge-schema": "over 16777216 bytes",
        "many-huge-schemas": "the list of tools is over 32 MiB",
        "no-list": "has no array",
    }
    for how in ends:
        at(how, Bridge(how))
    _, d = meet_at(gantry, model, mcp, (), settings={"GANTRY_MCP_START_TIMEOUT": "60s"},
                   until=['"server":"%s"[^\n]*%s' % end for end in ends.items()], seconds=200)
    for how, said in ends.items():
        assert len(lines_about(d, said, how)) in range(1, 10)


def test_no_name_of_a_server_stands_for_a_tool_of_another(gantry, model, mcp, at):
    at("evil", Bridge("shadowing-names"))
    _, d = meet_at(gantry, model, mcp, ())
    assert len(set(model.last.tools)) == len(model.last.tools)
    assert all(re.fullmatch("[A-Za-z_][A-Za-z0-9_-]{0,63}", name) for name in model.last.tools)
    assert len(mcp.calls("good")) == 2 and len(lines_about(d, "tools are left out")) == 1


def test_what_is_out_of_turn_reaches_no_call(gantry, model, mcp, at):
    hows = ["odd-ids", "asks-with-our-ids", "asks-before-initialize", "odd-entries"]
    for how in hows:
        at(how, Bridge(how))
    results, _ = meet_at(gantry, model, mcp, [how + "__echo" for how in hows] * 2, seconds=200)
    assert results == ["hello %d" % i for i in range(2 * len(hows))]


@pytest.mark.long
@pytest.mark.parametrize("how", ["floods-requests", "floods-notices", "floods-progress", "floods-list-changed", "floods-log",
                                 "floods-text", "endless-line", "wide-notices"])
def test_a_flood_hurts_nobody_else(gantry, model, mcp, at, how):
    at("evil", Bridge(how))
    _, d = meet_at(gantry, model, mcp, ())
    assert len(warned(d)) < 8 and len(lines_about(d, "")) < 150


def test_an_answer_without_measure_fails_its_call_and_no_more(gantry, model, mcp, at):
    says = {"gigabyte-line": "over 16777216 bytes", "result-of-100-mb": "over 16777216 bytes",
            "deep-bomb": "nested too deeply", "wide-bomb": "of too many parts",
            "key-bomb": "of too many parts"}
    for how in says:
        at(how, Bridge(how), timeout=60)
    results, d = meet_at(gantry, model, mcp, [how + "__echo" for how in says], seconds=300)
    for (how, said), result in zip(says.items(), results):
        assert re.search(said, result), (how, result)
        (line,) = lines_about(d, '"msg":"mcp.call"', how)
        assert re.search(said, line)
        # The rest of a bomb may come on the server's own stream, and who still writes it answers no ping.
        assert all('"msg":"mcp.failed"' in other for other in warned(d, how) if other != line)


def test_what_speaks_no_protocol_is_named(gantry, model, mcp, at):
    hows = ["plain-text", "wrong-version", "error-with-a-string", "odd-initialize"]
    for how in hows:
        at(how, Bridge(how))
    _, d = meet_at(gantry, model, mcp, (), settings={"GANTRY_MCP_START_TIMEOUT": "3s"},
                   until=['"msg":"mcp.failed","server":"%s"' % how for how in hows])
    for how in hows:
        assert len(warned(d, how)) in range(1, 10) and all('"msg":"mcp.failed"' in line for line in warned(d, how))


def test_who_dies_in_the_handshake_is_named_or_begun_anew(gantry, model, mcp, at):
    whens = ["start"] + ["%s %s" % (when, method) for when in ("before", "after") for method in (
        "initialize", "notifications/initialized", "tools/list")]
    bridges = {"dies%d" % i: at("dies%d" % i, Bridge("dies", when)) for i, when in enumerate(whens)}
    _, d = meet_at(gantry, model, mcp, (), settings={"GANTRY_MCP_START_TIMEOUT": "3s"})
    for name, bridge in bridges.items():
        assert bridge.begun >= 1 and len(warned(d, name)) < 10


def test_who_dies_in_a_call_leaves_it_in_doubt(gantry, model, mcp, at):
    for how, value in (("dies", "before tools/call"), ("half-a-line", "")):
        at(how, Bridge(how, value), timeout=10)
    results, d = meet_at(gantry, model, mcp, ("dies__echo", "half-a-line__echo"))
    for how, result in zip(("dies", "half-a-line"), results):
        assert IN_DOUBT in result, result
        assert len(lines_about(d, '"msg":"mcp.call"', how)) == 1
