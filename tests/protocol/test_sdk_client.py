"""The official client connects, lists and calls, in all three of its modes."""

from __future__ import annotations

import asyncio
import sys

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.support.client import CLARIAD
from tests.support.http import EVERYTHING_HTTP, http_server

MODES = ("legacy", "2026-07-28", "auto")


async def use(transport, mode):
    """What a client sees of a server: its tool names and the answer of one call."""
    async with Client(transport, mode=mode) as client:
        listed = await client.list_tools()
        names = [tool.name for tool in listed.tools]
        if "greet" in names:
            called = await client.call_tool("greet", {"name": "Ada"})
        else:
            arguments = {"operation_name": "Job", "duration_seconds": 0}
            called = await client.call_tool("long_running_operation", arguments)
        return names, called.content[0].text


@pytest.mark.parametrize("mode", MODES)
def test_on_stdio(mode):
    parameters = StdioServerParameters(command=CLARIAD[0], args=list(CLARIAD[1:]))
    names, text = asyncio.run(use(stdio_client(parameters, errlog=sys.__stderr__), mode))
    assert names == ["vision_agent", "architecture_agent", "long_running_operation"]
    assert text.startswith("Completed Job")


@pytest.mark.parametrize("mode", MODES)
def test_on_http(mode):
    with http_server(EVERYTHING_HTTP) as server:
        names, text = asyncio.run(use(streamable_http_client(server.url), mode))
    assert "slow_compute" in names
    assert text == "Hello, Ada!"
