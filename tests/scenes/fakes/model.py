#!/usr/bin/python3
"""
A scripted OpenAI-compatible model on 127.0.0.1, as picky as the pickiest provider.

In a test:
    model.reply("Hello")                                  one answer for the next request
    model.reply(calls=[call("srv__echo", text="x")])      a batch of tool calls
    model.reply(status=429, headers={"Retry-After": "1"}, body={"error": {"message": "slow down"}})
    model.reply(sse=b"data: ...", chunk=1)                raw stream, one byte at a time
    model.reply("one two", gate=Gate(), gate_at="first")  stops until the gate is released
    model.answer(lambda request: Reply(...))              decides on every request itself
    model.aside = lambda request: Reply(...)              ... on what belongs to no turn (model.asides)

Requests are answered in the order of the script; one more than the script has is a violation.
Alone: fakes/model.py [--port N] answers every request with its last user message.
"""

import asyncio
import copy
import json
import os
import sys
import threading
import time

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from harness import openai_check  # noqa: E402
from harness.watch import Board  # noqa: E402

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
           408: "Request Timeout", 413: "Payload Too Large", 429: "Too Many Requests",
           500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable"}


# How the system message begins of what gantry asks beside its turns.
ASIDES = ("You keep the summary", "You tidy the memory", "These are notes")


def call(name, _id=None, _extra=None, **arguments):
    """One tool call of a reply; _raw in arguments is sent as the argument string itself."""
    text = arguments["_raw"] if "_raw" in arguments else json.dumps(arguments, ensure_ascii=False)
    out = {"id": _id, "type": "function", "function": {"name": name, "arguments": text}}
    if _extra:
        out["extra_content"] = _extra
    return out


