"""A tool server asks our model: off unless granted, within limits, asked about, counted, audited."""

import json

import pytest

from fakes.model import Reply, call
from harness import mcp_check

pytestmark = pytest.mark.concurrency


def script(model, said="it is a cat", **args):
    """One turn that calls the tool; what the model is asked for the server is kept in the list that comes back."""
    sampled = []

    def answer(request):
        if not request.tools:
            sampled.append(request)
            return Reply(said)
        return Reply("turn over") if request.results else Reply(calls=[call("srv__sample", **args)])
    model.answer(answer)
    return sampled


def turn(gantry, model, **settings):
    r = gantry.talk("go", seconds=60, **settings)
    assert r.out.endswith("turn over\n"), r
    return [json.loads(line) for line in model.last.results[0].split("\n")]


def audit(gantry):
    return [dict(r) for r in gantry.sql("SELECT name, state, decision, decider, provider_id, args FROM tool_calls "
                                        "WHERE turn_id = '' ORDER BY created_at_ms, id")]


def test_it_is_refused_unless_the_manifest_grants_it(gantry, model, mcp):
    mcp.add("srv", tools=["sample"])
    sampled = script(model)
    (answer,) = turn(gantry, model)
    assert answer["code"] == -32601 and not sampled
    assert "sampling" not in mcp.received("initialize")[0]["params"]["capabilities"]
    assert audit(gantry) == []


def test_a_granted_server_gets_an_answer_and_nothing_of_ours(gantry, model, mcp):
    mcp.add("srv", tools=["sample"], sampling="allow")
    sampled = script(model, params={
        "systemPrompt": "Name animals.", "maxTokens": 30, "temperature": 0.25, "stopSequences": ["END"],
        "includeContext": "allServers", "modelPreferences": {"hints": [{"name": "other-model"}]},
        "messages": [{"role": "user", "content": {"type": "text", "text": "what is it?"}}]})
    (answer,) = turn(gantry, model)
    assert answer == {"role": "assistant", "content": {"type": "text", "text": "it is a cat"}, "model": "test-model",
                      "stopReason": "endTurn"}
    (request,) = sampled
    assert [(m["role"], m["content"]) for m in request.messages] == [("system", "Name animals."), ("user", "what is it?")]
    assert (request.body["max_tokens"], request.body["temperature"], request.body["stop"]) == (30, 0.25, ["END"])
    assert request.body["model"] == "test-model" and mcp.received("initialize")[0]["params"]["capabilities"]["sampling"] == {}
    (row,) = audit(gantry)
    assert (row["name"], row["state"], row["decision"]) == ("sampling/srv", "done", "allow")
    assert json.loads(row["args"])["completion_tokens"] > 0
    assert row["provider_id"] == gantry.sql("SELECT id FROM turns")[0][0]
    assert "sampling/srv" in gantry.run("trace", "last").out
    assert gantry.sql("SELECT sum(model_calls) FROM usage")[0][0] == 3


