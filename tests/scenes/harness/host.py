"""
A host of `gantry mcp`: speaks the protocol over its pipes, and holds every message it gets against the
schema of the revision (when GANTRY_CORPORA names the folder that has it).
"""

import json

from . import mcp_check

STATELESS = "2026-07-28"
INITIALIZE = mcp_check.REVISIONS
META = "io.modelcontextprotocol/"
RESULTS = {"initialize": "InitializeResult", "tools/list": "ListToolsResult", "tools/call": "CallToolResult",
           "ping": "EmptyResult", "server/discover": "DiscoverResult"}
NOTES = {"notifications/progress": "ProgressNotification", "notifications/cancelled": "CancelledNotification"}
ASKS = {"elicitation/create": "ElicitRequest"}


class Host:
    def __init__(self, proc, revision="2025-11-25", name="scene host", elicits=True):
        self.proc, self.revision, self.name, self.n = proc, revision, name, 0
        self.capabilities = {"elicitation": {}} if elicits and revision >= "2025-06-18" else {}
        self.asked, self.closed, self.bad = {}, set(), []

    # Saying ---------------------------------------------------------------------------------

    def send(self, message):
        self.proc.send(message if isinstance(message, (str, bytes)) else json.dumps(message))

    def request(self, method, **params):
        self.n += 1
        if self.revision == STATELESS:
            meta = {META + "protocolVersion": STATELESS, META + "clientCapabilities": self.capabilities,
                    META + "clientInfo": {"name": self.name, "version": "1"}}
            params["_meta"] = {**meta, **params.get("_meta", {})}
        self.asked[self.n] = method
        self.send({"jsonrpc": "2.0", "id": self.n, "method": method, "params": params})
        return self.n

    def notify(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def open(self):
        """Begin as the revision does; the answer."""
        if self.revision == STATELESS:
            return self.result(self.request("server/discover"))
        answer = self.result(self.request("initialize", protocolVersion=self.revision, capabilities=self.capabilities,
                                          clientInfo={"name": self.name, "version": "1"}))
        self.notify("notifications/initialized")
        return answer

    def call(self, name, arguments=None, progress=None, **more):
        meta = {"_meta": {"progressToken": progress}} if progress is not None else {}
        return self.request("tools/call", name=name, arguments=arguments or {}, **meta, **more)

    def ask(self, text, **arguments):
        """The result of a whole ask."""
        return self.result(self.call("ask", {"text": text, **arguments}))

    # Hearing --------------------------------------------------------------------------------

    def messages(self):
        """All so far, each judged."""
        out = []
        for n, line in enumerate(self.proc.out.text.split("\n")[:-1]):
            m = json.loads(line)    # nothing else may stand on its standard output
            out.append(m)
            for one in m if isinstance(m, list) else [m]:
                self.judge(one, "line %d" % n)
        return out

    def judge(self, m, where):
        seen = []
        if m.get("method") and "id" in m:
            seen = mcp_check._by_schema(self.revision, ASKS[m["method"]], m, where)
        elif m.get("method"):
            seen = mcp_check._by_schema(self.revision, NOTES[m["method"]], m, where)
        elif "error" in m:
            seen = mcp_check._by_schema(self.revision, "JSONRPCError", m, where)
        else:
            name = RESULTS[self.asked[m["id"]]]
            if m["result"].get("resultType") == "input_required":
                name = "InputRequiredResult"
            seen = mcp_check._by_schema(self.revision, "JSONRPCResponse", m, where)
            seen += mcp_check._by_schema(self.revision, name, m["result"], where)
        assert not seen, "\n".join(seen)

    def wait(self, test, what, seconds=30):
        """The first message that passes the test."""
        found = []

        def look():
            found[:] = [m for m in self.messages() if test(m)]
            return bool(found)
        self.proc.board.wait(look, what, seconds)
        return found[0]

    def answer(self, n, seconds=30):
        return self.wait(lambda m: isinstance(m, dict) and m.get("id") == n and "method" not in m,
                         "the answer to %r" % n, seconds)

    def result(self, n, seconds=30):
        a = self.answer(n, seconds)
        assert "result" in a, a
        return a["result"]

    def error(self, n):
        return self.answer(n)["error"]

    def question(self, n=0):
        """The n-th request of the server's."""
        def those(m):
            return isinstance(m, dict) and "method" in m and "id" in m
        self.wait(lambda m: len([x for x in self.messages() if those(x)]) > n, "a question")
        return [m for m in self.messages() if those(m)][n]

    def reply(self, question, result):
        self.send({"jsonrpc": "2.0", "id": question["id"], "result": result})

    def progress(self, token):
        return [m["params"] for m in self.messages() if isinstance(m, dict)
                and m.get("method") == "notifications/progress" and m["params"]["progressToken"] == token]

    def close(self, code=0, seconds=None):
        return self.proc.finish(seconds, code)


def text_of(result):
    return "\n".join(c["text"] for c in result["content"])
