"""`tools`: what a server would offer, and what it costs a model to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from clew.catalog.faces import FACES
from clew.catalog.registry import TOOLS, select_tools
from clew.cli.frame import command
from clew.kit.outcome import Outcome, Table

if TYPE_CHECKING:
    from clew.catalog.model import Tool


@command()
@click.option("--face", type=click.Choice(list(FACES)), default="clew", help="Whose server.")
@click.option("--toolsets", metavar="LIST", help="Groups of tools, or all.")
@click.option("--read-only", is_flag=True, help="Only tools that read.")
@click.option("--all", "everything", is_flag=True, help="Every declared tool, built or not.")
def tools(face: str, toolsets: str | None, *, read_only: bool, everything: bool) -> Outcome:
    """List the tools that a server would offer."""
    options = {"toolsets": toolsets or ("all" if everything else "")}
    if read_only:
        options["read_only"] = "1"
    known = TOOLS if everything else None
    offered = select_tools(FACES[face], {k: v for k, v in options.items() if v}, known)
    rows = [_row(name, tool) for name, tool in offered.items()]
    tokens = sum(shown_tokens(name, tool) for name, tool in offered.items())
    table = Table(
        ("tool", "toolset", "effect", "tokens", "description"),
        tuple(
            tuple(str(row[key]) for key in ("name", "toolset", "effect", "tokens", "description"))
            for row in rows
        ),
    )
    summary = f"{len(rows)} tools, about {tokens} tokens for a model to read."
    return Outcome({"face": face, "tools": rows, "tokens": tokens}, (table, summary))


def _row(name: str, tool: Tool) -> dict[str, object]:
    return {
        "name": name,
        "toolset": tool.toolset,
        "effect": _effect(tool),
        "tokens": shown_tokens(name, tool),
        "built": tool.handler is not None,
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
