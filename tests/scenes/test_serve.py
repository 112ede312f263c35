"""`gantry mcp`: the agent as a tool server of another host."""

import json
import signal
import sqlite3

import pytest

from fakes.model import Reply, call
from harness.fixtures import Gantry, binary
from harness.host import INITIALIZE, STATELESS, Host, text_of
from harness.watch import Gate

pytestmark = pytest.mark.concurrency
ERAS = (*INITIALIZE, STATELESS)
ASKING = "[{tool: 'srv__*', action: ask}, {tool: 'cron_*', action: ask}]"


@pytest.fixture
def serve(gantry):
    """Start it; a host that has begun."""
    def start(revision="2025-11-25", begin=True, name="scene host", elicits=True, **env):
        host = Host(gantry.start("mcp", **env), revision, name, elicits)
        if begin:
            host.open()
        return host
    return start


def turns(gantry):
    return [r["state"] for r in gantry.sql("SELECT state FROM turns ORDER BY started_at_ms, id")]


# What is served ------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ERAS)
def test_a_host_of_any_revision_lists_the_tools_and_asks(gantry, model, serve, revision):
    model.reply("forty-two")
    host = serve(revision)
    tools = {t["name"]: t for t in host.result(host.request("tools/list"))["tools"]}
    assert set(tools) == {"ask", "memory_recall", "memory_store", "schedule"}
    assert ("annotations" in tools["ask"]) == (revision >= "2025-03-26")
    assert ("outputSchema" in tools["ask"]) == (revision >= "2025-06-18")
    r = host.ask("what is it?")
    assert text_of(r) == "forty-two" and not r.get("isError")
    if revision >= "2025-06-18":
        assert r["structuredContent"]["answer"] == "forty-two" and r["structuredContent"]["state"] == "done"
        assert gantry.run("trace", r["structuredContent"]["turn"]).code == 0
    else:
        assert "structuredContent" not in r
    assert host.close() == 0


def test_a_revision_nobody_knows_is_answered_with_one_of_ours(serve):
    host = serve(begin=False)
    n = host.request("initialize", protocolVersion="2030-01-01", capabilities={}, clientInfo={"name": "x", "version": "1"})
    assert host.result(n)["protocolVersion"] == "2025-11-25"
    assert "initialize was answered" in host.error(host.request("initialize", protocolVersion="2025-11-25"))["message"]
    host.close()


def test_a_stateless_host_hears_which_revisions_there_are(serve):
    host = serve(STATELESS, begin=False)
    assert host.open()["supportedVersions"][0] == STATELESS
    n = host.request("tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2031-05-05"})
    e = host.error(n)
    assert e["code"] == -32022 and e["data"] == {"supported": [STATELESS], "requested": "2031-05-05"}
    n = host.request("tools/list", _meta={"io.modelcontextprotocol/clientCapabilities": None})
    assert host.error(n)["code"] == -32602
    host.close()


def test_tools_that_are_switched_off_are_not_listed(gantry, serve):
    host = serve(CRON_ENABLED="false", MEMORY_ENABLED="false")
    assert [t["name"] for t in host.result(host.request("tools/list"))["tools"]] == ["ask"]
    assert "no such tool" in host.error(host.call("schedule", {"action": "list"}))["message"]
    host.close()


# Asking --------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ERAS)
def test_the_work_shows_as_progress(gantry, model, mcp, serve, revision):
    mcp.add("srv", tools=["echo"])
    model.reply(calls=[call("srv__echo", text="x")])
    model.reply("done")
    host = serve(revision)
    assert text_of(host.result(host.call("ask", {"text": "go"}, progress="tok"))) == "done"
    seen = host.progress("tok")
    assert [p["progress"] for p in seen] == sorted({p["progress"] for p in seen}) and seen
    if revision >= "2025-03-26":
        assert any("srv__echo" in p["message"] for p in seen)
    else:
        assert not any("message" in p for p in seen)
    host.close()


