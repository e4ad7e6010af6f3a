"""What all parts of the SQLite store share: the connection, and SQL that several of them use."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import zstandard

from clew.history.model import LARGEST_PATCH, LAST_PLACE, Repo, first_id, last_id
from clew.history.store.interface import CommitRecord, Span
from clew.kit.errors import Unavailable
from clew.kit.sqlite import json_list

COUNTED = "c.reachable AND length(c.parents) <= 20"
# Changes in text that the index does not hold whole: too large, or git could not read them.
UNSEARCHED = f"(c.patch_size > {LARGEST_PATCH} OR c.problem IS NOT NULL)"
RECORD = (
    "c.id, c.sha, c.subject, c.body, a.name, c.author_time, c.commit_time, c.preview, c.reachable"
)
AUTHOR = "JOIN people a ON a.person_id = c.author_id"
# How much a match weighs in subject, body, added, removed and context lines, and paths.
WEIGHTS = "10.0, 4.0, 1.0, 0.6, 0.8, 3.0"
_MOST_REMEMBERED = 24
_NARROW_FROM = 5
_SHOWN_FROM = 8
_LARGEST_STORED = 4 * LARGEST_PATCH  # replacing secrets can make a patch longer

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Facts:
    """Who wrote the commits of a repository that count, and when; by their places, 0 for others."""

    author_ids: array[int]
    author_times: array[int]
    commit_times: array[int]


class SqliteBase:
    """One connection to the index."""

    visible: frozenset[int] | None = None  # a file is its user's alone

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self.path = path
        self._seen = self._version()
        self._values: dict[Hashable, Any] = {}

    def remembered(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """What `make` gave for this key, made again once anything was written to the index."""
        self._notice_changes()
        found: _Value = self._values.pop(key) if key in self._values else make()
        while len(self._values) >= _MOST_REMEMBERED:
            self._values.pop(next(iter(self._values)))
        self._values[key] = found  # last in line to be forgotten
        return found

    def _notice_changes(self) -> None:
        """Forget what was true of the index before somebody wrote to it."""
        version = self._version()
        if version[0] != self._seen[0]:
            self._forget_numbers()  # another process may have deleted what they stood for
        if version != self._seen:
            self._values.clear()
            self._seen = version

    def _version(self) -> tuple[int, int]:
        changes = self.connection.execute("PRAGMA data_version").fetchone()[0]
        return int(changes), self.connection.total_changes

    def _forget_numbers(self) -> None:
        """Drop remembered numbers: their rows may have been deleted."""

    def seen_by(self, patterns: Sequence[str]) -> NoReturn:
        """Refuse: whoever reads the file sees all of it."""
        raise Unavailable(
            "An index in a file is seen as a whole", "Use a team's database: --database."
        )

    def _tuples(self) -> sqlite3.Cursor:
        """A cursor with plain rows: there may be many."""
        cursor = self.connection.cursor()
        cursor.row_factory = None
        return cursor

    @cached_property
    def _narrow(self) -> str:
        """Who and when, without the long rows of commits, where the index has that."""
        return self._by_index("commit_counted", _NARROW_FROM)

    @cached_property
    def _shown(self) -> str:
        """The same of merges too: of all commits that a ref reaches."""
        return self._by_index("commit_shown", _SHOWN_FROM)

    def _by_index(self, index: str, since: int) -> str:
        row = self.connection.execute("PRAGMA user_version").fetchone()
        return f"commit_rows c{f' INDEXED BY {index}' if row[0] >= since else ''}"

    def _facts(self, repo_id: int) -> Facts:
        """What is known of a repository's commits, without reading their messages."""
        return self.remembered(("facts", repo_id), lambda: self._read_facts(repo_id))

    def _read_facts(self, repo_id: int) -> Facts:
        rows = self._tuples().execute(
            "SELECT c.id, c.author_id, c.author_time, c.commit_time"  # noqa: S608
            f" FROM {self._narrow} WHERE {COUNTED} AND c.id BETWEEN ? AND ? ORDER BY c.id DESC",
            span_of(repo_id),
        )
        found = Facts(array("q"), array("q"), array("q"))
        for number, *values in rows:
            place = number & LAST_PLACE
            for known, value in zip(
                (found.author_ids, found.author_times, found.commit_times), values, strict=True
            ):
                if not known:
                    known.extend(array("q", [0]) * (place + 1))
                known[place] = value
        return found

    def _records(self, statement: str, values: tuple[object, ...]) -> list[CommitRecord]:
        """What a statement that selects `RECORD` finds."""
        rows = self._tuples().execute(statement, values)
        return [
            CommitRecord._make((row[0], row[1].hex(), *row[2:-1], bool(row[-1]))) for row in rows
        ]


def span_of(repo_id: int) -> Span:
    """The ids that commits of a repository have."""
    return first_id(repo_id), last_id(repo_id)


def among(repos: Collection[Repo]) -> tuple[str, str]:
    """The condition that a commit is of one of these repositories, and its value."""
    numbers = json_list(repo.repo_id for repo in repos)
    return "c.id >> 32 IN (SELECT value FROM json_each(?))", numbers


def whole_patch(blob: bytes, size: int) -> bytes | None:
    """A stored patch as bytes, if it is all of so many; None if only its ends are kept."""
    raw = raw_patch(blob)
    return raw if raw is not None and len(raw) == size else None


def raw_patch(
    blob: bytes | None, decompressor: zstandard.ZstdDecompressor | None = None
) -> bytes | None:
    """A stored patch as bytes; one that is damaged, or says that it is huge, is refused."""
    if blob is None:
        return None
    try:
        if 0 <= zstandard.frame_content_size(blob) <= _LARGEST_STORED:
            return (decompressor or zstandard.ZstdDecompressor()).decompress(blob)
        reason = "it says that it is larger than any can be"
    except zstandard.ZstdError as error:
        reason = str(error)
    raise Unavailable(
        f"A stored patch is damaged: {reason}", "`commitmux sync --full` reads everything anew."
    )
