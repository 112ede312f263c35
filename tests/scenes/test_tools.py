"""Turns that use tools: batches, order, repair, limits, and what history looks like afterwards."""

import json

import pytest

from fakes.model import Reply, call
from harness.watch import Gate

pytestmark = pytest.mark.concurrency


def tool_turn(model, *calls, then="done", **kw):
    model.reply(calls=list(calls), **kw)
    model.reply(then)


def test_a_tool_is_called_and_its_result_goes_back(gantry, model, mcp):
    mcp.add("srv", tools=["echo", "add"])
    tool_turn(model, call("srv__add", a=2, b=3), then="five")
    r = gantry.talk("add 2 and 3")
    assert r.out == "five\n"
    assert set(model.requests[0].tools) >= {"srv__add", "srv__echo"}
    assert model.last.results == ["5"]
    assert mcp.calls() == [("add", {"a": 2, "b": 3})]


def test_a_batch_runs_together_and_its_results_are_in_call_order(gantry, model, mcp):
    gate = gantry.dir / "gate"
    mcp.add("one", tools=["slow"])
    mcp.add("two", tools=["echo"])
    tool_turn(model, call("one__slow", gate=str(gate)), call("two__echo", text="b"),
              call("two__echo", text="c"))
    d = gantry.daemon()
    d.send("all three")
    mcp.wait(lambda: len(mcp.calls("two")) == 2, "the quick calls", 20)
    gate.touch()
    d.out.wait("done")
    d.finish()
    assert model.last.results == ["waited", "b", "c"]


def test_two_servers_may_have_the_same_tool_name(gantry, model, mcp):
    mcp.add("a", tools=["echo"])
    mcp.add("b", tools=["echo"])
    tool_turn(model, call("a__echo", text="1"), call("b__echo", text="2"))
    gantry.talk("both")
    assert (mcp.calls("a"), mcp.calls("b")) == ([("echo", {"text": "1"})], [("echo", {"text": "2"})])


def test_a_failing_tool_is_a_result_not_an_end(gantry, model, mcp):
    mcp.add("srv", tools=["fail", "rpc_error"])
    tool_turn(model, call("srv__fail", text="no such file"), call("srv__rpc_error"), then="sorry")
    assert gantry.talk("try").out == "sorry\n"
    first, second = model.last.results
    assert "no such file" in first and "error" in first.lower()
    assert "the backend is away" in second and "error" in second.lower()


@pytest.mark.parametrize("wrong", ["srv__ECHO", "echo", "SRV__echo", "mcp__echo", "srv.echo"])
def test_an_unambiguous_slip_in_a_tool_name_is_repaired(gantry, model, mcp, wrong):
    mcp.add("srv", tools=["echo", "add"])
    model.check = True
    model.tolerate = ("bad tool name",)
    tool_turn(model, call(wrong, text="x"))
    gantry.talk("go")
    assert mcp.calls() == [("echo", {"text": "x"})]


def test_an_unknown_tool_names_the_nearest_real_ones(gantry, model, mcp):
    mcp.add("srv", tools=["get_weather", "get_forecast", "add"])
    tool_turn(model, call("srv__weather_for_city", city="Rome"))
    gantry.talk("go")
    assert "srv__get_weather" in model.last.results[0]
    assert mcp.calls() == []


@pytest.mark.parametrize("raw", ["", "null", "{}", " "])
def test_empty_arguments_are_an_empty_object(gantry, model, mcp, raw):
    mcp.add("srv", tools=["pid"])
    tool_turn(model, call("srv__pid", _raw=raw))
    gantry.talk("go")
    assert mcp.calls() == [("pid", {})]
    (m,) = [m for m in model.last.messages if m.get("tool_calls")]
    assert m["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize("raw", ["[]", "{\"a\":", "nonsense", "\"text\"", "5"])
