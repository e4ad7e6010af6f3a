"""Reading everything anew, and saying what changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.commands.registry.drift import drift
from clew.commands.registry.registry import shelf, unique, usable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clew.commands.model import Command
    from clew.commands.registry.registry import Broken

_MOST_DRIFT = 100


def reload(agent: str, settings: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Read configuration, registry and prompts of an agent again; what came, went and changed."""
    kept = shelf(agent, settings)
    before = kept.known()
    after = kept.registry(fresh=True)
    commands = unique(usable(after))
    found = {
        "success": True,
        "agent": agent,
        "commandCount": len(commands),
        "message": _message(agent, len(commands)),
        **changes(before, commands),
        "broken": [_shown(broken) for broken in after.broken],
        "drift": [finding.message for finding in drift(agent, settings)][:_MOST_DRIFT],
    }
    if after.hidden:
        found["hidden"] = [f"{c.label} ({c.origin})" for c in unique(after.hidden)]
    return found


def changes(before: Iterable[Command], after: Iterable[Command]) -> dict[str, list[str]]:
    """The labels of commands that were added, removed and changed."""
    old = {command.address: command for command in before}
    new = {command.address: command for command in after}
    return {
        "added": [c.label for address, c in new.items() if address not in old],
        "removed": [c.label for address, c in old.items() if address not in new],
        "changed": [c.label for a, c in new.items() if a in old and old[a] != c],
    }


def _message(agent: str, count: int) -> str:
    if count:
        return f"Successfully reloaded {count} commands for agent '{agent}'"
    return f"No commands found for agent '{agent}' - please check the registry path in MCP config"


def _shown(broken: Broken) -> dict[str, str]:
    return {"path": broken.path, "details": broken.details}
