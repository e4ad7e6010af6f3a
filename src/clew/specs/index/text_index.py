"""One text index of a project: the bodies of its specs, and other texts that are searched with them.

The texts are in SQLite (FTS5), in Clew's home once they are many enough for that to save time, and
else in memory. The index holds nothing that is not in the files: it follows their times and sizes,
and may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from clew.kit.errors import ClewError, Unavailable
from clew.kit.project import clew_home
from clew.kit.sqlite import json_list, open_database, read_migrations, writing
from clew.kit.system_errors import is_damage
from clew.kit.text.frontmatter import FrontmatterError
from clew.kit.times import parse_iso
from clew.specs.files.ids import date_of
from clew.specs.files.parse import read_document, read_file
from clew.specs.index.index import Snapshot
from clew.specs.model import Head, words_of

SPEC = "spec"
WORTH_A_FILE = 500  # fewer texts are read again as quickly as an index is opened
YOUNG = ""  # the version of a text that may change once more without a sign
_KINDS = (SPEC, "run", "document")
_MIGRATIONS = Path(__file__).with_name("migrations")
_SETTLED_NS = 2_000_000_000
_MOST_WORDS = 60
_MOST_ANSWERS = 200
_REFERENCES = ("commits", "origin", "informed_by", "tracks", "target_files", "labels", "branch")
_ASCII_WORD = re.compile(r"[a-z0-9]+")


class Text(NamedTuple):
    """A title and a body."""

    title: str
    body: str


class Entry(NamedTuple):
    """One text: its title, its body, the ids and files that it names, and its time."""

    title: str
    body: str
    refs: str
    time: int


class Known(NamedTuple):
    """One text as it is listed: what it is, and when it is from."""

    number: int
    kind: str
    key: str
    time: int


@dataclass(frozen=True)
class Source:
    """The texts of one kind as they are now: the version of each, and how one is read.

    `generation` is another object whenever a version is; None where nobody can tell.
    """

    kind: str
    versions: Callable[[], Mapping[str, str]]
    load: Callable[[str], Entry | None]
    generation: object = None


class TextIndex:
    """The texts of one project, brought up to date whenever they are asked for."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._guard = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._closing: Callable[[], object] | None = None
        self._is_lasting = False
        self._data_version = -1
        self._versions: dict[str, dict[str, tuple[int, str]]] = {}
        self._generations: dict[str, object] = {}
        self._words: str | None = None
        self._lowered: dict[int, str] = {}
        self._keys: dict[int, str] = {}
        self._bodies: dict[str, list[tuple[str, str]]] = {}
        self._answers: dict[tuple[str, str], frozenset[str]] = {}

    def close(self) -> None:
        """Give the file back."""
        with self._guard:
            if self._closing is not None:
                self._closing()
            self._connection = None

    @contextmanager
    def current(self, sources: Iterable[Source], *, lasting: bool = True) -> Iterator[TextIndex]:
        """The index with all texts of these sources, for one thread; `lasting` keeps it on disk."""
        with self._guard:
            try:
                self._open(lasting=lasting)
                for source in sources:
                    self._bring_up_to_date(source)
                yield self
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError as error:
                self.close()
                _file_of(self._project).unlink(missing_ok=True)
                problem = f"The index of texts was damaged: {error}"
                raise Unavailable(problem, "It was deleted. Try again.") from error

    def _open(self, *, lasting: bool) -> None:
        if self._connection is not None and (self._is_lasting or not lasting):
            self._notice_others(self._connection)
            return
        self.close()
        connection = _opened(_file_of(self._project) if lasting else Path(":memory:"))
        connection.row_factory = None
        connection.execute("PRAGMA synchronous=OFF")  # all of it can be built again
        self._connection, self._is_lasting = connection, lasting
        self._closing = weakref.finalize(self, connection.close)
        self._data_version = -1
        self._notice_others(connection)

    def _notice_others(self, connection: sqlite3.Connection) -> None:
        """Look again at what is there if another process has written."""
        version = int(connection.execute("PRAGMA data_version").fetchone()[0])
        if version == self._data_version:
            return
        self._data_version = version
        stored = "SELECT key, id, version FROM entries WHERE id BETWEEN ? AND ?"
        rows = {kind: connection.execute(stored, _span(kind)) for kind in _KINDS}
        self._versions = {
            kind: {key: (number, version) for key, number, version in found}
            for kind, found in rows.items()
        }
        self._keys.clear()
        self._bodies.clear()
        self._generations.clear()
        self._lowered.clear()
        self._answers.clear()
        self._words = None

    def _bring_up_to_date(self, source: Source) -> None:
        """Read what is new or different, forget what is gone."""
        kind = source.kind
        if source.generation is not None and source.generation == self._generations.get(kind):
            return
        wanted = source.versions()
        try:
            if any(self._difference(kind, wanted)):
                with writing(self._database):
                    self._notice_others(self._database)  # one that was first has done it
                    self._update(kind, *self._difference(kind, wanted), source.load)
        except sqlite3.OperationalError:  # locked, or the disk is full: what is there must do
            self._data_version = -1
            return
        self._generations[kind] = None if YOUNG in wanted.values() else source.generation

    def _difference(self, kind: str, wanted: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """What is gone, and what is new or different with its version."""
        known = self._versions[kind]
        changed = {
            key: version for key, version in wanted.items()
            if version == YOUNG or known.get(key, (0, YOUNG))[1] != version
        }  # fmt: skip
        return [key for key in known if key not in wanted], changed

    def _update(
        self,
        kind: str,
        gone: list[str],
        changed: dict[str, str],
        load: Callable[[str], Entry | None],
    ) -> None:
        known = self._versions[kind]
        # Asked before the changed ones are taken out, which keep their numbers.
        last = _span(kind)[0] + self.texts(kind).size
        self._forget([known.pop(key)[0] for key in gone])
        self._forget([known[key][0] for key in changed if key in known])
        for new, (key, version) in enumerate(changed.items(), last + 1):
            entry = load(key)
            if entry is not None:
                number = known.get(key, (new, YOUNG))[0]
                self._write(Known(number, kind, key, entry.time), version, entry)

    @property
    def _database(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection

    def _forget(self, numbers: list[int]) -> None:
        self._answers.clear()
        self._bodies.clear()
        for number in numbers:
            self._lowered.pop(number, None)
            self._database.execute("DELETE FROM texts WHERE rowid = ?", (number,))
            self._database.execute("DELETE FROM entries WHERE id = ?", (number,))

    def _write(self, what: Known, version: str, entry: Entry) -> None:
        self._database.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?)",
            (what.number, what.kind, what.key, version, what.time),
        )
        self._database.execute(
            "INSERT INTO texts (rowid, title, body, refs) VALUES (?, ?, ?, ?)",
            (what.number, entry.title, entry.body, entry.refs),
        )
        self._versions[what.kind][what.key] = (what.number, version)
        self._keys.clear()
        if self._words is not None:
            added = "\n".join(_ASCII_WORD.findall(entry.body.lower()))
            self._words = f"{self._words}{added}\n" if entry.body.isascii() else None

    def known(self, numbers: Iterable[int]) -> dict[int, Known]:
        """What these numbers stand for."""
        rows = self._database.execute(
            "SELECT e.id, e.kind, e.key, e.time FROM json_each(?) w"
            " CROSS JOIN entries e ON e.id = w.value",
            (json_list(numbers),),
        )
        return {row[0]: Known(*row) for row in rows}

    def texts(self, kind: str) -> KindTexts:
        """The texts of one kind, for ranking."""
        return KindTexts(self._database, kind)

    def containing(self, kind: str, text: str) -> frozenset[str]:
        """The keys of the texts whose body contains this, any part of any word, in any case."""
        wanted = text.lower()
        if (kind, wanted) not in self._answers:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            self._answers[kind, wanted] = self._containing(kind, wanted)
        return self._answers[kind, wanted]

    def _containing(self, kind: str, wanted: str) -> frozenset[str]:
        expression = self._expression(wanted) if wanted.isascii() else None
        if expression is None:
            return frozenset([key for key, body in self._all_bodies(kind) if wanted in body])
        if not expression:
            return frozenset()
        rows = self._database.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? AND rowid BETWEEN ? AND ?",
            (f"body : ({expression})", *_span(kind)),
        ).fetchall()
        found = [number for (number,) in rows]
        if not _ASCII_WORD.fullmatch(wanted):
            found = [number for number, body in self._lower_cased(found) if wanted in body]
        if not self._keys:
            every = (known.items() for known in self._versions.values())
            self._keys = {number: key for items in every for key, (number, _) in items}
        return frozenset(map(self._keys.__getitem__, found))

    def _expression(self, wanted: str) -> str | None:
        """What must be in the index for a text to occur; None where it cannot tell.

        The first word may be the end of a longer one, and the last one a beginning.
        """
        words = _ASCII_WORD.findall(wanted)
        if not words:
            return None
        is_beginning = wanted[-1].isalnum()
        first = [words[0]]
        if wanted[0].isalnum():
            ending = "" if len(words) == 1 and is_beginning else "\n"
            first = self._words_with(words[0] + ending)
            is_beginning = is_beginning and len(words) > 1
        if len(first) > _MOST_WORDS:
            return None
        star = " *" if is_beginning else ""
        return " OR ".join(f'"{" ".join([word, *words[1:]])}"{star}' for word in first)

    def _words_with(self, part: str) -> list[str]:
        """The words that have this part, a few more than are of use at most."""
        if self._words is None:
            rows = self._database.execute("SELECT group_concat(term, char(10)) FROM words")
            self._words = f"\n{rows.fetchone()[0] or ''}\n"
        words, found = self._words, dict[str, None]()
        at = words.find(part)
        while at >= 0 and len(found) <= _MOST_WORDS:
            end = words.index("\n", at)
            found[words[words.rindex("\n", 0, at) + 1 : end]] = None
            at = words.find(part, end)
        return list(found)

    def _all_bodies(self, kind: str) -> list[tuple[str, str]]:
        """The key and the body of every text of a kind, lower-cased."""
        if kind not in self._bodies:
            known = self._versions[kind]
            keys = {number: key for key, (number, _) in known.items()}
            self._bodies[kind] = [(keys[n], body) for n, body in self._lower_cased(list(keys))]
        return self._bodies[kind]

    def _lower_cased(self, numbers: list[int]) -> list[tuple[int, str]]:
        """The bodies of these texts; they stay in memory for the next time."""
        lowered = self._lowered
        missing = [number for number in numbers if number not in lowered]
        for number, body in self._database.execute(
            "SELECT t.rowid, t.body FROM json_each(?) w CROSS JOIN texts t ON t.rowid = w.value",
            (json_list(missing),),
        ):
            lowered[number] = body.lower()
        return [(number, lowered[number]) for number in numbers]


