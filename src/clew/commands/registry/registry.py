"""The registry of an agent: files and live prompts of all layers, merged and kept fresh."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from clew.commands.files import paths
from clew.commands.files.errors import RegistryFailure
from clew.commands.files.layers import (
    CONFIG_FILES,
    DEFAULT_AGENT,
    PACKAGED,
    USER,
    find_layers,
    registries,
    registry_file,
    registry_path,
)
from clew.commands.files.names import is_name
from clew.commands.registry import scan as live
from clew.commands.registry.registry_file import read_registry
from clew.kit.errors import ClewError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clew.commands.files.layers import Layer
    from clew.commands.model import Command
    from clew.commands.registry.scan import Declared, Folder

T = TypeVar("T")
# Looking whether anything changed may take this part of the time.
_SHARE = 20


@dataclass(frozen=True)
class Broken:
    """A file that cannot be used, and why."""

    path: str
    details: str


@dataclass(frozen=True)
class Registry:
    """What an agent's commands were when the disk was last read."""

    commands: tuple[Command, ...] = ()
    hidden: tuple[Command, ...] = ()
    broken: tuple[Broken, ...] = ()
    failure: RegistryFailure | None = None


class Shelf:
    """One agent's registry in one project, read again when files changed."""

    def __init__(self, agent: str, settings: Mapping[str, str] | None) -> None:
        self.agent = agent
        self.settings = dict(settings or {})
        self._lock = threading.Lock()
        self._registry: Registry | None = None
        self._stamp: object = None
        self._next_look = 0.0
        self._read: dict[str, tuple[object, Declared]] = {}
        self._prepared: dict[object, Any] = {}

    def registry(self, *, fresh: bool = False) -> Registry:
        """The registry; the disk is looked at unless that was done a moment ago."""
        with self._lock:
            if self._registry is None or fresh or time.monotonic() >= self._next_look:
                self._look()
            assert self._registry is not None
            return self._registry

    def known(self) -> list[Command]:
        """What was read last, without looking at the disk unless nothing was read yet."""
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
        layers = find_layers(self.settings)
        listed, broken = registries(layers)
        folders = [f for layer in layers for f in live.find_folders(layer, self.agent, listed)]
        files = _registry_stamps(layers, self.agent, listed)
        stamp = (files, tuple((f.layer.origin, f.directory, f.stamps) for f in folders))
        if self._registry is None or stamp != self._stamp:
            self._registry = self._built(layers, listed, folders, broken)
            self._stamp, self._prepared = stamp, {}
        now = time.monotonic()
        self._next_look = now + _SHARE * (now - started)

    def _built(
        self,
        layers: tuple[Layer, ...],
        listed: Mapping[str, str],
        folders: list[Folder],
        broken: list[tuple[str, str]],
    ) -> Registry:
        troubles = [Broken(path, details) for path, details in broken]
        failure = None
        shown: list[Command] = []
        hidden: list[Command] = []
        found_file = False
        for layer in layers:
            records: list[Command] = []
            try:
                read = _layer_records(layer, self.agent, listed)
            except RegistryFailure as error:
                failure = failure or error
                troubles.append(Broken(error.body["path"], error.body["details"]))
                read = None
            if read is not None:
                found_file = True
                records, problems, path = read
                troubles += [Broken(path, problem) for problem in problems]
            declared = [self._declared(f) for f in folders if f.layer is layer]
            troubles += [Broken(d.command.source, d.problem) for d in declared if d.problem]
            taken = {command.address for command in shown}
            for command in merged(records, [d.command for d in declared]):
                (hidden if command.address in taken else shown).append(command)
        if failure is None and not found_file and not shown:
            failure = _no_registry(self.agent, listed)
        return Registry(tuple(shown), tuple(hidden), tuple(troubles), failure)

    def _declared(self, folder: Folder) -> Declared:
        known = self._read.get(folder.directory)
        if known is None or known[0] != folder.stamps:
            known = (folder.stamps, live.read_folder(folder, self.agent))
            self._read[folder.directory] = known
        return known[1]


def _layer_records(
    layer: Layer, agent: str, listed: Mapping[str, str]
) -> tuple[list[Command], list[str], str] | None:
    if layer.origin == PACKAGED:
        return None
    named = registry_path(agent, listed)
    shown = f"~/{named}" if layer.origin == USER and not named.startswith("/") else named
    try:
        path = registry_file(layer, named)
        read = read_registry(path, agent, layer.origin)
    except RegistryFailure as error:
        raise RegistryFailure(shown, error.body["details"], error.hint or "") from None
    except ClewError as error:
        raise RegistryFailure(shown, error.message, error.hint or "") from None
    return None if read is None else (*read, path)


def _registry_stamps(
    layers: tuple[Layer, ...], agent: str, listed: Mapping[str, str]
) -> tuple[object, ...]:
    named = registry_path(agent, listed)
    files = [paths.join(layer.root, name) for layer in layers for name in CONFIG_FILES]
    for layer in layers:
        try:
            files.append(registry_file(layer, named))
        except ClewError:
            continue
    return tuple(paths.stamp(path) for path in files)


def _no_registry(agent: str, listed: Mapping[str, str]) -> RegistryFailure:
    path = registry_path(agent, listed)
    hint = (
        f"Agents here: {', '.join(listed)}. Write the file, or name its path in {CONFIG_FILES[0]}."
    )
    return RegistryFailure(path, "File not found", hint)


def merged(records: list[Command], declared: list[Command]) -> list[Command]:
    """A layer's commands: the file's records, completed by the templates, then the other ones.

    The file wins where both speak, because whoever edits it expects that to count; lint tells
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


_shelves: dict[tuple[str, str], Shelf] = {}
_shelves_lock = threading.Lock()
_MOST_SHELVES = 64


def shelf(agent: str, settings: Mapping[str, str] | None = None) -> Shelf:
    """The shelf of an agent in the project that these settings name."""
    if not is_name(agent):
        path = ".agent/<agent>/registry.json"
        raise RegistryFailure(path, "Not a usable agent name", "Leave it out, or write `climpt`.")
    key = (agent, find_layers(settings)[0].root)
    with _shelves_lock:
        if key not in _shelves and len(_shelves) >= _MOST_SHELVES:
            _shelves.clear()
        return _shelves.setdefault(key, Shelf(agent, settings))


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
    listed, _ = registries(find_layers(settings))
    return tuple(sorted(filter(is_name, listed), key=lambda agent: (agent != DEFAULT_AGENT, agent)))


def unique(commands: tuple[Command, ...]) -> list[Command]:
    """One command for each address: the first."""
    return list({command.address: command for command in reversed(commands)}.values())[::-1]
