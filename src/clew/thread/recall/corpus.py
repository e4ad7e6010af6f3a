"""Specs, logs of runs and documents as one text index, kept up to date by their files.

It lies in Clew's home, holds nothing that is not in those files, and may be deleted at any time.
Where it cannot be written it is kept in memory.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from clew.kit.errors import ClewError
from clew.kit.files import private_directory
from clew.kit.project import clew_home
from clew.kit.sqlite import json_list, open_database, writing
from clew.kit.times import parse_iso
from clew.specs.files.criteria import title_of
from clew.specs.files.ids import date_of
from clew.thread.recall.word_rank import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from clew.specs.model import Head
    from clew.specs.store.store import SpecStore

SPEC, RUN, DOCUMENT = "spec", "run", "document"
_PLACES = {SPEC: 1, RUN: 2, DOCUMENT: 3}
_MIGRATIONS = (
    """
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        version TEXT NOT NULL,
        time INTEGER NOT NULL,
        UNIQUE (kind, key)
    );
    CREATE VIRTUAL TABLE texts USING fts5(title, body, refs)
    """,
)
_SETTLED_NS = 2_000_000_000
_LOOK_SECONDS = 5.0
_LONGEST_LOG = 64 * 1024
_LONGEST_BODY = 200_000
_LARGEST_DOCUMENT = 1024 * 1024
_MOST_DOCUMENTS = 2000
_DEEPEST = 6
_DOCUMENT_ROOTS = ("docs", "doc", "adr", "adrs", "architecture")
_PASSED_BY = frozenset({"node_modules", "vendor", "target", "build", "dist"})
_REFERENCES = ("commits", "origin", "informed_by", "tracks", "target_files", "labels", "branch")
_LINE_TIME = re.compile(r"^\[[^\]]{10,40}\] ", re.MULTILINE)
_MOST_KEPT = 4
_kept: dict[str, Corpus] = {}
_kept_guard = threading.Lock()


class Entry(NamedTuple):
    """One text: its title, its body, the ids and files that it names, and its time."""

    title: str
    body: str
    refs: str
    time: int


@dataclass(frozen=True)
class Known:
    """One text as it is listed: what it is, and when it is from."""

    number: int
    kind: str
    key: str
    time: int


def corpus_of(project: Path) -> Corpus:
    """The corpus of a project; kept open, so that the next question is quick."""
    name = str(project)
    with _kept_guard:
        corpus = _kept.pop(name, None) or Corpus(project)
        _kept[name] = corpus
        while len(_kept) > _MOST_KEPT:
            _kept.pop(next(iter(_kept))).close()
    return corpus


class Corpus:
    """The texts of one project."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._guard = threading.RLock()
        self._connection = _opened(project)
        self._versions: dict[str, dict[str, tuple[int, str]]] = {}
        self._data_version = -1
        self._generation: object = None
        self._looked: dict[str, float] = {}
        self._signs: dict[str, object] = {}

    def close(self) -> None:
        """Give the file back."""
        with self._guard:
            self._connection.close()

    @contextmanager
    def current(self, specs: SpecStore | None, kinds: Iterable[str]) -> Iterator[Corpus]:
        """The corpus, brought up to date with the files of these kinds, for one thread."""
        with self._guard:
            self._take_over()
            wanted = set(kinds)
            if SPEC in wanted and specs is not None:
                self._look_at_specs(specs)
            if RUN in wanted:
                self._look_at_logs()
            if DOCUMENT in wanted:
                self._look_at_documents()
            yield self

    def texts(self, kind: str) -> KindTexts:
        """The texts of one kind, for ranking."""
        return KindTexts(self._connection, kind)

    def known(self, numbers: Sequence[int]) -> dict[int, Known]:
        """What these numbers stand for."""
        rows = self._connection.execute(
            "SELECT e.id, e.kind, e.key, e.time FROM json_each(?) w"
            " CROSS JOIN entries e ON e.id = w.value",
            (json_list(numbers),),
        )
        return {row[0]: Known(*row) for row in rows}

    def naming_commit(self, sha: str) -> list[str]:
        """The specs whose `commits` field has this commit, whole or shortened."""
        shortened = " OR ".join(f'"{sha[:length]}"' for length in range(7, len(sha) + 1))
        rows = self._connection.execute(
            "SELECT e.key FROM texts t JOIN entries e ON e.id = t.rowid"
            " WHERE texts MATCH ? AND e.kind = ? ORDER BY e.key",
            (f"refs : ({shortened})", SPEC),
        )
        return [row[0] for row in rows]

    def _take_over(self) -> None:
        """Notice what another process has written."""
        version = int(self._connection.execute("PRAGMA data_version").fetchone()[0])
        if version == self._data_version:
            return
        self._data_version = version
        self._versions = {kind: {} for kind in _PLACES}
        for row in self._connection.execute("SELECT id, kind, key, version FROM entries"):
            self._versions.setdefault(row[1], {})[row[2]] = (row[0], row[3])
        self._generation = None
        self._signs.clear()

    def _look_at_specs(self, specs: SpecStore) -> None:
        snapshot = specs.snapshot()
        if self._generation is not None and snapshot.generation == self._generation:
            return
        heads = {head.id: head for head in (*snapshot.archived, *snapshot.active)}
        wanted = {name: f"{head.mtime_ns}:{head.size}" for name, head in heads.items()}
        now = time.time_ns()
        young = {name for name, head in heads.items() if head.mtime_ns > now - _SETTLED_NS}

        def load(name: str) -> Entry | None:
            return _spec_entry(specs, heads[name])

        self._update(SPEC, wanted, load, young)
        # What was written just now may change once more without a sign.
        self._generation = None if young else snapshot.generation

    def _look_at_logs(self) -> None:
        directory = self._project / ".chant" / "logs"
        if not self._is_due(RUN, directory):
            return
        files = {
            entry.name.removesuffix(".log"): entry
            for entry in _scanned(directory)
            if entry.name.endswith(".log") and entry.is_file(follow_symlinks=False)
        }
        wanted = {
            name: _version(entry.stat(follow_symlinks=False)) for name, entry in files.items()
        }
        self._update(RUN, wanted, lambda name: _log_entry(Path(files[name].path), name))

    def _look_at_documents(self) -> None:
        files = dict(_documents(self._project))
        wanted = {name: _version(status) for name, status in files.items()}
        self._update(DOCUMENT, wanted, lambda name: _document_entry(self._project, name))

    def _is_due(self, kind: str, directory: Path) -> bool:
        """Whether a directory must be looked at: it changed, or the last look is long ago."""
        try:
            sign: object = directory.stat().st_mtime_ns
        except OSError:
            sign = None
        now = time.monotonic()
        if self._signs.get(kind, self) == sign and now - self._looked[kind] < _LOOK_SECONDS:
            return False
        self._signs[kind], self._looked[kind] = sign, now
        return True

    def _update(
        self,
        kind: str,
        wanted: Mapping[str, str],
        load: Callable[[str], Entry | None],
        again: Iterable[str] = (),
    ) -> None:
        """Read what is new or different, forget what is gone."""
        known = self._versions[kind]
        if not known and not wanted:
            return
        fresh = set(again)
        changed = [key for key, version in wanted.items() if known.get(key, (0, ""))[1] != version]
        changed += [key for key in fresh if key in known and key not in changed]
        gone = [key for key in known if key not in wanted]
        if not changed and not gone:
            return
        with suppress(sqlite3.OperationalError), writing(self._connection):
            for key in gone:
                self._forget(known.pop(key)[0])
            for key in changed:
                number = known.get(key, (0, ""))[0] or self._next_number(kind)
                entry = load(key)
                if entry is not None:
                    self._write(number, kind, key, wanted[key], entry)
                    known[key] = (number, wanted[key])

    def _next_number(self, kind: str) -> int:
        low = _PLACES[kind] << 32
        row = self._connection.execute(
            "SELECT coalesce(max(id), ?) + 1 FROM entries WHERE id BETWEEN ? AND ?",
            (low, low, low + (1 << 32) - 1),
        ).fetchone()
        return int(row[0])

    def _forget(self, number: int) -> None:
        self._connection.execute("DELETE FROM texts WHERE rowid = ?", (number,))
        self._connection.execute("DELETE FROM entries WHERE id = ?", (number,))

    def _write(self, number: int, kind: str, key: str, version: str, entry: Entry) -> None:
        self._forget(number)
        self._connection.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (number, kind, key, version, entry.time)
        )
        self._connection.execute(
            "INSERT INTO texts (rowid, title, body, refs) VALUES (?, ?, ?, ?)",
            (number, entry.title, entry.body, entry.refs),
        )


