"""Everything about one command: its records, and what its template really asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.commands.files import frontmatter, paths
from clew.commands.files.layers import DEFAULT_AGENT
from clew.commands.files.names import is_name
from clew.commands.files.templates import choose, find_home, readings, variants
from clew.commands.registry.registry import load_commands
from clew.commands.registry.registry_file import record_of
from clew.commands.render.render import names_in
from clew.kit.errors import ClewError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.commands.files.templates import Home
    from clew.commands.model import Command


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
            home = find_command_home(agent, same, settings)
            return [_described(command, home) for command in found]
    return []


def find_command_home(
    agent: str, address: tuple[str, str, str], settings: Mapping[str, str] | None
) -> Home | None:
    """Where the templates of a command are; None for names that no path may hold."""
    if not is_name(agent) or not all(map(is_name, address)):
        return None
    return find_home(agent, address, settings)


def _described(command: Command, home: Home | None) -> dict[str, Any]:
    found = {**record_of(command), **(command.record or {})}
    found["description"] = command.description
    if command.title:
        found["title"] = command.title
    found["origin"] = command.origin
    found["variables"] = template_names(home)
    found["variants"] = _variants(home)
    return found


def template_names(home: Home | None) -> list[str]:
    """The names that a command's default template asks for."""
    try:
        template = choose(home, "", "", strict=False) if home else None
        if template is None:
            return []
        _, body, _ = frontmatter.split(paths.read_text(template.path))
    except ClewError:
        return []
    return names_in(body)


def _variants(home: Home | None) -> list[dict[str, str]]:
    found = []
    for edition, adaptation in variants(home.directory) if home else ():
        found.append(
            {"edition": edition, "adaptation": adaptation} if adaptation else {"edition": edition}
        )
    return found
