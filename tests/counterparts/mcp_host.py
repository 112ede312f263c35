"""
A host made of the official Python SDK: mcp_host.py MODE COMMAND ARGS...
MODE is legacy, auto or 2026-07-28.  It asks what the test wants, and prints one JSON object of what it saw.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
import mcp_types as types

mode, command, *args = sys.argv[1:]
seen = {"questions": [], "progress": []}


async def answer(context, params):
    seen["questions"].append(params.message)
    return types.ElicitResult(action="accept", content={"approve": True})


async def on_progress(done, total, message):
    seen["progress"].append({"progress": done, "message": message})


def plain(result):
    return result.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main():
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with Client(server, mode=mode, elicitation_callback=answer,
                      client_info=types.Implementation(name="py", version="1")) as client:
        seen["server"] = plain(client.server_info) if client.server_info else {}
        seen["version"] = client.protocol_version
        seen["tools"] = [t.name for t in (await client.list_tools()).tools]
        seen["answer"] = plain(await client.call_tool("ask", {"text": "run echo"}, progress_callback=on_progress))
        seen["stored"] = plain(await client.call_tool("memory_store", {
            "kind": "fact", "subject": "sdk", "content": "The SDK was here."}))
        seen["recalled"] = plain(await client.call_tool("memory_recall", {"query": "sdk"}))
        heard = asyncio.Event()

        async def begun(*_):
            heard.set()
        hung = asyncio.create_task(client.call_tool("ask", {"text": "hang"}, progress_callback=begun))
        await heard.wait()
        hung.cancel()
        try:
            await hung
            seen["cancelled"] = "answered"
        except asyncio.CancelledError:
            seen["cancelled"] = "cancelled"
        seen["after"] = plain(await client.call_tool("ask", {"text": "still there?"}))
        try:
            await client.call_tool("no-such-tool", {})
            seen["bad"] = "answered"
        except MCPError as e:
            seen["bad"] = e.error.code
    print(json.dumps(seen))


asyncio.run(main())
