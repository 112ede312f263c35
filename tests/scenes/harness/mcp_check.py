"""
Whether the messages of an MCP session are valid for the revision it negotiated.

check_log(path) reads a log of fakes/mcp_server.py or fakes/mcp_tee.py and returns sentences about
the client's faults ("in" messages).  Rules of our own apply always; the schema of the revision
when GANTRY_CORPORA names the folder that has it.
"""

import functools
import json
import os

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
OFFERED = "2025-11-25"
STATELESS = "2026-07-28"        # no handshake: every request says in its _meta what the client is

REQUESTS = {"initialize": "InitializeRequest", "ping": "PingRequest", "tools/list": "ListToolsRequest",
            "tools/call": "CallToolRequest", "logging/setLevel": "SetLevelRequest",
            "resources/list": "ListResourcesRequest", "resources/templates/list": "ListResourceTemplatesRequest",
            "resources/read": "ReadResourceRequest", "resources/subscribe": "SubscribeRequest",
            "resources/unsubscribe": "UnsubscribeRequest", "prompts/list": "ListPromptsRequest",
            "prompts/get": "GetPromptRequest", "completion/complete": "CompleteRequest",
            "tasks/get": "GetTaskRequest", "tasks/result": "GetTaskPayloadRequest",
            "tasks/cancel": "CancelTaskRequest"}
NOTES = {"notifications/initialized": "InitializedNotification",
         "notifications/cancelled": "CancelledNotification",
         "notifications/progress": "ProgressNotification",
         "notifications/roots/list_changed": "RootsListChangedNotification"}
# Of the revision without a handshake; what is None belongs to an extension.
STATELESS_REQUESTS = {"server/discover": "DiscoverRequest", "tools/list": "ListToolsRequest",
                      "tools/call": "CallToolRequest", "resources/list": "ListResourcesRequest",
                      "resources/templates/list": "ListResourceTemplatesRequest",
                      "resources/read": "ReadResourceRequest", "prompts/list": "ListPromptsRequest",
                      "prompts/get": "GetPromptRequest", "completion/complete": "CompleteRequest",
                      "subscriptions/listen": "SubscriptionsListenRequest",
                      "tasks/get": None, "tasks/update": None, "tasks/cancel": None}
STATELESS_RESULTS = {"server/discover": "DiscoverResult", "tools/list": "ListToolsResult",
                     "subscriptions/listen": "SubscriptionsListenResult"}
RESULTS = {"roots/list": "ListRootsResult", "ping": "EmptyResult"}


@functools.lru_cache(maxsize=None)
def _schema(revision, name):
    folder = os.environ.get("GANTRY_CORPORA")
    if not folder:
        return None
    from jsonschema import Draft7Validator, Draft202012Validator
    with open(os.path.join(folder, "mcp-%s.schema.json" % revision), encoding="utf-8") as f:
        doc = json.load(f)
    key = "$defs" if "$defs" in doc else "definitions"
    if name not in doc[key]:
        # The later schemas split the response in two.
        name = {"JSONRPCError": "JSONRPCErrorResponse", "JSONRPCResponse": "JSONRPCResultResponse"}.get(name, name)
    kind = Draft202012Validator if key == "$defs" else Draft7Validator
    return kind({"$ref": "#/%s/%s" % (key, name), key: doc[key]})


def _by_schema(revision, name, value, where):
    v = _schema(revision, name)
    if v is None:
        return []
    from jsonschema.exceptions import best_match
    e = best_match(v.iter_errors(value))
    return [] if e is None else ["%s: %s of %s, at %s: %s" % (
        where, name, revision, "/".join(map(str, e.absolute_path)), e.message[:300])]


def read_log(path):
    """The rows so far; a line that is still being written is not one yet."""
    with open(path, encoding="utf-8", errors="replace") as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def _stateless(msg, where, state, bad):
    """One message of the client to a server without a handshake, or the probe whether it is one."""
    method, meta = msg["method"], (msg.get("params") or {}).get("_meta") or {}
    state["used"].add(json.dumps(msg["id"]))
    state["sent"][json.dumps(msg["id"])] = method
    if method not in STATELESS_REQUESTS:
        bad.append("%s: an unexpected request %s" % (where, method))
    elif STATELESS_REQUESTS[method]:
        bad += _by_schema(STATELESS, STATELESS_REQUESTS[method], msg, where)
    if meta.get("io.modelcontextprotocol/protocolVersion") != STATELESS:
        bad.append("%s: %s does not say its protocol version" % (where, method))
    if meta.get("io.modelcontextprotocol/clientInfo", {}).get("name") != "gantry":
        bad.append("%s: %s does not say who asks" % (where, method))
    can = meta.get("io.modelcontextprotocol/clientCapabilities")
    if not isinstance(can, dict) or "roots" in can:
        bad.append("%s: %s offers %r" % (where, method, can))
    if method != "server/discover" and state["revision"] != STATELESS:
        bad.append("%s: %s before the server was found out" % (where, method))


