#!/usr/bin/python3
"""
A scripted MCP server over stdio.  One program, many characters:

    mcp_server.py [--log FILE] [--ledger FILE] [--revision R] [--tools a,b,c] [--do TRICK[=VALUE]]...

Tools (all by default; --tools chooses, also names that are not below, which then echo):
    echo {text}          the text                    add {a, b}        the sum
    file {path}          what the file holds
    count {label}        appends a line to the ledger, fsyncs, and returns how many there are
    slow {gate}          waits until the file gate exists or the call is cancelled
    env {}               the environment of this process, K=V a line
    sample {...}         asks the client for a completion; params of sampling/createMessage, or text for
                         short, times for how often; not among the default ones
    fail {text}          a result with isError        rpc_error {}      a JSON-RPC error object
    image, audio, resource, resource_link, structured, structured_only, mixed, empty {}
    structured_wrong, structured_missing {}          not what their output schema says
    big {n, char}        n characters                 roots {}          asks the client for its roots
    progress {}          three progress notices, then the result
    steps {gates}        a progress notice with a message before waiting for each of these files
    ask {params, times}  elicitation/create with these, so many times; the answers
    ask_same {params}    the same twice at once, with one id; the first answer
    ask_late {params}    the result first, then elicitation/create
    log {text}           a log notification, then the result
    die {}               exits in the middle of the call
    die_once {flag}      likewise, once: the file flag says that it did
    hang {}              never answers                pid {}, cwd {}    of this process
    colour {message}     asks the person for a colour; what came back
    again {n}            wants the call to be made again n times (stateless)
    task {gate}          becomes a task that ends when the file gate exists (stateless)
    long {gates, ask, end}  has to be called as a task of 2025-11-25 (trick tasks): a step for each of these
                         files; then it asks the person with these params of elicitation/create, if any
    linked {gate, n}     wants n links to be opened first (error -32042) unless the file gate exists, and says so
                         when it does
    ask_link {params, gate}  asks with a link, and says that it is done when the file gate exists
    rich {}              has a schema with everything that some provider refuses

Tricks (--do), each for itself or together:
    silent               never answers anything (also not EOF of stdin: see ignore-eof)
    no-init              answers everything but initialize
    exit=N               exits with N at once
    die-at=METHOD        exits when this method arrives
    noise                plain text, blank lines, foreign JSON on stdout before the first answer
    noise-each           the same before every answer
    stderr-flood         256 KiB on stderr without a newline, before the handshake
    stderr-lines=N       N lines on stderr before the handshake
    answer-revision=R    this protocolVersion in the answer, whatever was asked
    page=N               N tools a page
    page-loop            the same cursor for ever
    bad-json             a broken line before each answer
    crlf                 lines end in CR LF
    trickle              one byte per write
    list-changed=N       N list_changed notices after initialized; the tool "late" is there afterwards
    early-list-changed   one before the initialize answer
    request-first        ping, roots/list and an unknown request to the client before the initialize answer
    colliding-ids        asks the client with the very ids that it uses itself, while its calls are open
    string-ids           answers with the id as a string (a wrong id), then properly
    twice                every answer twice
    ask=METHOD           sends this request after initialized (sampling/createMessage, elicitation/create...)
    ignore-eof           stays when stdin ends        ignore-term       ignores SIGTERM
    grandchild           starts a sleeping child in the group
    grandchild-setsid    starts a sleeping child in a session of its own, that ignores SIGTERM and holds stdout
    no-ping              does not answer ping
    linger=SECONDS       count has had its effect so long before it answers
    stateless            has no handshake: speaks 2026-07-28, and nothing else
    dual                 speaks that, and the revisions before it
    unsupported=R        refuses server/discover, naming R as what it speaks
    deaf-to-unknown      does not answer server/discover
    listen-ends=N        ends the stream of changes N times, as soon as it is asked for
    slow-init=FILE       answers initialize only when FILE exists
    describe=TEXT        what every tool's description ends with
    tasks                calls may become tasks (2025-11-25)
    resources            has resources: two notes (one long, a page each with page=1), bytes; a template; the tool
                         touch {uri} changes one, and says so where it is subscribed to
    prompts              has the prompts greet (name, [style]), review (code) and plain; completes style

The log has one JSON object a line: {"t": monotonic, "dir": "in"|"out"|"event", "raw": text}.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def schema(*required, **props):
    return {"type": "object", "properties": props, "required": list(required)}


STR, NUM = {"type": "string"}, {"type": "number"}
TOOLS = {
    "echo": ("Return the text.", schema("text", text=STR)),
    "file": ("Return what a file holds.", schema("path", path=STR)),
    "add": ("Add two numbers.", schema("a", "b", a=NUM, b=NUM)),
    "count": ("Append to the ledger.", schema("label", label=STR)),
    "slow": ("Wait for a file.", schema("gate", gate=STR)),
    "env": ("The environment.", schema()),
    "fail": ("Always fails.", schema(text=STR)),
    "rpc_error": ("Answers with an error object.", schema()),
    "image": ("A picture.", schema()),
    "audio": ("A sound.", schema()),
    "resource": ("An embedded resource.", schema()),
    "resource_link": ("A link.", schema()),
    "structured": ("Text and data.", schema()),
    "structured_only": ("Data only.", schema()),
    "structured_wrong": ("Data of another kind.", schema()),
    "structured_missing": ("No data.", schema()),
    "mixed": ("Several parts.", schema()),
    "empty": ("No content.", schema()),
    "big": ("Much text.", schema("n", n={"type": "integer"}, char=STR)),
    "roots": ("Ask for roots.", schema()),
    "progress": ("Report progress.", schema()),
    "steps": ("Report progress step by step.", schema("gates", gates={"type": "array", "items": STR}, text=STR)),
    "ask": ("Ask the person.", schema("params", params={"type": "object"}, times={"type": "integer"})),
    "ask_same": ("Ask twice with one id.", schema("params", params={"type": "object"})),
    "ask_late": ("Ask when it is too late.", schema("params", params={"type": "object"})),
    "log": ("Log, then answer.", schema(text=STR)),
    "die": ("Exit in the call.", schema()),
    "die_once": ("Exit in the first call.", schema("flag", flag=STR)),
    "hang": ("Never answer.", schema()),
    "pid": ("The process id.", schema()),
    "rich": ("A schema with everything.", {
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "additionalProperties": False,
        "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}},
        "properties": {
            "a": {"$ref": "#/$defs/n"}, "b": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "c": {"const": 3},
            "d": {"type": "array"}, "e": {"type": "integer", "enum": [0, 1], "exclusiveMinimum": 0},
            "f": {"type": ["string", "null"], "format": "uri", "uniqueItems": True}}}),
    "cwd": ("The working directory.", schema()),
    "colour": ("Ask the person for a colour.", schema(message=STR)),
    "again": ("Come again.", schema("n", n={"type": "integer"})),
    "task": ("Takes its time.", schema("gate", gate=STR)),
}
RESOURCES = [
    ({"uri": "note://one", "name": "one", "title": "The first note", "mimeType": "text/plain"}, {"text": "first"}),
    ({"uri": "note://long", "name": "long", "description": "A long note"}, {"text": "0123456789" * 4000 + "END"}),
    ({"uri": "pic://dot", "name": "dot", "mimeType": "image/png", "size": 70}, {"blob": PNG}),
    ({"uri": "data://json", "name": "json", "mimeType": "application/json"}, {"blob": "eyJuIjozNn0="}),
]
PROMPTS = [
    {"name": "greet", "title": "A greeting", "description": "Greet somebody.", "arguments": [
        {"name": "name", "description": "whom", "required": True}, {"name": "style", "description": "how"}]},
    {"name": "review", "description": "Review code.", "arguments": [{"name": "code", "required": True}]},
    {"name": "plain"},
]
EXTRA = {"sample": ("Ask the model.", {"type": "object"}),     # only when named by --tools
         "long": ("Takes long.", {"type": "object"}), "linked": ("Needs a link.", {"type": "object"}),
         "ask_link": ("Asks with a link.", {"type": "object"})}
ANNOTATIONS = {"echo": {"readOnlyHint": True}, "add": {"readOnlyHint": True, "idempotentHint": True},
               "count": {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False}}


STATELESS, META = "2026-07-28", "io.modelcontextprotocol/"
TASKS, WHEN = META + "tasks", "2026-01-01T00:00:00Z"


def text(s, **more):
    return dict({"content": [{"type": "text", "text": s}]}, **more)


class Server:
    def __init__(self, opts):
        self.opts, self.do = opts, opts["do"]
        self.out_lock = threading.Lock()
        self.log_file = open(opts["log"], "a", encoding="utf-8") if opts["log"] else None
        self.log_lock = threading.Lock()
        self.tools = list(opts["tools"] if opts["tools"] is not None else TOOLS)
        self.revision, self.cancelled = "2024-11-05", set()
        self.replies, self.reply_cond, self.next_id, self.open_ids = {}, threading.Condition(), 9000, set()
        self.noisy_done = False
        self.subscribed, self.touched = set(), {}
        self.modern, self.tasks, self.ended = {}, {}, 0      # of requests without a handshake: id to what they can

    # Wire -----------------------------------------------------------------------------------

    def log(self, way, raw):
        if self.log_file:
            with self.log_lock:
                self.log_file.write(json.dumps({"t": time.monotonic(), "pid": os.getpid(), "dir": way,
                                                "raw": raw}, ensure_ascii=False) + "\n")
                self.log_file.flush()

    def write(self, data):
        if "crlf" in self.do:
            data = data[:-1] + b"\r\n"
        with self.out_lock:
            if "trickle" in self.do:
                for i in range(len(data)):
                    os.write(1, data[i:i + 1])
                return
            while data:
                data = data[os.write(1, data):]

    def send(self, msg):
        raw = json.dumps(msg, ensure_ascii=False)
        self.log("out", raw)
        self.write(raw.encode() + b"\n")

    def noise(self):
        self.write(b"Server v1.2 started\n")
        self.write(b"\n")
        self.write(b'{"level":"info","msg":"x"}\n')
        self.write(b"[1]\n")
        self.write(b"null\n")
        self.write(b'{"jsonrpc":"2.0","id":777777,"result":{}}\n')

    def answer(self, msg, result=None, error=None):
        if "noise-each" in self.do or ("noise" in self.do and not self.noisy_done):
            self.noisy_done = True
            self.noise()
        if "bad-json" in self.do:
            self.write(b'{"jsonrpc":"2.0","id":1,"result":{"conte\n')
            self.write(b"\xff\xfe{}\n")
        if "string-ids" in self.do:
            self.write(json.dumps({"jsonrpc": "2.0", "id": "x%s" % msg["id"], "result": {}}).encode() + b"\n")
        if result is not None and msg["id"] in self.modern:
            result.setdefault("resultType", "complete")
            if msg.get("method") == "tools/list":
                result.update(ttlMs=0, cacheScope="private")
        out = {"jsonrpc": "2.0", "id": msg["id"]}
        out.update({"error": error} if error else {"result": result})
        for _ in range(2 if "twice" in self.do else 1):
            self.send(out)

    def ask(self, method, params=None, rid=None):
        """A request to the client; its answer."""
        with self.reply_cond:
            if rid is None:
                self.next_id += 1
                rid = self.next_id
        msg = {"jsonrpc": "2.0", "id": rid, "method": method}
        if params is not None:
            msg["params"] = params
        self.send(msg)
        with self.reply_cond:
            self.reply_cond.wait_for(lambda: rid in self.replies, 60)
            return self.replies.pop(rid, None)

    def notify(self, method, params=None):
        msg = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            msg["params"] = params
        self.send(msg)

    # Methods --------------------------------------------------------------------------------

    def initialize(self, msg):
        if "early-list-changed" in self.do:
            self.notify("notifications/tools/list_changed")
        if "request-first" in self.do:
            for i, m in enumerate(("ping", "roots/list", "no/such")):
                threading.Thread(target=self.ask, args=(m,), daemon=True).start()
        wait_file(self.do.get("slow-init"))
        asked = msg["params"]["protocolVersion"]
        self.revision = self.do.get("answer-revision", self.opts["revision"] or asked)
        self.log("event", "negotiated " + self.revision)
        caps = {"tools": {"listChanged": True}, "logging": {}}
        if "resources" in self.do:
            caps["resources"] = {"subscribe": True, "listChanged": True}
        if "prompts" in self.do:
            caps["prompts"] = {"listChanged": True}
            caps["completions"] = {}
        if "tasks" in self.do:
            caps["tasks"] = {"requests": {"tools": {"call": {}}}, "cancel": {}}
        self.answer(msg, {
            "protocolVersion": self.revision,
            "capabilities": caps,
            "serverInfo": {"name": "scripted", "version": "1"}})

    def stateless(self, msg):
        """A request in the words of the revision without a handshake; True when that was all."""
        method, params = msg["method"], msg.get("params") or {}
        meta = params.get("_meta") or {}
        version = meta.get(META + "protocolVersion")
        if version is None and "dual" in self.do:
            return False
        if version is None:
            self.answer(msg, error={"code": -32602, "message": "%s: I speak %s only" % (method, STATELESS)})
            return True
        if version != STATELESS:
            self.answer(msg, error={"code": -32022, "message": "Unsupported protocol version",
                                    "data": {"supported": [STATELESS], "requested": version}})
            return True
        self.revision = STATELESS
        self.modern[msg["id"]] = meta[META + "clientCapabilities"]
        if method == "server/discover":
            self.answer(msg, {"supportedVersions": [STATELESS] + (["2025-11-25"] if "dual" in self.do else []),
                              "capabilities": {"tools": {"listChanged": True}, "logging": {},
                                               "extensions": {TASKS: {}}},
                              "ttlMs": 0, "cacheScope": "private",
                              "_meta": {META + "serverInfo": {"name": "scripted", "version": "1"}}})
        elif method == "subscriptions/listen":
            self.listen(msg)
        elif method.startswith("tasks/"):
            self.task(msg, params)
        else:
            return False
        return True

    def listen(self, msg):
        mine = {META + "subscriptionId": msg["id"]}
        self.notify("notifications/subscriptions/acknowledged",
                    {"_meta": mine, "notifications": msg["params"]["notifications"]})
        if self.ended < int(self.do.get("listen-ends") or 0):
            self.ended += 1
            if self.ended % 2:
                self.notify("notifications/cancelled", {"requestId": msg["id"]})
            else:
                self.answer(msg, {"_meta": mine})
        for _ in range(int(self.do.get("list-changed") or 0)):
            if "late" not in self.tools:
                self.tools.append("late")
            self.notify("notifications/tools/list_changed", {"_meta": mine})

    def task(self, msg, params):
        t = self.tasks.get(params["taskId"])
        if t is None or TASKS not in self.modern[msg["id"]].get("extensions", {}):
            self.answer(msg, error={"code": -32602, "message": "Task not found"})
            return
        if msg["method"] == "tasks/cancel":
            self.log("event", "task cancelled")
            self.answer(msg, {})
            return
        t["n"] += 1
        state = {"taskId": params["taskId"], "createdAt": WHEN, "lastUpdatedAt": WHEN, "ttlMs": 60000,
                 "pollIntervalMs": 20, "status": "working", "statusMessage": "look %d" % t["n"]}
        if os.path.exists(t["gate"]):
            state.update(status="completed", result=text("the task is done"))
        self.answer(msg, state)

    def initialized(self):
        for _ in range(int(self.do.get("list-changed") or 0)):
            if "late" not in self.tools:
                self.tools.append("late")
            self.notify("notifications/tools/list_changed")
        if self.do.get("ask"):
            threading.Thread(target=self.ask, args=(self.do["ask"], {}), daemon=True).start()

    def tools_list(self, msg):
        cursor = (msg.get("params") or {}).get("cursor")
        size = int(self.do.get("page") or 1000000)
        start = int(cursor.split(":")[1]) if cursor else 0
        out = []
        for name in self.tools[start:start + size]:
            doc, sch = {**TOOLS, **EXTRA}.get(name, ("Returns its text.", schema(text=STR)))
            tool = {"name": name, "description": doc + self.do.get("describe", ""), "inputSchema": sch}
            if name in ANNOTATIONS and self.revision >= "2025-03-26":
                tool["annotations"] = ANNOTATIONS[name]
            if name == "long":
                tool["execution"] = {"taskSupport": "required"}
            if name.startswith("structured") and self.revision >= "2025-06-18":
                tool["outputSchema"] = schema("total", total=NUM)
            out.append(tool)
        result = {"tools": out}
        if "page-loop" in self.do:
            result["nextCursor"] = "c:0"
        elif start + size < len(self.tools):
            result["nextCursor"] = "c:%d" % (start + size)
        self.answer(msg, result)

    def call(self, msg):
        p = msg["params"]
        name, args = p["name"], p.get("arguments") or {}
        if name not in self.tools:
            self.answer(msg, error={"code": -32602, "message": "Unknown tool: %s" % name})
            return
        if "colliding-ids" in self.do:
            self.ask("ping", rid=msg["id"])
        fn = getattr(self, "tool_" + name, None) or self.tool_echo
        try:
            result = fn(args, msg)
        except Exception as e:      # a tool's bad arguments are its result, not our end
            result = text("%s: %s" % (type(e).__name__, e), isError=True)
        self.log("event", "called %s" % name)
        if result is None or msg["id"] in self.cancelled:
            return
        if "error" in result:
            self.answer(msg, error=result["error"])
        else:
            self.answer(msg, result)

    def tool_echo(self, args, msg):
        return text(str(args.get("text", "")) or "%s called" % msg["params"]["name"])

    def tool_file(self, args, msg):
        with open(args["path"], encoding="utf-8") as f:
            return text(f.read())

    def tool_add(self, args, msg):
        return text("%s" % (args["a"] + args["b"]))

    def tool_count(self, args, msg):
        fd = os.open(self.opts["ledger"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(fd, (args["label"].replace("\n", " ") + "\n").encode())
        os.fsync(fd)
        os.close(fd)
        with open(self.opts["ledger"], encoding="utf-8") as f:
            said = "%d in the ledger, last %s" % (len(f.readlines()), args["label"])
        threading.Event().wait(float(self.do.get("linger", 0)))
        return text(said)

    def tool_slow(self, args, msg):
        wait_file(args["gate"], lambda: msg["id"] in self.cancelled)
        return text("waited")

    def tool_env(self, args, msg):
        return text("\n".join("%s=%s" % kv for kv in sorted(os.environ.items())))

    def tool_fail(self, args, msg):
        return text(args.get("text") or "no such file", isError=True,
                    **({"structuredContent": {"code": "E1"}} if self.revision >= "2025-06-18" else {}))

    def tool_rpc_error(self, args, msg):
        return {"error": {"code": -32000, "message": "the backend is away", "data": {"hint": "later"}}}

    def tool_image(self, args, msg):
        return {"content": [{"type": "image", "data": PNG, "mimeType": "image/png"}]}

    def tool_audio(self, args, msg):
        return {"content": [{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]}

    def tool_resource(self, args, msg):
        return {"content": [{"type": "resource", "resource": {
            "uri": "file:///x.txt", "mimeType": "text/plain", "text": "T-resource"}}]}

    def tool_resource_link(self, args, msg):
        return {"content": [{"type": "resource_link", "uri": "file:///linked.txt", "name": "linked",
                             "description": "A linked file"}]}

    def tool_structured(self, args, msg):
        return text('{"total":36}', structuredContent={"total": 36})

    def tool_structured_only(self, args, msg):
        return {"content": [], "structuredContent": {"total": 36}}

    def tool_structured_wrong(self, args, msg):
        return text("36 or so", structuredContent={"total": "36"})

    def tool_structured_missing(self, args, msg):
        return text("36 or so")

    def tool_mixed(self, args, msg):
        return {"content": [{"type": "text", "text": "before"},
                            {"type": "image", "data": PNG, "mimeType": "image/png"},
                            {"type": "text", "text": "after"}]}

    def tool_empty(self, args, msg):
        return {"content": []}

    def tool_big(self, args, msg):
        return text(args.get("char", "x") * int(args["n"]))

    def tool_roots(self, args, msg):
        return text(json.dumps(self.ask("roots/list")))

    def tool_sample(self, args, msg):
        """Asks for completions, at the same time where there are several; the answers as JSON lines."""
        params = args.get("params") or {"maxTokens": 50, "messages": [
            {"role": "user", "content": {"type": "text", "text": args.get("text", "what is it?")}}]}
        if msg["id"] in self.modern:
            return self.sample_stateless(args, msg, params)
        answers = []

        def one():
            answers.append(self.ask("sampling/createMessage", params))
        threads = [threading.Thread(target=one, daemon=True) for _ in range(args.get("times", 1))]
        for t in threads:
            t.start()
            if not args.get("at_once"):
                t.join()
        if args.get("leave"):       # the call is over before its question is
            return text("left")
        for t in threads:
            t.join()
        return text("\n".join(json.dumps(a.get("result") or a["error"]) for a in answers))

    def sample_stateless(self, args, msg, params):
        if "sampling" not in self.modern[msg["id"]]:
            return {"error": {"code": -32021, "message": "Missing required client capability",
                              "data": {"requiredCapabilities": {"sampling": {}}}}}
        answers = msg["params"].get("inputResponses")
        if answers is None:
            return {"resultType": "input_required", "requestState": "asked", "inputRequests": {
                "s%d" % i: {"method": "sampling/createMessage", "params": params} for i in range(args.get("times", 1))}}
        return text("\n".join(json.dumps(answers[k]) for k in sorted(answers)))

    def tool_progress(self, args, msg):
        token = ((msg["params"].get("_meta") or {}).get("progressToken"))
        for i in range(3):
            if token is not None:
                self.notify("notifications/progress", {"progressToken": token, "progress": i + 1, "total": 3})
        return text("token %s" % ("given" if token is not None else "absent"))

    def tool_steps(self, args, msg):
        token = ((msg["params"].get("_meta") or {}).get("progressToken"))
        for i, gate in enumerate(args["gates"]):
            self.notify("notifications/progress", {"progressToken": token, "progress": i + 1,
                                                   "total": len(args["gates"]) * 2,
                                                   "message": args.get("text", "step") + " %d" % (i + 1)})
            wait_file(gate)
        return text("stepped")

    def tool_ask(self, args, msg):
        out = []
        for _ in range(int(args.get("times", 1))):
            reply = self.ask("elicitation/create", args["params"])
            out.append(reply.get("result", reply.get("error")) if reply else None)
        return text(json.dumps(out if "times" in args else out[0], ensure_ascii=False))

    def tool_ask_same(self, args, msg):
        again = {"jsonrpc": "2.0", "id": 424242, "method": "elicitation/create", "params": args["params"]}
        self.send(again)
        reply = self.ask("elicitation/create", args["params"], rid=424242)
        return text(json.dumps(reply.get("result", reply.get("error"))))

    def tool_ask_late(self, args, msg):
        self.answer(msg, text("done already"))
        self.ask("elicitation/create", args["params"])
        return None

    def tool_log(self, args, msg):
        if msg["id"] in self.modern and META + "logLevel" not in msg["params"]["_meta"]:
            return text("no level, no log")
        self.notify("notifications/message", {"level": "warning", "data": args.get("text", "hello from the server")})
        return text("logged")

    def tool_die(self, args, msg):
        self.log("event", "dying in a call")
        os._exit(3)

    def tool_die_once(self, args, msg):
        try:
            os.close(os.open(args["flag"], os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return text("alive again")
        os._exit(3)

    def tool_hang(self, args, msg):
        return None

    def tool_pid(self, args, msg):
        return text(str(os.getpid()))

    def tool_cwd(self, args, msg):
        return text(os.getcwd())

    def tool_touch(self, args, msg):
        uri = args["text"]
        self.touched[uri] = self.touched.get(uri, 0) + 1
        if uri in self.subscribed:
            self.notify("notifications/resources/updated", {"uri": uri})
        return text("touched")

    # Resources and prompts --------------------------------------------------------------------

    def page(self, msg, key, items):
        cursor = (msg.get("params") or {}).get("cursor")
        size = int(self.do.get("page") or 1000000)
        start = int(cursor) if cursor else 0
        result = {key: items[start:start + size]}
        if start + size < len(items):
            result["nextCursor"] = str(start + size)
        self.answer(msg, result)

    def resources(self, msg, what):
        uri = (msg.get("params") or {}).get("uri")
        if what == "list":
            self.page(msg, "resources", [r for r, _ in RESOURCES])
        elif what == "templates/list":
            self.page(msg, "resourceTemplates", [{"uriTemplate": "note://{name}", "name": "notes"}])
        elif what == "subscribe":
            self.subscribed.add(uri)
            self.answer(msg, {})
        elif what == "unsubscribe":
            self.subscribed.discard(uri)
            self.answer(msg, {})
        else:
            for r, content in RESOURCES:
                if r["uri"] == uri:
                    if uri in self.touched:
                        content = {"text": "touched %d times" % self.touched[uri]}
                    mime = {"mimeType": r["mimeType"]} if "mimeType" in r else {}
                    self.answer(msg, {"contents": [dict(uri=uri, **mime, **content)]})
                    return
            self.answer(msg, error={"code": -32002, "message": "Resource not found", "data": {"uri": uri}})

    def prompts(self, msg, what):
        if what == "list":
            self.page(msg, "prompts", PROMPTS)
            return
        p = msg["params"]
        args = p.get("arguments") or {}
        says = lambda role, s: {"role": role, "content": {"type": "text", "text": s}}
        if p["name"] == "greet":
            self.answer(msg, {"messages": [says("user", "Say hello to %s, %s." % (args["name"], args.get("style", "plainly")))]})
        elif p["name"] == "review":
            self.answer(msg, {"description": "A review", "messages": [
                says("user", "Review this: " + args["code"]), says("assistant", "Which language?"),
                {"role": "user", "content": {"type": "resource", "resource": {"uri": "note://rules", "text": "Be kind."}}}]})
        elif p["name"] == "plain":
            self.answer(msg, {"messages": [says("user", "Just plain.")]})
        else:
            self.answer(msg, error={"code": -32602, "message": "Unknown prompt: " + p["name"]})

    def tool_colour(self, args, msg):
        params = {"mode": "form", "message": args.get("message", "Which colour?"), "requestedSchema": {
            "type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}}
        if msg["id"] not in self.modern:
            return text(json.dumps(self.ask("elicitation/create", params)))
        if "form" not in self.modern[msg["id"]].get("elicitation", {}):
            return {"error": {"code": -32021, "message": "Missing required client capability",
                              "data": {"requiredCapabilities": {"elicitation": {"form": {}}}}}}
        answers = msg["params"].get("inputResponses")
        if answers is None or msg["params"].get("requestState") != "asked":
            return {"resultType": "input_required", "requestState": "asked",
                    "inputRequests": {"colour": {"method": "elicitation/create", "params": params}}}
        return text(json.dumps(answers))

    def tool_again(self, args, msg):
        at = int(msg["params"].get("requestState") or 0)
        if at < args["n"]:
            return {"resultType": "input_required", "requestState": str(at + 1)}
        return text("after %d" % at)

    def tool_task(self, args, msg):
        if TASKS not in self.modern.get(msg["id"], {}).get("extensions", {}):
            return text("tasks are not spoken here", isError=True)
        tid = "task-%d" % (len(self.tasks) + 1)
        self.tasks[tid] = {"gate": args["gate"], "n": 0}
        return {"resultType": "task", "taskId": tid, "status": "working", "createdAt": WHEN,
                "lastUpdatedAt": WHEN, "ttlMs": 60000, "pollIntervalMs": 20}

    # Tasks of 2025-11-25 --------------------------------------------------------------------------

    def tool_long(self, args, msg):
        if "task" not in msg["params"]:
            return {"error": {"code": -32601, "message": "only as a task"}}
        tid = "long-%d" % (len(self.tasks) + 1)
        task = {"taskId": tid, "status": "working", "createdAt": WHEN, "lastUpdatedAt": WHEN, "ttl": 60000,
                "pollInterval": 20, "statusMessage": "begun"}
        self.tasks[tid] = {"state": task, "args": args, "over": threading.Event(), "result": None, "asking": False}
        threading.Thread(target=self.work, args=(self.tasks[tid], msg["params"]["_meta"]["progressToken"]),
                         daemon=True).start()
        return {"task": dict(task)}

    def tell(self, t, status, message):
        t["state"].update(status=status, statusMessage=message)
        self.notify("notifications/tasks/status", dict(t["state"]))

    def work(self, t, token):
        args, stopped = t["args"], lambda: t["state"]["status"] == "cancelled"
        for i, gate in enumerate(args.get("gates", [])):
            while not os.path.exists(gate) and not stopped():
                self.notify("notifications/progress", {"progressToken": token, "progress": i + 1, "total": 10,
                                                       "message": "step %d" % (i + 1)})
                threading.Event().wait(0.05)
        if stopped():
            return
        t["result"] = text("the long task is done")
        if args.get("ask"):
            t["asking"] = True
            self.tell(t, "input_required", "needs an answer")
            return
        if args.get("end") == "failed":
            t["result"] = {"error": {"code": -32603, "message": "it broke"}}
        self.tell(t, args.get("end", "completed"), "over")
        t["over"].set()

    def long_result(self, msg, t):
        """Until it has ended; what it asks is asked meanwhile."""
        if t["asking"]:
            t["asking"] = False
            mine = {META + "related-task": {"taskId": t["state"]["taskId"]}}
            reply = self.ask("elicitation/create", dict(t["args"]["ask"], _meta=mine))
            t["result"] = text(json.dumps(reply.get("result", reply.get("error"))))
            self.tell(t, "completed", "answered")
            t["over"].set()
        t["over"].wait()
        if msg["id"] in self.cancelled:
            return
        if t["result"] is None or "error" in t["result"]:
            self.answer(msg, error=t["result"]["error"] if t["result"] else {"code": -32602, "message": "cancelled"})
        else:
            self.answer(msg, t["result"])

    def long_request(self, msg):
        t = self.tasks.get(msg["params"]["taskId"])
        if t is None:
            self.answer(msg, error={"code": -32602, "message": "Task not found"})
        elif msg["method"] == "tasks/get":
            self.answer(msg, dict(t["state"]))
        elif msg["method"] == "tasks/result":
            threading.Thread(target=self.long_result, args=(msg, t), daemon=True).start()
        else:
            self.log("event", "task cancelled")
            t["state"]["status"] = "cancelled"
            t["over"].set()
            self.answer(msg, dict(t["state"]))

    # Links ----------------------------------------------------------------------------------------

    def complete(self, gate, *ids):
        def when():
            wait_file(gate)
            for i in ids:
                self.notify("notifications/elicitation/complete", {"elicitationId": i})
        threading.Thread(target=when, daemon=True).start()

    def tool_linked(self, args, msg):
        if os.path.exists(args["gate"]):
            return text("linked")
        links = [{"mode": "url", "elicitationId": "link-%d" % i, "message": "Connect account %d" % i,
                  "url": "https://accounts.example/connect?n=%d" % i} for i in range(args.get("n", 1))]
        self.complete(args["gate"], *[x["elicitationId"] for x in links])
        return {"error": {"code": -32042, "message": "An account is not connected", "data": {"elicitations": links}}}

    def tool_ask_link(self, args, msg):
        self.complete(args["gate"], "other", args["params"]["elicitationId"])
        return text(json.dumps(self.ask("elicitation/create", args["params"])["result"]))

    def tool_late(self, args, msg):
        return text("late tool ran")

    # Loop -----------------------------------------------------------------------------------

    def handle(self, msg):
        method = msg.get("method")
        if method is None:
            with self.reply_cond:
                self.replies[msg.get("id")] = msg
                self.reply_cond.notify_all()
            return
        if self.do.get("die-at") == method:
            self.log("event", "dying at " + method)
            os._exit(4)
        if "silent" in self.do:
            return
        if "id" in msg and ("stateless" in self.do or "dual" in self.do) and self.stateless(msg):
            return
        if method == "server/discover" and "deaf-to-unknown" in self.do:
            return
        if method == "server/discover" and "unsupported" in self.do:
            self.answer(msg, error={"code": -32022, "message": "Unsupported protocol version",
                                    "data": {"supported": [self.do["unsupported"]], "requested": STATELESS}})
        elif method == "initialize":
            if "no-init" not in self.do:
                self.initialize(msg)
        elif method == "notifications/initialized":
            self.initialized()
        elif method == "notifications/cancelled":
            self.cancelled.add(msg["params"]["requestId"])
        elif method == "tools/list":
            self.tools_list(msg)
        elif method == "tools/call":
            threading.Thread(target=self.call, args=(msg,), daemon=True).start()
        elif method == "ping":
            if "no-ping" not in self.do:
                self.answer(msg, {})
        elif method.startswith("tasks/") and "tasks" in self.do:
            self.long_request(msg)
        elif method.startswith("resources/") and "resources" in self.do:
            self.resources(msg, method[len("resources/"):])
        elif method.startswith("prompts/") and "prompts" in self.do:
            self.prompts(msg, method[len("prompts/"):])
        elif method == "completion/complete" and "prompts" in self.do:
            begun = msg["params"]["argument"]["value"]
            self.answer(msg, {"completion": {"values": [w for w in ("curtly", "warmly", "wildly") if w.startswith(begun)]}})
        elif method == "logging/setLevel":
            self.answer(msg, {})
        elif "id" in msg:
            self.answer(msg, error={"code": -32601, "message": "Method not found: " + method})

    def start_tricks(self):
        if "exit" in self.do:
            sys.stderr.write("scripted: leaving at once\n")
            sys.stderr.flush()
            os._exit(int(self.do["exit"] or 1))
        if "ignore-term" in self.do:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if "stderr-flood" in self.do:
            os.write(2, b"e" * (256 << 10))
        for i in range(int(self.do.get("stderr-lines") or 0)):
            os.write(2, b"scripted line %d\n" % i)
        if "grandchild" in self.do:
            subprocess.Popen(["sleep", "1000"])
        if "grandchild-setsid" in self.do:
            subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 1000"], start_new_session=True)

    def run(self):
        self.log("event", "start")
        self.start_tricks()
        buf = b""
        while True:
            part = os.read(0, 1 << 20)
            if not part:
                break
            buf += part
            while b"\n" in buf:
                line, _, buf = buf.partition(b"\n")
                self.log("in", line.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode())
                self.handle(json.loads(line))
        self.log("event", "eof")
        if "ignore-eof" in self.do:
            threading.Event().wait()


def wait_file(path, stop=lambda: False):
    """Block until a file exists (the test's gate).  A fake may look at the clock; scenes may not."""
    while path and not os.path.exists(path) and not stop():
        threading.Event().wait(0.005)


def main(argv):
    opts = {"log": None, "ledger": None, "revision": None, "tools": None, "do": {}}
    it = iter(argv)
    for a in it:
        if a == "--do":
            k, _, v = next(it).partition("=")
            opts["do"][k] = v
        elif a == "--tools":
            opts["tools"] = [t for t in next(it).split(",") if t]
        elif a in ("--log", "--ledger", "--revision"):
            opts[a[2:]] = next(it)
        else:
            sys.exit("mcp_server.py: what is %r?" % a)
    Server(opts).run()


if __name__ == "__main__":
    main(sys.argv[1:])
