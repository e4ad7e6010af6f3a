"""What is known about an address: every record of it, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clew.commands.files.declarations import nearest
from clew.commands.files.disk import read_text
from clew.commands.files.errors import CommandFailure, CommandNotFound, ExecutionFailure
from clew.commands.files.layers import DEFAULT_AGENT, configured_label
from clew.commands.files.templates import Home, file_name, find_home, readings, variants
from clew.commands.model import Command
from clew.commands.registry.registry import load_commands
from clew.commands.registry.registry_file import record_of
from clew.commands.render.render import names_in
from clew.kit.errors import ClewError
from clew.kit.text.frontmatter import read_leniently


def describe(
    address: tuple[str, str, str],
    agent: str = DEFAULT_AGENT,
    settings: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Every record of this very address; an empty list when there is none."""
    commands = load_commands(agent, settings)
    if not any(command.address == address for command in commands):
        commands = load_commands(agent, settings, fresh=True)
    for owner, same in readings(agent, address):
        if owner != agent:
            continue
        found = [command for command in commands if command.address == same]
        if found:
            home = find_home(agent, same, settings)
            return [_described(command, home) for command in found]
    return []


def _described(command: Command, home: Home | None) -> dict[str, Any]:
    found = {**record_of(command), **(command.record or {})}
    found["description"] = command.description
    if command.title:
        found["title"] = command.title
    found["origin"] = command.origin
    found["variables"] = _template_names(home)
    found["variants"] = [
        {"edition": edition, "adaptation": adaptation} if adaptation else {"edition": edition}
        for edition, adaptation in (variants(home.directory) if home else ())
    ]
    return found


def _template_names(home: Home | None) -> list[str]:
    """The names that a command's default template asks for."""
    try:
        template = home.template() if home else None
        return names_in(read_leniently(read_text(template.path))[1]) if template else []
    except ClewError:
        return []


def explain_miss(
    agent: str, address: tuple[str, str, str], settings: Mapping[str, str] | None
) -> CommandFailure:
    """The failure for an address that has no template anywhere."""
    labels: list[str] = []
    for owner, same in readings(agent, address):
        try:
            commands = load_commands(owner, settings)
        except CommandFailure as failure:
            if owner == agent:
                return failure
            continue
        listed = next((command for command in commands if command.address == same), None)
        if listed is not None:
            return _without_template(listed)
        labels += [_label(command, agent) for command in commands]
    near = nearest(" ".join(address), labels)
    hint = f"Did you mean {' or '.join(near)}?" if near else "See: clew command list"
    return CommandNotFound(address, hint, near)


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
