"""Where a registry file and the templates differ, and what the templates alone declare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from os.path import dirname, isfile, join
from typing import Any

from clew.commands.files.disk import directories
from clew.commands.files.errors import RegistryFailure
from clew.commands.files.layers import HOME, PACKAGED, PROJECT, Layer, configured_label, find_layers
from clew.commands.model import Command
from clew.commands.registry.registry_file import read_registry
from clew.commands.registry.scan import Folder, find_folders, read_folder
from clew.kit.errors import ClewError

_EXPORT = "Regenerate the file: clew command export"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: what, how bad, where, and what to do."""

    code: str
    level: str
    where: str
    message: str
    fix: str = ""

    def record(self) -> dict[str, str]:
        """The finding for programs."""
        return asdict(self)


def drift(agent: str, settings: Mapping[str, str] | None = None) -> list[Finding]:
    """Where the registry files of an agent and its templates differ."""
    found: list[Finding] = []
    for layer in find_layers(settings):
        if layer.origin != PACKAGED:
            found += registry_findings(layer, agent, list(find_folders(layer, agent)))
    return found


def from_templates(
    commands: Iterable[Command], agent: str, settings: Mapping[str, str] | None
) -> list[Command]:
    """The same commands, read from their templates; those that have none are left out."""
    declared = {
        (layer.origin, folder.address): read_folder(folder, agent)
        for layer in find_layers(settings)
        for folder in find_folders(layer, agent)
    }
    found = []
    for command in commands:
        own = declared.get((command.origin, command.address))
        if own is not None:
            # A template without frontmatter declares nothing, so the registry's record is kept.
            found.append(own.command if own.has_frontmatter else command)
    return found


def registry_findings(
    layer: Layer, agent: str, folders: list[Folder], within: tuple[str, ...] = ()
) -> Iterator[Finding]:
    """The differences between a layer's registry file and its templates."""
    yield from _unlisted_agents(layer)
    try:
        path = layer.registry_file(agent)
        read = read_registry(path, agent, layer.origin)
    except RegistryFailure as error:
        yield Finding("registry-broken", "error", error.body["path"], error.body["details"])
        return
    except ClewError as error:
        yield Finding("config-broken", "error", layer.base, error.message, error.hint or "")
        return
    if read is None:
        return
    records, problems = read
    yield from (Finding("registry-record", "error", path, problem) for problem in problems)
    yield from _duplicates(path, records)
    chosen = [record for record in records if record.address[: len(within)] == within]
    by_address = {folder.address: folder for folder in folders}
    for record in chosen:
        folder = by_address.get(record.address)
        if folder is None:
            text = (
                f"{record.label} is listed, but has no template: it can be found but not rendered"
            )
            label = configured_label(agent, record.address)
            fix = f"Write it (clew command new {label}), or export the registry again."
            yield Finding("template-missing", "error", path, text, fix)
        else:
            yield from _differences(path, record, folder, agent)
    known = {record.address for record in chosen}
    for folder in folders:
        if folder.address not in known:
            text = f"{' '.join(folder.address)} has a template, but is not listed"
            yield Finding("registry-unlisted", "warning", path, text, _EXPORT)


def _duplicates(path: str, records: list[Command]) -> Iterator[Finding]:
    seen: set[tuple[str, str, str]] = set()
    for record in records:
        if record.address in seen:
            text = f"{record.label} is listed more than once; search uses the first"
            yield Finding("registry-duplicate", "warning", path, text, _EXPORT)
        seen.add(record.address)


def _differences(path: str, record: Command, folder: Folder, agent: str) -> Iterator[Finding]:
    declared = read_folder(folder, agent)
    if not declared.has_frontmatter:
        return
    for name, ours, theirs in _compared(record, declared.command):
        if ours != theirs:
            text = f"{record.label}: {name} differs from the template's frontmatter"
            yield Finding("registry-drift", "warning", path, text, _EXPORT)
    there = declared.command.options
    for kind in ("edition", "adaptation"):
        for name in getattr(record.options, kind):
            if name not in getattr(there, kind) and name != "default":
                text = f"{record.label}: {kind} `{name}` is listed, but has no file"
                yield Finding(f"{kind}-missing", "error", path, text, _EXPORT)


def _compared(record: Command, own: Command) -> Iterator[tuple[str, Any, Any]]:
    yield "description", record.description, own.description
    if record.usage:
        yield "usage", record.usage, own.usage
    for flag in ("file", "stdin", "destination"):
        yield flag, getattr(record.options, flag), getattr(own.options, flag)
    yield "uv", {v.name for v in record.variables}, {v.name for v in own.variables}


def _unlisted_agents(layer: Layer) -> Iterator[Finding]:
    if layer.origin != PROJECT:
        return
    agents = join(layer.root, dirname(HOME))
    for name in directories(agents):
        path = join(agents, name, "registry.json")
        if name not in layer.listed and isfile(path):
            text = f"{path} exists, but no configuration lists the agent `{name}`"
            yield Finding(
                "agent-unlisted", "warning", path, text, f"Add it to {HOME}/mcp/config.json"
            )