def test_a_host_has_a_conversation_of_its_own_and_others_by_name(gantry, model, serve):
    model.answer(lambda r: Reply("heard %d" % len([m for m in r.body["messages"] if m["role"] == "user"])))
    host = serve(name="Editor 2")
    assert text_of(host.ask("one")) == "heard 1"
    assert text_of(host.ask("two")) == "heard 2"
    assert text_of(host.ask("three", session="side-work")) == "heard 1"
    host.close()
    again = serve(STATELESS, name="Editor 2")
    r = again.ask("four")
    assert text_of(r) == "heard 3" and r["structuredContent"]["session"] == "default"
    again.close()
    other = serve(name="Another")
    assert text_of(other.ask("five")) == "heard 1"
    other.close()
    assert {r["address"] for r in gantry.sql("SELECT address FROM sessions")} == {
        "mcp:Editor_2", "mcp:Editor_2:side-work", "mcp:Another"}


def test_asks_of_one_session_wait_for_each_other_and_others_do_not(gantry, model, serve):
    gate = Gate()
    model.answer(lambda r: Reply("slow", gate=gate) if r.user.startswith("first") else Reply("ok " + r.user.split()[0]))
    host = serve()
    first = host.call("ask", {"text": "first"})
    gate.wait_reached()
    second = host.call("ask", {"text": "second"})
    assert text_of(host.ask("third", session="other")) == "ok third"
    assert not [m for m in host.messages() if m.get("id") == second]
    gate.release()
    assert text_of(host.result(first)) == "slow"
    assert text_of(host.result(second)) == "ok second"
    host.close()


def test_a_cancelled_ask_ends_its_turn_and_is_not_answered(gantry, model, mcp, serve):
    mcp.add("srv", tools=["hang", "echo"])
    model.reply(calls=[call("srv__hang")])
    host = serve()
    n = host.call("ask", {"text": "go"}, progress=7)
    mcp.wait(lambda: mcp.calls(), "the call")
    host.notify("notifications/cancelled", requestId=n, reason="enough")
    mcp.wait(lambda: mcp.received("notifications/cancelled"), "the cancel to reach the server")
    model.answer(lambda r: Reply("still here"))
    assert text_of(host.ask("there?")) == "still here"
    host.close()
    assert not [m for m in host.messages() if m.get("id") == n and "method" not in m]
    assert turns(gantry) == ["canceled", "done"]


def test_a_cancelled_ask_that_waits_never_begins(gantry, model, serve):
    gate = Gate()
    model.reply("first", gate=gate)
    host = serve()
    first = host.call("ask", {"text": "first"})
    gate.wait_reached()
    second = host.call("ask", {"text": "second"})
    host.notify("notifications/cancelled", requestId=second)
    assert host.result(host.request("ping")) == {}
    gate.release()
    assert text_of(host.result(first)) == "first"
    host.close()
    assert turns(gantry) == ["done"] and len(model.requests) == 1


def test_what_the_model_cannot_answer_is_a_failed_result(gantry, model, serve):
    model.answer(lambda r: Reply(status=401, body=b'{"error":{"message":"no"}}'))
    host = serve()
    r = host.ask("hi")
    assert r["isError"] and r["structuredContent"]["state"] == "failed" and text_of(r)
    for bad in ({}, {"text": " "}, {"text": 5}, {"text": "x", "session": "a b"}, {"text": "x", "session": ""},
                {"text": "x", "session": "s" * 65}):
        r = host.result(host.call("ask", bad))
        assert r["isError"], bad
    host.close()


def test_more_calls_than_there_are_places_for_are_refused(gantry, model, serve):
    gate = Gate()
    model.answer(lambda r: Reply("ok", gate=gate))
    host = serve()
    calls = [host.call("ask", {"text": "x", "session": "s%d" % n}) for n in range(16)]
    assert "too many" in host.error(host.call("ask", {"text": "x", "session": "one-more"}))["message"]
    gate.release()
    for n in calls:
        assert text_of(host.result(n)) == "ok"
    host.close()