def test_a_server_without_a_handshake_asks_by_coming_back(gantry, model, mcp):
    mcp.add("srv", "stateless", tools=["sample"], sampling="allow")
    sampled = script(model, times=2)
    answers = turn(gantry, model)
    assert [a["content"]["text"] for a in answers] == ["it is a cat"] * 2 and len(sampled) == 2
    first, second = mcp.received("tools/call")
    assert first["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]["sampling"] == {}
    assert sorted(second["params"]["inputResponses"]) == ["s0", "s1"]
    assert [(a["name"], a["state"]) for a in audit(gantry)] == [("sampling/srv", "done")] * 2


@pytest.mark.parametrize("rules", ["", '[{tool: "sampling/*", action: deny}]'], ids=["not granted", "denied"])
def test_a_server_without_a_handshake_passes_the_same_gate(gantry, model, mcp, rules):
    mcp.add("srv", "stateless", tools=["sample"], sampling="allow" if rules else "off")
    sampled = script(model)
    assert gantry.talk("go", seconds=60, **({"GANTRY_POLICY_RULES": rules} if rules else {})).out.endswith("turn over\n")
    assert ("a rule forbids it" if rules else "Missing required client capability") in model.last.results[0]
    assert len(mcp.received("tools/call")) == 1 and not sampled
    assert [a["decision"] for a in audit(gantry)] == (["deny"] if rules else [])


def test_tools_of_a_server_are_passed_only_where_that_is_granted(gantry, model, mcp):
    params = {"maxTokens": 30, "tools": [{"name": "look", "inputSchema": {"type": "object"}}],
              "messages": [{"role": "user", "content": {"type": "text", "text": "what is it?"}}]}
    mcp.add("srv", tools=["sample"], sampling="allow")
    sampled = script(model, params=params)
    (answer,) = turn(gantry, model)
    assert "not granted" in answer["message"] and not sampled

    def respond(request):
        if request.tools == ["look"]:
            sampled.append(request)
            return Reply(calls=[call("look", at=3)])
        return Reply("turn over") if request.results else Reply(calls=[call("srv__sample", params=params)])
    mcp.servers[0]["sampling"] = {"policy": "allow", "tools": True}
    mcp.write()
    model.answer(respond)
    (answer,) = turn(gantry, model)
    assert answer["stopReason"] == "toolUse" and answer["content"][0]["input"] == {"at": 3} and len(sampled) == 1
    assert mcp.received("initialize")[-1]["params"]["capabilities"]["sampling"] == {"tools": {}}


@pytest.mark.parametrize("key, state, decision", [("y", "done", "approved"), ("n", "denied", "denied")])
def test_a_person_at_the_terminal_is_shown_what_it_asks(gantry, model, mcp, key, state, decision):
    mcp.add("srv", tools=["sample"], sampling="ask")
    sampled = script(model, text="what is in the \x1b[31mbox?")
    t = gantry.terminal()
    t.out.wait("> ")
    t.keys("go\r")
    t.out.wait("sampling/srv", 30)
    t.out.wait("at most 50 tokens")
    t.out.wait("what is in the")
    t.keys(key + "\r")
    t.out.wait("turn over", 30)
    assert len(sampled) == (state == "done")
    t.keys("\x04")
    t.wait()
    (row,) = audit(gantry)
    assert (row["state"], row["decision"], row["decider"]) == (state, decision, "terminal")


def test_nobody_at_the_terminal_in_time_is_no_denial_of_a_person(gantry, model, mcp):
    """It waits as long as any question of a server, and not as one about a call of the model's."""
    mcp.add("srv", tools=["sample"], sampling="ask")
    script(model)
    gantry.set(GANTRY_MCP_QUESTION_TIMEOUT="2s", GANTRY_TOOLS_EXEC_APPROVAL_TIMEOUT="1h")
    t = gantry.terminal()
    t.out.wait("> ")
    t.keys("go\r")
    t.out.wait("sampling/srv", 30)
    t.out.wait("turn over", 30)
    t.keys("\x04")
    t.wait()
    (row,) = audit(gantry)
    assert (row["state"], row["decision"]) == ("denied", "expired")


def test_where_nobody_can_be_asked_it_is_refused(gantry, model, mcp):
    mcp.add("srv", tools=["sample"], sampling="ask")
    sampled = script(model)
    (answer,) = turn(gantry, model)
    assert "did not allow" in answer["message"] and not sampled
    assert [(r["state"], r["decision"]) for r in audit(gantry)] == [("denied", "unanswered")]


def test_a_rule_of_the_policy_decides_before_the_manifest(gantry, model, mcp):
    mcp.add("srv", tools=["sample"], sampling="allow")
    sampled = script(model)
    (answer,) = turn(gantry, model, GANTRY_POLICY_RULES='[{tool: "sampling/*", action: deny}]')
    assert "a rule forbids it" in answer["message"] and not sampled
    assert [(r["state"], r["decision"]) for r in audit(gantry)] == [("denied", "deny")]


def test_a_call_and_a_minute_have_so_many(gantry, model, mcp):
    mcp.add("srv", tools=["sample"], sampling={"policy": "allow", "per_call": 2})
    sampled = script(model, times=5)
    answers = turn(gantry, model)
    assert ["content" in a for a in answers] == [True, True, False, False, False] and len(sampled) == 2
    assert "more than 2 times in a call" in answers[2]["message"]
    mcp.servers[0]["sampling"] = {"policy": "allow", "per_minute": 3, "per_call": 50}
    mcp.write()
    sampled = script(model, times=5)
    answers = turn(gantry, model)
    assert len(sampled) == 3 and "3 in a minute" in answers[4]["message"]


def test_an_answer_is_no_longer_than_the_manifest_says(gantry, model, mcp):
    mcp.add("srv", tools=["sample"], sampling={"policy": "allow", "max_tokens": 7})
    (sampled,) = [script(model)]
    turn(gantry, model)
    assert sampled[0].body["max_tokens"] == 7


def test_the_limits_of_spending_hold_for_it_too(gantry, model, mcp):
    mcp.add("srv", tools=["sample"], sampling="allow")
    usage = {"prompt_tokens": 39000, "completion_tokens": 10, "total_tokens": 39010}

    def answer(request):
        if not request.tools:
            return Reply("never")
        return Reply("turn over") if request.results else Reply(calls=[call("srv__sample", text="long " * 2000)], usage=usage)
    model.answer(answer)
    r = gantry.talk("go", GANTRY_SPENDING_DAY_TOKENS="45000", GANTRY_SPENDING_ANSWER_TOKENS="100")
    assert "turn over" in r.out
    (refused,) = [json.loads(line) for line in model.last.results[0].split("\n")]
    assert refused["message"] == "the model could not be asked"
    assert "45000 tokens a day leaves no room" in gantry.procs[-1].err.text
    assert len(model.requests) == 2
    assert [r["state"] for r in audit(gantry)] == ["failed"]


# Servers that mean harm --------------------------------------------------------------------------------


def test_a_thousand_requests_are_a_few_answers_and_few_lines(gantry, model, mcp):
    mcp.add("srv", tools=["sample"], sampling={"policy": "allow", "per_call": 3})
    sampled = script(model, times=1000, at_once=True)
    assert gantry.talk("go", seconds=60).out.endswith("turn over\n")
    answers = [m for m in (json.loads(r["raw"]) for r in mcp_check.read_log(mcp.logs["srv"]) if r["dir"] == "in")
               if "method" not in m]
    assert len(answers) == 1000 and 1 <= len(sampled) <= 3
    assert sum("result" in a for a in answers) == len(sampled)
    assert gantry.procs[-1].err.text.count("sampling.refused") <= 2
    assert len(audit(gantry)) == len(sampled)


def test_a_huge_prompt_is_refused(gantry, model, mcp):
    mcp.add("srv", tools=["sample"], sampling="allow")
    params = {"maxTokens": 5, "messages": [{"role": "user", "content": {"type": "text", "text": "x" * 400000}}]}
    sampled = script(model, params=params)
    (answer,) = turn(gantry, model)
    assert answer["code"] == -32602 and "256 KiB" in answer["message"] and not sampled


def test_a_question_whose_call_is_over_is_nobodys(gantry, model, mcp):
    mcp.add("srv", tools=["sample", "echo"], sampling="allow")

    def answer(request):
        if not request.tools:
            return Reply("late")
        if not request.results:
            return Reply(calls=[call("srv__sample", leave=True, at_once=True)])
        return Reply("turn over")
    model.answer(answer)
    r = gantry.talk("go", seconds=60)
    assert r.out.endswith("turn over\n")
    assert model.requests[-1].results == ["left"] or model.last.results == ["left"]


@pytest.mark.parametrize("era", [[], ["stateless"]], ids=["handshake", "stateless"])
@pytest.mark.parametrize("button, state", [("Yes", "done"), ("No", "denied")])
def test_a_person_in_a_chat_says_yes_or_no(bot, gantry, model, mcp, button, state, era):
    mcp.add("srv", *era, tools=["sample"], sampling="ask")
    sampled = script(model, text="what is in the box?")
    bot.run()
    bot.say("go")
    prompt = bot.board.wait(lambda: next((m for m in bot.messages() if m.buttons), None), "a question", 30, bot.view)
    assert "srv" in prompt.text and "what is in the box?" in prompt.text and "at most 50 tokens" in prompt.text
    bot.press(prompt, button)
    bot.wait_text("turn over")
    assert len(sampled) == (state == "done")
    row, = audit(gantry)
    assert (row["state"], row["decision"]) == (state, "approved" if state == "done" else "denied")
    assert row["decider"] == gantry.sql("SELECT decided_by FROM questions")[0][0] != ""


def test_nobody_in_a_chat_in_time_is_no_denial_of_a_person(bot, gantry, model, mcp):
    mcp.add("srv", tools=["sample"], sampling="ask")
    script(model)
    bot.run(GANTRY_MCP_QUESTION_TIMEOUT="2s")
    bot.say("go")
    bot.wait_text("turn over")
    row, = audit(gantry)
    assert (row["state"], row["decision"], row["decider"]) == ("denied", "expired", "clock")
