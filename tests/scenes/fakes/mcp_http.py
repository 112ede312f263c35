"""
A scripted MCP server over HTTP on 127.0.0.1, in a thread of the test:

    far = far_server("sse", "session")
    far.url, far.requests, far.methods(), far.calls

Tricks, each for itself or together:
    sse              answers requests with streams of events (else with JSON)
    session          gives a session, and refuses requests without it
    forget=N         once, the N-th call of a tool finds its session forgotten (404)
    forget400        says so with 400 and a sentence, as many servers do
    no-get           no stream of its own: 405
    modern           revision 2026-07-28 and nothing else; headers are held against the message
    ask-input        modern: the tool wants input first (input_required)
    legacy           HTTP+SSE of 2024-11-05 and nothing else
    elsewhere        legacy: its endpoint is on another host
    cut              a call's stream ends after its first event; the rest comes to Last-Event-ID
    cut-dead         the same, and nothing comes
    busy=S           once, a call is refused with 429 and Retry-After: S
    down=S           once, the same with 503
    slow-init        the handshake is answered when far.gate is released
    needs=NAME:VALUE refuses requests without this header (403)
    redirect, html, empty, silent, drip, headers, huge-event, huge-json, half-json, rubbish
                     what a call is answered with
    init-TRICK       one of those for the handshake
    ask, ask-get     the tool asks the person first, on its own stream or on the server's
    task             the tool is a task of 2025-11-25, and asks where its result is asked for; with get, on the
                     server's own stream
    link             the tool wants a link to be opened first (-32042) until far.opened is set
    list-changed     after initialized a notice on the server's stream; the tool "late" is there then
    progress         progress before each answer
    stay             a call's stream stays open behind its answer
"""

import http.server
import json
import queue
import socket
import threading

from harness.watch import Board, Gate

TOOL = {"name": "echo", "description": "Return the text.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
        "annotations": {"readOnlyHint": False}}
