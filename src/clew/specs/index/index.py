"""All specs at once: heads kept in memory and on disk, checked against the files.

Three ways to know that nothing changed, the cheapest first: the kernel reports no event (in a
process that serves many requests), each file's stat is as it was, or the file is read.
See the README.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import insort
from collections.abc import Iterable

from clew.kit.paths import ARCHIVE, SPECS, ProjectPaths
from clew.specs.files.ids import sort_key
from clew.specs.files.parse import Identity, Unreadable, make_spec, read_file, unreadable
from clew.specs.index import cache_file
from clew.specs.index.cache_file import Entry, no_collection
from clew.specs.index.graph import Graph
from clew.specs.index.inotify import Watch
from clew.specs.model import Head, Problem

_FULL_LOOK_SECONDS = 10.0  # what inotify cannot see: writes through memory maps and hard links
_CHEAP_READS = 16  # up to this many reads, or one file in a hundred, are cheaper than saving


class Snapshot:
    """All specs at one moment, never changed: a request takes one and uses nothing else.

    `generation` is another number whenever anything is different.
    """

    def __init__(self, generation: int, heads: list[Head], problems: list[Problem]) -> None:
        self.generation = generation
        self.active = [head for head in heads if not head.archived]
        self.archived = [head for head in heads if head.archived]
        self.by_id = {head.id: head for head in heads}
        self.ids = [head.id for head in self.active]
        self.archived_ids = [head.id for head in self.archived]
        self.problems = problems
        self._graph: Graph | None = None

    def heads(self, *, archived: bool = False) -> list[Head]:
        """The active specs in order and, if asked for, the archived ones after them."""
        return self.active + self.archived if archived else self.active

    def graph(self) -> Graph:
        """What waits for what; worked out once."""
        if self._graph is None:
            from clew.specs.index.graph import Graph

            self._graph = Graph(self.active + self.archived)
        return self._graph


class Index:
    """The specs of one project, always as their files are now."""

    def __init__(self, paths: ProjectPaths) -> None:
        self._paths = paths
        self._guard = threading.RLock()
        self._entries: dict[str, Entry] | None = None
        self._snapshot = Snapshot(0, [], [])
        self._watch: Watch | None = None
        self._watchable = False
        self._roots: list[tuple[int, int] | None] = []
        self._looked = 0.0

    def snapshot(self) -> Snapshot:
        """All specs as they are now."""
        with self._guard:
            changed = self._reported()
            if changed is None:
                with no_collection():
                    self._look_at_all()
            elif changed:
                self._look_at(changed)
            return self._snapshot

    def start_watching(self) -> None:
        """Let the kernel report changes from the next look on."""
        with self._guard:
            self._watchable = True

    def close(self) -> None:
        """Stop watching; what is known stays."""
        with self._guard:
            self._watchable = False
            if self._watch is not None:
                self._watch.close()
                self._watch = None

    def _reported(self) -> set[str] | None:
        """The files that the watch reports; None where all must be looked at."""
        watch = self._watch
        if watch is None or not watch.is_ours or self._root_identities() != self._roots:
            return None
        if time.monotonic() - self._looked > _FULL_LOOK_SECONDS:
            return None
        return watch.changed_files()

    def _root_identities(self) -> list[tuple[int, int] | None]:
        return [_directory_identity(p) for p in (self._paths.specs, self._paths.archive)]

    def _look_at_all(self) -> None:
        known = cache_file.load(self._paths) if self._entries is None else self._entries
        self._start_watch()
        self._looked = time.monotonic()
        self._roots = self._root_identities()
        look = _Look(self._paths, known, self._watch)
        look.scan(SPECS, archived=False)
        look.scan(ARCHIVE, archived=True)
        if look.watch_failed:
            self.close()
        self._take(known, look)
        if len(look.read) > _CHEAP_READS + len(look.entries) // 100:
            self._save(look.entries)

    def _save(self, entries: dict[str, Entry]) -> None:
        """Write the entries down in the order of the ids, so that nobody need sort them again."""
        ordered = [*self._snapshot.active, *self._snapshot.archived]
        if len(ordered) == _count(entries.values()):
            paths = {head.path: None for head in ordered} | dict.fromkeys(entries)
            cache_file.save(self._paths, {path: entries[path] for path in paths})

    def _start_watch(self) -> None:
        if self._watch is not None and self._watch.is_ours:
            self._watch.changed_files()  # what happened until now is about to be seen
        elif self._watchable:
            self._watch = Watch.start(self._paths.chant)
            self._watchable = self._watch is not None

    def _look_at(self, paths: set[str]) -> None:
        known = self._entries or {}
        look = _Look(self._paths, known, None)
        look.entries = dict(known)
        for path in paths:
            look.entries.pop(path, None)
            look.read_one(path, archived=path.startswith(ARCHIVE))
        self._take(known, look)

    def _take(self, old: dict[str, Entry], look: _Look) -> None:
        """Make what was seen the present, and a new snapshot if it says anything new."""
        first, new = self._entries is None, look.entries
        self._entries = new
        changed = {path for path in look.read if path not in old or old[path][5:] != new[path][5:]}
        same = not changed and len(old) == len(new)
        if same and not first:
            return
        before = [*self._snapshot.active, *self._snapshot.archived]
        if first:
            before = [entry[5] for entry in old.values() if entry[5] is not None]
        heads = before if same else _ordered(before, new, changed)
        problems = sorted((e[6] for e in new.values() if e[6]), key=lambda p: p.path)
        heads, doubles = _without_doubles(heads)
        self._snapshot = Snapshot(self._snapshot.generation + 1, heads, problems + doubles)


class _Look:
    """One look at the files: what is known stays, what is different is read."""

    def __init__(self, paths: ProjectPaths, known: dict[str, Entry], watch: Watch | None) -> None:
        self.entries: dict[str, Entry] = {}
        self.read: set[str] = set()
        self.watch_failed = False
        self._root = paths.root
        self._known = known
        self._watch = watch

    def scan(self, root: str, *, archived: bool) -> None:
        """Look at every spec file in and below this directory."""
        waiting = [root]
        while waiting:
            name = waiting.pop()
            path = self._root / name
            if self._watch is not None and path.is_dir():
                self.watch_failed |= not self._watch.add(path, name)
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            except OSError:
                continue
            try:
                waiting += self._scan_one(descriptor, name, archived=archived)
            finally:
                os.close(descriptor)

    def _scan_one(self, descriptor: int, directory: str, *, archived: bool) -> list[str]:
        """Look at one directory's files; gives the directories in it."""
        inner: list[str] = []
        known, entries = self._known, self.entries
        with os.scandir(descriptor) as listing:
            for file in listing:
                path = f"{directory}/{file.name}"
                entry = known.get(path)
                if entry is not None:
                    try:
                        found = file.stat(follow_symlinks=False)
                    except OSError:  # gone since the listing
                        continue
                    if (
                        found.st_ctime_ns == entry[1]
                        and found.st_size == entry[2]
                        and found.st_ino == entry[3]
                        and found.st_mtime_ns == entry[0]
                        and entry[4]
                    ):
                        entries[path] = entry
                        continue
                if file.name.startswith("."):
                    continue
                if file.is_dir(follow_symlinks=False):
                    inner.append(path)
                elif file.name.endswith(".md"):
                    self.read_one(path, archived=archived)
        return inner

    def read_one(self, path: str, *, archived: bool) -> None:
        """Read one file, if it is still there."""
        full = f"{self._root}/{path}"
        now = time.time_ns()
        identity = Identity(0, 0, 0, 0, settled=False)
        entry: Entry
        try:
            raw, identity = read_file(full, now_ns=now)
            entry = (*identity, make_spec(raw, path, identity, archived=archived).head, None)
        except FileNotFoundError:
            return
        except Unreadable as error:
            entry = (*identity, None, error.problem)
        except OSError as error:
            entry = (*identity, None, unreadable(path, error))
        self.entries[path] = entry
        self.read.add(path)


