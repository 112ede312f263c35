#!/usr/bin/env python3
"""An MCP server with one tool: the entries of an RSS or Atom feed, as JSON that a watch understands."""

import json
import sys
import urllib.request
import xml.etree.ElementTree as xml

MAX_BYTES, MAX_ENTRIES = 4 << 20, 50
ATOM = "{http://www.w3.org/2005/Atom}"
TOOL = {
    "name": "entries",
    "description": "The newest entries of an RSS or Atom feed: id, title, link, date.",
    "inputSchema": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
    "annotations": {"readOnlyHint": True, "openWorldHint": True},
}


def text(node, *names):
    for name in names:
        found = node.find(name)
        if found is not None:
            return (found.text or found.get("href") or "").strip()
    return ""


def entries(url):
    if not url.startswith(("http://", "https://")):
        raise ValueError("a feed has an http or https address")
    request = urllib.request.Request(url, headers={"User-Agent": "gantry-feeds"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        body = answer.read(MAX_BYTES + 1)
    if len(body) > MAX_BYTES:
        raise ValueError("the feed is too large")
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise ValueError("a feed with a document type of its own is not read")
    items = []
    for node in [n for n in xml.fromstring(body).iter() if n.tag in ("item", ATOM + "entry")][:MAX_ENTRIES]:
        link = text(node, "link", ATOM + "link")
        items.append({"id": text(node, "guid", ATOM + "id") or link, "title": text(node, "title", ATOM + "title"),
                      "link": link, "date": text(node, "pubDate", ATOM + "updated")})
    return {"items": items}


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "feeds", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        try:
            result, failed = json.dumps(entries(params["arguments"]["url"]), ensure_ascii=False), False
        except (OSError, ValueError, KeyError, xml.ParseError) as e:
            result, failed = "cannot read the feed: %s" % e, True
        return {"content": [{"type": "text", "text": result}], "isError": failed}
    return {} if method == "ping" else None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    reply = answer(message.get("method"), message.get("params") or {})
    out = {"jsonrpc": "2.0", "id": message["id"]}
    if reply is None:
        out["error"] = {"code": -32601, "message": "no such method"}
    else:
        out["result"] = reply
    print(json.dumps(out, ensure_ascii=False), flush=True)
