"""Why a command was not found, and what the caller may have meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.commands.files.errors import CommandFailure, CommandNotFound, ExecutionFailure
from clew.commands.files.layers import configured_label
from clew.commands.files.names import nearest
from clew.commands.files.templates import file_name, readings
from clew.commands.registry.registry import load_commands

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.commands.model import Command
    from clew.commands.render.execute import Request


def explain_miss(request: Request, settings: Mapping[str, str] | None) -> CommandFailure:
    """The failure for an address that has no template anywhere."""
    labels: list[str] = []
    for agent, address in readings(request.agent, request.address):
        try:
            commands = load_commands(agent, settings)
        except CommandFailure as failure:
            if agent == request.agent:
                return failure
            continue
        listed = next((command for command in commands if command.address == address), None)
        if listed is not None:
            return _without_template(listed)
        labels += [_label(command, request.agent) for command in commands]
    near = nearest(" ".join(request.address), labels)
    hint = f"Did you mean {' or '.join(near)}?" if near else "See: clew command list"
    return CommandNotFound(request.address, hint, near)


def _without_template(command: Command) -> ExecutionFailure:
    label = configured_label(command.agent, command.address)
    return ExecutionFailure(
        label,
        f"Template not found: {'/'.join(command.address)}/{file_name('default')}",
        f"It is listed in {command.source}. Write the template: clew command new {label}",
    )


def _label(command: Command, agent: str) -> str:
    """How a caller who named this agent writes the command's address."""
    own = command.agent == agent
    return command.label if own else configured_label(command.agent, command.address)
