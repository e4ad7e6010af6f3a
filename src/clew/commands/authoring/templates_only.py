"""Commands as their templates have them now, whatever a registry file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.commands.files.layers import find_layers, registries
from clew.commands.registry import scan as live

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from clew.commands.model import Command


def as_templates_say(
    commands: Iterable[Command], agent: str, settings: Mapping[str, str] | None
) -> list[Command]:
    """The same commands, read from their templates; those that have none are left out."""
    layers = find_layers(settings)
    listed, _ = registries(layers)
    found: dict[tuple[str, tuple[str, str, str]], Command] = {}
    bare: set[tuple[str, tuple[str, str, str]]] = set()
    for layer in layers:
        for folder in live.find_folders(layer, agent, listed):
            declared = live.read_folder(folder, agent)
            key = (layer.origin, folder.address)
            found[key] = declared.command
            if not declared.has_frontmatter:
                bare.add(key)
    told = []
    for command in commands:
        key = (command.origin, command.address)
        if key in found:
            # A template without frontmatter says nothing, so the registry's record stays.
            told.append(command if key in bare else found[key])
    return told