def _answered(msg, where, state, bad):
    """An answer of the server: what is known of it from there on, and whether the fake itself is right."""
    result, asked = msg.get("result"), state["sent"].get(json.dumps(msg.get("id")))
    if not isinstance(result, dict):
        return
    if asked == "server/discover" and STATELESS in result.get("supportedVersions", []) \
            and not state["revision"]:
        state["revision"] = STATELESS
    if "protocolVersion" in result and not state["revision"]:
        state["revision"] = result["protocolVersion"]
        if state["revision"] not in REVISIONS:
            state["revision"] = OFFERED
    # A slow one that was asked to begin in both ways may answer in either.
    if state["revision"] != STATELESS or state["sent_init"]:
        return
    name = STATELESS_RESULTS.get(asked)
    if asked == "tools/call" and result.get("resultType") != "task":
        name = "InputRequiredResult" if result.get("resultType") == "input_required" else "CallToolResult"
    if name:
        bad.extend(_by_schema(STATELESS, name, result, where))


def _one(msg, where, state, bad):
    """One message of the client in the session's state."""
    if not isinstance(msg, dict) or msg.get("jsonrpc") != "2.0":
        bad.append("%s: not JSON-RPC 2.0: %.120r" % (where, msg))
        return
    if "id" in msg and "method" in msg and json.dumps(msg["id"]) not in state["used"] \
            and (state["revision"] == STATELESS or msg["method"] == "server/discover"):
        _stateless(msg, where, state, bad)
        return
    method, revision = msg.get("method"), state["revision"] or OFFERED
    if method is None:
        asked = state["asked"].pop(json.dumps(msg.get("id")), None)
        if asked is None:
            bad.append("%s: an answer to %r, which nobody asked" % (where, msg.get("id")))
        if ("result" in msg) == ("error" in msg):
            bad.append("%s: an answer needs a result or an error" % where)
        bad += _by_schema(revision, "JSONRPCError" if "error" in msg else "JSONRPCResponse", msg, where)
        if "result" in msg and asked in RESULTS:
            bad.extend(_by_schema(revision, RESULTS[asked], msg["result"], where))
        return
    if "params" in msg and not isinstance(msg["params"], dict):
        bad.append("%s: params is not an object" % where)
    if "id" in msg:
        if not isinstance(msg["id"], (str, int)) or isinstance(msg["id"], bool):
            bad.append("%s: id %r" % (where, msg["id"]))
        if json.dumps(msg["id"]) in state["used"]:
            bad.append("%s: the id %r is used a second time" % (where, msg["id"]))
        state["used"].add(json.dumps(msg["id"]))
        if method not in REQUESTS:
            bad.append("%s: an unexpected request %s" % (where, method))
        else:
            bad += _by_schema(revision, REQUESTS[method], msg, where)
        if method == "initialize":
            if state["sent_init"]:
                bad.append("%s: initialize twice" % where)
            state["sent_init"] = True
        elif not state["ready"] and method != "ping":
            bad.append("%s: %s before initialized" % (where, method))
        return
    if method not in NOTES:
        bad.append("%s: an unexpected notification %s" % (where, method))
    else:
        bad += _by_schema(revision, NOTES[method], msg, where)
    if method == "notifications/initialized":
        if not state["revision"]:
            bad.append("%s: initialized before the answer" % where)
        state["ready"] = True
    if method == "notifications/cancelled" and json.dumps(msg["params"].get("requestId")) not in state["used"]:
        bad.append("%s: cancels %r, which was never asked" % (where, msg["params"].get("requestId")))


def check_log(path):
    bad, states = [], {}
    for n, row in enumerate(read_log(path), 1):
        if row["raw"] == "start" and row["dir"] == "event":
            states.pop(row["pid"], None)        # process ids come round again
        state = states.setdefault(row["pid"], {"revision": None, "ready": False, "sent_init": False,
                                               "used": set(), "asked": {}, "sent": {}})
        where = "%s line %d" % (os.path.basename(path), n)
        if row["dir"] == "event":
            continue
        try:
            msg = json.loads(row["raw"])
        except ValueError:
            if row["dir"] == "in":
                bad.append("%s: not JSON: %.120r" % (where, row["raw"]))
            continue
        if row["dir"] == "in":
            _one(msg, where, state, bad)
        elif isinstance(msg, dict):
            if "method" in msg and "id" in msg:
                state["asked"][json.dumps(msg["id"])] = msg["method"]
            if "method" not in msg:
                _answered(msg, where, state, bad)
    return bad


def calls(path):
    """The tools/call requests a server received: [(name, arguments)]."""
    out = []
    for row in read_log(path):
        if row["dir"] == "in":
            msg = json.loads(row["raw"])
            if msg.get("method") == "tools/call":
                out.append((msg["params"]["name"], msg["params"].get("arguments")))
    return out


def received(path, method):
    """The messages with this method that a server received."""
    rows = (json.loads(r["raw"]) for r in read_log(path) if r["dir"] == "in")
    return [m for m in rows if m.get("method") == method]