def test_unusable_arguments_are_an_error_result_and_history_stays_valid(gantry, model, mcp, raw):
    mcp.add("srv", tools=["echo"])
    tool_turn(model, call("srv__echo", _raw=raw))
    model.reply("and on")
    r = gantry.talk("go", "still there?")
    assert r.out.splitlines() == ["done", "and on"]
    assert "argument" in model.requests[1].results[0].lower() or "json" in model.requests[1].results[0].lower()
    assert mcp.calls() == []


def stream_of(*deltas, finish="tool_calls", done=True):
    out = b""
    for d in deltas:
        out += b"data: " + json.dumps({"choices": [{"index": 0, "delta": d, "finish_reason": None}]}).encode() + b"\n\n"
    out += b"data: " + json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}).encode() + b"\n\n"
    return out + (b"data: [DONE]\n\n" if done else b"")


def fn(name=None, args=None, **more):
    f = {}
    if name is not None:
        f["name"] = name
    if args is not None:
        f["arguments"] = args
    return dict(more, function=f)


DELTAS = {
    "no index": [[fn("srv__echo", '{"text":', id="c1", type="function")], [fn(None, '"Rome"}')]],
    "interleaved": [[fn("srv__echo", "", index=0, id="c1", type="function")],
                    [fn("srv__add", "", index=1, id="c2", type="function")],
                    [fn(None, '{"text":', index=0)], [fn(None, '{"a":1,', index=1)],
                    [fn(None, '"Rome"}', index=0)], [fn(None, '"b":2}', index=1)]],
    "index 1 first": [[fn("srv__add", '{"a":1,"b":2}', index=1, id="c2", type="function")],
                      [fn("srv__echo", '{"text":"Rome"}', index=0, id="c1", type="function")]],
    "same index, two ids": [[fn("srv__echo", '{"text":"Rome"}', index=0, id="c1", type="function")],
                            [fn("srv__add", '{"a":1,"b":2}', index=0, id="c2", type="function")]],
    "huge index": [[fn("srv__echo", '{"text":"Rome"}', index=4000000000, id="c1", type="function")]],
    "negative index": [[fn("srv__echo", '{"text":"Rome"}', index=-1, id="c1", type="function")]],
    "no id": [[fn("srv__echo", '{"text":"Rome"}', index=0)]],
    "id repeated": [[fn("srv__echo", '{"text":', index=0, id="c1", type="function")],
                    [fn(None, '"Rome"}', index=0, id="c1")]],
}


@pytest.mark.parametrize("shape", DELTAS)
@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
def test_calls_are_put_together_however_they_are_streamed(gantry, model, mcp, shape, finish):
    mcp.add("srv", tools=["echo", "add"])
    model.reply(sse=stream_of(*({"tool_calls": d} for d in DELTAS[shape]), finish=finish))
    model.reply("done")
    assert gantry.talk("go", STREAM_REPLIES="true").out == "done\n"
    expected = [("echo", {"text": "Rome"})]
    if "c2" in json.dumps(DELTAS[shape]):
        expected.append(("add", {"a": 1, "b": 2}))
    assert sorted(mcp.calls()) == sorted(expected)
    assert model.last.results[0] == "Rome"


@pytest.mark.parametrize("message", [
    {"role": "assistant", "content": "<think>x</think>", "tool_calls": [
        {"id": "", "type": "function", "function": {"name": "srv__pid", "arguments": "{}"}}]},
    {"role": "assistant", "content": "I look.", "tool_calls": [
        {"id": "x", "type": "function", "function": {"name": "srv__pid"}}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "x", "type": "function", "function": {"name": "srv__pid", "arguments": None}}]},
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "x", "type": "function", "function": {"name": "srv__pid", "arguments": {}}}]},
])
def test_calls_are_run_whatever_the_finish_reason_and_shape(gantry, model, mcp, message):
    mcp.add("srv", tools=["pid"])
    model.reply(body={"choices": [{"index": 0, "finish_reason": "stop", "message": message}]})
    model.reply("done")
    assert gantry.talk("go").out == "done\n"
    assert mcp.calls() == [("pid", {})]