class KindTexts:
    """The texts of one kind, as ranking wants them."""

    def __init__(self, connection: sqlite3.Connection, kind: str) -> None:
        self._cursor = connection.cursor()
        self._cursor.row_factory = None
        low = _PLACES[kind] << 32
        self._span = (low, low + (1 << 32) - 1)
        row = self._cursor.execute(
            "SELECT max(id) FROM entries WHERE id BETWEEN ? AND ?", self._span
        ).fetchone()
        self.size = (row[0] or low) - low

    def having(self, expression: str, most: int, *, in_message: bool) -> list[int]:
        """Texts that match, those that were added last first."""
        where = f"{{title body}} : ({expression})" if in_message else expression
        rows = self._cursor.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? AND rowid BETWEEN ? AND ?"
            " ORDER BY rowid DESC LIMIT ?",
            (where, *self._span, most),
        )
        return [row[0] for row in rows]

    def newer(self, number: int) -> int:
        """How many texts were added with this one or after it."""
        return self._span[0] + self.size + 1 - number

    def read(self, numbers: Sequence[int]) -> dict[int, Text]:
        """The texts of these numbers."""
        rows = self._cursor.execute(
            "SELECT t.rowid, t.title, t.body FROM json_each(?) w"
            " CROSS JOIN texts t ON t.rowid = w.value",
            (json_list(numbers),),
        )
        return {row[0]: Text(row[1], row[2]) for row in rows}


