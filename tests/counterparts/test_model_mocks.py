"""Conversations with model servers nobody here wrote: aimock, and one that does not conform."""

import json
import urllib.request

import pytest

KEY = "sk-test-counterpart-0123456789"


class Mock:
    def __init__(self, proc, port):
        self.proc, self.port = proc, port
        self.settings = {"LLM_BASE_URL": "http://127.0.0.1:%d/v1" % port, "LLM_API_KEY": KEY}

    def journal(self):
        with urllib.request.urlopen("http://127.0.0.1:%d/__aimock/journal" % self.port, timeout=20) as r:
            return json.load(r)


@pytest.fixture
def aimock(rig, gantry, tmp_path):
    """start(fixtures, *options) -> Mock"""
    procs = []

    def start(fixtures, *options):
        (tmp_path / "fixtures.json").write_text(json.dumps({"fixtures": fixtures}))
        p = rig.start(tmp_path, "@copilotkit/aimock/dist/cli.js", "-p", "0", "-f", tmp_path / "fixtures.json",
                      "--log-level", "info", *options)
        procs.append(p)
        port = int(p.out.wait(r"127\.0\.0\.1:(\d+)", 60).group(1))
        gantry.secrets.add(KEY)
        m = Mock(p, port)
        gantry.set(**m.settings)
        return m
    yield start
    for p in procs:
        p.kill()
        p.wait(20)


def user(text, **match):
    return dict({"userMessage": text}, **match)


@pytest.mark.parametrize("stream", ["true", "false"])
@pytest.mark.parametrize("chunk", ["1", "7", "1000"])
def test_a_conversation_with_tools_and_streaming(gantry, mcp, aimock, stream, chunk):
    mcp.add("srv", tools=["echo", "add"])
    m = aimock([
        {"match": user("both", hasToolResult=True), "response": {"content": "The sum is 5 and the word is tulip 那个."}},
        {"match": user("both"), "response": {"content": "Let me see.", "toolCalls": [
            {"name": "srv__add", "arguments": {"a": 2, "b": 3}},
            {"name": "srv__echo", "arguments": {"text": "tulip 那个"}}]}},
        {"match": user("hello"), "response": {"content": "Hello! How are you?", "reasoning": "secret plan"}},
    ], "-c", chunk)
    r = gantry.talk("hello", "do both", STREAM_REPLIES=stream, seconds=60)
    assert r.out.endswith("The sum is 5 and the word is tulip 那个.\n") and "Hello! How are you?" in r.out
    assert "secret plan" not in r.out
    assert sorted(mcp.calls()) == [("add", {"a": 2, "b": 3}), ("echo", {"text": "tulip 那个"})]
    assert len(m.journal()) >= 3


def test_injected_errors_are_got_over(gantry, mcp, aimock):
    mcp.add("srv", tools=["echo"])
    aimock([
        {"match": user("hello", sequenceIndex=0), "response": {"error": {"message": "Rate limited", "type": "rate_limit_error"}, "status": 429}},
        {"match": user("hello", sequenceIndex=1), "response": {"error": {"message": "try later", "type": "server_error"}, "status": 503}},
        {"match": user("hello"), "response": {"content": "Hello at last."}},
        {"match": user("tool", hasToolResult=True), "response": {"content": "It said hi."}},
        {"match": user("tool", sequenceIndex=0), "latency": 60, "truncateAfterChunks": 3, "response": {"toolCalls": [
            {"name": "srv__echo", "arguments": {"text": "a long text that will be cut inside its arguments"}}]}},
        {"match": user("tool"), "response": {"toolCalls": [{"name": "srv__echo", "arguments": {"text": "hi"}}]}},
        {"match": user("cut", sequenceIndex=0), "latency": 60, "truncateAfterChunks": 2,
         "response": {"content": "This sentence is going to be cut in the middle of it all."}},
        {"match": user("cut"), "response": {"content": "Whole now."}},
    ], "-c", "5")
    r = gantry.talk("hello", "use the tool", "cut me", STREAM_REPLIES="true", seconds=120)
    for words in ("Hello at last.", "It said hi.", "Whole now."):
        assert words in r.out
    assert mcp.calls() == [("echo", {"text": "hi"})]


def test_an_error_that_stays_is_told(gantry, aimock):
    aimock([{"match": user("hello"), "response": {"error": {"message": "the quota is used up", "type": "insufficient_quota"},
                                                  "status": 403}}])
    assert "the quota is used up" in gantry.talk("hello", seconds=60).out


@pytest.mark.parametrize("chaos", ["--chaos-drop", "--chaos-malformed", "--chaos-disconnect", "--chaos-ratelimit"])
def test_chaos_ends_in_a_sentence(gantry, aimock, chaos):
    aimock([{"match": user("hello"), "response": {"content": "never"}}], chaos, "1")
    r = gantry.talk("hello", STREAM_REPLIES="true", seconds=240)
    assert r.out.strip() and "never" not in r.out


# Streams tool calls without an index and ends them with finish_reason "stop".

NONCONFORMANT = """
apiKey: '%s'
port: %%d
responses:
  - id: tool
    messages:
      - {role: system, matcher: any}
      - {role: user, content: weather, matcher: contains}
      - role: assistant
        tool_calls:
          - id: call_abc123
            type: function
            function: {name: srv__echo, arguments: '{"text": "Rome"}'}
  - id: answer
    messages:
      - {role: system, matcher: any}
      - {role: user, content: weather, matcher: contains}
      - role: assistant
        tool_calls:
          - id: call_abc123
            type: function
            function: {name: srv__echo, arguments: '{"text": "Rome"}'}
      - {role: tool, matcher: any, tool_call_id: call_abc123}
      - {role: assistant, content: "It is sunny in Rome."}
""" % KEY


def free_port():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.mark.parametrize("stream", ["true", "false"])
def test_a_nonconformant_provider_is_understood(gantry, mcp, rig, tmp_path, stream):
    mcp.add("srv", tools=["echo"])
    port = free_port()
    (tmp_path / "mock.yaml").write_text(NONCONFORMANT % port)
    p = rig.start(tmp_path, "openai-mock-api/dist/cli.js", "--config", tmp_path / "mock.yaml", "--port", port)
    try:
        p.out.wait("(?i)listening|started|running|%d" % port, 60)
        gantry.set(LLM_BASE_URL="http://127.0.0.1:%d/v1" % port, LLM_API_KEY=KEY)
        r = gantry.talk("what is the weather?", STREAM_REPLIES=stream, seconds=60)
        assert r.out == "It is sunny in Rome.\n"
        assert mcp.calls() == [("echo", {"text": "Rome"})]
    finally:
        p.kill()
        p.wait(20)
