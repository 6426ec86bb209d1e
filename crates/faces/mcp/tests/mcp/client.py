"""Asks a server with the official Python client: client.py MODE TREE COMMAND WORDS…, or over HTTP:
client.py MODE TREE URL TOKEN

MODE is legacy (the handshake of 2025) or auto (discovery, with the handshake as the fallback).
Prints a JSON object for each step: what was asked, and what came back.
"""

import asyncio
import json
import os
import sys
from typing import Any

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

STEPS: list[tuple[str, dict[str, Any]]] = [
    ("sources", {}),
    ("search", {"name": "*.c"}),
    ("search", {"limit": 3}),
    ("top", {"limit": 2}),
    ("content", {"pattern": "TODO"}),
    ("search", {"expression": ["-delete"]}),
]


def server_at(command: str, words: list[str]) -> Any:
    if not command.startswith("http://"):
        return StdioServerParameters(command=command, args=words, env=dict(os.environ))
    client = httpx2.AsyncClient(headers={"Authorization": f"Bearer {words[0]}"}, timeout=120)
    return streamable_http_client(command, http_client=client)


async def ask(mode: str, tree: str, command: str, words: list[str]) -> None:
    server = server_at(command, words)
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        show("tools/list", {}, [tool.name for tool in tools.tools])
        for name, arguments in STEPS:
            if name != "sources":
                arguments = {"paths": [tree], **arguments}
            result = await client.call_tool(name, arguments)
            while True:
                content = result.structured_content
                text = "" if content else result.content[0].text
                show(name, arguments, content or {"error": text})
                if not content or not content.get("cursor"):
                    break
                name, arguments = "more", {"cursor": content["cursor"], "limit": 3}
                result = await client.call_tool(name, arguments)


def show(name: str, arguments: dict[str, Any], answer: Any) -> None:
    print(json.dumps({"tool": name, "arguments": arguments, "answer": answer}))


if __name__ == "__main__":
    asyncio.run(ask(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
