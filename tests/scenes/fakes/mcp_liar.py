#!/usr/bin/python3
"""
An MCP server whose answers to one method are wrong in a way that the first argument names:
    mcp_liar.py HOW [METHOD]      METHOD is tools/call unless told
It is apart from mcp_server.py because nothing that it says is held to the schema.
"""

import json
import sys

TOOL = {"name": "echo", "description": "Says ok.", "inputSchema": {"type": "object", "properties": {}}}
GOOD = {
    "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                   "serverInfo": {"name": "liar", "version": "1"}},
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "ok"}]},
    "ping": {},
}

HOW = {
    "neither": lambda i, good: {"id": i},
    "null method": lambda i, good: {"id": i, "method": None, "result": good},
    "null error": lambda i, good: {"id": i, "result": good, "error": None},
    "text error": lambda i, good: {"id": i, "error": "out of \x1b[31mpaper"},
    "float id": lambda i, good: {"id": float(i), "result": good},
}


def deep(i):
    return '{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":%s1%s}}' % (
        i, '{"a":' * 5000, "}" * 5000)


def main(how, method="tools/call"):
    for line in sys.stdin:
        m = json.loads(line)
        if "id" not in m or m.get("method") not in GOOD:
            continue
        good = GOOD[m["method"]]
        if m["method"] != method:
            out = json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": good})
        elif how == "deep":
            out = deep(m["id"])
        else:
            out = json.dumps(dict(HOW[how](m["id"], good), jsonrpc="2.0"))
        print(out, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