# Approvals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("action, ran", [
    ({"action": "accept", "content": {"approve": True}}, True),
    ({"action": "accept", "content": {"approve": False}}, False),
    ({"action": "decline"}, False), ({"action": "cancel"}, False)])
@pytest.mark.parametrize("revision", ("2025-06-18", "2025-11-25", STATELESS))
def test_what_policy_asks_about_is_put_to_the_person_behind_the_host(gantry, model, mcp, serve, revision, action, ran):
    mcp.add("srv", tools=["echo"])
    gantry.set(GANTRY_POLICY_RULES=ASKING)
    model.reply(calls=[call("srv__echo", text="secret plan")])
    model.reply("over")
    host = serve(revision)
    n = host.call("ask", {"text": "go"})
    if revision == STATELESS:
        r = host.result(n)
        assert r["resultType"] == "input_required"
        (key, question), = r["inputRequests"].items()
        assert "secret plan" in question["params"]["message"]
        n = host.call("ask", {"text": "go"}, requestState=r["requestState"], inputResponses={key: action})
    else:
        q = host.question()
        assert "srv__echo" in q["params"]["message"] and "secret plan" in q["params"]["message"]
        host.reply(q, action)
    assert text_of(host.result(n)) == "over"
    assert len(mcp.calls()) == ran
    assert ("refused by the user" in model.last.results[0]) != ran
    host.close()


@pytest.mark.parametrize("revision", ("2025-06-18", "2025-11-25", STATELESS))
def test_what_a_tool_server_asks_goes_on_to_the_person_behind_the_host(gantry, model, mcp, serve, revision):
    mcp.add("srv", tools=["ask"])
    form = {"message": "Who are you?", "requestedSchema": {
        "type": "object", "properties": {"name": {"type": "string", "minLength": 3}}, "required": ["name"]}}
    host = serve(revision)

    def answers(*actions):
        """What the server of ours is answered when the person says these."""
        model.reply(calls=[call("srv__ask", params=form)])
        model.reply("over")
        n, said = host.call("ask", {"text": "go"}), []
        for action in actions:
            if revision == STATELESS:
                r = host.result(n)
                (key, asked), = r["inputRequests"].items()
                n = host.call("ask", {"text": "go"}, requestState=r["requestState"], inputResponses={key: action})
            else:
                asked = host.question(answers.asked)
                answers.asked += 1
                host.reply(asked, action)
            said.append(asked["params"]["message"])
        assert text_of(host.result(n)) == "over"
        return json.loads(model.last.results[-1]), said
    answers.asked = 0
    given, said = answers(*({"action": "accept", "content": {"reply": text}} for text in ("Al", "Alice")))
    assert given == {"action": "accept", "content": {"name": "Alice"}}
    assert "The tool server srv asks" in said[0] and "Who are you?" in said[0] and "at least 3" in said[1]
    assert answers({"action": "decline"})[0]["action"] == "decline"
    assert answers({"action": "cancel"})[0]["action"] == "cancel"
    host.close()


def test_a_host_that_can_ask_nobody_has_it_refused_with_the_reason(gantry, model, mcp, serve):
    mcp.add("srv", tools=["echo"])
    gantry.set(GANTRY_POLICY_RULES=ASKING)
    for revision in ("2024-11-05", "2025-11-25", STATELESS):
        model.reply(calls=[call("srv__echo", text="x")])
        model.reply("could not")
        host = serve(revision, elicits=False)
        assert text_of(host.ask("go")) == "could not"
        assert "offers no elicitation" in model.last.results[-1]
        host.close()
    assert not mcp.calls()


def test_a_question_that_nobody_answers_in_time_is_a_no_and_taken_back(gantry, model, mcp, serve):
    mcp.add("srv", tools=["echo"])
    gantry.set(GANTRY_POLICY_RULES=ASKING, GANTRY_TOOLS_EXEC_APPROVAL_TIMEOUT="1s")
    model.reply(calls=[call("srv__echo", text="x")])
    model.reply("over")
    host = serve()
    n = host.call("ask", {"text": "go"})
    q = host.question()
    assert text_of(host.result(n)) == "over"
    assert "nobody answered" in model.last.results[0]
    note = host.wait(lambda m: m.get("method") == "notifications/cancelled", "the question to be taken back")
    assert note["params"]["requestId"] == q["id"]
    host.reply(q, {"action": "accept", "content": {"approve": True}})     # too late
    model.reply("well")
    assert text_of(host.ask("and?")) == "well"
    host.close()
    assert not mcp.calls()


