"""The fakes themselves: a fake that takes everything proves nothing."""

import http.client
import json
import os
import signal
import subprocess

import pytest

from fakes.model import Model, call
from harness import mcp_check, openai_check
from harness.fixtures import FAKES, KEY, PYTHON, toml
from harness.process import Proc, become_subreaper, descendants, wait_gone
from harness.terminal import Screen, plain
from harness.watch import Gate


def post(model, body, stream=False, key=KEY, raw=None):
    con = http.client.HTTPConnection("127.0.0.1", model.port, timeout=20)
    body = dict(body, stream=True) if stream else body
    con.request("POST", "/v1/chat/completions", raw if raw is not None else json.dumps(body),
                {"Content-Type": "application/json", "Authorization": "Bearer " + key})
    return con, con.getresponse()


def ask(*messages, **more):
    return dict({"model": "m", "messages": list(messages)}, **more)


USER = {"role": "user", "content": "hi"}
CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}},
    {"id": "b", "type": "function", "function": {"name": "t", "arguments": "{}"}}]}
GOOD = [
    ask(USER),
    ask({"role": "system", "content": "s"}, USER),
    ask(USER, {"role": "assistant", "content": "yes"}, USER, max_tokens=5, temperature=0.5),
    ask(USER, CALL, {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"}),
    ask(USER, stream=True, stream_options={"include_usage": True}),
    ask(USER, tools=[{"type": "function", "function": {
        "name": "srv__t", "description": "d", "parameters": {"type": "object", "properties": {}}}}]),
    ask({"role": "user", "content": [{"type": "text", "text": "see"},
                                     {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]}),
    ask(USER, dict(CALL, tool_calls=[dict(CALL["tool_calls"][0], extra_content={"google": {"x": "y"}})],
                   reasoning_content="why"), {"role": "tool", "tool_call_id": "a", "content": "1"}),
]
BAD = [
    ("second system", ask(USER, {"role": "assistant", "content": "x"}, {"role": "system", "content": "s"}, USER)),
    ("two users", ask(USER, USER)),
    ("orphan result", ask(USER, {"role": "tool", "tool_call_id": "a", "content": "1"})),
    ("missing result", ask(USER, CALL, {"role": "tool", "tool_call_id": "a", "content": "1"})),
    ("swapped results", ask(USER, CALL, {"role": "tool", "tool_call_id": "b", "content": "1"},
                            {"role": "tool", "tool_call_id": "a", "content": "2"})),
    ("user between", ask(USER, CALL, USER)),
    ("empty assistant", ask(USER, {"role": "assistant", "content": " \n"}, USER)),
    ("ends with assistant", ask(USER, {"role": "assistant", "content": "x"})),
    ("bad arguments", ask(USER, {"role": "assistant", "content": "x", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "t", "arguments": "[]"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "1"})),
    ("bad name", ask(USER, tools=[{"type": "function", "function": {
        "name": "9x", "parameters": {"type": "object"}}}])),
    ("parallel_tool_calls", ask(USER, parallel_tool_calls=True)),
    ("null", ask(USER, temperature=None)),
    ("unknown top key", ask(USER, frobnicate=1)),
    ("unknown message key", ask(dict(USER, at=1))),
    ("text as parts", ask({"role": "user", "content": [{"type": "text", "text": "x"}]})),
    ("no messages", ask()),
    ("surrogate", ask({"role": "user", "content": "x\ud800"})),
    ("empty tools", ask(USER, tools=[])),
    ("blank user", ask({"role": "user", "content": ""})),
]


@pytest.mark.parametrize("body", GOOD)
def test_the_checker_takes_a_good_request(body):
    assert openai_check.check(body) == []


@pytest.mark.parametrize("what,body", BAD, ids=[w for w, _ in BAD])
def test_the_checker_refuses(what, body):
    assert openai_check.check(body)


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"a":1,"a":2}', b'{"a":"\xff"}', b'{"a":NaN}'])
def test_the_checker_refuses_unsound_json(raw):
    with pytest.raises(ValueError):
        openai_check.parse(raw)


@pytest.mark.skipif(not os.environ.get("GANTRY_CORPORA"), reason="GANTRY_CORPORA is not set")
def test_the_published_schema_is_applied_with_unknown_keys_refused():
    assert openai_check._schema_errors(ask(dict(USER, zzz=1)))
    assert openai_check._schema_errors(ask(USER, zzz=1))
    assert openai_check._schema_errors(ask(USER, temperature=9))
    assert not openai_check._schema_errors(ask(USER, temperature=1))


def test_a_violation_answers_400_and_is_kept():
    m = Model(key=KEY).start()
    try:
        _, r = post(m, ask(USER, USER))
        assert r.status == 400 and b"two user messages" in r.read()
        m.reply("x")
        _, r = post(m, ask(USER), key="wrong")
        assert r.status == 400
        _, r = post(m, ask(USER))
        assert json.loads(r.read())["choices"][0]["message"]["content"] == "x"
        _, r = post(m, ask(USER))
        assert r.status == 400
        assert len(m.violations) == 3
    finally:
        m.stop()


def events(raw):
    return [json.loads(line[6:]) for line in raw.decode().split("\n")
            if line.startswith("data: {")]


def test_streams_carry_text_calls_and_usage(model):
    model.reply("one two three", calls=[call("t", a=1), call("u", text="あいう" * 9)])
    _, r = post(model, ask(USER, stream_options={"include_usage": True}), stream=True)
    raw = r.read()
    assert raw.endswith(b"data: [DONE]\n\n")
    ev = events(raw)
    assert "".join(e["choices"][0]["delta"].get("content", "") for e in ev if e["choices"]) == "one two three"
    args = {}
    for e in ev:
        for c in (e["choices"][0]["delta"].get("tool_calls", []) if e["choices"] else []):
            args[c["index"]] = args.get(c["index"], "") + c["function"]["arguments"]
    assert json.loads(args[0]) == {"a": 1} and json.loads(args[1]) == {"text": "あいう" * 9}
    assert ev[-1]["choices"] == [] and ev[-1]["usage"]["total_tokens"] > 0
    assert ev[-2]["choices"][0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("at", ["start", "headers", "first", "end", 3])
def test_a_gate_holds_the_answer_and_notices_that_the_client_left(model, at):
    gate = Gate()
    model.reply("hello there", gate=gate, gate_at=at)
    con = http.client.HTTPConnection("127.0.0.1", model.port, timeout=20)
    con.request("POST", "/v1/chat/completions", json.dumps(ask(USER, stream=True)),
                {"Content-Type": "application/json", "Authorization": "Bearer " + KEY})
    gate.wait_reached()
    con.close()
    model.wait_dropped(model.requests[0])
    model.reply("hello again", gate=Gate(), gate_at=at)
    model.script[0].gate.release()
    _, r = post(model, ask(USER), stream=True)
    assert b"[DONE]" in r.read()


def test_a_cut_stream_is_cut_where_told(model):
    model.reply("hello there", close_after=40)
    _, r = post(model, ask(USER), stream=True)
    with pytest.raises((http.client.IncompleteRead, ConnectionError)) as e:
        r.read()
    if isinstance(e.value, http.client.IncompleteRead):
        assert len(e.value.partial) == 40


def test_a_connection_is_kept_and_numbered(model):
    model.answer(lambda request: "ok")
    con = http.client.HTTPConnection("127.0.0.1", model.port, timeout=20)
    for _ in range(3):
        con.request("POST", "/v1/chat/completions", json.dumps(ask(USER)),
                    {"Content-Type": "application/json", "Authorization": "Bearer " + KEY})
        con.getresponse().read()
    assert [r.connection for r in model.requests] == [1, 1, 1]


# MCP ---------------------------------------------------------------------------------------------


class Client:
    """A tiny MCP client."""

    def __init__(self, tmp_path, *args, shift=()):
        self.log = str(tmp_path / "log")
        argv = [PYTHON, "-S", "-E", *shift, str(FAKES / "mcp_server.py"), "--log", self.log, *args]
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        self.n = 0

    def send(self, method, params=None, note=False):
        msg = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            msg["params"] = params
        if not note:
            self.n += 1
            msg["id"] = self.n
        self.p.stdin.write(json.dumps(msg).encode() + b"\n")
        self.p.stdin.flush()

    def ask(self, method, params=None):
        self.send(method, params)
        while True:
            line = self.p.stdout.readline()
            assert line, "the server ended"
            try:
                msg = json.loads(line)
            except ValueError:
                continue
            if isinstance(msg, dict) and msg.get("id") == self.n and "method" not in msg:
                return msg

    def start(self, revision="2025-11-25"):
        r = self.ask("initialize", {"protocolVersion": revision, "capabilities": {},
                                    "clientInfo": {"name": "t", "version": "1"}})
        self.send("notifications/initialized", note=True)
        return r["result"]

    def call(self, name, **args):
        return self.ask("tools/call", {"name": name, "arguments": args})

    def close(self):
        self.p.stdin.close()
        out = self.p.stdout.read()
        self.p.wait(20)
        self.p.stderr.close()
        return out


def test_the_scripted_server_speaks_each_revision_validly(tmp_path):
    for revision in mcp_check.REVISIONS:
        c = Client(tmp_path, "--ledger", str(tmp_path / "ledger"))
        assert c.start(revision)["protocolVersion"] == revision
        assert len(c.ask("tools/list", {})["result"]["tools"]) > 20
        assert c.call("echo", text="日本")["result"]["content"][0]["text"] == "日本"
        assert c.call("add", a=1, b=2)["result"]["content"][0]["text"] == "3"
        assert c.call("fail")["result"]["isError"] is True
        assert "error" in c.call("rpc_error")
        c.call("count", label=revision)
        c.close()
        assert mcp_check.check_log(c.log) == []
    assert (tmp_path / "ledger").read_text().split() == list(mcp_check.REVISIONS)
    assert ("echo", {"text": "日本"}) in mcp_check.calls(c.log)


def test_noise_paging_and_floods_leave_the_protocol_readable(tmp_path):
    c = Client(tmp_path, "--tools", "echo,add,a.b", "--do", "noise", "--do", "page=2", "--do", "crlf",
               "--do", "bad-json", "--do", "string-ids", "--do", "list-changed=3")
    c.start()
    first = c.ask("tools/list", {})["result"]
    assert len(first["tools"]) == 2
    c.ask("tools/list", {"cursor": first["nextCursor"]})
    c.close()
    assert mcp_check.check_log(c.log) == []


@pytest.mark.parametrize("what,messages", [
    ("no initialize", [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]),
    ("not 2.0", [{"id": 1, "method": "ping"}]),
    ("id twice", [{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "id": 1, "method": "ping"}]),
    ("unasked answer", [{"jsonrpc": "2.0", "id": 7, "result": {}}]),
    ("unknown note", [{"jsonrpc": "2.0", "method": "notifications/zzz"}]),
    ("params array", [{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}]),
    ("cancels nothing", [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}]),
])
def test_the_wire_check_refuses(tmp_path, what, messages):
    log = tmp_path / "log"
    log.write_text("".join(json.dumps({"t": 0, "pid": 1, "dir": "in", "raw": json.dumps(m)}) + "\n"
                           for m in messages))
    assert mcp_check.check_log(str(log))


def test_a_process_id_that_comes_round_again_is_a_new_session(tmp_path):
    log = tmp_path / "log"
    init = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "g", "version": "1"}}}
    start = {"t": 0, "pid": 1, "dir": "event", "raw": "start"}
    rows = [start, {"t": 0, "pid": 1, "dir": "in", "raw": json.dumps(init)}]
    log.write_text("".join(json.dumps(r) + "\n" for r in rows + rows))
    assert mcp_check.check_log(str(log)) == []
    log.write_text("".join(json.dumps(r) + "\n" for r in rows + rows[1:]))
    assert mcp_check.check_log(str(log))


