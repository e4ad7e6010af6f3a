"""Why a command was not found, and what the caller may have meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.commands.failures import CommandFailure, CommandNotFound, ExecutionFailure
from clew.commands.names import nearest
from clew.commands.registry import load_commands
from clew.commands.templates import file_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.commands.execute import Request


def explain_miss(request: Request, settings: Mapping[str, str] | None) -> CommandFailure:
    """The failure for an address that has no template anywhere."""
    try:
        commands = load_commands(request.agent, settings)
    except CommandFailure as failure:
        return failure
    known = {command.address: command for command in commands}
    if request.address in known:
        where = known[request.address].source
        return ExecutionFailure(
            request.label,
            f"Template not found: {'/'.join(request.address)}/{file_name('default')}",
            f"It is listed in {where}. Write the template: clew command new {request.label}",
        )
    near = nearest(request.label, (command.label for command in commands))
    hint = f"Did you mean {' or '.join(near)}?" if near else "See: clew command list"
    return CommandNotFound(request.address, hint, near)