def _directory_identity(path: os.PathLike[str]) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _ordered(before: list[Head], entries: dict[str, Entry], changed: set[str]) -> list[Head]:
    """All heads in order; the order from before is used where little is different."""
    fresh = [head for path in changed if (head := entries[path][5])]
    kept = [h for h in before if h.path in entries and h.path not in changed]
    if len(fresh) > 16 + len(kept) // 16 or len(kept) + len(fresh) < _count(entries.values()):
        return sorted((e[5] for e in entries.values() if e[5]), key=_order)
    active = [head for head in kept if not head.archived]
    archived = [head for head in kept if head.archived]
    for head in fresh:
        insort(archived if head.archived else active, head, key=_order)
    return active + archived


def _count(entries: Iterable[Entry]) -> int:
    return sum(1 for entry in entries if entry[5] is not None)


def _order(head: Head) -> tuple[object, ...]:
    return (head.archived, sort_key(head.id), head.path.count("/"), head.path)


def _without_doubles(heads: list[Head]) -> tuple[list[Head], list[Problem]]:
    """Each id once: the active spec before an archived one, the upper file before a lower one."""
    if len({head.id for head in heads}) == len(heads):
        return heads, []
    seen: dict[str, Head] = {}
    doubles: list[Problem] = []
    for head in heads:
        first = seen.setdefault(head.id, head)
        if first is not head:
            doubles.append(Problem(head.path, None, f"{first.path} has the same id and counts"))
    return list(seen.values()), doubles