@pytest.mark.skipif(not os.environ.get("GANTRY_CORPORA"), reason="GANTRY_CORPORA is not set")
def test_the_wire_check_applies_the_schema_of_the_revision(tmp_path):
    log = tmp_path / "log"
    init = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}
    log.write_text(json.dumps({"t": 0, "pid": 1, "dir": "in", "raw": json.dumps(init)}) + "\n")
    assert "clientInfo" in mcp_check.check_log(str(log))[0]


def test_the_tee_records_and_passes_the_exit_on(tmp_path):
    tee = [str(FAKES / "mcp_tee.py"), str(tmp_path / "tee"), PYTHON]
    c = Client(tmp_path, "--tools", "echo", shift=tee)
    c.start()
    assert c.call("echo", text="x")["result"]
    c.close()
    assert c.p.returncode == 0
    assert mcp_check.check_log(str(tmp_path / "tee")) == []
    assert mcp_check.calls(str(tmp_path / "tee")) == [("echo", {"text": "x"})]


def test_a_stubborn_server_outlives_eof_and_term(tmp_path):
    c = Client(tmp_path, "--do", "ignore-eof", "--do", "ignore-term")
    c.start()
    c.p.stdin.close()
    c.p.send_signal(signal.SIGTERM)
    assert not wait_gone(c.p.pid, 0.3)
    c.p.kill()
    assert c.p.wait(20) == -signal.SIGKILL