QUESTION = {"message": "Which colour?", "requestedSchema": {
    "type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}}
BAD = ("redirect", "html", "empty", "silent", "drip", "headers", "huge-event", "huge-json", "half-json", "rubbish")


class Request:
    def __init__(self, verb, path, headers, body):
        self.verb, self.path, self.headers, self.body = verb, path, headers, body
        self.method = (body or {}).get("method") if isinstance(body, dict) else None


class Far:
    def __init__(self, *tricks):
        self.do = dict((t.split("=", 1) + [None])[:2] for t in tricks)
        self.board, self.gate, self.requests = Board(), Gate(), []
        self.opened = threading.Event()
        self.sessions, self.begun, self.calls, self.tools = set(), 0, [], [TOOL]
        self.streams, self.replies, self.once, self.closing = [], {}, set(), threading.Event()
        self.pending, self.guard = {}, None    # guard(turn): did it answer the request itself?
        far = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def handle_one_request(self):
                try:
                    super().handle_one_request()
                except (ConnectionError, TimeoutError):
                    self.close_connection = True

            do_POST = do_GET = do_DELETE = lambda self: Turn(far, self).run()

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = "http://127.0.0.1:%d/mcp" % self.port
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.closing.set()
        self.gate.release()
        for q in self.streams:
            q.put(None)
        self.server.shutdown()
        self.server.server_close()

    def first(self, what):
        """True once."""
        new = what not in self.once
        self.once.add(what)
        return new

    def methods(self):
        return [r.method or r.verb for r in self.requests]

    def of(self, method):
        return [r for r in self.requests if (r.method or r.verb) == method]

    def wait(self, test, what, seconds=None):
        return self.board.wait(test, what, seconds, lambda: str(self.methods()))

    def push(self, msg):
        """A message on the server's own stream."""
        self.wait(lambda: self.streams, "a stream")
        self.streams[-1].put(msg)


class Turn:
    """One request."""

    def __init__(self, far, http):
        self.far, self.h, self.do = far, http, far.do

    def run(self):
        raw = self.h.rfile.read(int(self.h.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else None
        self.request = Request(self.h.command, self.h.path, self.h.headers, body)
        self.far.requests.append(self.request)
        if isinstance(body, dict) and "method" not in body:
            self.far.replies[body["id"]] = body
        self.far.board.changed()
        if self.refused():
            return
        if "legacy" in self.do:
            self.legacy()
        elif "modern" in self.do:
            self.modern()
        else:
            getattr(self, self.h.command)()

    # Refusals -------------------------------------------------------------------------------

    def refused(self):
        if self.far.guard and self.far.guard(self):
            return True
        needs = (self.do.get("needs") or ":").split(":", 1)
        if needs[0] and self.h.headers.get(needs[0]) != needs[1]:
            self.json({"error": {"message": "no entry"}}, 403)
        elif "session" in self.do and self.request.method not in ("initialize", "server/discover") and \
                self.h.headers.get("Mcp-Session-Id") not in self.far.sessions:
            status = 400 if "forget400" in self.do else 404
            self.json({"jsonrpc": "2.0", "id": None,
                       "error": {"code": -32000, "message": "Bad Request: No valid session ID provided"}}, status)
        else:
            return False
        return True

    # Answers --------------------------------------------------------------------------------

    def json(self, obj, status=200, headers=()):
        raw = obj if isinstance(obj, bytes) else json.dumps(obj).encode()
        self.h.send_response(status)
        self.h.send_header("Content-Type", "application/json")
        self.h.send_header("Content-Length", str(len(raw)))
        for k, v in headers:
            self.h.send_header(k, v)
        self.h.end_headers()
        self.h.wfile.write(raw)

    def plain(self, status, headers=(), body=b"", kind="text/plain"):
        self.h.send_response(status)
        self.h.send_header("Content-Length", str(len(body)))
        self.h.send_header("Content-Type", kind)
        for k, v in headers:
            self.h.send_header(k, v)
        self.h.end_headers()
        self.h.wfile.write(body)

    def begin_stream(self, headers=()):
        self.h.send_response(200)
        self.h.send_header("Content-Type", "text/event-stream")
        self.h.send_header("Transfer-Encoding", "chunked")
        for k, v in headers:
            self.h.send_header(k, v)
        self.h.end_headers()

    def chunk(self, raw):
        self.h.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
        self.h.wfile.flush()

    def event(self, msg, id=None, name=None):
        text = "".join(["id: %s\n" % id if id else "", "event: %s\n" % name if name else "",
                        "data: %s\n\n" % (msg if isinstance(msg, str) else json.dumps(msg))])
        self.chunk(text.encode())

    def end_stream(self):
        self.chunk(b"")
        self.h.wfile.flush()

    def bad(self, how):
        if how == "redirect":
            self.plain(307, [("Location", "https://other.example/mcp?token=secret")])
        elif how == "html":
            self.plain(200, body=b"<html>welcome</html>", kind="text/html; charset=utf-8")
        elif how == "empty":
            self.plain(202)
        elif how == "half-json":
            self.json(b'{"jsonrpc":"2.0","id":1,"resu')
        elif how == "rubbish":
            self.json(b"[1,null,{}]")
        elif how == "silent":
            self.far.closing.wait()
        else:
            self.flood(how)
        self.h.close_connection = True

    def flood(self, how):
        """Until the client has enough of it."""
        if how in ("huge-event", "huge-json"):
            self.h.send_response(200)
            self.h.send_header("Content-Type", "text/event-stream" if how == "huge-event" else "application/json")
            self.h.end_headers()
            piece, pause = b"data: " + b"x" * 65530 if how == "huge-event" else b'["' + b"x" * 65534, 0
        else:
            self.h.wfile.write(b"HTTP/1.1 200 OK\r\n")
            piece, pause = (b"X-More: yes\r\n", 0) if how == "headers" else (b"X", 0.05)
        while not self.far.closing.wait(pause) if pause else not self.far.closing.is_set():
            self.h.wfile.write(piece)
            piece = b"x" * 65536 if how.startswith("huge") else piece

    # Streamable HTTP ------------------------------------------------------------------------

    def DELETE(self):
        self.far.sessions.discard(self.h.headers.get("Mcp-Session-Id"))
        self.plain(200)

    def GET(self):
        last = self.h.headers.get("Last-Event-ID")
        if last and last in self.far.pending:
            self.begin_stream()
            if "cut-dead" not in self.do:
                self.event(self.far.pending.pop(last), last + "b")
            self.end_stream()
        elif "no-get" in self.do:
            self.plain(405)
        else:
            self.own_stream()

    def own_stream(self, first=None):
        q = queue.Queue()
        self.begin_stream()
        self.chunk(b": here\n\n")
        if first:
            self.event(first, name="endpoint")
        self.far.streams.append(q)
        self.far.board.changed()
        while (msg := q.get()) is not None:
            self.event(msg, name="message")
        self.end_stream()
        self.h.close_connection = True

    def POST(self):
        msg = self.request.body
        if "id" not in msg or "method" not in msg:
            self.plain(202)
            if msg.get("method") == "notifications/initialized" and "list-changed" in self.do:
                self.far.tools = [TOOL, dict(TOOL, name="late")]
                threading.Thread(target=self.far.push, daemon=True, args=(
                    {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},)).start()
            return
        if msg["method"] == "initialize":
            self.initialize(msg)
        elif msg["method"] == "tools/call":
            self.call(msg)
        elif msg["method"] == "tasks/get":
            self.answer(msg, dict(self.far.task, status="input_required"))
        elif msg["method"] == "tasks/result":
            self.ask(msg)
        else:
            self.answer(msg, self.result(msg))

    def initialize(self, msg):
        for how in BAD:
            if "init-" + how in self.do:
                return self.bad(how)
        if "slow-init" in self.do:
            self.far.gate.reached.set()
            self.far.gate._open.wait()
        self.far.begun += 1
        headers = []
        if "session" in self.do:
            self.far.sessions.add("s-%d" % self.far.begun)
            headers = [("Mcp-Session-Id", "s-%d" % self.far.begun)]
        self.answer(msg, self.result(msg), headers)

    def result(self, msg):
        if msg["method"] == "initialize":
            return {"protocolVersion": "2024-11-05" if "legacy" in self.do else
                    "2025-11-25" if "task" in self.do else "2025-06-18",
                    "capabilities": {"tools": {"listChanged": True},
                                     **({"tasks": {"requests": {"tools": {"call": {}}}}} if "task" in self.do else {})},
                    "serverInfo": {"name": "far", "version": "1"}}
        if msg["method"] == "tools/list":
            return {"tools": [dict(t, execution={"taskSupport": "required"}) if "task" in self.do else t
                              for t in self.far.tools]}
        if msg["method"] == "tools/call":
            return {"content": [{"type": "text", "text": msg["params"]["arguments"].get("text", "")}]}
        if msg["method"] == "ping":
            return {}
        return None

    def wrap(self, msg, result):
        if result is None:
            return {"jsonrpc": "2.0", "id": msg["id"], "error": {"code": -32601, "message": "Method not found"}}
        return {"jsonrpc": "2.0", "id": msg["id"], "result": result}

    def answer(self, msg, result, headers=()):
        if "sse" not in self.do:
            return self.json(self.wrap(msg, result), headers=headers)
        self.begin_stream(headers)
        self.event(self.wrap(msg, result), name="message")
        self.end_stream()

    def call(self, msg):
        far = self.far
        far.calls.append(msg)
        far.board.changed()
        if self.do.get("forget") == str(len(far.calls)) and far.first("forget"):
            far.calls.pop()
            far.sessions.clear()
            return self.refused()
        for how in BAD:
            if how in self.do:
                return self.bad(how)
        for how, status in (("busy", 429), ("down", 503)):
            if how in self.do and far.first(how):
                far.calls.pop()
                return self.plain(status, [("Retry-After", self.do[how])])
        if "cut" in self.do or "cut-dead" in self.do:
            far.pending["e-%d" % msg["id"]] = self.wrap(msg, self.result(msg))
            self.begin_stream()
            self.chunk(b"id: e-%d\nretry: 200\ndata:\n\n" % msg["id"])
            return self.end_stream()
        if "task" in self.do and "task" in msg["params"]:
            far.task = {"taskId": "t1", "status": "working", "ttl": None, "pollInterval": 20,
                        "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z"}
            return self.answer(msg, {"task": far.task})
        if "link" in self.do and not far.opened.is_set():
            return self.json({"jsonrpc": "2.0", "id": msg["id"], "error": {
                "code": -32042, "message": "not yet", "data": {"elicitations": [
                    {"mode": "url", "elicitationId": "e1", "message": "Connect", "url": "https://a.example/"}]}}})
        if "ask" in self.do or "ask-get" in self.do:
            return self.ask(msg)
        if "progress" in self.do or "stay" in self.do:
            return self.slowly(msg)
        self.answer(msg, self.result(msg))

    def slowly(self, msg):
        self.begin_stream()
        token = (msg["params"].get("_meta") or {}).get("progressToken")
        for i in range(3 if "progress" in self.do else 0):
            self.event({"jsonrpc": "2.0", "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": i, "total": 3, "message": "step %d" % i}})
        self.event(self.wrap(msg, self.result(msg)))
        if "stay" in self.do:
            self.far.closing.wait()
        self.end_stream()

    def ask(self, msg):
        ask = {"jsonrpc": "2.0", "id": "q%d" % msg["id"], "method": "elicitation/create", "params": QUESTION}
        self.begin_stream()
        if "ask-get" in self.do:
            self.far.push(ask)
        else:
            self.event(ask)
        reply = self.far.wait(lambda: self.far.replies.get(ask["id"]), "an answer to the question", 60)
        self.event(self.wrap(msg, {"content": [{"type": "text", "text": json.dumps(reply.get("result"))}]}))
        self.end_stream()

    # Without a handshake --------------------------------------------------------------------

    def modern(self):
        msg, h = self.request.body, self.h.headers
        if self.h.command != "POST":
            return self.plain(405)
        params = msg.get("params") or {}
        version = (params.get("_meta") or {}).get("io.modelcontextprotocol/protocolVersion")
        name = params.get("uri") if msg["method"] == "resources/read" else params.get("name")
        if msg["method"] in ("initialize", "notifications/initialized", "notifications/cancelled") or \
                h.get("Mcp-Session-Id") or h.get("Last-Event-ID"):
            return self.json(self.wrap(msg, None), 404)
        if version != "2026-07-28" or h.get("MCP-Protocol-Version") != version or \
                h.get("Mcp-Method") != msg["method"] or h.get("Mcp-Name") != name:
            return self.json({"jsonrpc": "2.0", "id": msg["id"],
                              "error": {"code": -32020, "message": "Header mismatch"}}, 400)
        done = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        if msg["method"] == "server/discover":
            return self.json(self.wrap(msg, dict(done, supportedVersions=["2026-07-28"], capabilities={
                "tools": {"listChanged": True}})))
        if msg["method"] == "subscriptions/listen":
            return self.changes(msg)
        if msg["method"] == "tools/list":
            return self.answer(msg, dict(done, tools=self.far.tools))
        if msg["method"] == "tools/call" and "ask-input" in self.do and not params.get("inputResponses"):
            return self.json(self.wrap(msg, {"resultType": "input_required", "requestState": "st", "inputRequests": {
                "colour": {"method": "elicitation/create", "params": dict(QUESTION, mode="form")}}}))
        if msg["method"] == "tools/call" and "ask-input" in self.do:
            return self.json(self.wrap(msg, dict(done, content=[{"type": "text", "text": json.dumps(params)}])))
        if msg["method"] == "tools/call":
            return self.call(msg)
        self.json(self.wrap(msg, None), 404)

    def changes(self, msg):
        meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": msg["id"]}}
        q = queue.Queue()
        self.begin_stream()
        self.event({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                    "params": dict(meta, notifications=msg["params"]["notifications"])})
        self.far.streams.append(q)
        self.far.board.changed()
        if "list-changed" in self.do and self.far.first("list-changed"):
            self.far.tools = [TOOL, dict(TOOL, name="late")]
            self.event({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": meta})
        while (out := q.get()) is not None:
            self.event(out)
        self.h.close_connection = True

    # HTTP+SSE -------------------------------------------------------------------------------

    def legacy(self):
        if self.h.command == "GET" and self.h.path == "/mcp":
            host = "http://example.com" if "elsewhere" in self.do else ""
            return self.own_stream(host + "/messages?sessionId=1")
        if self.h.command != "POST" or not self.h.path.startswith("/messages"):
            return self.plain(404)
        self.plain(202)
        msg = self.request.body
        if "id" in msg and "method" in msg:
            if msg["method"] == "tools/call":
                self.far.calls.append(msg)
            self.far.push(self.wrap(msg, self.result(msg)))


def half_open():
    """A port that takes connections and says nothing; the socket is the caller's to close."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(64)
    return s
