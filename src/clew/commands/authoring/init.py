"""Putting the packaged commands into a project, where they can be changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from clew.commands.authoring.write import write_template
from clew.commands.files import paths
from clew.commands.files.layers import (
    CONFIG_FILES,
    DEFAULT_AGENT,
    DEFAULT_REGISTRIES,
    PACKAGED,
    find_layers,
)
from clew.commands.registry import scan as live
from clew.commands.registry.registry import shelf, unique
from clew.commands.registry.registry_file import write_registry
from clew.kit import jsontext
from clew.kit.files import write_atomic

if TYPE_CHECKING:
    from collections.abc import Mapping


def install(settings: Mapping[str, str] | None = None, *, force: bool = False) -> dict[str, object]:
    """Write the packaged templates, a configuration and a registry; what exists stays."""
    layers = find_layers(settings)
    project, packaged = layers[0], next(la for la in layers if la.origin == PACKAGED)
    written: list[str] = []
    kept: list[str] = []
    for folder in live.find_folders(packaged, DEFAULT_AGENT, {}):
        for name, _, _ in folder.stamps:
            target = paths.join(project.base, "prompts", *folder.address, name)
            if paths.exists(target) and not force:
                kept.append(target)
                continue
            text = paths.read_text(paths.join(folder.directory, name))
            write_template(project, target, text, force=force)
            written.append(target)
    config = paths.join(project.root, CONFIG_FILES[0])
    if not paths.exists(config):
        write_atomic(Path(config), jsontext.pretty({"registries": DEFAULT_REGISTRIES}) + "\n")
        written.append(config)
    registry = paths.join(project.root, DEFAULT_REGISTRIES[DEFAULT_AGENT])
    if not paths.exists(registry) or force:
        commands = unique(shelf(DEFAULT_AGENT, settings).registry(fresh=True).commands)
        write_registry(registry, (c for c in commands if c.origin == project.origin))
        written.append(registry)
    return {"project": project.root, "written": written, "kept": kept}
