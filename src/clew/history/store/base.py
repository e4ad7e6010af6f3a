"""What all parts of the SQLite store share: the connection, and SQL that several of them use."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from pathlib import Path

import zstandard

from clew.history.model import LARGEST_PATCH, Repo, first_id, last_id
from clew.history.store.interface import CommitRecord, Span
from clew.kit.errors import Unavailable
from clew.kit.sqlite import json_list

COUNTED = "c.reachable AND length(c.parents) <= 20"
# Changes in text that the index does not hold: too large, or git could not read them.
UNSEARCHED = f"c.patch_id IS NULL AND (c.patch_size > {LARGEST_PATCH} OR c.problem IS NOT NULL)"
RECORD = (
    "c.id, c.sha, c.subject, c.body, a.name, c.author_time, c.commit_time, c.preview, c.reachable"
)
AUTHOR = "JOIN people a ON a.person_id = c.author_id"
# How much a match weighs in subject, body, added, removed and context lines, and paths.
WEIGHTS = "10.0, 4.0, 1.0, 0.6, 0.8, 3.0"
_LARGEST_STORED = 4 * LARGEST_PATCH  # replacing secrets can make a patch longer


class SqliteBase:
    """One connection to the index."""

    visible: frozenset[int] | None = None  # a file is its user's alone

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self.path = path

    def _tuples(self) -> sqlite3.Cursor:
        """A cursor with plain rows: there may be many."""
        cursor = self.connection.cursor()
        cursor.row_factory = None
        return cursor

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


def raw_patch(blob: bytes | None) -> bytes | None:
    """A stored patch as bytes; one that is damaged, or says that it is huge, is refused."""
    if blob is None:
        return None
    try:
        if 0 <= zstandard.frame_content_size(blob) <= _LARGEST_STORED:
            return zstandard.ZstdDecompressor().decompress(blob)
        reason = "it says that it is larger than any can be"
    except zstandard.ZstdError as error:
        reason = str(error)
    raise Unavailable(
        f"A stored patch is damaged: {reason}", "`commitmux sync --full` reads everything anew."
    )
