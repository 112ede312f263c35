"""The bundled demo model: what a newcomer without a key talks to."""

import http.client
import json
import os
import signal
import subprocess

import pytest

from harness.fixtures import PYTHON, TREE
from harness.process import Proc, wait_gone

DEMO = str(TREE / "scripts" / "demo-model.py")
TOOLS = [{"type": "function", "function": {"name": name, "description": "d", "parameters": {
    "type": "object", "properties": {k: {"type": "string"} for k in keys}}}}
    for name, keys in (("list_dir", ["path"]), ("read_file", ["path"]), ("write_file", ["path", "content"]))]


@pytest.fixture
def demo(tmp_path):
    p = Proc([PYTHON, DEMO, "--delay", "0"], {"PATH": "/usr/bin:/bin"}, str(tmp_path))
    port = int(p.out.wait(r"127\.0\.0\.1:(\d+)").group(1))

    def ask(messages, stream=False, tools=TOOLS):
        con = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        body = {"model": "demo", "messages": messages, "stream": stream}
        if tools:
            body["tools"] = tools
        con.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        raw = con.getresponse().read().decode()
        con.close()
        if not stream:
            return json.loads(raw)["choices"][0]["message"]
        assert raw.rstrip().endswith("data: [DONE]")
        out = {"content": "", "words": 0, "tool_calls": []}
        for line in raw.split("\n"):
            if line.startswith("data: {"):
                d = json.loads(line[6:])["choices"][0]["delta"]
                out["content"] += d.get("content", "")
                out["words"] += 1
                out["tool_calls"] += d.get("tool_calls", [])
        return out
    yield ask
    p.kill(signal.SIGTERM)
    p.wait(20)


def user(text):
    return {"role": "user", "content": text}


def test_it_greets_and_says_what_it_is(demo):
    for words in ("hi", "Hello there!", "what can you do?"):
        text = demo([user(words)])["content"]
        assert "not a language model" in text and "LLM_BASE_URL" in text


def test_other_questions_get_the_way_to_a_real_model(demo):
    assert "LLM_API_KEY" in demo([user("What is the capital of France?")])["content"]


@pytest.mark.parametrize("text,name,arguments", [
    ("list the files", "list_dir", {"path": "."}),
    ("what files are there?", "list_dir", {"path": "."}),
    ("write a note: buy oat milk", "write_file", {"path": "note.md", "content": "buy oat milk\n"}),
    ("Please write a note about the meeting", "write_file", {"path": "note.md", "content": "the meeting\n"}),
    ("save hello to a.txt", "write_file", {"path": "a.txt", "content": "hello\n"}),
    ("read note.md", "read_file", {"path": "note.md"}),
    ("read the note", "read_file", {"path": "note.md"}),
    ("list the files\n\n[context]\nread note.md", "list_dir", {"path": "."}),
])
@pytest.mark.parametrize("stream", [False, True])
def test_it_really_calls_tools(demo, text, name, arguments, stream):
    (call,) = demo([user(text)], stream)["tool_calls"]
    assert call["function"]["name"] == name
    assert json.loads(call["function"]["arguments"]) == arguments


def test_it_talks_about_the_result(demo):
    messages = [user("write a note: tea, and read it back")]
    for name, result, said in (("write_file", "wrote 4 bytes", "read"), ("read_file", "tea", "tea")):
        m = demo(messages)
        (call,) = m["tool_calls"]
        assert call["function"]["name"] == name
        messages += [{"role": "assistant", "content": m["content"], "tool_calls": [call]},
                     {"role": "tool", "tool_call_id": call["id"], "content": result}]
        assert said in (demo(messages).get("content") or "").lower()
    assert "tool_calls" not in demo(messages)


def test_it_streams_word_by_word(demo):
    out = demo([user("hi")], stream=True)
    assert out["words"] > 20 and "not a language model" in out["content"]


def test_without_tools_it_says_how_to_get_them(demo):
    assert "TOOLS=fs" in demo([user("list the files")], tools=None)["content"]


def test_it_ends_with_the_process_that_started_it(tmp_path):
    shell = Proc(["/bin/sh", "-c", "%s %s & echo pid $!; read x" % (PYTHON, DEMO)],
                 {"PATH": "/usr/bin:/bin"}, str(tmp_path))
    pid = int(shell.out.wait(r"pid (\d+)", from_start=True).group(1))
    shell.out.wait(r"demo model on", from_start=True)
    shell.kill(signal.SIGKILL)
    shell.popen.wait(20)
    assert wait_gone(pid, 20)


def test_the_port_file_has_the_port_as_soon_as_it_exists(tmp_path):
    port_file = tmp_path / "port"
    shell = Proc(["/bin/sh", "-c", "%s %s --port-file port & while ! [ -e port ]; do :; done; cat port; kill $!" %
                  (PYTHON, DEMO)], {"PATH": "/usr/bin:/bin"}, str(tmp_path))
    assert 0 < int(shell.out.line()) < 65536
    shell.finish()
    assert port_file.read_text().endswith("\n")


def test_it_needs_nothing_but_the_standard_library():
    out = subprocess.run([PYTHON, "-I", "-S", DEMO, "--help"], capture_output=True, text=True,
                         env={"PATH": os.environ["PATH"]})
    assert out.returncode == 0 and "demo model" in out.stdout
