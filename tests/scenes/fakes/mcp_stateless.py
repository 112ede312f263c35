#!/usr/bin/python3
"""
A scripted MCP server without a handshake (revision 2026-07-28), over stdio: every call that asks comes
back with "input_required", and is made again with the answers.

    mcp_stateless.py --ledger FILE [--log FILE]

Tools:
    ask {params, rounds, label}   asks with elicitation/create params, rounds times (1), then appends label
                                  to the ledger and returns all answers
    both {first, second}          two questions at once, then their answers
    echo {text}                   the text
    hang_after {params, gate}     asks; made again it waits for the file gate, then appends to the ledger
Nothing is kept in the process between two calls: all of it is in requestState.
"""

import json
import os
import sys
import threading
import time

META = "io.modelcontextprotocol/"
OBJ = {"type": "object"}
TOOLS = {"ask": {"params": OBJ, "rounds": {"type": "integer"}, "label": {"type": "string"}},
         "both": {"first": OBJ, "second": OBJ}, "echo": {"text": {"type": "string"}},
         "hang_after": {"params": OBJ, "gate": {"type": "string"}}}


class Server:
    def __init__(self, ledger, log):
        self.ledger, self.log_file, self.lock = ledger, log and open(log, "a", encoding="utf-8"), threading.Lock()

    def log(self, way, raw):
        if self.log_file:
            self.log_file.write(json.dumps({"dir": way, "raw": raw}) + "\n")
            self.log_file.flush()

    def send(self, msg):
        with self.lock:
            raw = json.dumps(msg)
            self.log("out", raw)
            os.write(1, raw.encode() + b"\n")

    def answer(self, msg, result=None, error=None):
        out = {"jsonrpc": "2.0", "id": msg["id"]}
        out.update({"error": error} if error else {"result": dict({"resultType": "complete"}, **result)})
        self.send(out)

    def note(self, line):
        fd = os.open(self.ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(fd, (line + "\n").encode())
        os.fsync(fd)
        os.close(fd)

    @staticmethod
    def text(s):
        return {"content": [{"type": "text", "text": s}]}

    @staticmethod
    def elicit(params):
        return {"method": "elicitation/create", "params": params}

    def call(self, msg):
        p = msg["params"]
        name, args = p["name"], p.get("arguments") or {}
        caps = p["_meta"][META + "clientCapabilities"]
        if name == "echo":
            return self.text(args.get("text", ""))
        assert "form" in caps.get("elicitation", {}), caps
        state, given = p.get("requestState"), p.get("inputResponses")
        done = json.loads(state) if state is not None else []
        if state is not None:
            assert isinstance(given, dict) and given, given
            done.append(given)
        if len(done) < (args.get("rounds", 1)):
            asks = {"q": self.elicit(args["params"])} if name != "both" else {
                "x": self.elicit(args["first"]), "y": self.elicit(args["second"])}
            return {"resultType": "input_required", "inputRequests": asks, "requestState": json.dumps(done)}
        if name == "hang_after":
            while not os.path.exists(args["gate"]):
                time.sleep(0.02)
        self.note(args.get("label", name))
        return self.text(json.dumps(done))

    def handle(self, msg):
        method = msg.get("method")
        if method == "server/discover":
            self.answer(msg, {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                              "ttlMs": 0, "cacheScope": "private",
                              "_meta": {META + "serverInfo": {"name": "stateless", "version": "1"}}})
        elif method == "tools/list":
            self.answer(msg, {"ttlMs": 0, "cacheScope": "private", "tools": [
                {"name": n, "inputSchema": {"type": "object", "properties": p}} for n, p in TOOLS.items()]})
        elif method == "tools/call":
            threading.Thread(target=lambda: self.answer(msg, self.call(msg)), daemon=True).start()
        elif method == "ping":
            self.answer(msg, {})
        elif "id" in msg:
            self.answer(msg, error={"code": -32601, "message": "Method not found"})

    def run(self):
        buf = b""
        while True:
            part = os.read(0, 1 << 20)
            if not part:
                return
            buf += part
            while b"\n" in buf:
                line, _, buf = buf.partition(b"\n")
                self.log("in", line.decode("utf-8", "replace"))
                self.handle(json.loads(line))


if __name__ == "__main__":
    opts = dict(zip(sys.argv[1::2], sys.argv[2::2]))
    Server(opts["--ledger"], opts.get("--log")).run()