# Harness -----------------------------------------------------------------------------------------


def test_a_grandchild_in_its_own_session_is_seen(tmp_path):
    become_subreaper()
    p = Proc([PYTHON, "-S", "-c", "import subprocess;"
              "subprocess.Popen(['sleep','1000'], start_new_session=True); print('up', flush=True)"],
             {"PATH": "/usr/bin:/bin"}, str(tmp_path))
    p.out.wait("up")
    p.popen.wait(20)
    left = [pid for pid, st in descendants().items() if st[1] != "Z"
            and b"sleep" in open("/proc/%d/cmdline" % pid, "rb").read()]
    assert len(left) == 1
    os.kill(left[0], signal.SIGKILL)
    assert wait_gone(left[0])


def test_sanitizer_output_is_recognised(tmp_path):
    p = Proc(["/bin/sh", "-c", "echo '==1==ERROR: AddressSanitizer: heap' >&2"], {}, str(tmp_path))
    p.finish()
    assert p.sanitizer_report()


def test_lines_arrive_in_order_with_a_watchdog(tmp_path):
    p = Proc(["/bin/cat"], {}, str(tmp_path))
    p.send("one")
    assert p.out.line() == "one"
    p.send("two\nthree")
    assert [p.out.line(), p.out.line()] == ["two", "three"]
    p.finish()


