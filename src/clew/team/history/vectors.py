"""Vectors in PostgreSQL: the same chunks as in a file, and pgvector's index of them where it is.

A fleet makes them once for all. Where the extension `vector` is there or may be made, each vector
is also a row that the database compares; else servers keep the chunks in memory.
"""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Self

import psycopg

from clew.history.store.vectors import (
    CHANGES,
    COLUMNS,
    MADE,
    WITH_SYNC,
    Near,
    NoVectors,
    VectorChunk,
)
from clew.kit.locks import LONG_LOCK_TIMEOUT
from clew.team.database import Database, Row

# Numbers of advisory locks: of all vectors, and behind that of each repository's.
_WHOLE = 2_000
_EACH = 2_000_000_000
_COMPARED_IN = "compared_in"  # the schema of pgvector, where the rows have vectors too
_OWN = (MADE, CHANGES, _COMPARED_IN)
_MOST_DIMENSIONS = 4000  # of an index of pgvector
_SEEN = 400  # how many the index looks at before it sorts: more is more exact
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


class PostgresVectors:
    """The vectors of an index in PostgreSQL."""

    def __init__(self, database: Database, visible: frozenset[int] | None) -> None:
        self.database = database
        seen = "all" if visible is None else ",".join(map(str, sorted(visible)))
        self.place = f"{database.address} {seen}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing: the connection is the store's."""

    def required(self) -> Self:
        """These, if somebody made any."""
        if MADE not in self._known():
            raise NoVectors
        return self

    def _known(self) -> dict[str, str]:
        return dict(self.database.rows("SELECT key, value FROM vector_about"))

    @property
    def are_compared(self) -> bool:
        """Whether the database compares them."""
        return _COMPARED_IN in self._known()

    def version(self) -> tuple[str, str]:
        """Another one whenever something was written."""
        known = self._known()
        return known.get(MADE, ""), known.get(CHANGES, "")

    def about(self) -> dict[str, str]:
        """What is recorded of the vectors: the model, its numbers, the recipe, and settings."""
        return {key: value for key, value in self._known().items() if key not in _OWN}

    def _record(self, key: str, value: str) -> None:
        self.database.run(
            "INSERT INTO vector_about VALUES (%s, %s)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, value),
        )

    def _changed(self) -> None:
        self.database.run(
            "INSERT INTO vector_about AS a VALUES (%s, '1')"
            " ON CONFLICT (key) DO UPDATE SET value = a.value::bigint + 1",
            (CHANGES,),
        )

    def start_anew(self, about: Mapping[str, str]) -> None:
        """Drop all vectors, and record what will make the next ones."""
        size = int(about["dimensions"])
        schema = self._extension() if size <= _MOST_DIMENSIONS else None
        with self.database.transaction():
            self.database.run("TRUNCATE vector_chunks, vector_points")
            self.database.run("ALTER TABLE vector_points DROP COLUMN IF EXISTS embedding")
            self.database.run("DELETE FROM vector_about WHERE key <> %s", (WITH_SYNC,))
            if schema is not None:
                self.database.run(
                    f"ALTER TABLE vector_points ADD COLUMN embedding {schema}.halfvec({size})"
                )
                self.database.run(
                    "CREATE INDEX vector_point_near ON vector_points"
                    f" USING hnsw (embedding {schema}.halfvec_ip_ops)"
                )
                self._record(_COMPARED_IN, schema)
            for key, value in {**about, MADE: os.urandom(8).hex()}.items():
                self._record(key, value)

    def _extension(self) -> str | None:
        """The schema of pgvector, which is made if that is allowed; None where it cannot be."""
        with suppress(psycopg.Error):  # it is not there, or that is not allowed
            self.database.run("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        row = self.database.row(
            "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'"
            " AND to_regtype(extnamespace::regnamespace || '.halfvec') IS NOT NULL"
        )
        return row[0] if row is not None and _PLAIN.fullmatch(row[0]) else None

    def set_with_sync(self, *, is_wanted: bool) -> None:
        """Record whether every sync makes vectors too."""
        if is_wanted:
            self._record(WITH_SYNC, "yes")
        else:
            self.database.run("DELETE FROM vector_about WHERE key = %s", (WITH_SYNC,))

    def locked(self, repo_id: int | None = None) -> AbstractContextManager[None]:
        """One at a time writes vectors of a repository; of all, nobody else does."""
        keys = [(_WHOLE, repo_id is not None)]
        if repo_id is not None:
            keys.append((_EACH + repo_id, False))
        return self.database.locked(*keys, timeout=LONG_LOCK_TIMEOUT)

    def total(self) -> int:
        """How many vectors there are."""
        row = self.database.row("SELECT coalesce(sum(count), 0) FROM vector_chunks")
        return 0 if row is None else int(row[0])

    def last_ids(self) -> dict[int, int]:
        """Up to which commit each repository has vectors."""
        return dict(
            self.database.rows("SELECT repo_id, max(last_id) FROM vector_chunks GROUP BY repo_id")
        )

    def marks(self, repo_id: int) -> Iterator[tuple[int, bytes, bytes]]:
        """The number of each chunk of a repository, its ids and its marks, in their order."""
        rows = self.database.rows(
            "SELECT chunk_id, ids, marks FROM vector_chunks WHERE repo_id = %s ORDER BY chunk_id",
            (repo_id,),
        )
        return ((row[0], row[1], row[2]) for row in rows)

    def last_chunk(self, repo_id: int) -> int | None:
        """The number of a repository's last chunk."""
        row = self.database.row(
            "SELECT max(chunk_id) FROM vector_chunks WHERE repo_id = %s", (repo_id,)
        )
        return None if row is None else row[0]

    def chunk(self, chunk_id: int) -> VectorChunk:
        """One chunk."""
        row = self._chunk_row(chunk_id)
        assert row is not None
        return VectorChunk(*row)

    def _chunk_row(self, chunk_id: int) -> Row | None:
        return self.database.row(
            f"SELECT {COLUMNS} FROM vector_chunks WHERE chunk_id = %s", (chunk_id,)
        )

    def chunks(self, repo_ids: Collection[int] | None = None) -> Iterator[VectorChunk]:
        """The chunks of some repositories or of all, one at a time."""
        rows = self.database.rows(
            "SELECT chunk_id FROM vector_chunks WHERE %s::int[] IS NULL OR repo_id = ANY(%s)"
            " ORDER BY repo_id, chunk_id",
            (wanted := None if repo_ids is None else list(repo_ids), wanted),
        )
        found = (self._chunk_row(row[0]) for row in rows)
        return (VectorChunk(*row) for row in found if row is not None)

    def add_chunk(self, repo_id: int, chunk: VectorChunk) -> None:
        """Store another chunk of a repository."""
        with self.database.transaction():
            row = self.database.row(
                f"INSERT INTO vector_chunks (repo_id, {COLUMNS})"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING chunk_id",
                (repo_id, *chunk),
            )
            assert row is not None
            self._keep_points(row[0], repo_id, chunk)
            self._changed()

    def replace_chunk(self, chunk_id: int, chunk: VectorChunk | None) -> None:
        """Store a chunk in the place of another, or only delete that."""
        with self.database.transaction():
            if chunk is None:
                self.database.run("DELETE FROM vector_chunks WHERE chunk_id = %s", (chunk_id,))
            else:
                row = self.database.row(
                    f"UPDATE vector_chunks SET ({COLUMNS}) = (%s, %s, %s, %s, %s, %s, %s)"
                    " WHERE chunk_id = %s RETURNING repo_id",
                    (*chunk, chunk_id),
                )
                assert row is not None
                self._keep_points(chunk_id, row[0], chunk)
            self._changed()

    def _keep_points(self, chunk_id: int, repo_id: int, chunk: VectorChunk) -> None:
        """Bring the rows of a chunk up to date where the database compares them."""
        if not self.are_compared:
            return
        wanted = dict(zip(array("q", chunk.ids), array("q", chunk.marks), strict=True))
        have: dict[int, int] = dict(
            self.database.rows(
                "SELECT id, mark FROM vector_points WHERE chunk_id = %s", (chunk_id,)
            )
        )
        gone = [number for number, mark in have.items() if wanted.get(number) != mark]
        self.database.run("DELETE FROM vector_points WHERE id = ANY(%s)", (gone,))
        size = len(chunk.vectors) // max(chunk.size, 1)
        times, scales = array("q", chunk.times), array("f", chunk.scales)
        whole = array("b", chunk.vectors)
        self.database.copy(
            "COPY vector_points (id, repo_id, chunk_id, mark, made_at, embedding) FROM STDIN",
            [
                (number, repo_id, chunk_id, mark, times[at],
                 _written(scales[at] * one for one in whole[at * size : (at + 1) * size]))
                for at, (number, mark) in enumerate(wanted.items())
                if have.get(number) != mark
            ],
        )  # fmt: skip

    def drop_other_repos(self, repo_ids: Collection[int]) -> int:
        """Nothing to do: vectors go with their repository."""
        return 0

    def compared(
        self,
        query: Sequence[float],
        repo_ids: Collection[int],
        times: tuple[int, int],
        count: int,
        also: Sequence[int],
    ) -> Near | None:
        """Id, mark and likeness of the nearest and of some others, where pgvector is."""
        schema = self._known().get(_COMPARED_IN)
        if schema is None:
            return None
        if not any(query):
            return []
        text = _written(query)
        self.database.rows(
            "SELECT set_config('hnsw.ef_search', %s, false),"
            " set_config('hnsw.iterative_scan', 'strict_order', false)",
            (str(_SEEN),),
        )
        likeness = f"embedding OPERATOR({schema}.<#>) %s::{schema}.halfvec"
        nearest = self.database.rows(
            f"SELECT id, mark, -({likeness}) FROM vector_points WHERE repo_id = ANY(%s)"
            f" AND made_at BETWEEN %s AND %s ORDER BY {likeness}, id DESC LIMIT %s",
            (text, list(repo_ids), *times, text, count),
        )
        others = self.database.rows(
            f"SELECT id, mark, -({likeness}) FROM vector_points WHERE id = ANY(%s)",
            (text, list(also)),
        )
        return [(row[0], row[1] % (1 << 64), float(row[2])) for row in (*nearest, *others)]


def _written(numbers: Iterator[float] | Sequence[float]) -> str:
    """A vector as pgvector reads one."""
    return f"[{','.join(f'{number:.6g}' for number in numbers)}]"
