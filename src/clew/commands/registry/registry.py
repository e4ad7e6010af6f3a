"""The registry of an agent: files and templates of all layers, merged and kept fresh."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

from clew.commands.files.declarations import is_name
from clew.commands.files.errors import RegistryFailure
from clew.commands.files.layers import (
    CONFIG_FILES,
    DEFAULT_AGENT,
    PACKAGED,
    USER,
    Layer,
    find_layers,
    project_root,
)
from clew.commands.model import Command
from clew.commands.registry.drift import drift
from clew.commands.registry.registry_file import read_registry
from clew.commands.registry.scan import Declared, Folder, find_folders, read_folder
from clew.kit.errors import ClewError

T = TypeVar("T")
_MOST_DRIFT = 100
# Checking for changes may use a twentieth of the time.
_SHARE = 20


@dataclass(frozen=True)
class Registry:
    """What an agent's commands were when the disk was last read.

    `broken` has the path of every file that cannot be used, and why.
    """

    commands: tuple[Command, ...] = ()
    hidden: tuple[Command, ...] = ()
    broken: tuple[tuple[str, str], ...] = ()
    failure: RegistryFailure | None = None


class Shelf:
    """One agent's registry in one project, read again when files changed."""

    def __init__(self, agent: str, project: str, layer: str = "") -> None:
        self.agent = agent
        self._settings = {"project": project, "layer": layer}
        self._lock = threading.Lock()
        self._registry: Registry | None = None
        self._stamp: object = None
        self._next_look = 0.0
        self._read: dict[str, tuple[object, Declared]] = {}
        self._prepared: dict[object, Any] = {}

    def registry(self, *, fresh: bool = False) -> Registry:
        """The registry; the disk is checked unless that was done a moment ago."""
        with self._lock:
            if self._registry is None or fresh or time.monotonic() >= self._next_look:
                self._look()
            assert self._registry is not None
            return self._registry

    def known(self) -> list[Command]:
        """What was read last; the disk is read only the first time."""
        registry = self._registry or self.registry()
        return unique(registry.commands)

    def prepared(self, prepare: Callable[[tuple[Command, ...]], T]) -> T:
        """What `prepare` makes of the commands as they are now; made once for each state."""
        commands = usable(self.registry())
        with self._lock:
            if prepare not in self._prepared:
                self._prepared[prepare] = prepare(commands)
            found: T = self._prepared[prepare]
            return found

    def _look(self) -> None:
        started = time.monotonic()
        layers = find_layers(self._settings)
        folders = [folder for layer in layers for folder in find_folders(layer, self.agent)]
        files = _registry_stamps(layers, self.agent)
        stamp = (files, tuple((f.layer.origin, f.directory, f.stamps) for f in folders))
        if self._registry is None or stamp != self._stamp:
            self._registry = self._built(layers, folders)
            self._stamp, self._prepared = stamp, {}
        now = time.monotonic()
        self._next_look = now + _SHARE * (now - started)

    def _built(self, layers: tuple[Layer, ...], folders: list[Folder]) -> Registry:
        broken = [broken for layer in layers for broken in layer.broken]
        failure = None
        shown: list[Command] = []
        hidden: list[Command] = []
        found_file = False
        for layer in layers:
            records: list[Command] = []
            try:
                read = _layer_records(layer, self.agent)
            except RegistryFailure as error:
                failure = failure or error
                broken.append((error.body["path"], error.body["details"]))
                read = None
            if read is not None:
                found_file = True
                records, problems = read
                path = layer.registry_file(self.agent)
                broken += [(path, problem) for problem in problems]
            declared = [self._declared(f) for f in folders if f.layer is layer]
            broken += [(d.command.source, d.problem) for d in declared if d.problem]
            taken = {command.address for command in shown}
            for command in merged(records, [d.command for d in declared]):
                (hidden if command.address in taken else shown).append(command)
        if failure is None and not found_file and not _speaks(layers[0], shown):
            failure = _no_registry(self.agent, layers[0])
        return Registry(tuple(shown), tuple(hidden), tuple(broken), failure)

    def _declared(self, folder: Folder) -> Declared:
        known = self._read.get(folder.directory)
        if known is None or known[0] != folder.stamps:
            known = (folder.stamps, read_folder(folder, self.agent))
            self._read[folder.directory] = known
        return known[1]