def test_a_stateless_host_that_comes_back_late_gets_the_result_and_once(gantry, model, mcp, serve):
    mcp.add("srv", tools=["echo"])
    gantry.set(GANTRY_POLICY_RULES=ASKING, GANTRY_TOOLS_EXEC_APPROVAL_TIMEOUT="1s")
    model.reply(calls=[call("srv__echo", text="x")])
    model.reply("over")
    host = serve(STATELESS)
    r = host.result(host.call("ask", {"text": "go"}))
    model.wait(2)
    late = host.result(host.call("ask", {"text": "go"}, requestState=r["requestState"],
                                 inputResponses={"person": {"action": "accept", "content": {"approve": True}}}))
    assert text_of(late) == "over" and not mcp.calls()
    again = host.result(host.call("ask", {"text": "go"}, requestState=r["requestState"]))
    assert again["isError"] and "not known any more" in text_of(again)
    host.close()
    assert len(model.requests) == 2


def test_a_stateless_host_that_brings_no_answer_is_asked_again(gantry, model, mcp, serve):
    mcp.add("srv", tools=["echo"])
    gantry.set(GANTRY_POLICY_RULES=ASKING)
    model.reply(calls=[call("srv__echo", text="x")])
    model.reply("over")
    host = serve(STATELESS)
    r = host.result(host.call("ask", {"text": "go"}))
    again = host.result(host.call("ask", {"text": "go"}, requestState=r["requestState"]))
    assert again["resultType"] == "input_required" and again["requestState"] == r["requestState"]
    n = host.call("ask", {"text": "go"}, requestState=r["requestState"],
                  inputResponses={"person": {"action": "accept", "content": {"approve": True}}})
    assert text_of(host.result(n)) == "over" and len(mcp.calls()) == 1
    host.close()


def test_a_stateless_host_that_asks_something_else_has_given_the_question_up(gantry, model, mcp, serve):
    mcp.add("srv", tools=["echo"])
    gantry.set(GANTRY_POLICY_RULES=ASKING)
    model.reply(calls=[call("srv__echo", text="x")])
    model.answer(lambda r: Reply("another"))
    host = serve(STATELESS)
    r = host.result(host.call("ask", {"text": "go"}))
    assert text_of(host.ask("something else")) == "another"
    late = host.result(host.call("ask", {"text": "go"}, requestState=r["requestState"],
                                 inputResponses={"person": {"action": "accept", "content": {"approve": True}}}))
    assert "not known any more" in text_of(late)
    host.close()
    assert turns(gantry) == ["canceled", "done"] and not mcp.calls()


