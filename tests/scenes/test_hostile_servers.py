"""Tool servers that mean harm, one way each: nothing hangs, crashes or grows; the others serve; one line says it."""

import re

import pytest

from fakes.model import Reply, call
from harness.fixtures import FAKES, PYTHON
from harness.watch import SLOW

IN_DOUBT = "it may or may not have had an effect"
MEMORY_KIB = 320 << 10      # at most, whatever a server sends; some times what is needed


def hostile(mcp, how, value="", name="evil", **keys):
    return mcp.command(name, PYTHON, ["-S", "-E", str(FAKES / "mcp_hostile.py"), how, value], **keys)


def peak_kib(proc):
    """The most memory that a process had resident."""
    with open("/proc/%d/status" % proc.pid, encoding="ascii") as f:
        return int(re.search(r"VmHWM:\s*(\d+)", f.read()).group(1))


def lines_about(proc, word, name="evil"):
    """The log's lines about a server that match a word."""
    return [line for line in proc.err.lines if re.search(r'"server":"%s"' % name, line) and re.search(word, line)]


def results_of(request):
    """All tool results of the turn so far."""
    last = max(i for i, m in enumerate(request.messages) if m["role"] == "user")
    return [m["content"] for m in request.messages[last:] if m["role"] == "tool"]


def meet(gantry, model, mcp, how, value="", tools=("evil__echo",), seconds=60, settings=None, until=(), **keys):
    """meet_at() with a server of fakes/mcp_hostile.py."""
    hostile(mcp, how, value, **keys)
    return meet_at(gantry, model, mcp, tools, seconds, settings, until)


def meet_at(gantry, model, mcp, tools, seconds=60, settings=None, until=()):
    """A turn that calls tools of hostile servers, then one of a good one, and a second turn with
    the good one.  The first turn's results, and the log of the daemon that has ended well."""
    mcp.add("good", tools=["echo"])
    seen = []
    rounds = [[call(t, text="hello %d" % i)] for i, t in enumerate(tools)] + [[call("good__echo", text="fine")]]

    def answer(request):
        seen[:] = results_of(request)
        return Reply(calls=rounds[len(seen)]) if len(seen) < len(rounds) else Reply("turn over")
    model.answer(answer)
    d = gantry.daemon(**dict({"GANTRY_MCP_START_TIMEOUT": "10s"}, **(settings or {})))
    d.send("go")
    d.out.wait("turn over", seconds)
    results = list(seen)
    assert results[-1] == "fine"
    rounds[:] = [[call("good__echo", text="still fine")]]
    d.send("/new")
    d.send("again")
    d.out.wait("turn over", seconds)
    assert seen == ["still fine"]
    for pattern in [until] if isinstance(until, str) else until:
        d.err.wait(pattern, seconds, from_start=True)
    d.send("/status")
    d.out.wait("server %s" % mcp.servers[0]["name"])    # what was shown before is behind the mark
    if SLOW == 1:
        assert peak_kib(d) < MEMORY_KIB
    d.finish(60)
    return results[:-1], d


# Lists -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how, said", [
    ("endless-cursors", "the list of tools does not end; what it had so far is taken"),
    ("endless-empty-pages", "the list of tools does not end; what it had so far is taken"),
    ("long-cursors", "the list of tools does not end; what it had so far is taken"),
    ("too-many-tools", "more than 4096 tools"),
    ("huge-schema", "over the limit of 16777216 bytes"),
    ("many-huge-schemas", "the list of tools is over 32 MiB"),
    ("no-list", 'has no array'),
])
def test_a_list_without_end_or_measure_ends(gantry, model, mcp, how, said):
    _, d = meet(gantry, model, mcp, how, tools=(), settings={"GANTRY_MCP_START_TIMEOUT": "60s"})
    assert len(lines_about(d, said)) in range(1, 4)


def test_no_name_of_a_server_stands_for_a_tool_of_another(gantry, model, mcp):
    results, d = meet(gantry, model, mcp, "shadowing-names", tools=())
    for name in model.last.tools:
        assert re.fullmatch("[A-Za-z_][A-Za-z0-9_-]{0,63}", name)
    assert len(set(model.last.tools)) == len(model.last.tools)
    assert len(mcp.calls("good")) == 2
    assert len(lines_about(d, "tools are left out")) == 1


def test_odd_entries_of_a_list_are_left_out(gantry, model, mcp):
    results, _ = meet(gantry, model, mcp, "odd-entries")
    assert results == ["hello 0"]


def test_a_title_is_one_short_line_and_an_icon_is_words(gantry, model, mcp):
    hostile(mcp, "titles-and-icons")
    d = gantry.daemon()
    d.err.wait('mcp.connected","server":"evil', 60)
    d.send("/tools")
    line = d.out.wait(r"- evil__echo[^\n]*\n").group(0).decode()
    assert "Say" in line and "\x1b" not in line and len(line) < 250 and "[icon: image/png 48x48]" in line
    d.finish()
    out = gantry.run("tools", "list").out
    assert "Say" in out and "\x1b" not in out


# Ids -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["answers-to-ids-never-asked", "answers-twice", "odd-ids",
                                 "asks-with-our-ids"])
def test_a_forged_answer_reaches_no_call(gantry, model, mcp, how):
    results, _ = meet(gantry, model, mcp, how, tools=("evil__echo", "evil__ping_me", "evil__echo"))
    assert results == ["hello 0", "hello 1", "hello 2"]


def test_answers_that_stand_ready_are_the_servers_own_at_most(gantry, model, mcp):
    results, _ = meet(gantry, model, mcp, "answers-ahead", tools=("evil__echo", "evil__echo"))
    assert all(r in ("forged", "hello %d" % i) for i, r in enumerate(results)), results


