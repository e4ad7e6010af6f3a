"""Vectors of an index, and the file that has them where the index is a file.

It is a file of its own, beside the index, that can be deleted and built again: so that the index
stays as it is documented and as small as it was, and making vectors never keeps a sync waiting.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from clew.kit.errors import Unavailable
from clew.kit.locks import LONG_LOCK_TIMEOUT, locked
from clew.kit.sqlite import json_list, open_database, open_read_only, read_migrations, writing

EMBED_HINT = "Run 'commitmux embed'."
WITH_SYNC = "with_sync"
COLUMNS = "count, last_id, ids, marks, times, scales, vectors"
# What is recorded besides what made the vectors.
MADE, CHANGES = "made", "changes"
Near = list[tuple[int, int, float]]


class NoVectors(Unavailable):
    """Vectors that nobody has made yet."""

    def __init__(self) -> None:
        super().__init__("There are no vectors yet", EMBED_HINT)


class VectorChunk(NamedTuple):
    """Vectors of one repository as bytes, and what they are of; `last_id` is the largest id."""

    size: int
    last_id: int
    ids: bytes
    marks: bytes
    times: bytes
    scales: bytes
    vectors: bytes


class Vectors(Protocol):
    """The vectors of an index, in chunks of one repository each."""

    def __enter__(self) -> Self:
        """For as long as a block lasts."""

    def __exit__(self, *_: object) -> None:
        """Release what is held."""

    @property
    def place(self) -> str:
        """What tells these vectors from those of another index, or of another reader."""

    @property
    def are_compared(self) -> bool:
        """Whether the engine that holds them compares them."""

    def version(self) -> tuple[str, str]:
        """Another one whenever something was written."""

    def about(self) -> dict[str, str]:
        """What is recorded of the vectors: the model, its numbers, the recipe, and settings."""

    def start_anew(self, about: Mapping[str, str]) -> None:
        """Drop all vectors, and record what will make the next ones."""

    def set_with_sync(self, *, is_wanted: bool) -> None:
        """Record whether every sync makes vectors too."""

    def locked(self, repo_id: int | None = None) -> AbstractContextManager[None]:
        """Held by whoever writes vectors of a repository, or all of them."""

    def total(self) -> int:
        """How many vectors there are."""

    def last_ids(self) -> dict[int, int]:
        """Up to which commit each repository has vectors."""

    def marks(self, repo_id: int) -> Iterator[tuple[int, bytes, bytes]]:
        """The number of each chunk of a repository, its ids and its marks, in their order."""

    def last_chunk(self, repo_id: int) -> int | None:
        """The number of a repository's last chunk."""

    def chunk(self, chunk_id: int) -> VectorChunk:
        """One chunk."""

    def chunks(self, repo_ids: Collection[int] | None = None) -> Iterator[VectorChunk]:
        """The chunks of some repositories or of all, one at a time."""

    def add_chunk(self, repo_id: int, chunk: VectorChunk) -> None:
        """Store another chunk of a repository."""

    def replace_chunk(self, chunk_id: int, chunk: VectorChunk | None) -> None:
        """Store a chunk in the place of another, or only delete that."""

    def drop_other_repos(self, repo_ids: Collection[int]) -> int:
        """Delete the vectors of all repositories but these; how many."""

    def compared(
        self,
        query: Sequence[float],
        repo_ids: Collection[int],
        times: tuple[int, int],
        count: int,
        also: Sequence[int],
    ) -> Near | None:
        """Id, mark and likeness of the nearest and of some others; None where no engine compares."""


def vectors_path(index: Path) -> Path:
    """The file of an index's vectors."""
    return index.with_name(f"{index.name}.vectors")


