"""What a caller needs for each tool: a scope by what the tool does, and a reach by what it reads.

The index knows repositories, so a question to it shows what the caller may see. A tool that reads
the server's checkout is for those who may see that repository. Everything else on the server's
machine (transcripts, conversations, commands, its health) belongs to whoever runs the server.
"""

from __future__ import annotations

from typing import NamedTuple

from clew.catalog.model import Tool
from clew.kit.errors import Invalid

SCOPES = ("read", "write", "work", "admin")  # each includes those before it
INDEX, PROJECT, MACHINE = "index", "project", "machine"
_REACH_OF_TOOLSET = {
    "guide": MACHINE,
    "history": INDEX,
    "specs": PROJECT,
    "work": PROJECT,
    "commands": MACHINE,
    "advisors": MACHINE,
    "thread": PROJECT,
    "sessions": MACHINE,
}
_REACH_OF_TOOL = {
    "clew_guide": INDEX,  # texts that everybody has
    "long_running_operation": INDEX,  # waits, and reads nothing
    "commitmux_search_memory": MACHINE,  # notes of agents in the server's home
}


class Need(NamedTuple):
    """What a call needs."""

    scope: str
    reach: str


def need_of(tool: Tool) -> Need:
    """What a call of this tool needs; a tool of a room that has no rule here is refused."""
    reach = _REACH_OF_TOOL.get(tool.prefixed_name) or _REACH_OF_TOOLSET.get(tool.toolset)
    if reach is None:
        raise Invalid(f"Nobody said who may call {tool.prefixed_name}", "Say it in needs.py.")
    if reach == MACHINE:
        return Need("admin", reach)
    if tool.read_only:
        return Need("read", reach)
    return Need("work" if tool.toolset == "work" else "write", reach)


def rank(scope: str) -> int:
    """How much a scope includes; of none, nothing."""
    return SCOPES.index(scope) if scope in SCOPES else -1


def check_scope(scope: str) -> str:
    """The scope, if it is one."""
    if scope not in SCOPES:
        raise Invalid(f"Not a scope: {scope}", f"Scopes: {', '.join(SCOPES)}.")
    return scope