class KindTexts:
    """The texts of one kind, as ranking wants them."""

    def __init__(self, connection: sqlite3.Connection, kind: str) -> None:
        self._connection = connection
        self._span = _span(kind)
        low = self._span[0]
        row = connection.execute(
            "SELECT max(id) FROM entries WHERE id BETWEEN ? AND ?", self._span
        ).fetchone()
        self.size = (row[0] or low) - low

    def having(self, expression: str, most: int, *, in_message: bool) -> list[int]:
        """Texts that match, those that were added last first."""
        where = f"{{title body}} : ({expression})" if in_message else expression
        rows = self._connection.execute(
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
        rows = self._connection.execute(
            "SELECT t.rowid, t.title, t.body FROM json_each(?) w"
            " CROSS JOIN texts t ON t.rowid = w.value",
            (json_list(numbers),),
        )
        return {row[0]: Text(row[1], row[2]) for row in rows}


def _span(kind: str) -> tuple[int, int]:
    """The lowest number that texts of a kind may have, less one, and the highest."""
    low = (_KINDS.index(kind) + 1) << 32
    return low, low + (1 << 32) - 1


def _file_of(project: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:12]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", project.name).strip(".-")[:40] or "project"
    return clew_home() / "texts" / f"{name}-{digest}.sqlite3"


def _opened(path: Path) -> sqlite3.Connection:
    """The database there; one in memory where it cannot be used."""
    try:
        return open_database(path, read_migrations(_MIGRATIONS))
    except (sqlite3.DatabaseError, OSError, ClewError) as error:
        if is_damage(error):  # it holds nothing that the project has not
            with suppress(OSError):
                path.unlink()
        return open_database(Path(":memory:"), read_migrations(_MIGRATIONS))


def spec_source(project: Path, snapshot: Snapshot) -> Source:
    """All specs of a snapshot, active and archived."""
    heads = snapshot.by_id
    load = partial(_spec_entry, project, heads)
    return Source(SPEC, partial(_spec_versions, heads), load, snapshot.generation)


def _spec_versions(heads: Mapping[str, Head]) -> dict[str, str]:
    settled = time.time_ns() - _SETTLED_NS
    return {
        name: YOUNG if head.mtime_ns > settled else f"{head.mtime_ns}:{head.size}"
        for name, head in heads.items()
    }


def _spec_entry(project: Path, heads: Mapping[str, Head], name: str) -> Entry | None:
    head = heads[name]
    try:
        document = read_document(read_file(f"{project}/{head.path}", now_ns=0)[0])
    except (FrontmatterError, OSError):
        return None
    refs = (word for field in _REFERENCES for word in words_of(document.fields.get(field)))
    return Entry(head.title or head.id, document.body, " ".join(refs), _spec_time(head))


def _spec_time(head: Head) -> int:
    """When a spec was completed, or else written: by its id, or by its file."""
    for text in (head.completed_at, date_of(head.id)):
        with suppress(ValueError, OverflowError):
            return int(parse_iso(text or "").timestamp())
    return head.mtime_ns // 10**9
