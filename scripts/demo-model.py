#!/usr/bin/env python3
"""
The offline demo model: a small scripted stand-in for a language model, so that a newcomer
without a key sees a whole turn (streaming, tools, an answer) within two minutes.

It speaks enough of the OpenAI chat completions protocol on 127.0.0.1, knows a few sentences
about files, and says plainly what it is.  Nothing of it is in the gantry binary.

    demo-model.py [--port N] [--port-file FILE] [--delay SECONDS]

Its address (a free port unless given) is printed; with --port-file the port is written there
instead, once it listens.  It ends when the process that started it ends.
"""

import argparse
import ctypes
import http.server
import json
import os
import re
import signal
import threading
import time

NOTE = "note.md"
ABOUT = (
    "I am gantry's demo model: a small script, not a language model. I can show you a real "
    "turn, though. Try one of these:\n\n"
    "- `list the files`\n"
    "- `write a note: buy oat milk`\n"
    "- `read note.md`\n\n"
    "To talk to a real model, put `LLM_BASE_URL`, `LLM_API_KEY` and `LLM_MODEL` into `.env` "
    "and start again.")
UNKNOWN = (
    "I am only the demo script, so I have no answer to that. I can `list the files`, "
    "`write a note: ...` and `read note.md` with gantry's real tools. For real answers set "
    "`LLM_BASE_URL`, `LLM_API_KEY` and `LLM_MODEL` in `.env` (any OpenAI-compatible endpoint) "
    "and start again.")
NO_TOOLS = (
    "That needs the file tools, and they are not switched on here. `make run` grants them in "
    "`deploy/workspace`; elsewhere set `TOOLS=fs`.")

GREETING = re.compile(r"^(hi|hello|hey|hallo|good (morning|day|evening)|yo)\b|what can you|who are you"
                      r"|what are you|^help\b|^\?+$", re.I)
WRITE = re.compile(r"\b(?:write|save|create|make|take|add)\b.*?\bnote\b(?P<text>.*)|^note\b(?P<text2>.*)"
                   r"|\b(?:write|save|put)\b(?P<text3>.+?)\b(?:to|into|in)\b\s+(?P<file>[\w./-]+\.\w+)", re.I | re.S)
READ = re.compile(r"\b(?:read|show|open|cat|print)\b.*?(?P<file>[\w./-]+\.\w+)"
                  r"|\b(?:read|show|open)\b.*\b(?:note|it)\b", re.I | re.S)
LIST = re.compile(r"\b(?:list|ls|show)\b.*\b(?:file|files|dir|directory|folder|workspace)\b|^(?:ls|dir|list)\b"
                  r"|\b(?:what|which)\b.*\bfiles\b", re.I | re.S)


def plain(content):
    """What the user wrote: the text parts, without the context block that follows a message."""
    if isinstance(content, list):
        content = " ".join(p.get("text", "") for p in content if p.get("type") == "text")
    return re.split(r"\n\s*(?:\[|<context)", content or "", maxsplit=1)[0].strip()


def find_tool(request, name):
    """The published tool called name, whatever prefix it has, or None."""
    for t in request.get("tools", []):
        full = t["function"]["name"]
        if full == name or full.endswith("__" + name):
            return t["function"]
    return None


def tool_call(request, name, **arguments):
    """A call of a tool, or the sentence that it is missing."""
    tool = find_tool(request, name)
    if tool is None:
        return {"text": NO_TOOLS}
    known = tool.get("parameters", {}).get("properties", arguments)
    args = {k: v for k, v in arguments.items() if k in known}
    return {"text": {"list_dir": "I look into the workspace.", "read_file": "I read it.",
                     "write_file": "I write it down."}[name], "call": (tool["name"], args)}


def note_text(match):
    """What the note should say."""
    text = next((g for g in (match.group("text"), match.group("text2"), match.group("text3")) if g), "")
    text = re.split(r"\b(?:and|then)\b[^.]*\bread\b", text, maxsplit=1, flags=re.I)[0]
    text = re.sub(r"^[\s:,-]*(?:(?:that says|saying|about|that|to self|with|for me)\b)?[\s:,-]*", "", text)
    return text.strip(" .\n") or "Hello from gantry's demo."


def open_turn(request, text):
    """The first step of an answer to what the user wrote."""
    write, read = WRITE.search(text), READ.search(text)
    if write:
        return tool_call(request, "write_file", path=write.group("file") or NOTE,
                         content=note_text(write) + "\n")
    if LIST.search(text) and not (read and read.group("file")):
        return tool_call(request, "list_dir", path=".")
    if read:
        return tool_call(request, "read_file", path=read.group("file") or NOTE)
    return {"text": ABOUT if GREETING.search(text) else UNKNOWN}


def failed(result):
    return bool(re.match(r"\s*(?:\[?(?:tool )?error|denied|refused|not allowed)", result, re.I))