# Floods ----------------------------------------------------------------------------------------------


def test_requests_before_initialize_are_answered(gantry, model, mcp):
    results, _ = meet(gantry, model, mcp, "asks-before-initialize")
    assert results == ["hello 0"]


@pytest.mark.parametrize("how", ["floods-before-initialize", "floods-requests"])
def test_who_asks_and_does_not_read_is_ended(gantry, model, mcp, how):
    _, d = meet(gantry, model, mcp, how, tools=())
    assert lines_about(d, "it asks more than it reads the answers of")


@pytest.mark.parametrize("how", ["floods-notices", "floods-progress", "floods-list-changed", "floods-log", "floods-text",
                                 "floods-stderr", "endless-line", "wide-notices"])
def test_a_flood_is_read_slowly_and_named_once(gantry, model, mcp, how):
    _, d = meet(gantry, model, mcp, how, tools=(), until="and is read slowly")
    assert len(lines_about(d, "read slowly")) == 1
    assert len(lines_about(d, "")) < 150


def test_a_storm_of_changed_lists_is_a_list_a_second(gantry, model, mcp):
    results, d = meet(gantry, model, mcp, "list-changed-storm")
    assert results == ["hello 0"]
    assert len(lines_about(d, "mcp.tools")) < 60


# Lines -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how, said", [
    ("gigabyte-line", "over the limit of 16777216 bytes"),
    ("result-of-100-mb", "over the limit of 16777216 bytes"),
    ("deep-bomb", "nested too deeply"),
    ("wide-bomb", "of too many parts"),
    ("key-bomb", "of too many parts"),
    ("batch-bomb", "of too many parts"),
])
def test_an_answer_without_measure_fails_its_call_and_no_more(gantry, model, mcp, how, said):
    results, d = meet(gantry, model, mcp, how)
    assert said in results[0]
    assert lines_about(d, said)


@pytest.mark.parametrize("how, said", [("bad-utf8", "bad"), ("nul-bytes", "a.*b")])
def test_bytes_that_are_no_text_are_made_some(gantry, model, mcp, how, said):
    results, _ = meet(gantry, model, mcp, how)
    assert re.search(said, results[0])


# No protocol -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how, said", [
    ("plain-text", "Sorry, I do not speak that"),
    ("wrong-version", "no JSON-RPC 2.0"),
    ("error-with-a-string", "initialize was refused: go away"),
    ("odd-initialize", "initialize"),
])
def test_what_speaks_no_protocol_is_named(gantry, model, mcp, how, said):
    _, d = meet(gantry, model, mcp, how, tools=(), settings={"GANTRY_MCP_START_TIMEOUT": "2s"})
    failed = lines_about(d, "mcp.failed")
    assert failed and said in failed[0]


def test_answers_of_another_shape_than_promised_are_text_all_the_same(gantry, model, mcp):
    results, _ = meet(gantry, model, mcp, "other-answer-after-the-list", tools=["evil__echo"] * 8)
    assert len(results) == 8 and all(r.strip() for r in results)


def test_a_tool_that_is_listed_and_then_unknown_is_a_result(gantry, model, mcp):
    results, _ = meet(gantry, model, mcp, "unlisted-after-all")
    assert "Unknown tool: echo" in results[0]


# Life and death --------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["start"] + [
    "%s %s" % (when, method) for when in ("before", "after")
    for method in ("initialize", "notifications/initialized", "tools/list")])
def test_who_dies_in_the_handshake_is_named_and_tried_again_later(gantry, model, mcp, when):
    _, d = meet(gantry, model, mcp, "dies", when, tools=())
    failed = lines_about(d, "mcp.failed")
    assert failed and ("exit" in failed[0] or "closed" in failed[0])
    assert len(failed) < 8


@pytest.mark.parametrize("how, when", [("dies", "before tools/call"), ("half-a-line", "")])
def test_who_dies_in_a_call_leaves_it_in_doubt(gantry, model, mcp, how, when):
    results, d = meet(gantry, model, mcp, how, when)
    assert IN_DOUBT in results[0]
    assert lines_about(d, "mcp.failed")


def test_who_dies_after_its_answer_has_answered(gantry, model, mcp):
    results, d = meet(gantry, model, mcp, "dies", "after tools/call", tools=["evil__echo"] * 2)
    assert results[0] == "hello 0"


HUSHED = {"timeout": 2, "settings": {"GANTRY_MCP_START_TIMEOUT": "2s", "GANTRY_MCP_PING_INTERVAL": "1s"}}


@pytest.mark.parametrize("how", ["closes-stdin", "closes-stdout", "stops-itself", "stops-reading"])
def test_who_stops_talking_in_the_handshake_is_given_up_in_time(gantry, model, mcp, how):
    _, d = meet(gantry, model, mcp, how, "notifications/initialized", tools=(), **HUSHED)
    assert lines_about(d, "mcp.failed")


@pytest.mark.parametrize("how", ["closes-stdin", "closes-stdout", "stops-itself", "stops-reading"])
def test_who_stops_talking_in_a_call_fails_it_in_time(gantry, model, mcp, how):
    """Whether it was the limit of the call or the silence that was noticed first, nobody knows what became of it."""
    results, _ = meet(gantry, model, mcp, how, "tools/call", **HUSHED)
    assert IN_DOUBT in results[0], results


def test_nothing_of_a_deaf_family_is_left(gantry, model, mcp):
    results, _ = meet(gantry, model, mcp, "deaf-with-a-family")      # the harness looks for survivors
    assert results == ["hello 0"]