def test_tool_calls_announced_but_absent_do_not_loop(gantry, model):
    empty = {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": ""}}]}
    model.default = Reply(body=empty)
    r = gantry.talk("go")
    assert len(model.requests) <= 3 and r.out.strip()


def test_opaque_fields_go_back_byte_for_byte_also_after_a_restart(gantry, model, mcp):
    mcp.add("srv", tools=["pid"])
    extra = {"google": {"thought_signature": "c2ln"}}
    model.reply(calls=[call("srv__pid", _id="c1", _extra=extra)], reasoning="plan")
    model.reply("done")
    gantry.talk("go")
    model.reply("later")
    gantry.talk("again")
    for request in model.requests[1:]:
        (m,) = [m for m in request.messages if m.get("tool_calls")]
        assert m["tool_calls"][0]["extra_content"] == extra
        assert m["reasoning_content"] == "plan"


@pytest.mark.parametrize("stream", ["true", "false"])
def test_reasoning_is_never_shown(gantry, model, stream):
    model.reply("the answer", reasoning="secret plan")
    r = gantry.talk("go", STREAM_REPLIES=stream)
    assert r.out == "the answer\n"


def test_a_refused_opaque_field_is_left_out_once_and_for_all(gantry, model, mcp):
    mcp.add("srv", tools=["pid"])

    def picky(request):
        raw = request.raw.decode()
        if "extra_content" in raw or "reasoning_content" in raw:
            return Reply(status=400, body={"error": {
                "message": "Unrecognized request argument supplied: reasoning_content",
                "type": "invalid_request_error", "param": None, "code": None}})
        return Reply("done") if request.results else Reply(
            calls=[call("srv__pid", _id="c1", _extra={"google": {"thought_signature": "c2ln"}})], reasoning="plan")
    model.answer(picky)
    assert gantry.talk("go").out == "done\n"
    assert len(model.requests) == 3


def test_a_long_result_keeps_head_and_tail_and_says_so(gantry, model, mcp):
    mcp.add("srv", tools=["big"])
    tool_turn(model, call("srv__big", n=50_000, char="あ"))
    gantry.talk("go", TOOL_RESULT_MAX_CHARS="2000")
    (result,) = model.last.results
    assert result.startswith("あ") and result.rstrip().endswith("あ")
    assert len(result) <= 2000 + 100 and result.count("あ") > 1000
    assert len(result.replace("あ", "").strip()) > 5


def test_the_same_call_again_and_again_is_ended(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    model.answer(lambda r: Reply(calls=[call("srv__echo", text="same")]) if r.tools else Reply("landed"))
    r = gantry.talk("go")
    assert r.out.strip()
    assert len(mcp.calls()) <= 4


def test_the_round_limit_ends_in_an_answer(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    model.answer(lambda r: Reply(calls=[call("srv__echo", text="n%d" % r.number)]) if r.tools else Reply("landed"))
    r = gantry.talk("go", TOOL_MAX_ITERATIONS="5")
    assert r.out.startswith("landed\n")
    assert len(mcp.calls()) == 5
    assert not model.last.tools
    model.reply("alive")
    assert gantry.talk("and now?").out == "alive\n"


def test_a_landing_that_still_calls_tools_gets_a_notice(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    model.answer(lambda r: Reply(calls=[call("srv__echo", text="n%d" % r.number)]))
    r = gantry.talk("go", TOOL_MAX_ITERATIONS="3")
    assert r.out.strip() and len(mcp.calls()) <= 3


def test_a_budget_note_comes_before_the_limit(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    model.answer(lambda r: Reply(calls=[call("srv__echo", text="n%d" % r.number)]) if r.number <= 9 else Reply("ok"))
    gantry.talk("go", TOOL_MAX_ITERATIONS="10")
    texts = [json.dumps(r.messages[len(model.requests[0].messages):]) for r in model.requests]
    assert any("remain" in t or "left" in t for t in texts[7:]), texts[-1][-800:]
    assert not any("remain" in t for t in texts[:5])


@pytest.mark.parametrize("text", [
    '{"name": "srv__echo", "arguments": {"text": "hi"}}',
    '```json\n{"name": "srv__echo", "parameters": {"text": "hi"}}\n```',
    '<tool_call>{"name": "srv__echo", "arguments": {"text": "hi"}}</tool_call>',
])
def test_a_printed_call_is_run_and_never_shown(gantry, model, mcp, text):
    mcp.add("srv", tools=["echo"])
    model.reply(text)
    model.reply("done")
    assert gantry.talk("go").out == "done\n"
    assert mcp.calls() == [("echo", {"text": "hi"})]


@pytest.mark.parametrize("text", [
    'The answer is {"protein": 180}.',
    '{"name": "tuesday", "mood": "good"}',
    "You could call srv__echo for that.",
])
def test_an_answer_that_only_looks_like_a_call_is_an_answer(gantry, model, mcp, text):
    mcp.add("srv", tools=["echo"])
    model.reply(text)
    assert gantry.talk("go").out == text + "\n"
    assert mcp.calls() == []


def test_reasoning_without_an_answer_is_nudged_once(gantry, model):
    model.reply(reasoning="hmm", text="")
    model.reply("here it is")
    assert gantry.talk("go").out == "here it is\n"
    assert len(model.requests) == 2


def test_reasoning_twice_is_said_plainly(gantry, model):
    model.default = Reply(reasoning="hmm", text="")
    r = gantry.talk("go")
    assert len(model.requests) == 2 and r.out.strip() and "hmm" not in r.out


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_answer_is_retried_once_then_said(gantry, model, text):
    model.reply(text)
    model.reply(text)
    model.reply("back")
    r = gantry.talk("go", "still there?")
    lines = [line for line in r.out.splitlines() if line.strip()]
    assert lines[-1] in ("back",) or model.script
    assert len(model.requests) <= 3 and lines


def test_old_tool_results_collapse_and_requests_stay_valid(gantry, model, mcp):
    mcp.add("srv", tools=["big"])
    for n in range(14):
        model.reply(calls=[call("srv__big", n=6000 + n, char="x")])
        model.reply("turn %d" % n)
    gantry.talk(*["go %d" % n for n in range(14)])
    last = [m["content"] for m in model.last.messages if m["role"] == "tool"]
    assert sum(len(x) for x in last) < 14 * 6000
    assert any("[tool srv__big: 6000 chars, truncated]" in x for x in last), last[0][:100]


def test_history_is_cut_in_whole_groups(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    for n in range(8):
        model.reply(calls=[call("srv__echo", text="a%d" % n), call("srv__echo", text="b%d" % n)])
        model.reply("turn %d" % n)
    gantry.talk(*["go %d" % n for n in range(8)], HISTORY_MAX_MESSAGES="7")
    assert len(model.last.messages) < 20


def test_every_call_has_an_audit_row(gantry, model, mcp):
    mcp.add("srv", tools=["echo", "fail"])
    tool_turn(model, call("srv__echo", text="x"), call("srv__fail"), call("srv__nope"))
    gantry.talk("go")
    rows = gantry.sql("select * from tool_calls")
    assert len(rows) == 3


def test_every_call_from_the_command_line_has_an_audit_row(gantry, mcp):
    mcp.add("srv", tools=["echo", "fail"])
    gantry.run("tools", "call", "srv__echo", '{"text": "x"}')
    gantry.run("tools", "call", "srv__fail", code=1)
    gantry.run("tools", "call", "srv__nope", "{}", code=1)
    rows = gantry.sql("select * from tool_calls order by created_at_ms, idx")
    assert [(r["requested"], r["state"], r["decision"]) for r in rows] == [
        ("srv__echo", "done", "allow"), ("srv__fail", "failed", "allow"), ("srv__nope", "failed", "unknown")]
    assert {(r["turn_id"], r["session_id"], r["requester"]) for r in rows} == {("", "", "cli")}
    assert rows[0]["args"] == '{"text": "x"}' and rows[0]["finished_at_ms"] >= rows[0]["started_at_ms"]


def test_a_call_from_the_command_line_that_is_killed_is_told_of(gantry, model, mcp):
    mcp.add("srv", tools=["hang"])
    p = gantry.start("tools", "call", "srv__hang")
    mcp.wait(lambda: mcp.calls(), "the call")
    p.kill()
    p.wait()
    assert gantry.sql("select state from tool_calls")[0][0] == "running"
    model.reply("fine")
    gantry.talk("go")
    assert gantry.sql("select state from tool_calls")[0][0] == "in_doubt"


def test_rich_schemas_reach_the_model_whole(gantry, model, mcp):
    mcp.add("srv", tools=["add"])
    model.reply("ok")
    gantry.talk("go")
    (tool,) = [t for t in model.last.body["tools"] if t["function"]["name"] == "srv__add"]
    assert tool["function"]["parameters"] == {"type": "object", "required": ["a", "b"], "properties": {
        "a": {"type": "number"}, "b": {"type": "number"}}}


def keys_of(schema):
    """Every key of a schema, at any depth, beside names of properties."""
    if isinstance(schema, list):
        for s in schema:
            yield from keys_of(s)
    elif isinstance(schema, dict):
        for k, v in schema.items():
            yield k
            yield from keys_of(list(v.values()) if k in ("properties", "$defs") else v)


def test_a_rich_schema_is_sent_whole(gantry, model, mcp):
    mcp.add("srv", tools=["rich"])
    model.reply("ok")
    gantry.talk("go")
    (tool,) = [t["function"] for t in model.last.body["tools"] if t["function"]["name"] == "srv__rich"]
    assert set(keys_of(tool["parameters"])) >= {"$defs", "$ref", "anyOf", "const", "exclusiveMinimum"}


def test_gemini_gets_a_schema_it_takes_through_a_proxy(gantry, model, mcp):
    mcp.add("srv", tools=["rich", "echo"])
    model.reply(calls=[call("srv__rich", e=1)])
    model.reply("ok")
    proxy = model.url[:-len("/v1")]
    r = gantry.talk("go", LLM_BASE_URL="http://generativelanguage.googleapis.com/v1beta/openai", http_proxy=proxy)
    assert r.out == "ok\n"
    assert model.last.path.startswith("http://generativelanguage.googleapis.com/")
    (rich,) = [t["function"] for t in model.last.body["tools"] if t["function"]["name"] == "srv__rich"]
    refused = {"$schema", "$defs", "$ref", "additionalProperties", "const", "exclusiveMinimum", "uniqueItems"}
    assert not refused & set(keys_of(rich["parameters"]))
    props = rich["parameters"]["properties"]
    assert set(props) == set("abcdef")
    assert "items" in props["d"]
    assert props["f"]["type"] == "string" and props["f"].get("nullable") is True


def test_a_turn_that_failed_after_tools_is_noted_not_lost(gantry, model, mcp):
    mcp.add("srv", tools=["count"])
    model.reply(calls=[call("srv__count", label="bought")])
    model.reply(status=401, body={"error": {"message": "key revoked"}})
    model.reply("it was bought")
    gantry.talk("buy it", "did you?")
    assert mcp.ledger_lines() == ["bought"]
    assert "srv__count" in json.dumps(model.last.messages)


def test_many_calls_in_one_batch_all_run(gantry, model, mcp):
    mcp.add("a", tools=["echo"])
    mcp.add("b", tools=["echo"])
    calls = [call("%s__echo" % "ab"[n % 2], text=str(n)) for n in range(24)]
    tool_turn(model, *calls)
    gantry.talk("go")
    assert model.last.results == [str(n) for n in range(24)]


def test_tool_use_streams_and_answers(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    gate = Gate()
    model.reply("Let me look.", calls=[call("srv__echo", text="x")])
    model.reply("It is x.", gate=gate)
    d = gantry.daemon(STREAM_REPLIES="true")
    d.send("go")
    gate.wait_reached()
    gate.release()
    d.out.wait("It is x.")
    d.finish()