def test_the_screen_understands_an_editor():
    s = Screen(4, 20).feed("> abc\x1b[2D\x1b[KX\r\nnext\r\x1b[2Klast\x1b[1A\x1b[1G#")
    assert s.lines[:2] == ["# aX", "last"]
    assert plain("\x1b[1mbold\x1b[0m") == "bold"
    assert Screen(2, 10).feed("a\nb\r\nc").lines == [" b", "c"]


def test_toml_values_survive():
    assert toml({"a": "x\"y", "b": [1, "ü"]}) == '{ "a" = "x\\"y", "b" = [1, "ü"] }'




@pytest.mark.skipif(not os.environ.get("GANTRY_CORPORA"), reason="GANTRY_CORPORA is not set")
def test_what_the_fake_model_answers_is_valid_itself(model):
    from jsonschema import Draft202012Validator
    with open(os.path.join(os.environ["GANTRY_CORPORA"], "openai-chat-subset.schema.json"), encoding="utf-8") as f:
        defs = json.load(f)["$defs"]

    def valid(name, value):
        errors = [e.message for e in Draft202012Validator(dict(defs[name], **{"$defs": defs})).iter_errors(value)
                  if "None is not of type" not in e.message and "'refusal'" not in e.message
                  and "'logprobs'" not in e.message]
        assert not errors, errors
    for stream in (False, True):
        model.reply("one two", calls=[call("t", a=1)], reasoning="why")
        _, r = post(model, ask(USER, stream_options={"include_usage": True}) if stream else ask(USER), stream=stream)
        raw = r.read()
        if stream:
            for e in events(raw):
                valid("CreateChatCompletionStreamResponse", e)
        else:
            valid("CreateChatCompletionResponse", json.loads(raw))


@pytest.mark.skipif(not os.environ.get("GANTRY_CORPORA"), reason="GANTRY_CORPORA is not set")
def test_what_the_scripted_server_answers_is_valid_itself(tmp_path):
    results = {"initialize": "InitializeResult", "tools/list": "ListToolsResult", "tools/call": "CallToolResult"}
    for revision in mcp_check.REVISIONS:
        (tmp_path / revision).mkdir()
        c = Client(tmp_path / revision, "--ledger", str(tmp_path / "ledger"))
        c.start(revision)
        c.ask("tools/list", {})
        for tool in ("echo", "image", "resource", "structured", "fail", "progress", "empty"):
            c.call(tool, text="x")
        c.close()
        asked = {}
        for row in mcp_check.read_log(c.log):
            if row["dir"] == "event":
                continue
            msg = json.loads(row["raw"])
            if "method" in msg and "id" in msg and row["dir"] == "in":
                asked[msg["id"]] = msg["method"]
            elif row["dir"] == "out" and "result" in msg:
                name = results.get(asked[msg["id"]])
                if name:
                    assert mcp_check._by_schema(revision, name, msg["result"], asked[msg["id"]]) == []