class Reply:
    """One answer.  Of text, reasoning and calls any may be given; or body / sse for raw bytes."""

    def __init__(self, text=None, *, reasoning=None, calls=None, usage=None, finish=None,
                 refusal=None, deltas=None, status=200, headers=None, body=None, sse=None,
                 chunk=None, gate=None, gate_at="start", close_after=None, done=True,
                 reset=False, shape=None, pause=0):
        self.text, self.reasoning, self.calls, self.usage = text, reasoning, calls, usage
        self.finish, self.refusal, self.deltas = finish, refusal, deltas
        self.status, self.headers, self.body, self.sse = status, headers or {}, body, sse
        self.chunk = chunk              # bytes per write, or a list of sizes
        self.gate = gate                # a harness.watch.Gate
        self.gate_at = gate_at          # "start" (before a byte), "headers", "first" (token), "end", or a byte offset
        self.close_after = close_after  # close the connection after so many bytes of the body
        self.done = done                # end a stream with data: [DONE]
        self.reset = reset              # close with RST instead of FIN
        self.pause = pause              # seconds between the writes of chunk
        self.shape = shape              # None as asked, "json" or "sse" whatever was asked

    # The body -------------------------------------------------------------------------------

    def _usage(self, request):
        if self.usage is not None:
            return self.usage
        prompt = sum(len(json.dumps(m)) for m in request.body["messages"]) // 4
        return {"prompt_tokens": prompt, "completion_tokens": 7, "total_tokens": prompt + 7}

    def _finish(self):
        return self.finish if self.finish is not None else ("tool_calls" if self.calls else "stop")

    def _numbered(self, request):
        out = copy.deepcopy(self.calls or [])
        for i, c in enumerate(out):
            if c.get("id", "") is None:
                c["id"] = "call_%d_%d" % (request.number, i)
        return out

    def json_body(self, request):
        message = {"role": "assistant", "content": self.text}
        if self.reasoning is not None:
            message["reasoning_content"] = self.reasoning
        if self.refusal is not None:
            message["refusal"] = self.refusal
        if self.calls:
            message["tool_calls"] = self._numbered(request)
        return json.dumps({
            "id": "chatcmpl-%d" % request.number, "object": "chat.completion", "created": 1700000000,
            "model": request.body["model"], "usage": self._usage(request),
            "choices": [{"index": 0, "message": message, "finish_reason": self._finish()}],
        }, ensure_ascii=False).encode()

    def chunks(self, request):
        """The events of a stream, as dicts."""
        def event(delta, finish=None):
            return {"id": "chatcmpl-%d" % request.number, "object": "chat.completion.chunk",
                    "created": 1700000000, "model": request.body["model"],
                    "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        out = [event({"role": "assistant", "content": ""})]
        for word in words(self.reasoning or ""):
            out.append(event({"reasoning_content": word}))
        for word in (self.deltas if self.deltas is not None else words(self.text or "")):
            out.append(event({"content": word}))
        if self.refusal is not None:
            out.append(event({"refusal": self.refusal}))
        for i, c in enumerate(self._numbered(request)):
            head = dict(c, index=i, function=dict(c["function"], arguments=""))
            out.append(event({"tool_calls": [head]}))
            text = c["function"]["arguments"] or ""
            for k in range(0, len(text), 12):
                out.append(event({"tool_calls": [
                    {"index": i, "function": {"arguments": text[k:k + 12]}}]}))
        out.append(event({}, self._finish()))
        if (request.body.get("stream_options") or {}).get("include_usage"):
            last = event({})
            last["choices"], last["usage"] = [], self._usage(request)
            out.append(last)
        return out

    def payload(self, request):
        """(content type, bytes, offset of the first token) of the answer to request."""
        if self.sse is not None:
            return "text/event-stream", self.sse if isinstance(self.sse, bytes) else self.sse.encode(), 0
        if self.body is not None:
            raw = self.body if isinstance(self.body, bytes) else json.dumps(self.body, ensure_ascii=False).encode()
            return self.headers.get("Content-Type", "application/json"), raw, 0
        stream = bool(request.body.get("stream")) if self.shape is None else self.shape == "sse"
        if not stream:
            return "application/json", self.json_body(request), 0
        parts = [sse_event(c) for c in self.chunks(request)]
        if self.done:
            parts.append(b"data: [DONE]\n\n")
        return "text/event-stream", b"".join(parts), len(parts[0])


def words(text):
    """Text in pieces of one word with the space before it."""
    out, start = [], 0
    for i, ch in enumerate(text):
        if ch == " " and i > start:
            out.append(text[start:i])
            start = i
    return out + [text[start:]] if text[start:] else out


def sse_event(obj):
    return b"data: " + json.dumps(obj, ensure_ascii=False).encode() + b"\n\n"


class Request:
    """One request as it arrived.  Times are monotonic."""

    def __init__(self, number, connection, path, headers, raw):
        self.number, self.connection, self.path, self.headers, self.raw = number, connection, path, headers, raw
        self.arrived = time.monotonic()
        self.first_byte = self.departed = self.dropped = None
        self.body, self.faults, self.reply = None, [], None

    @property
    def messages(self):
        return self.body["messages"]

    @property
    def roles(self):
        return [m["role"] for m in self.messages]

    @property
    def stream(self):
        return bool(self.body.get("stream"))

    @property
    def tools(self):
        return [t["function"]["name"] for t in self.body.get("tools", [])]

    @property
    def user(self):
        """The text of the last user message."""
        for m in reversed(self.messages):
            if m["role"] == "user":
                c = m["content"]
                return c if isinstance(c, str) else " ".join(p.get("text", "") for p in c)
        return None

    @property
    def system(self):
        return self.messages[0]["content"] if self.messages[0]["role"] == "system" else ""

    @property
    def results(self):
        """The tool results after the last assistant message, in order."""
        out = []
        for m in reversed(self.messages):
            if m["role"] != "tool":
                break
            out.insert(0, m["content"])
        return out


class Model:
    """The fake, on a thread of its own."""

    def __init__(self, key=None, port=0):
        self.key = key
        self.board = Board()
        self.requests, self.violations, self.connections = [], [], 0
        self.other = []                 # requests to other paths: (method, path)
        self.models = ["test-model"]    # what GET /models lists
        self.listing = None             # a Reply (status, body, headers) to GET /models instead
        self.listed = []                # the headers of each GET /models
        self.script, self.decide, self.default = [], None, None
        self.asides = []                # requests of no turn: folds, consolidation; kept apart
        self.aside = lambda request: Reply("Facts: nothing of note.")
        self.apart = lambda request: request.system.startswith(ASIDES)     # which those are
        self.check = True               # False: requests are recorded, not judged
        self.tolerate = ()              # substrings of faults that this test expects
        self.accept = True              # False: connections are accepted and not read
        self.open_now = 0
        self._started = threading.Event()
        self._port = port
        self.thread = threading.Thread(target=self._run, daemon=True, name="fake model")

    # Script ----------------------------------------------------------------------------------

    def reply(self, *args, **kw):
        r = args[0] if args and isinstance(args[0], Reply) else Reply(*args, **kw)
        with self.board.cond:
            self.script.append(r)
        return r

    def answer(self, decide):
        """decide(request) -> Reply or text, for every request that the script does not cover."""
        self.decide = decide

    def wait(self, n=1, seconds=None):
        """Wait until n requests have arrived; the n-th."""
        self.board.wait(lambda: len(self.requests) >= n, "request %d to the model" % n, seconds,
                        lambda: "%d arrived" % len(self.requests))
        return self.requests[n - 1]

    def wait_dropped(self, request, seconds=None):
        """Wait until the client has closed the connection of an unfinished answer."""
        return self.board.wait(lambda: request.dropped, "the client to leave request %d" % request.number, seconds)

    @property
    def last(self):
        return self.requests[-1]

    def _next(self, request):
        if self.script:
            return self.script.pop(0)
        if self.decide:
            r = self.decide(request)
            return r if isinstance(r, Reply) else Reply(r)
        if self.default is not None:
            return self.default
        self.violations.append("request %d is one more than the script has: %.300s"
                               % (request.number, request.raw[-300:].decode("utf-8", "replace")))
        return Reply(status=400, body={"error": {"message": "unscripted request"}})

    # Server ----------------------------------------------------------------------------------

    @property
    def url(self):
        return "http://127.0.0.1:%d/v1" % self.port

    def start(self):
        self.thread.start()
        self._started.wait(10)
        return self

    def stop(self):
        self.loop.call_soon_threadsafe(self._stop.set)
        self.thread.join(10)

    def _run(self):
        asyncio.run(self._main())

    async def _main(self):
        self.loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, limit=1 << 27)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        async with server:
            await self._stop.wait()
            for t in asyncio.all_tasks():
                if t is not asyncio.current_task():
                    t.cancel()

    async def _read(self, reader, connection):
        head = await reader.readuntil(b"\r\n\r\n")
        first, *rest = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {}
        for line in rest:
            k, sep, v = line.partition(":")
            if sep:
                headers[k.strip().lower()] = v.strip()
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        return method, path, headers, raw

    async def _serve(self, reader, writer):
        self.connections += 1
        connection = self.connections
        self.open_now += 1
        self.board.changed()
        try:
            if not self.accept:
                await asyncio.Event().wait()
            while await self._one(reader, writer, connection):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.open_now -= 1
            self.board.changed()
            writer.close()

    async def _one(self, reader, writer, connection):
        method, path, headers, raw = await self._read(reader, connection)
        if method == "GET" and path.endswith("/models"):
            await self._list(writer, headers)
            return True
        if method != "POST" or not path.endswith("/chat/completions"):
            self.other.append((method, path))
            await self._write(writer, 404, "application/json", b'{"error":{"message":"no such path"}}')
            return True
        with self.board.cond:
            request = Request(len(self.requests) + 1, connection, path, headers, raw)
            self._judge(request)
            aside = self.apart(request)
            (self.asides if aside else self.requests).append(request)
            if request.faults:
                reply = Reply(status=400, body={"error": {
                    "message": "invalid request: " + "; ".join(request.faults)[:2000],
                    "type": "invalid_request_error"}})
            elif aside:
                reply = self.aside(request)
            else:
                reply = self._next(request)
            request.reply = reply
            self.board.cond.notify_all()
        return await self._send(reader, writer, request, reply)

    async def _list(self, writer, headers):
        """GET /models: the script's answer, else the list for whoever has the key."""
        with self.board.cond:
            self.listed.append(headers)
            self.board.cond.notify_all()
        r = self.listing
        if r is None and self.key and headers.get("authorization") != "Bearer " + self.key:
            r = Reply(status=401, body={"error": {"message": "Incorrect API key provided"}})
        if r is None:
            r = Reply(body={"object": "list", "data": [{"id": m, "object": "model"} for m in self.models]})
        if r.gate:                      # no answer at all
            r.gate.reached.set()
            await asyncio.Event().wait()
        raw = r.body if isinstance(r.body, bytes) else json.dumps(r.body, ensure_ascii=False).encode()
        await self._write(writer, r.status, r.headers.get("Content-Type", "application/json"), raw,
                          r.headers)

    def _judge(self, request):
        try:
            request.body = openai_check.parse(request.raw)
        except ValueError as e:
            request.faults.append(str(e))
            request.body = {"model": "?", "messages": [{"role": "user", "content": "?"}]}
            self.violations.append("request %d: %s" % (request.number, e))
            return
        if not self.check:
            return
        faults = openai_check.check(request.body, request.headers)
        if self.key and request.headers.get("authorization") != "Bearer " + self.key:
            faults.append("the key is missing or wrong")
        faults = [f for f in faults if not any(t in f for t in self.tolerate)]
        request.faults = faults
        for f in faults:
            self.violations.append("request %d: %s" % (request.number, f))

    async def _write(self, writer, status, kind, body, extra=None):
        head = "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n" % (
            status, REASONS.get(status, "Status"), kind, len(body))
        for k, v in (extra or {}).items():
            if k.lower() != "content-type":
                head += "%s: %s\r\n" % (k, v)
        writer.write(head.encode() + b"\r\n" + body)
        await writer.drain()

    async def _gate(self, reader, request, gate):
        """Stop at a gate; False when the client left meanwhile."""
        gate.reached.set()
        opened = asyncio.Event()
        gate.on_release(lambda: self.loop.call_soon_threadsafe(opened.set))
        waits = [asyncio.ensure_future(opened.wait()), asyncio.ensure_future(reader.read(1))]
        done, rest = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for w in rest:
            w.cancel()
        if rest:
            await asyncio.wait(rest)    # the next request is not read before this reader is gone
        if waits[1] in done and waits[0] not in done:
            self._left(request)
            return False
        return True

    def _left(self, request):
        with self.board.cond:
            request.dropped = time.monotonic()
            self.board.cond.notify_all()

    async def _send(self, reader, writer, request, reply):
        kind, body, first = reply.payload(request)
        stream = kind == "text/event-stream"
        stops = {"start": -2, "headers": -1, "first": first, "end": len(body)}
        stop = stops.get(reply.gate_at, reply.gate_at) if reply.gate else None
        try:
            if stop == -2 and not await self._gate(reader, request, reply.gate):
                return False
            head = "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n" % (
                reply.status, REASONS.get(reply.status, "Status"), kind)
            for k, v in reply.headers.items():
                if k.lower() != "content-type":
                    head += "%s: %s\r\n" % (k, v)
            close = reply.close_after is not None or reply.reset
            chunked = stream
            head += "Transfer-Encoding: chunked\r\n" if chunked else "Content-Length: %d\r\n" % len(body)
            writer.write((head + "\r\n").encode())
            await writer.drain()
            if stop == -1 and not await self._gate(reader, request, reply.gate):
                return False
            end = min(len(body), reply.close_after) if reply.close_after is not None else len(body)
            for a, b in pieces(end, reply.chunk, stop if stop is not None and stop >= 0 else None):
                if stop is not None and a == stop and not await self._gate(reader, request, reply.gate):
                    return False
                part = body[a:b]
                if request.first_byte is None:
                    request.first_byte = time.monotonic()
                writer.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
                await writer.drain()
                if reply.chunk:
                    await asyncio.sleep(reply.pause)
            if stop == end and not await self._gate(reader, request, reply.gate):
                return False
            if close:
                if reply.reset:
                    import socket
                    import struct
                    writer.get_extra_info("socket").setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            if chunked:
                writer.write(b"0\r\n\r\n")
            await writer.drain()
        except ConnectionError:
            self._left(request)
            return False
        with self.board.cond:
            request.departed = time.monotonic()
            self.board.cond.notify_all()
        return True


def pieces(n, chunk, stop=None):
    """Cut [0, n) as chunk says (None, a size, a list of sizes); a cut also at stop."""
    sizes = list(chunk) if isinstance(chunk, (list, tuple)) else None
    a = 0
    while a < n:
        size = sizes.pop(0) if sizes else chunk if isinstance(chunk, int) else n
        b = min(n, a + size)
        if stop is not None and a < stop < b:
            b = stop
        yield a, b
        a = b


if __name__ == "__main__":
    port = int(sys.argv[sys.argv.index("--port") + 1]) if "--port" in sys.argv else 0
    fake = Model(port=port)
    fake.check = "--lax" not in sys.argv
    fake.answer(lambda r: Reply("You said: %s" % r.user))
    fake.start()
    print(fake.url, flush=True)
    fake.thread.join()