class VectorFile:
    """One connection to the vectors of an index."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._file = path.stat().st_ino

    @classmethod
    def create(cls, index: Path) -> Self:
        """Open an index's vectors for writing; the file is made if there is none."""
        path = vectors_path(index)
        try:
            connection = open_database(path, migrations(), is_private=True)
            connection.execute("PRAGMA synchronous=NORMAL")  # it can be built again
        except sqlite3.DatabaseError as error:
            raise _damaged("open", path, error) from error
        return cls(connection, path)

    @classmethod
    def read(cls, index: Path) -> Self:
        """Open an index's vectors for reading; they must be there."""
        path = vectors_path(index)
        if not path.exists():
            raise NoVectors
        try:
            return cls(open_read_only(path, migrations()), path)
        except sqlite3.DatabaseError as error:
            raise _damaged("read", path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def place(self) -> str:
        """The file."""
        return str(self._path)

    are_compared = False  # SQLite compares none

    def is_there(self) -> bool:
        """Whether the file that was opened is still the one in its place."""
        return self._path.exists() and self._path.stat().st_ino == self._file

    def locked(self, repo_id: int | None = None) -> AbstractContextManager[None]:
        """One process at a time writes vectors, of whichever repository."""
        return locked(self._path.with_name(f"{self._path.name}.lock"), LONG_LOCK_TIMEOUT)

    def compared(self, *_: object) -> None:
        """None."""

    def version(self) -> tuple[str, str]:
        """Another one whenever something was written."""
        known = self._known()
        return known.get(MADE, ""), known.get(CHANGES, "")

    def about(self) -> dict[str, str]:
        """What is recorded of the vectors: the model, its numbers, the recipe, and settings."""
        return {key: value for key, value in self._known().items() if key not in (MADE, CHANGES)}

    def _known(self) -> dict[str, str]:
        return dict(self._connection.execute("SELECT key, value FROM about").fetchall())

    def _changed(self) -> None:
        self._connection.execute(
            "INSERT INTO about VALUES (?, '1')"
            " ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
            (CHANGES,),
        )

    def start_anew(self, about: Mapping[str, str]) -> None:
        """Drop all vectors, and record what will make the next ones."""
        with writing(self._connection):
            self._connection.execute("DELETE FROM chunks")
            self._connection.executemany(
                "INSERT OR REPLACE INTO about VALUES (?, ?)",
                {**about, MADE: os.urandom(8).hex()}.items(),
            )

    def set_with_sync(self, *, is_wanted: bool) -> None:
        """Record whether every sync makes vectors too."""
        with writing(self._connection):
            self._connection.execute("DELETE FROM about WHERE key = ?", (WITH_SYNC,))
            if is_wanted:
                self._connection.execute("INSERT INTO about VALUES (?, 'yes')", (WITH_SYNC,))

    def total(self) -> int:
        """How many vectors there are."""
        row = self._connection.execute("SELECT coalesce(sum(count), 0) FROM chunks").fetchone()
        return int(row[0])

    def last_ids(self) -> dict[int, int]:
        """Up to which commit each repository has vectors."""
        rows = self._connection.execute("SELECT repo_id, max(last_id) FROM chunks GROUP BY repo_id")
        return dict(rows.fetchall())

    def marks(self, repo_id: int) -> Iterator[tuple[int, bytes, bytes]]:
        """The number of each chunk of a repository, its ids and its marks, in their order."""
        rows = self._connection.execute(
            "SELECT chunk_id, ids, marks FROM chunks WHERE repo_id = ? ORDER BY chunk_id",
            (repo_id,),
        )
        return iter(rows.fetchall())

    def last_chunk(self, repo_id: int) -> int | None:
        """The number of a repository's last chunk."""
        row = self._connection.execute(
            "SELECT max(chunk_id) FROM chunks WHERE repo_id = ?", (repo_id,)
        ).fetchone()
        return None if row[0] is None else int(row[0])

    def chunk(self, chunk_id: int) -> VectorChunk:
        """One chunk."""
        return VectorChunk(
            *self._connection.execute(
                f"SELECT {COLUMNS} FROM chunks WHERE chunk_id = ?",  # noqa: S608
                (chunk_id,),
            ).fetchone()
        )

    def chunks(self, repo_ids: Collection[int] | None = None) -> Iterator[VectorChunk]:
        """The chunks of some repositories or of all, one at a time."""
        chosen = "" if repo_ids is None else "WHERE repo_id IN (SELECT value FROM json_each(?))"
        rows = self._connection.execute(
            f"SELECT {COLUMNS} FROM chunks {chosen} ORDER BY repo_id, chunk_id",  # noqa: S608
            () if repo_ids is None else (json_list(repo_ids),),
        )
        return (VectorChunk(*row) for row in rows)

    def add_chunk(self, repo_id: int, chunk: VectorChunk) -> None:
        """Store another chunk of a repository."""
        with writing(self._connection):
            self._connection.execute(
                f"INSERT INTO chunks (repo_id, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                (repo_id, *chunk),
            )
            self._changed()

    def replace_chunk(self, chunk_id: int, chunk: VectorChunk | None) -> None:
        """Store a chunk in the place of another, or only delete that."""
        with writing(self._connection):
            self._changed()
            if chunk is None:
                self._connection.execute("DELETE FROM chunks WHERE chunk_id = ?", (chunk_id,))
                return
            self._connection.execute(
                f"UPDATE chunks SET ({COLUMNS}) = (?, ?, ?, ?, ?, ?, ?) WHERE chunk_id = ?",  # noqa: S608
                (*chunk, chunk_id),
            )

    def drop_other_repos(self, repo_ids: Collection[int]) -> int:
        """Delete the vectors of all repositories but these; how many."""
        others = "repo_id NOT IN (SELECT value FROM json_each(?))"
        with writing(self._connection):
            row = self._connection.execute(
                f"SELECT coalesce(sum(count), 0) FROM chunks WHERE {others}",  # noqa: S608
                (json_list(repo_ids),),
            ).fetchone()
            if row[0]:
                self._connection.execute(
                    f"DELETE FROM chunks WHERE {others}",  # noqa: S608
                    (json_list(repo_ids),),
                )
                self._changed()
        return int(row[0])


def migrations() -> tuple[str, ...]:
    """The scripts that make the schema, one for each version."""
    return read_migrations(Path(__file__).parent / "vector_migrations")


def _damaged(what: str, path: Path, error: sqlite3.DatabaseError) -> Unavailable:
    hint = f"Delete the file. {EMBED_HINT}"
    return Unavailable(f"Cannot {what} the vectors at {path}: {error}", hint)


def rank_texts(texts: Iterator[tuple[str, str]], expression: str, most: int) -> list[int]:
    """Which of these headings and texts match, best first, by an index that is not kept."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5(heading, text, content='')")
        connection.executemany(
            "INSERT INTO texts (rowid, heading, text) VALUES (?, ?, ?)",
            ((number, heading, text) for number, (heading, text) in enumerate(texts)),
        )
        rows = connection.execute(
            "SELECT rowid FROM texts WHERE texts MATCH ? AND rank MATCH 'bm25(4.0, 1.0)'"
            " ORDER BY rank LIMIT ?",
            (expression, most),
        )
        return [row[0] for row in rows]
    finally:
        connection.close()
