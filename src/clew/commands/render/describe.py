"""What is known about an address: every record of it, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from os.path import join
from typing import Any

from clew.commands.files.declarations import nearest
from clew.commands.files.disk import read_text
from clew.commands.files.errors import CommandFailure, CommandNotFound, ExecutionFailure
from clew.commands.files.layers import DEFAULT_AGENT, configured_label, find_layers
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
    failed: CommandFailure | None = None
    for owner, same in readings(agent, address):
        try:
            commands = load_commands(owner, settings)
        except CommandFailure as failure:
            failed = failed or (failure if owner == agent else None)
            continue
        listed = next((command for command in commands if command.address == same), None)
        if listed is not None:
            return _without_template(listed, settings)
        labels += [_label(command, agent) for command in commands]
    if failed and not labels:
        return failed
    near = nearest(" ".join(address), labels)
    hint = f"Did you mean {' or '.join(near)}?" if near else "See: clew command list"
    return CommandNotFound(address, hint, near)


def _without_template(command: Command, settings: Mapping[str, str] | None) -> ExecutionFailure:
    """The failure that names the file to write, and the layer that has a prompt of that name."""
    label = configured_label(command.agent, command.address)
    layers = find_layers(settings)
    own = next(layer for layer in layers if layer.origin == command.origin)
    c1, c2, c3 = command.address
    place = own.prompt_directories(command.agent, c1)[0].prompts
    hint = f"It is listed in {command.source}. Write the file: clew command new {label}"
    for layer in layers[layers.index(own) + 1 :]:
        if find_home(command.agent, command.address, {**(settings or {}), "layer": layer.origin}):
            hint += f". The {layer.origin} prompt of that name: --layer {layer.origin}"
    return ExecutionFailure(
        label, f"Template not found: {join(place, c2, c3, file_name('default'))}", hint
    )


def _label(command: Command, agent: str) -> str:
    """How a caller who named this agent writes the command's address."""
    own = command.agent == agent
    return command.label if own else configured_label(command.agent, command.address)