def after_tool(request, text, name, arguments, result):
    """The step after a tool result."""
    path = arguments.get("path", "it")
    if failed(result):
        return {"text": "That did not work. The tool said:\n\n> %s" % result.strip()[:500]}
    if name.endswith("write_file"):
        if re.search(r"\bread\b", text, re.I):
            return tool_call(request, "read_file", path=path)
        return {"text": "Done: the note is in `%s`. Ask me to `read %s` and you will see that it is "
                        "really there." % (path, path)}
    if name.endswith("read_file"):
        return {"text": "`%s` says:\n\n```\n%s\n```" % (path, result.strip()[:1500])}
    if not result.strip() or "empty" in result.lower():
        return {"text": "The folder is empty. Try `write a note: buy oat milk`."}
    return {"text": "This is in the workspace:\n\n```\n%s\n```\n\nTry `write a note: ...` or `read` one "
                    "of them." % result.strip()[:1500]}


def step(request):
    """What the demo says next: {"text": ..., "call": (name, arguments)?}."""
    messages = request.get("messages", [])
    last_user = max((i for i, m in enumerate(messages) if m["role"] == "user"), default=-1)
    text = plain(messages[last_user]["content"]) if last_user >= 0 else ""
    since = messages[last_user + 1:]
    if since and since[-1]["role"] == "tool":
        calls = {c["id"]: c["function"] for m in since for c in m.get("tool_calls") or []}
        fn = calls.get(since[-1]["tool_call_id"], {"name": "?", "arguments": "{}"})
        return after_tool(request, text, fn["name"], json.loads(fn["arguments"] or "{}"),
                          plain_result(since[-1]["content"]))
    return open_turn(request, text)


def plain_result(content):
    return content if isinstance(content, str) else " ".join(p.get("text", "") for p in content)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.send_json(200, {"object": "list", "data": [{"id": "demo", "object": "model"}]})

    def do_POST(self):
        try:
            request = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            said = step(request)
        except (ValueError, KeyError, TypeError) as e:
            self.send_json(400, {"error": {"message": "the demo model cannot read this: %s" % e}})
            return
        Handler.count += 1
        prompt = len(json.dumps(request.get("messages", []))) // 4
        words = len(said["text"].split())
        usage = {"prompt_tokens": prompt, "completion_tokens": words, "total_tokens": prompt + words}
        if request.get("stream"):
            self.stream(request, said, usage)
        else:
            message = {"role": "assistant", "content": said["text"]}
            if "call" in said:
                message["tool_calls"] = [self.wire_call(said)]
            self.send_json(200, {"id": "demo-%d" % self.count, "object": "chat.completion",
                                 "created": int(time.time()), "model": request.get("model", "demo"),
                                 "choices": [{"index": 0, "message": message,
                                              "finish_reason": "tool_calls" if "call" in said else "stop"}],
                                 "usage": usage})

    def wire_call(self, said):
        name, arguments = said["call"]
        return {"id": "demo_call_%d" % self.count, "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}}

    def send_json(self, status, obj):
        raw = json.dumps(obj, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def event(self, data):
        raw = b"data: " + data + b"\n\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))

    def stream(self, request, said, usage):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        base = {"id": "demo-%d" % self.count, "object": "chat.completion.chunk",
                "created": int(time.time()), "model": request.get("model", "demo")}

        def delta(d, finish=None):
            self.event(json.dumps(dict(base, choices=[{"index": 0, "delta": d, "finish_reason": finish}]),
                                  ensure_ascii=False).encode())
        try:
            delta({"role": "assistant", "content": ""})
            for word in re.findall(r"\s*\S+\s*$|\s*\S+", said["text"]):
                delta({"content": word})
                time.sleep(self.server.delay)
            if "call" in said:
                delta({"tool_calls": [dict(self.wire_call(said), index=0)]})
            delta({}, "tool_calls" if "call" in said else "stop")
            if (request.get("stream_options") or {}).get("include_usage"):
                self.event(json.dumps(dict(base, choices=[], usage=usage)).encode())
            self.event(b"[DONE]")
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True      # the turn was cancelled


def die_with(parent):
    """End when the process that started us ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)       # PR_SET_PDEATHSIG

    def watch():
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(0)
    threading.Thread(target=watch, daemon=True).start()


def main():
    ap = argparse.ArgumentParser(description="gantry's offline demo model")
    ap.add_argument("--port", type=int, default=0)
    ap.add_argument("--port-file")
    ap.add_argument("--delay", type=float, default=0.02, help="seconds between two words")
    args = ap.parse_args()
    parent = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)    # Ctrl-C in the chat cancels a turn, not us
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", args.port), Handler)
    server.daemon_threads, server.delay = True, args.delay
    if not args.port_file:
        print("demo model on http://127.0.0.1:%d/v1" % server.server_port, flush=True)
    else:
        with open(args.port_file + ".new", "w", encoding="ascii") as f:
            f.write("%d\n" % server.server_port)
        os.replace(args.port_file + ".new", args.port_file)
    die_with(parent)
    server.serve_forever()


if __name__ == "__main__":
    main()