def two_that_ask(model, mcp):
    """The next ask makes two calls at once, of two servers that each ask something."""
    for name in ("one", "two"):
        mcp.add(name, tools=["ask"])
    model.reply(calls=[call(name + "__ask", params={"message": "for %s?" % name, "requestedSchema": {
        "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}) for name in ("one", "two")])
    model.reply("over")


def whose(question):
    return "one" if "for one?" in question["params"]["message"] else "two"


def reply_of(name):
    return {"action": "accept", "content": {"reply": "of " + name}}


@pytest.mark.parametrize("revision", ("2025-11-25", STATELESS))
def test_two_calls_of_a_turn_that_ask_are_asked_one_after_the_other(model, mcp, serve, revision):
    two_that_ask(model, mcp)
    host = serve(revision)
    n, states = host.call("ask", {"text": "go"}), []
    for i in range(2):
        if revision == STATELESS:
            r = host.result(n)
            (key, asked), = r["inputRequests"].items()
            states.append(r["requestState"])
            n = host.call("ask", {"text": "go"}, requestState=r["requestState"], inputResponses={key: reply_of(whose(asked))})
        else:
            asked = host.question(i)
            host.reply(asked, reply_of(whose(asked)))
    assert text_of(host.result(n)) == "over"
    assert [json.loads(x)["content"]["a"] for x in model.last.results] == ["of one", "of two"]
    assert len(set(states)) == len(states)
    host.close()


def test_an_answer_that_comes_late_is_none_to_the_next_question(gantry, model, mcp, serve):
    two_that_ask(model, mcp)
    gantry.set(GANTRY_MCP_QUESTION_TIMEOUT="2s")
    host = serve(STATELESS)
    r = host.result(host.call("ask", {"text": "go"}))
    (key, asked), = r["inputRequests"].items()
    first = whose(asked)
    late = {key: reply_of(first)}
    mcp.wait(lambda: '\\"cancel\\"' in mcp.logs[first].read_text(), "the first to be over")
    r2 = host.result(host.call("ask", {"text": "go"}, requestState=r["requestState"], inputResponses=late))
    other = whose(r2["inputRequests"][key])
    assert other != first and r2["requestState"] != r["requestState"]
    stale = host.result(host.call("ask", {"text": "go"}, requestState=r["requestState"], inputResponses=late))
    assert "not known any more" in text_of(stale)
    n = host.call("ask", {"text": "go"}, requestState=r2["requestState"], inputResponses={key: reply_of(other)})
    assert text_of(host.result(n)) == "over"
    given = {name: json.loads(x) for name, x in zip(("one", "two"), model.last.results)}
    assert given[first]["action"] == "cancel" and given[other]["content"] == {"a": "of " + other}
    host.close()


# Memory and schedules ------------------------------------------------------------------------


@pytest.mark.parametrize("revision", ("2024-11-05", STATELESS))
def test_what_a_host_has_remembered_is_recalled_and_audited(gantry, serve, revision):
    host = serve(revision)
    r = host.result(host.call("memory_store", {"kind": "fact", "subject": "bike", "content": "The bike is red."}))
    assert "stored id=" in text_of(r)
    assert "The bike is red." in text_of(host.result(host.call("memory_recall", {"query": "bike"})))
    bad = host.result(host.call("memory_store", {"kind": "wish", "subject": "x", "content": "y"}))
    assert bad["isError"]
    host.close()
    rows = gantry.sql("SELECT name, state, requester, decision FROM tool_calls ORDER BY id")
    assert sorted((r["name"], r["state"]) for r in rows) == [
        ("memory_recall", "done"), ("memory_store", "done"), ("memory_store", "failed")]
    assert {r["requester"] for r in rows} == {"mcp"} and {r["decision"] for r in rows} == {"allow"}


def test_schedules_are_added_listed_and_removed_for_a_chat_of_the_owner(gantry, serve):
    gantry.set(TELEGRAM_ALLOWED_USERS="4711", TELEGRAM_BOT_TOKEN="1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", CHANNEL="telegram")
    gantry.secrets.add("1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
    host = serve()

    def schedule(**arguments):
        return host.result(host.call("schedule", arguments))
    assert "no active" in text_of(schedule(action="list"))
    added = text_of(schedule(action="add", prompt="water the plants", when="every:1h"))
    (job,) = gantry.sql("SELECT * FROM jobs")
    assert "scheduled id=%d" % job["id"] in added
    assert (job["channel"], job["address"], job["sender"]) == ("telegram", "4711", "mcp")
    assert "water the plants" in text_of(schedule(action="list"))
    assert schedule(action="add", prompt="x", when="never ever")["isError"]
    assert "none that this agent may write to" in text_of(schedule(action="list", chat="telegram:999"))
    assert schedule(action="explode")["isError"]
    host.close()
    con = sqlite3.connect(gantry.db_path)
    con.execute("INSERT INTO jobs (source, channel, address, sender, prompt, kind, expr, zone, next_at_ms, enabled, "
                "created_at_ms, updated_at_ms) SELECT source, channel, address, '4711', 'feed the cat', kind, expr, "
                "zone, next_at_ms, 1, 0, 0 FROM jobs")
    con.commit()
    con.close()
    host = serve()
    (cat,) = gantry.sql("SELECT id FROM jobs WHERE sender = '4711'")
    listed = text_of(schedule(action="list"))
    assert "water the plants" in listed and "feed the cat" not in listed
    refused = schedule(action="remove", id=cat["id"])
    assert refused["isError"] and "no job %d of yours" % cat["id"] in text_of(refused)
    assert gantry.sql("SELECT enabled FROM jobs WHERE id = ?", cat["id"])[0]["enabled"] == 1
    assert "cancelled" in text_of(schedule(action="remove", id=job["id"]))
    assert "no active" in text_of(schedule(action="list"))
    host.close()


def test_a_schedule_passes_the_gate_and_a_person(gantry, serve):
    gantry.set(GANTRY_POLICY_RULES=ASKING)
    host = serve()
    n = host.call("schedule", {"action": "add", "prompt": "x", "when": "in 1h"})
    host.reply(host.question(), {"action": "decline"})
    r = host.result(n)
    assert r["isError"] and "refused by the user" in text_of(r)
    n = host.call("schedule", {"action": "add", "prompt": "x", "when": "in 1h"})
    host.reply(host.question(1), {"action": "accept", "content": {"approve": True}})
    assert "scheduled id=" in text_of(host.result(n))
    host.close()
    assert [r["decision"] for r in gantry.sql("SELECT decision FROM tool_calls ORDER BY id")] == ["denied", "approved"]


# Bad input -----------------------------------------------------------------------------------

BAD = ["", "   ", "plain words", "{", "[1,2", "null", "42", "{}", '{"jsonrpc":"1.0","id":3,"method":"ping"}',
       '{"jsonrpc":"2.0","id":{},"method":"ping"}', '{"jsonrpc":"2.0","id":null,"method":"ping"}',
       '{"jsonrpc":"2.0","method":5,"id":4}', '{"jsonrpc":"2.0","id":99,"result":{}}',
       '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}',
       '{"jsonrpc":"2.0","method":"notifications/cancelled"}', "[" * 2000 + "]" * 2000, "\x00\x01\x02", "[]", "[[]]"]


@pytest.mark.parametrize("revision", ERAS)
def test_lines_that_are_no_message_are_answered_or_logged_and_nothing_else_happens(gantry, model, serve, revision):
    model.reply("fine")
    host = serve(revision, LOG_LEVEL="warn")
    host.asked.update({3: "ping", 4: "ping"})
    for line in BAD:
        host.send(line + "\n")
    host.send(b"\xff\xfe\n")
    for n in range(100):
        host.send("no JSON %d\n" % n)
    assert text_of(host.ask("hi")) == "fine"
    answers = [m for m in host.messages() if "error" in m]
    assert {m["error"]["code"] for m in answers} <= {-32700, -32600, -32601}
    assert [m["id"] for m in answers if "id" in m][:1] == [3]
    assert host.close() == 0
    assert any(m["error"]["code"] == -32700 for m in answers) == (revision >= "2025-11-25")
    assert 10 < len([r for r in gantry.log_lines() if r.get("event", r.get("msg")) == "serve.odd"]) <= 50


@pytest.mark.parametrize("revision", ERAS)
def test_a_line_that_is_too_long_is_refused_by_its_id(gantry, model, serve, revision):
    model.reply("fine")
    host = serve(revision, GANTRY_GATEWAY_MAX_MESSAGE_BYTES="1024")
    host.asked[77] = "tools/call"
    host.send('{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"ask","arguments":{"text":"%s"}}}'
              % ("x" * 300000))
    assert "too long" in host.error(77)["message"]
    r = host.ask("y" * 1025)
    assert r["isError"] and "too long" in text_of(r)
    assert text_of(host.ask("hi")) == "fine"
    host.close()


def test_requests_before_initialize_and_unknown_ones_are_refused(serve):
    host = serve(begin=False)
    assert host.result(host.request("ping")) == {}
    assert "initialize first" in host.error(host.request("tools/list"))["message"]
    host.open()
    assert host.error(host.request("resources/list"))["code"] == -32601
    assert host.error(host.call("no-such-tool"))["code"] == -32602
    assert host.error(host.request("tools/call", name="ask", arguments=[1]))["code"] == -32602
    host.close()


def test_an_id_that_is_in_use_is_refused(gantry, model, serve):
    gate = Gate()
    model.reply("one", gate=gate)
    host = serve()
    n = host.call("ask", {"text": "one"})
    gate.wait_reached()
    host.send({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "ask", "arguments": {"text": "two"}}})
    host.wait(lambda m: m.get("id") == n and "in use" in m.get("error", {}).get("message", ""), "the refusal")
    gate.release()
    host.wait(lambda m: m.get("id") == n and "result" in m, "the answer")
    host.close()


@pytest.mark.parametrize("revision", ("2024-11-05", "2025-03-26"))
def test_a_batch_of_the_old_revisions_is_answered_as_one(gantry, model, serve, revision):
    model.reply("from a batch")
    host = serve(revision)
    host.asked.update({"a": "ping", "b": "tools/list", "c": "tools/call", "d": "tools/call"})
    host.send([{"jsonrpc": "2.0", "id": "a", "method": "ping"},
               {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "zzz"}},
               {"jsonrpc": "2.0", "id": "c", "method": "tools/call",
                "params": {"name": "ask", "arguments": {"text": "hi"}}},
               {"jsonrpc": "2.0", "id": "b", "method": "tools/list"},
               {"jsonrpc": "2.0", "id": "d", "method": "tools/call", "params": {"name": "nope"}}])
    answer = host.wait(lambda m: isinstance(m, list), "the batch")
    assert {m["id"] for m in answer} == {"a", "b", "c", "d"}
    assert text_of(next(m for m in answer if m["id"] == "c")["result"]) == "from a batch"
    host.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}])      # needs no answer
    host.send([{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(65)])
    assert host.result(host.request("ping")) == {}
    assert len([m for m in host.messages() if isinstance(m, list)]) == 1
    host.close()


@pytest.mark.parametrize("revision", ("2025-06-18", "2025-11-25", STATELESS))
def test_a_batch_of_a_revision_that_has_none_is_refused(serve, revision):
    host = serve(revision)
    host.send([{"jsonrpc": "2.0", "id": 1000, "method": "ping"}])
    assert host.result(host.request("tools/list"))
    assert not [m for m in host.messages() if isinstance(m, list) or m.get("id") == 1000]
    host.close()


# The end -------------------------------------------------------------------------------------


def test_the_end_of_input_waits_for_the_answer(gantry, model, serve):
    gate = Gate()
    model.reply("late", gate=gate)
    host = serve()
    n = host.call("ask", {"text": "go"})
    gate.wait_reached()
    host.proc.close_stdin()
    gate.release()
    assert text_of(host.result(n)) == "late"
    host.proc.wait(20, 0)


def test_the_end_of_input_waits_no_longer_than_the_grace(gantry, model, serve):
    gate = Gate()
    model.reply("never", gate=gate)
    host = serve(GANTRY_GATEWAY_GRACE="1s")
    host.call("ask", {"text": "go"})
    gate.wait_reached()
    host.close(seconds=20)
    gate.release()
    assert turns(gantry) == ["canceled"]


def test_a_signal_ends_it_and_its_turns(gantry, model, serve):
    gate = Gate()
    model.reply("never", gate=gate)
    host = serve()
    host.call("ask", {"text": "go"})
    gate.wait_reached()
    host.proc.term()
    host.proc.wait(20, 128 + signal.SIGTERM)
    gate.release()
    assert turns(gantry) == ["canceled"]


def test_death_loses_the_connection_alone_and_nothing_is_repeated(gantry, model, mcp, serve):
    mcp.add("srv", tools=["count", "hang"])
    model.reply(calls=[call("srv__count", label="once")])
    model.reply(calls=[call("srv__hang")])
    host = serve()
    host.call("ask", {"text": "go"})
    mcp.wait(lambda: len(mcp.calls()) == 2, "both calls")
    host.proc.kill()
    host.proc.wait(20)
    model.answer(lambda r: Reply("again here"))
    host = serve()
    assert text_of(host.ask("what happened?")) == "again here"
    host.close()
    assert turns(gantry) == ["interrupted", "done"]
    assert mcp.ledger_lines() == ["once"]
    told = json.dumps(model.last.body["messages"])
    assert "srv__count" in told, "the next turn knows what was done"


def test_it_works_beside_a_daemon(gantry, model, serve):
    model.answer(lambda r: Reply("to " + r.user.split()[0]))
    d = gantry.daemon()
    d.err.wait('"ready"')
    host = serve()
    assert text_of(host.ask("host")) == "to host"
    d.send("owner")
    d.out.wait("to owner")
    assert "stored" in text_of(host.result(host.call("memory_store", {"kind": "fact", "subject": "a", "content": "b"})))
    host.close()
    d.finish()
    assert gantry.sql("SELECT count(*) AS n FROM turns WHERE state = 'done'")[0]["n"] == 2


def test_a_host_that_takes_no_more_ends_it(gantry, model, tmp_path):
    import os
    import subprocess
    r, w = os.pipe()
    p = subprocess.Popen([binary(), "mcp"], env=gantry.env(), stdin=subprocess.PIPE, stdout=w, stderr=subprocess.PIPE,
                         cwd=str(tmp_path))
    os.close(w)
    os.close(r)
    p.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    p.stdin.flush()
    _, err = p.communicate(timeout=60)
    assert p.returncode == 1 and b"took no more answers" in err


# Gantry as its own host ----------------------------------------------------------------------


def test_a_disk_that_refuses_ends_it_since_a_restart_mends_that(gantry, model, serve):
    model.answer(lambda r: Reply("answer"))
    gantry.talk("so that there is a database")
    host = Host(gantry.start("mcp", seam=True, GANTRY_FAULT="fdatasync:4"))
    host.open()
    assert host.ask("one")["isError"]
    host.proc.wait(30, 1)       # its input is still open
    assert "a restart recovers" in host.proc.err.text
    host = serve()
    assert text_of(host.ask("two")) == "answer"
    host.close()


def test_another_gantry_uses_it_as_a_tool_server(gantry, model, mcp, tmp_path):
    (tmp_path / "other").mkdir()
    other = Gantry(tmp_path / "other", model)
    env = {k: v for k, v in other.env().items() if k not in ("LANG", "HOME", "PATH")}
    mcp.command("agent", binary(), ["mcp"], env=env)
    model.answer(lambda r: Reply("from below") if r.user.startswith("deep question") else
                 Reply("it said: " + r.results[-1]) if r.results else
                 Reply(calls=[call("agent__ask", text="deep question")]))
    out = gantry.run("prompt", "ask below", seconds=60).out
    assert out.startswith("it said: from below")
    assert other.sql("SELECT address FROM sessions")[0]["address"].startswith("mcp:gantry")


def test_a_manifest_that_names_itself_comes_to_an_end_with_a_clear_line(gantry, model, mcp, serve):
    env = {k: v for k, v in gantry.env().items() if k not in ("LANG", "HOME", "PATH")}
    mcp.command("circle", binary(), ["mcp"], env=env)
    model.reply("fine")
    host = serve(GANTRY_MCP_START_TIMEOUT="5s")
    assert text_of(host.ask("hi")) == "fine"
    host.close()
    assert "started from itself" in host.proc.err.text


def test_it_is_explained_to_who_starts_it_by_hand(gantry):
    out = gantry.run("mcp", "--help").out
    assert "usage: gantry mcp" in out and "mcpServers" in out
    gantry.run("mcp", "surplus", code=2)


def test_at_a_terminal_it_says_who_starts_it_and_ends(gantry):
    t = gantry.terminal("mcp")
    t.see("to be started by a host")
    t.wait(20, 1)
