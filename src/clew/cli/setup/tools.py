"""`tools`: what a server would offer, and what it costs a model to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clew.catalog.faces import FACES
from clew.cli.core.app import command
from clew.cli.core.options import face_option, flag, repeatable
from clew.kit.outcome import Outcome, Table
from clew.program import offered_tools

if TYPE_CHECKING:
    from clew.catalog.model import Tool


@command()
@face_option("Server to list.")
@repeatable("--toolsets", "Groups of tools, or all.", metavar="LIST")
@repeatable("--tools", "names", "Only these tools.", metavar="LIST")
@repeatable("--exclude-tools", "Exclude these tools.", metavar="LIST")
@flag("--extended", "Include Clew's own tools beside the face's.")
@flag("--read-only", "Only read-only tools.")
@flag("--all", "everything", "List every tool.")
def tools(face: str, *, everything: bool, **chosen: tuple[str, ...] | bool) -> Outcome:
    """List the tools that a server would offer."""
    chosen["tools"] = chosen.pop("names")
    if everything and not (chosen["toolsets"] or chosen["tools"]):
        chosen["toolsets"] = ("all",)
    options = {
        key: ",".join(value) if isinstance(value, tuple) else "1"
        for key, value in chosen.items()
        if value
    }
    offered = offered_tools(FACES[face], options)
    rows = [_row(name, tool) for name, tool in offered.items()]
    tokens = sum(shown_tokens(name, tool) for name, tool in offered.items())
    table = Table.of("tool:name toolset effect tokens description", rows)
    summary = f"{len(rows)} tools, about {tokens} tokens for a model to read."
    return Outcome({"face": face, "tools": rows, "tokens": tokens}, (table, summary))


def _row(name: str, tool: Tool) -> dict[str, object]:
    return {
        "name": name,
        "toolset": tool.toolset,
        "effect": _effect(tool),
        "tokens": shown_tokens(name, tool),
        "description": tool.description,
    }


def _effect(tool: Tool) -> str:
    if tool.read_only:
        return "reads"
    return "ends" if tool.annotations["destructiveHint"] else "writes"


def shown_tokens(name: str, tool: Tool) -> int:
    """What hosts show a model of a tool, at four characters a token."""
    shown = {"name": name, "description": tool.description, "inputSchema": tool.input_schema}
    return len(json.dumps(shown, separators=(",", ":"))) // 4