def _opened(project: Path) -> sqlite3.Connection:
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:12]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", project.name).strip(".-")[:40] or "project"
    try:
        place = private_directory(clew_home() / "thread") / f"{name}-{digest}.sqlite3"
        connection = open_database(place, _MIGRATIONS)
    except (sqlite3.DatabaseError, OSError, ClewError):
        connection = open_database(Path(":memory:"), _MIGRATIONS)
    connection.execute("PRAGMA synchronous=OFF")  # all of it can be built again
    return connection


def _spec_entry(specs: SpecStore, head: Head) -> Entry | None:
    try:
        spec = specs.read(head)
    except (ClewError, OSError):
        return None
    refs = " ".join(word for name in _REFERENCES for word in spec.words(name))
    return Entry(head.title or head.id, spec.body[:_LONGEST_BODY], refs, _spec_time(head))


def _spec_time(head: Head) -> int:
    """When a spec was completed, or else written: by its id, or by its file."""
    for text in (head.completed_at, date_of(head.id)):
        with suppress(ValueError, OverflowError):
            return int(parse_iso(text or "").timestamp())
    return head.mtime_ns // 10**9


def _log_entry(file: Path, spec_id: str) -> Entry | None:
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(max(0, size - _LONGEST_LOG))
            text = stream.read(_LONGEST_LOG).decode("utf-8", "replace")
            changed = int(os.fstat(stream.fileno()).st_mtime)
    except OSError:
        return None
    return Entry(f"Log of {spec_id}", _LINE_TIME.sub("", text), spec_id, changed)


def _document_entry(project: Path, name: str) -> Entry | None:
    file = project / name
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as stream:
            text = stream.read(_LARGEST_DOCUMENT).decode("utf-8", "replace")
            changed = int(os.fstat(stream.fileno()).st_mtime)
    except OSError:
        return None
    return Entry(title_of(text) or name, text, name, changed)


def _documents(project: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The Markdown files of the project's root and of its directories for documents."""
    count = 0
    for root in ("", *_DOCUMENT_ROOTS):
        deepest = _DEEPEST if root else 0
        for name, status in _markdown(project / root, root, deepest):
            yield name, status
            count += 1
            if count >= _MOST_DOCUMENTS:
                return


def _markdown(directory: Path, shown: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    for entry in _scanned(directory):
        name = f"{shown}/{entry.name}" if shown else entry.name
        if entry.is_dir(follow_symlinks=False):
            if depth and entry.name not in _PASSED_BY and not entry.name.startswith("."):
                yield from _markdown(Path(entry.path), name, depth - 1)
        elif entry.name.lower().endswith(".md") and entry.is_file(follow_symlinks=False):
            status = entry.stat(follow_symlinks=False)
            if status.st_size <= _LARGEST_DOCUMENT:
                yield name, status


def _scanned(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _version(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"
