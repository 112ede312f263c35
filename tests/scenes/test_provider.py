"""Providers misbehave: refusals, limits, cut streams, odd framing.  The user always gets something true."""

import json
import time

import pytest

from fakes.model import Reply, call
from harness.watch import Gate


def chunk(text=None, finish=None, **more):
    delta = {} if text is None else {"content": text}
    return b"data: " + json.dumps(dict({"choices": [
        {"index": 0, "delta": delta, "finish_reason": finish}]}, **more), ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def streamed(gantry, model, sse, **reply):
    model.reply(sse=sse, **reply)
    return gantry.talk("go", STREAM_REPLIES="true")


# Framing ---------------------------------------------------------------------------------------

KEEPALIVE = (b": OPENROUTER PROCESSING\r\n\r\nevent: x.progress\r\ndata: {\"tool\":\"t\"}\r\n\r\n"
             b"data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xe9\x82\xa3\xe4\xb8\xaa\"},"
             b"\"finish_reason\":null}]}\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{},"
             b"\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n")


@pytest.mark.parametrize("size", [1, 2, 3, 7, None])
def test_comments_foreign_events_and_read_boundaries_do_not_matter(gantry, model, size):
    assert streamed(gantry, model, KEEPALIVE, chunk=size).out == "那个\n"


@pytest.mark.parametrize("sse", [
    chunk("Hello", "stop") + DONE,
    (chunk("Hello", "stop") + DONE).replace(b"\n", b"\r\n"),
    chunk("Hello", "stop") + b"data: [DONE]",
    chunk("Hello") + chunk(None, "stop"),
    b"data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\n" + DONE,
    b"\xef\xbb\xbf" + chunk("Hello", "stop") + DONE,
    b"id: 1\nretry: 500\nevent: message\n" + chunk("Hello", "stop") + DONE,
    b"data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n" + chunk("Hel", "") + chunk("lo", "stop")
    + b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2,\"total_tokens\":12}}\n\n",
    chunk("Hello", "stop", usage=None) + DONE,
], ids=["plain", "crlf", "no last blank line", "no DONE", "two data lines", "BOM", "other fields",
        "empty choices and finish", "null usage"])
def test_a_stream_is_read_as_it_comes(gantry, model, sse):
    assert streamed(gantry, model, sse).out == "Hello\n"


def test_usage_after_the_finish_is_counted(gantry, model):
    streamed(gantry, model, chunk("Hello", "stop")
             + b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":2,\"total_tokens\":12}}\n\n")
    (row,) = gantry.sql("select prompt_tokens, completion_tokens from model_calls")
    assert tuple(row) == (10, 2)


def test_a_finished_stream_whose_connection_stays_open_is_finished(gantry, model):
    gate = Gate()
    sse = chunk("Hello", "stop")
    model.reply(sse=sse, gate=gate, gate_at=len(sse))
    d = gantry.daemon(STREAM_REPLIES="true")
    d.send("go")
    d.out.wait("Hello\n", 60)
    d.finish()


def test_a_complete_json_body_instead_of_a_stream_is_the_answer(gantry, model):
    model.reply("Hello", shape="json")
    assert gantry.talk("go", STREAM_REPLIES="true").out == "Hello\n"


# Errors in band --------------------------------------------------------------------------------

IN_BAND = {
    "error in a chunk": chunk("Hel") + b'data: {"error":{"code":502,"message":"Provider disconnected"},"choices":'
                        b'[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}\n\n' + DONE,
    "error field": chunk("Hel") + b'error: {"code":500,"message":"Provider disconnected","type":"server_error"}\n\n',
    "error event": chunk("Hel") + b'event: error\ndata: {"error":{"message":"Provider disconnected"}}\n\n',
}


@pytest.mark.parametrize("kind", IN_BAND)
def test_an_error_in_the_stream_fails_the_turn_with_its_message(gantry, model, kind):
    model.default = Reply(sse=IN_BAND[kind])
    r = gantry.talk("go", STREAM_REPLIES="true", seconds=120)
    assert "Provider disconnected" in r.out + r.err
    assert len(model.requests) <= 6
    model.default = None
    model.reply("fine")
    gantry.talk("again")
    assert "Hel" not in [m["content"] for m in model.last.messages]


def test_an_error_body_with_status_200_fails_the_turn(gantry, model):
    model.default = Reply(body={"error": {"message": "overloaded"}})
    r = gantry.talk("go", seconds=120)
    assert "overloaded" in r.out + r.err


def test_a_cut_stream_is_not_an_answer(gantry, model):
    model.reply(sse=chunk("Hel"), close_after=len(chunk("Hel")))
    model.reply("Hello whole")
    r = gantry.talk("go", STREAM_REPLIES="true", seconds=120)
    assert r.out.endswith("Hello whole\n")


@pytest.mark.parametrize("reset", [True, False])
def test_calls_of_a_cut_stream_are_not_run(gantry, model, mcp, reset):
    mcp.add("srv", tools=["count"])
    r = Reply(calls=[call("srv__count", label="half and more text here")])
    r.close_after, r.reset = 420, reset
    model.reply(r)
    model.reply("no calls")
    assert gantry.talk("go", STREAM_REPLIES="true", seconds=120).out.endswith("no calls\n")
    assert mcp.ledger_lines() == []


def test_an_endless_cut_stream_ends_in_a_plain_sentence(gantry, model):
    model.default = Reply(sse=chunk("Hel"), close_after=len(chunk("Hel")))
    r = gantry.talk("go", STREAM_REPLIES="true", seconds=180)
    assert r.out.strip() not in ("", "Hel") and len(model.requests) <= 6


# Status codes ----------------------------------------------------------------------------------


def test_a_refused_key_is_not_retried_and_said(gantry, model):
    model.reply(status=401, body={"error": {"message": "Incorrect API key provided: sk-te***", "code": "invalid_api_key"}})
    model.reply("fine")
    r = gantry.talk("go", "again")
    assert "fine" in r.out and len(model.requests) == 2
    assert "key" in r.out.lower()


def test_a_provider_that_echoes_the_key_does_not_get_it_shown(gantry, model):
    key = gantry.env()["LLM_API_KEY"]
    model.reply(status=401, body={"error": {"message": "cannot use " + key}})
    r = gantry.talk("go")
    assert r.out.strip()        # and the harness looks for the key everywhere


@pytest.mark.parametrize("status", [500, 502, 503, 408])
def test_a_passing_failure_is_retried(gantry, model, status):
    model.reply(status=status, body={"error": {"message": "oops"}})
    model.reply("Hello")
    assert gantry.talk("go", seconds=90).out == "Hello\n"
    assert len(model.requests) == 2
    assert model.requests[0].raw == model.requests[1].raw


def test_a_lasting_failure_is_told_with_the_providers_words(gantry, model):
    model.default = Reply(status=503, body={"error": {"message": "the datacentre is on holiday"}})
    r = gantry.talk("go", seconds=180)
    assert "the datacentre is on holiday" in r.out
    assert 2 <= len(model.requests) <= 6


def test_a_failed_turn_leaves_valid_history(gantry, model):
    model.reply(status=400, body={"error": {"message": "no"}})
    model.reply("fine")
    r = gantry.talk("first", "second")
    assert "fine" in r.out
    assert [x for x in model.last.roles if x != "system"] == ["user"]


@pytest.mark.parametrize("body,words", [
    ({"error": "model not found"}, "model not found"),
    ([{"error": {"code": 400, "message": "first of a list"}}], "first of a list"),
    ({"object": "error", "message": "flat message", "code": 400}, "flat message"),
    ({"detail": [{"msg": "field required"}]}, "field required"),
    (b"<html><body><h1>Bad Request</h1>nginx</body></html>", "400"),
    (b"", "400"),
], ids=["string", "list", "flat", "detail", "html", "empty"])
def test_an_error_body_of_any_shape_is_told(gantry, model, body, words):
    model.reply(status=400, body=body)
    model.reply("fine")
    r = gantry.talk("go", "again")
    assert words in r.out and "fine" in r.out
    assert len(model.requests) == 2


@pytest.mark.parametrize("headers,least", [({"Retry-After": "1"}, 1.0), ({"retry-after-ms": "1200"}, 1.2)])
def test_retry_after_is_kept(gantry, model, headers, least):
    model.reply(status=429, headers=headers, body={"error": {"message": "slow down"}})
    model.reply("Hello")
    assert gantry.talk("go", seconds=90).out == "Hello\n"
    assert model.requests[1].arrived - model.requests[0].departed >= least


def test_a_retry_hint_in_the_body_is_kept(gantry, model):
    model.reply(status=429, body=[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1.3s"}]}}])
    model.reply("Hello")
    assert gantry.talk("go", seconds=90).out == "Hello\n"
    assert model.requests[1].arrived - model.requests[0].departed >= 1.3


@pytest.mark.parametrize("value", ["soon", "-5", "", "1e999", "nan"])
def test_a_senseless_retry_after_is_neither_a_tight_loop_nor_for_ever(gantry, model, value):
    model.reply(status=429, headers={"Retry-After": value}, body={"error": {"message": "slow down"}})
    model.reply("Hello")
    assert gantry.talk("go", seconds=90).out == "Hello\n"
    assert model.requests[1].arrived - model.requests[0].departed > 0.05


def test_a_far_retry_after_is_told_instead_of_waited_for(gantry, model):
    model.default = Reply(status=429, headers={"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"},
                          body={"error": {"message": "quota exceeded"}})
    r = gantry.talk("go", seconds=200)
    assert r.out.strip() and "quota exceeded" in r.out


def test_a_stop_ends_a_wait_for_the_rate_limit(gantry, model):
    model.reply(status=429, headers={"Retry-After": "55"}, body={"error": {"message": "slow down"}})
    model.reply("Hello")
    d = gantry.daemon()
    d.send("go")
    model.board.wait(lambda: model.requests and model.requests[0].departed, "the refusal")
    d.send("/stop")
    d.send("again")
    d.out.wait("Hello", 30)
    d.finish()


# Learnt quirks ---------------------------------------------------------------------------------

TEMPERATURE = {"error": {"message": "Unsupported value: 'temperature' does not support 0.7 with this model. Only the "
                         "default (1) value is supported.", "type": "invalid_request_error", "param": "temperature",
                         "code": "unsupported_value"}}
MAX_TOKENS = {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                        "'max_completion_tokens' instead.", "type": "invalid_request_error", "param": "max_tokens",
                        "code": "unsupported_parameter"}}


def test_refused_parameters_are_adapted_and_remembered(gantry, model):
    def picky(request):
        if "temperature" in request.body:
            return Reply(status=400, body=TEMPERATURE)
        if "max_tokens" in request.body:
            return Reply(status=400, body=MAX_TOKENS)
        return Reply("Hello")
    model.answer(picky)
    settings = {"LLM_MAX_TOKENS": "500", "GANTRY_AGENT_TEMPERATURE": "0.7"}
    assert gantry.talk("go", **settings).out == "Hello\n"
    assert model.last.body["max_completion_tokens"] == 500
    count = len(model.requests)
    assert count <= 3
    assert gantry.talk("again", **settings).out == "Hello\n"
    assert len(model.requests) == count + 1


def test_refused_stream_options_are_left_out(gantry, model):
    def picky(request):
        if "stream_options" in request.body:
            return Reply(status=400, body={"error": {"message": "Unrecognized request argument supplied: stream_options"}})
        return Reply("Hello")
    model.answer(picky)
    assert gantry.talk("go", STREAM_REPLIES="true").out == "Hello\n"


SHAPES = {
    "null refused": (lambda m: "content" in m and m["content"] is None, "invalid message content type: <nil>"),
    "empty refused": (lambda m: m.get("content") == "", "String should have at least 1 character"),
    "absent refused": (lambda m: "content" not in m, "missing field `content`"),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_the_content_of_a_tool_only_message_takes_the_shape_the_endpoint_wants(gantry, model, mcp, kind):
    mcp.add("srv", tools=["echo"])
    refused, words = SHAPES[kind]
    model.tolerate = ("is null",)

    def picky(request):
        if any(m["role"] == "assistant" and refused(m) for m in request.messages):
            return Reply(status=400, body={"error": {"message": words, "type": "invalid_request_error"}})
        return Reply("Hello") if request.results else Reply(calls=[call("srv__echo", text=request.user)])
    model.answer(picky)
    assert gantry.talk("one", "two").out == "Hello\nHello\n"
    assert len(model.requests) <= 5


def test_an_unknown_400_is_never_repeated_unchanged(gantry, model):
    model.reply(status=400, body={"error": {"message": "something else is wrong"}})
    r = gantry.talk("go")
    assert "something else is wrong" in r.out and len(model.requests) == 1


OVERFLOW = [
    {"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it",
               "type": "exceed_context_size_error", "n_prompt_tokens": 124071, "n_ctx": 4000}},
    {"object": "error", "message": "This model's maximum context length is 4000 tokens. However, you requested 9000 "
     "tokens", "code": 400},
    [{"error": {"code": 400, "message": "The input token count exceeds the maximum", "status": "INVALID_ARGUMENT"}}],
    {"error": {"message": "maximum context length is 4000 tokens", "code": "context_length_exceeded"}},
]


@pytest.mark.parametrize("body", OVERFLOW, ids=["llama.cpp", "vllm", "gemini", "openai"])
def test_a_full_context_is_trimmed_and_sent_once_more(gantry, model, body):
    for n in range(8):
        model.reply("answer %d " % n + "y" * 2000)
    gantry.talk(*["question %d " % n + "x" * 2000 for n in range(8)])
    before = len(model.requests)

    def small(request):
        return Reply("Hello") if len(request.raw) < len(model.requests[before].raw) * 0.8 else Reply(status=400, body=body)
    model.answer(small)
    assert gantry.talk("and now?").out == "Hello\n"
    assert len(model.requests) - before <= 3
    assert model.last.user.startswith("and now?")


def test_big_tool_results_shrink_before_history_is_cut(gantry, model, mcp):
    mcp.add("srv", tools=["big"])
    model.reply("noted")
    gantry.talk("my name is Ada")

    def small(request):
        if len(request.raw) > 30_000:
            return Reply(status=400, body={"error": {"message": "too long", "code": "context_length_exceeded"}})
        return Reply("Hello") if request.results else Reply(calls=[call("srv__big", n=60_000, char="z")])
    model.answer(small)
    assert gantry.talk("go", TOOL_RESULT_MAX_CHARS="60000").out == "Hello\n"
    assert "my name is Ada" in model.last.raw.decode()


# Reasoning -------------------------------------------------------------------------------------


@pytest.mark.parametrize("deltas,said", [
    (["<thi", "nk>secret</thi", "nk>\n\nHello"], "Hello"),
    (["</think>Hello"], "Hello"),
    (["<thought>secret</thought>Hi"], "Hi"),
    (["<think>\nsecret\n</think>", "\nHello"], "Hello"),
    (["Wrap it in a <think> tag, then continue. Done."], "Wrap it in a <think> tag, then continue. Done."),
    (["a < b and b > c"], "a < b and b > c"),
])
@pytest.mark.parametrize("stream", ["true", "false"])
def test_a_leading_think_block_is_reasoning(gantry, model, deltas, said, stream):
    model.reply("".join(deltas), deltas=deltas)
    r = gantry.talk("go", STREAM_REPLIES=stream)
    assert r.out == said + "\n"


# Stalls and limits -----------------------------------------------------------------------------


def test_a_model_that_never_answers_ends_in_a_sentence(gantry, model):
    gates = []

    def hang(request):
        gates.append(Gate())
        return Reply("late", gate=gates[-1])
    model.answer(hang)
    r = gantry.talk("go", GANTRY_OPENAI_TIMEOUT="1s", GANTRY_OPENAI_MAX_RETRIES="1", seconds=120)
    assert r.out.strip() and "late" not in r.out


def test_comments_do_not_keep_a_stalled_stream_alive(gantry, model):
    model.default = Reply(sse=chunk("Hel") + b": ping\n\n" * 200000, chunk=16)
    r = gantry.talk("go", STREAM_REPLIES="true", GANTRY_OPENAI_IDLE_TIMEOUT="1s", GANTRY_OPENAI_MAX_RETRIES="0",
                    seconds=120)
    assert r.out.strip() != "Hel"


def test_an_answer_without_end_is_cut_off(gantry, model):
    model.default = Reply(sse=chunk("x" * 60000) * 2000)
    r = gantry.talk("go", STREAM_REPLIES="true", seconds=180)
    assert len(r.out) < 200_000_000 and r.proc.popen.returncode == 0


def test_an_unreachable_model_is_told(gantry, model):
    r = gantry.talk("go", LLM_BASE_URL="http://127.0.0.1:9/v1", seconds=120)
    assert "127.0.0.1" in r.out + r.err and r.out.strip()


def test_connections_are_kept_between_rounds(gantry, model, mcp):
    mcp.add("srv", tools=["echo"])
    for n in range(4):
        model.reply(calls=[call("srv__echo", text=str(n))])
    model.reply("done")
    gantry.talk("go")
    assert model.connections == 1


@pytest.mark.parametrize("body", [b"{", b"null", b"[]", b"{}", b'{"choices":[]}', b'{"choices":[{}]}',
                                  b'{"choices":null}', b"\xff\xfe", b'{"choices":[{"message":{"content":5}}]}',
                                  b"[" * 100000])
def test_a_body_of_rubbish_is_a_sentence_not_a_crash(gantry, model, body):
    model.default = Reply(body=body)
    r = gantry.talk("go", seconds=180)
    assert r.out.strip()
    assert len(model.requests) <= 6


@pytest.mark.parametrize("sse", [b"data: {\n\n" + DONE, b"data: null\n\n" + DONE, b"data: []\n\n" + DONE, b"rubbish\n\n",
                                 b"data: {\"choices\":[{\"delta\":null}]}\n\n" + DONE, DONE, b"",
                                 b"data: " + b"[" * 100000 + b"\n\n" + DONE])
def test_a_stream_of_rubbish_is_a_sentence_not_a_crash(gantry, model, sse):
    model.default = Reply(sse=sse)
    r = gantry.talk("go", STREAM_REPLIES="true", seconds=180)
    assert r.out.strip()
    assert len(model.requests) <= 6
