"""The product's path: a declared tool beside all others, found, checked and run by the catalogue."""

from __future__ import annotations

import sys

from clew.catalog.faces import FACES
from clew.catalog.model import READS, STRING, Tool, object_schema, string
from clew.catalog.selection import select_tools
from clew.catalog.service import CatalogService
from clew.kit.answer import Answer
from clew.kit.call import Call
from clew.program import all_tools
from clew.protocol.kernel.kernel import Kernel
from clew.protocol.stdio.server import serve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject


def echo(arguments: JsonObject, call: Call) -> Answer:
    """What was said."""
    return Answer(arguments["text"], data={"result": arguments["text"]})


ECHO = Tool(
    "echo",
    "Echo",
    title="Echo",
    face="clew",
    toolset="guide",
    effect=READS,
    handler=echo,
    properties={"text": string("What to say")},
    required=("text",),
    output=object_schema({"result": STRING}, "result"),
)

if __name__ == "__main__":
    face = FACES["clew"]
    offered = select_tools(face, {"toolsets": "all"}, (*all_tools(), ECHO))
    sys.exit(serve(Kernel(CatalogService(face, offered))))