def _layer_records(layer: Layer, agent: str) -> tuple[list[Command], list[str]] | None:
    if layer.origin == PACKAGED:
        return None
    named = layer.registry_path(agent)
    shown = f"~/{named}" if layer.origin == USER and not named.startswith("/") else named
    try:
        return read_registry(layer.registry_file(agent), agent, layer.origin)
    except ClewError as error:
        details = error.body["details"] if isinstance(error, RegistryFailure) else error.message
        raise RegistryFailure(shown, details, error.hint or "") from None


def _registry_stamps(layers: tuple[Layer, ...], agent: str) -> list[tuple[int, int] | None]:
    files = [os.path.join(layer.root, name) for layer in layers for name in CONFIG_FILES]
    for layer in layers:
        with suppress(ClewError):
            files.append(layer.registry_file(agent))
    return [_stamp(path) for path in files]


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _speaks(strongest: Layer, shown: list[Command]) -> bool:
    """Whether there is something to show: packaged commands do not stand in for a set-up project's."""
    if strongest.origin == PACKAGED or not os.path.isdir(strongest.base):
        return bool(shown)
    return any(command.origin != PACKAGED for command in shown)


def _no_registry(agent: str, layer: Layer) -> RegistryFailure:
    agents = ", ".join(layer.listed)
    hint = (
        f"Agents here: {agents}. Write the file, or name its path in {CONFIG_FILES[0]}. "
        f"Packaged commands: --layer {PACKAGED}."
    )
    return RegistryFailure(layer.registry_path(agent), "File not found", hint)


def merged(records: list[Command], declared: list[Command]) -> list[Command]:
    """A layer's commands: the file's records, completed by the templates, then the other ones.

    The file wins where both speak, because whoever edits it expects that to count; lint reports
    where they differ.
    """
    by_address = {command.address: command for command in declared}
    listed = {record.address for record in records}
    completed = [_completed(record, by_address.get(record.address)) for record in records]
    return [*completed, *(c for c in declared if c.address not in listed)]


def _completed(record: Command, own: Command | None) -> Command:
    if own is None:
        return record
    differs = own.description if own.description != record.description else ""
    return replace(
        record,
        description=record.description or own.description,
        usage=record.usage or own.usage,
        title=record.title or own.title,
        variables=own.variables or record.variables,
        tags=record.tags or own.tags,
        body=f"{differs}\n{own.body}" if differs else own.body,
        source=own.source,
    )


def shelf(agent: str, settings: Mapping[str, str] | None = None) -> Shelf:
    """The shelf of an agent in the project that these settings name."""
    if not is_name(agent):
        path = ".agent/<agent>/registry.json"
        raise RegistryFailure(path, "Not a usable agent name", "Leave it out, or write `climpt`.")
    return _shelf(agent, project_root(settings), (settings or {}).get("layer", ""))


@lru_cache(maxsize=64)
def _shelf(agent: str, project: str, layer: str) -> Shelf:
    return Shelf(agent, project, layer)


def usable(registry: Registry) -> tuple[Command, ...]:
    """The commands of a registry that could be read."""
    if registry.failure is not None:
        raise registry.failure
    return registry.commands


def load_commands(
    agent: str = DEFAULT_AGENT, settings: Mapping[str, str] | None = None, *, fresh: bool = False
) -> tuple[Command, ...]:
    """Every command of an agent, the strongest layer first."""
    return usable(shelf(agent, settings).registry(fresh=fresh))


def known_agents(settings: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The agents that the configuration names."""
    listed = filter(is_name, find_layers(settings)[0].listed)
    return tuple(sorted(listed, key=lambda agent: (agent != DEFAULT_AGENT, agent)))


def unique(commands: tuple[Command, ...]) -> list[Command]:
    """One command for each address: the first."""
    return list({command.address: command for command in reversed(commands)}.values())[::-1]


def reload(agent: str, settings: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Read configuration, registry and prompts of an agent again, and report what changed."""
    known = shelf(agent, settings)
    before = known.known()
    after = known.registry(fresh=True)
    commands = unique(usable(after))
    message = f"Successfully reloaded {len(commands)} commands for agent '{agent}'"
    if not commands:
        message = (
            f"No commands found for agent '{agent}' - please check the registry path in MCP config"
        )
    found = {
        "success": True,
        "agent": agent,
        "commandCount": len(commands),
        "message": message,
        **changes(before, commands),
        "broken": [{"path": path, "details": details} for path, details in after.broken],
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
