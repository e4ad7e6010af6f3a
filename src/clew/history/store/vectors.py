"""The file of the vectors, beside the index: it can be deleted and built again.

It is a file of its own so that the index stays as it is documented and as small as it was,
and so that making vectors never keeps a sync waiting.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from clew.kit.errors import Unavailable
from clew.kit.sqlite import json_list, open_database, open_read_only, read_migrations, writing

EMBED_HINT = "Run 'commitmux embed'."
WITH_SYNC = "with_sync"
_COLUMNS = "count, last_id, ids, marks, times, scales, vectors"


class VectorChunk(NamedTuple):
    """Vectors of one repository as bytes, and what they are of; `last_id` is the largest id."""

    size: int
    last_id: int
    ids: bytes
    marks: bytes
    times: bytes
    scales: bytes
    vectors: bytes


def vectors_path(index: Path) -> Path:
    """The file of an index's vectors."""
    return index.with_name(f"{index.name}.vectors")


class VectorFile:
    """One connection to the vectors of an index."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    def create(cls, index: Path) -> Self:
        """Open an index's vectors for writing; the file is made if there is none."""
        path = vectors_path(index)
        try:
            connection = open_database(path, migrations())
            connection.execute("PRAGMA synchronous=NORMAL")  # it can be built again
        except sqlite3.DatabaseError as error:
            raise _damaged("open", path, error) from error
        return cls(connection)

    @classmethod
    def read(cls, index: Path) -> Self:
        """Open an index's vectors for reading; they must be there."""
        path = vectors_path(index)
        if not path.exists():
            raise Unavailable("There are no vectors yet", EMBED_HINT)
        try:
            return cls(open_read_only(path, migrations()))
        except sqlite3.DatabaseError as error:
            raise _damaged("read", path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def version(self) -> int:
        """A number that changes when others write to the file."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def about(self) -> dict[str, str]:
        """What is recorded of the vectors: the model, its numbers, the recipe, and settings."""
        return dict(self._connection.execute("SELECT key, value FROM about").fetchall())

    def start_anew(self, about: Mapping[str, str]) -> None:
        """Drop all vectors, and record what will make the next ones."""
        with writing(self._connection):
            self._connection.execute("DELETE FROM chunks")
            self._connection.executemany(
                "INSERT OR REPLACE INTO about VALUES (?, ?)", about.items()
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

    def chunk_ids(self, repo_id: int) -> list[int]:
        """The numbers of a repository's chunks, in their order."""
        rows = self._connection.execute(
            "SELECT chunk_id FROM chunks WHERE repo_id = ? ORDER BY chunk_id", (repo_id,)
        )
        return [row[0] for row in rows]

    def chunk(self, chunk_id: int) -> VectorChunk:
        """One chunk."""
        return VectorChunk(
            *self._connection.execute(
                f"SELECT {_COLUMNS} FROM chunks WHERE chunk_id = ?",  # noqa: S608
                (chunk_id,),
            ).fetchone()
        )

    def chunks(self, repo_ids: Collection[int] | None = None) -> Iterator[VectorChunk]:
        """The chunks of some repositories or of all, one at a time."""
        chosen = "" if repo_ids is None else "WHERE repo_id IN (SELECT value FROM json_each(?))"
        rows = self._connection.execute(
            f"SELECT {_COLUMNS} FROM chunks {chosen} ORDER BY repo_id, chunk_id",  # noqa: S608
            () if repo_ids is None else (json_list(repo_ids),),
        )
        return (VectorChunk(*row) for row in rows)

    def add_chunk(self, repo_id: int, chunk: VectorChunk) -> None:
        """Store another chunk of a repository."""
        with writing(self._connection):
            self._connection.execute(
                f"INSERT INTO chunks (repo_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                (repo_id, *chunk),
            )

    def replace_chunk(self, chunk_id: int, chunk: VectorChunk | None) -> None:
        """Store a chunk in the place of another, or only delete that."""
        with writing(self._connection):
            if chunk is None:
                self._connection.execute("DELETE FROM chunks WHERE chunk_id = ?", (chunk_id,))
                return
            self._connection.execute(
                f"UPDATE chunks SET ({_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?) WHERE chunk_id = ?",  # noqa: S608
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
            self._connection.execute(f"DELETE FROM chunks WHERE {others}", (json_list(repo_ids),))  # noqa: S608
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
