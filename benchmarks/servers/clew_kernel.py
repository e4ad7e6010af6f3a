"""Clew's kernel with the same one tool as the minimal loop, and nothing else."""

from __future__ import annotations

import sys

from clew.kit.answer import Answer
from clew.kit.call import Call
from clew.protocol.kernel.kernel import Kernel
from clew.protocol.service import Service, UnknownTool
from clew.protocol.stdio.server import serve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Echo(Service):
    """One tool that says what it was told."""

    name = "kernel"

    def tools(self) -> list[JsonObject]:
        """The one tool."""
        return [{"name": "echo", "description": "Echo", "inputSchema": SCHEMA}]

    def check_call(self, name: str, arguments: JsonObject, call: Call) -> JsonObject:
        """Only the name is checked, as in the minimal loop."""
        if name != "echo":
            raise UnknownTool(f"Unknown tool: {name}")
        return arguments

    def call_tool(self, name: str, arguments: JsonObject, call: Call) -> Answer:
        """What was said."""
        return Answer(arguments["text"], data={"result": arguments["text"]})


if __name__ == "__main__":
    sys.exit(serve(Kernel(Echo())))
