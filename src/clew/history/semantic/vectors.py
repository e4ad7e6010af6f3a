"""Vectors of commits: made of their messages, kept in step with the index, compared with a text.

Each chunk holds up to `_CHUNK` vectors of one repository as bytes, with a scale each. A vector
is known by its commit's id and a mark of its SHA, so that vectors of an index that was built
anew are never taken for others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.history.semantic.vector_file import (
    WITH_SYNC,
    about,
    open_for_reading,
    open_for_writing,
    vectors_path,
)
from clew.history.store.delete import raw_patch
from clew.history.store.lookup import changed_files
from clew.history.store.scope import COUNTED, span
from clew.kit.errors import Conflict
from clew.kit.locks import LONG, locked
from clew.kit.sqlite import json_list, writing
from clew.kit.text.diff import file_diffs

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from clew.history.model import Repo
    from clew.history.store.store import HistoryStore
    from clew.models.embedding import Embedder

    Numbers = NDArray[Any]

_REBUILD_HINT = "Run 'commitmux embed --rebuild'."
_BATCH = 256
_CHUNK = 4096
# What is made of a commit; a new recipe needs new vectors.
_RECIPE = "message-1"
_LONGEST_MESSAGE = 2000
_TELLING_WORDS = 4
_MOST_PATHS = 12
_MOST_ADDED = 600
_LARGEST_READ = 200_000
_REFERENCE = re.compile(
    r"https?://\S+|(?<![\w&/])#\d{1,9}\b|\b(?=[a-f]*\d)[0-9a-f]{7,40}\b"
    r"|^(?:[A-Z][a-z]+(?:-[A-Za-z]+)+-by|git-svn-id):.*$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Embedded:
    """What an embedding run did."""

    model: str
    added: int
    dropped: int
    total: int


@dataclass
class Chunk:
    """Vectors of one repository, with what they are of."""

    ids: Numbers
    marks: Numbers
    times: Numbers
    scales: Numbers
    vectors: Numbers

    def taken(self, which: Numbers) -> Chunk:
        """The vectors that are chosen by a mask or by numbers."""
        return Chunk(*(values[which] for values in vars(self).values()))

    def joined(self, other: Chunk) -> Chunk:
        """These vectors, then the others."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Chunk(*(np.concatenate(pair) for pair in pairs))

    def blobs(self) -> tuple[object, ...]:
        """The chunk as its row holds it."""
        return (len(self.ids), int(self.ids.max()), *(v.tobytes() for v in vars(self).values()))


def embed_commits(
    store: HistoryStore,
    embedder: Embedder,
    repos: Sequence[Repo],
    progress: Callable[[int], None] | None = None,
    *,
    rebuild: bool = False,
) -> Embedded:
    """Make the vectors that are missing, drop those of commits that are gone."""
    path = vectors_path(store.path)
    with locked(path.with_name(f"{path.name}.lock"), LONG):
        connection = open_for_writing(path)
        try:
            _settle_model(connection, embedder, rebuild=rebuild)
            dropped = _drop_unregistered(connection, store)
            added = 0
            for repo in repos:
                missing, gone = _compare(connection, store, repo)
                dropped += gone
                for batch in _batches(missing):
                    _append(connection, repo.repo_id, _made(store, embedder, batch))
                    added += len(batch)
                    if progress is not None:
                        progress(added)
            total = connection.execute("SELECT coalesce(sum(count), 0) FROM chunks").fetchone()[0]
            return Embedded(embedder.name, added, dropped, int(total))
        finally:
            connection.close()


def _settle_model(connection: sqlite3.Connection, embedder: Embedder, *, rebuild: bool) -> None:
    """Record what makes the vectors; vectors of something else are only dropped on request."""
    size = embedder.dimensions or embedder.embed(["probe"]).shape[1]
    wanted = {"model": embedder.name, "dimensions": str(size), "recipe": _RECIPE}
    known = about(connection)
    known.pop(WITH_SYNC, None)
    if known and known != wanted and not rebuild:
        raise Conflict(
            f"The vectors were made by {known['model']} ({known['dimensions']} numbers,"
            f" {known['recipe']}); now it would be {embedder.name} ({size}, {_RECIPE})",
            _REBUILD_HINT,
        )
    if known != wanted or rebuild:
        with writing(connection):
            connection.execute("DELETE FROM chunks")
            connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", wanted.items())


def _drop_unregistered(connection: sqlite3.Connection, store: HistoryStore) -> int:
    numbers = json_list(repo.repo_id for repo in store.repos())
    strange = "repo_id NOT IN (SELECT value FROM json_each(?))"
    with writing(connection):
        row = connection.execute(
            f"SELECT coalesce(sum(count), 0) FROM chunks WHERE {strange}",  # noqa: S608
            (numbers,),
        ).fetchone()
        connection.execute(f"DELETE FROM chunks WHERE {strange}", (numbers,))  # noqa: S608
    return int(row[0])


def _compare(
    connection: sqlite3.Connection, store: HistoryStore, repo: Repo
) -> tuple[Numbers, int]:
    """The commits without a vector; vectors without a commit are dropped, and counted."""
    ids, marks = _indexed(store, repo)
    have = np.zeros(len(ids), bool)
    gone = 0
    rows = connection.execute(
        "SELECT chunk_id FROM chunks WHERE repo_id = ? ORDER BY chunk_id", (repo.repo_id,)
    ).fetchall()
    for row in rows:
        chunk = _chunk(connection, row["chunk_id"])
        places = np.minimum(np.searchsorted(ids, chunk.ids), max(len(ids) - 1, 0))
        is_kept = np.zeros(len(chunk.ids), bool)
        if len(ids):
            is_kept = (ids[places] == chunk.ids) & (marks[places] == chunk.marks)
        have[places[is_kept]] = True
        if not is_kept.all():
            gone += int((~is_kept).sum())
            _replace(connection, row["chunk_id"], chunk.taken(is_kept))
    return ids[~have], gone


def _indexed(store: HistoryStore, repo: Repo) -> tuple[Numbers, Numbers]:
    """The ids of the commits that have vectors, in order, and their marks."""
    rows = store.connection.execute(
        f"SELECT c.id, c.sha FROM commit_rows c WHERE c.id BETWEEN ? AND ? AND {COUNTED}"  # noqa: S608
        " ORDER BY c.id",
        span(repo),
    )
    kinds = np.dtype([("id", "<i8"), ("mark", "<u8")])
    found = np.fromiter(((row[0], _mark(row[1])) for row in rows), kinds)
    return found["id"], found["mark"]


def _mark(sha: bytes) -> int:
    return int.from_bytes(sha[:8], "little")


def _batches(ids: Numbers) -> Iterator[list[int]]:
    for start in range(0, len(ids), _BATCH):
        yield [int(one) for one in ids[start : start + _BATCH]]


def _made(store: HistoryStore, embedder: Embedder, ids: list[int]) -> Chunk:
    rows = store.connection.execute(
        "SELECT c.id, c.sha, c.author_time, c.subject, c.body, p.blob FROM json_each(?) w"
        " CROSS JOIN commit_rows c ON c.id = w.value"
        " LEFT JOIN patch_rows p ON p.patch_id = c.patch_id ORDER BY c.id",
        (json_list(ids),),
    ).fetchall()
    made = embedder.embed([commit_text(store, row) for row in rows])
    scales = np.abs(made).max(axis=1) / 127
    whole = np.rint(made / np.where(scales > 0, scales, 1)[:, None])
    return Chunk(
        np.array([row["id"] for row in rows], "<i8"),
        np.array([_mark(row["sha"]) for row in rows], "<u8"),
        np.array([row["author_time"] for row in rows], "<i8"),
        scales.astype("<f4"),
        whole.astype(np.int8),
    )


def without_references(text: str) -> str:
    """A text without issue numbers, SHAs, addresses and trailers: to a model they are noise."""
    return _REFERENCE.sub(" ", text)


def commit_text(store: HistoryStore, row: sqlite3.Row) -> str:
    """What a commit's vector is made of: its message, and what it did when that says little.

    Measured: with paths and changed lines beside a telling message, fewer related commits are
    found, because one vector has room for one matter.
    """
    body = (row["body"] or "")[:_LONGEST_MESSAGE]
    message = without_references(f"{row['subject']}\n{body}").strip()
    if len(message.split()) >= _TELLING_WORDS:
        return message
    paths = [entry["path"] for entry in changed_files(store, row["id"])][:_MOST_PATHS]
    return "\n".join([message, *paths, _first_added(row["blob"])])


def _first_added(blob: bytes | None) -> str:
    if blob is None:
        return ""
    patch = raw_patch(blob)[:_LARGEST_READ].decode("utf-8", "replace")
    lines = (line for part in file_diffs(patch) for _, line in part.added)
    return "\n".join(lines)[:_MOST_ADDED]


def _append(connection: sqlite3.Connection, repo_id: int, new: Chunk) -> None:
    """Add vectors to a repository's last chunk, or begin another one."""
    with writing(connection):
        row = connection.execute(
            "SELECT chunk_id, count FROM chunks WHERE repo_id = ? ORDER BY chunk_id DESC LIMIT 1",
            (repo_id,),
        ).fetchone()
        if row is not None and row["count"] + len(new.ids) <= _CHUNK:
            _replace(connection, row["chunk_id"], _chunk(connection, row["chunk_id"]).joined(new))
            return
        connection.execute(
            "INSERT INTO chunks (repo_id, count, last_id, ids, marks, times, scales, vectors)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (repo_id, *new.blobs()),
        )


def _replace(connection: sqlite3.Connection, chunk_id: int, chunk: Chunk) -> None:
    if not len(chunk.ids):
        connection.execute("DELETE FROM chunks WHERE chunk_id = ?", (chunk_id,))
        return
    connection.execute(
        "UPDATE chunks SET count = ?, last_id = ?, ids = ?, marks = ?, times = ?, scales = ?,"
        " vectors = ? WHERE chunk_id = ?",
        (*chunk.blobs(), chunk_id),
    )


def _chunk(connection: sqlite3.Connection, chunk_id: int) -> Chunk:
    row = connection.execute("SELECT * FROM chunks WHERE chunk_id = ?", (chunk_id,)).fetchone()
    return _read(row)


def _read(row: sqlite3.Row) -> Chunk:
    return Chunk(
        np.frombuffer(row["ids"], "<i8"),
        np.frombuffer(row["marks"], "<u8"),
        np.frombuffer(row["times"], "<i8"),
        np.frombuffer(row["scales"], "<f4"),
        np.frombuffer(row["vectors"], np.int8).reshape(row["count"], -1),
    )


class CommitVectors:
    """The vectors of an index, for reading, together with the model that made them."""

    def __init__(self, index: Path, embedder: Embedder) -> None:
        self._embedder = embedder
        self._connection = open_for_reading(vectors_path(index))
        known = about(self._connection)
        if (known.get("model"), known.get("recipe")) != (embedder.name, _RECIPE):
            made_by = f"{known.get('model', 'nothing')}, {known.get('recipe', 'unfinished')}"
            raise Conflict(
                f"The vectors were made by another model ({made_by}) than {embedder.name},"
                f" {_RECIPE}",
                _REBUILD_HINT,
            )
        self._dimensions = int(known["dimensions"])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def last_ids(self) -> dict[int, int]:
        """Up to which commit each repository has vectors."""
        rows = self._connection.execute("SELECT repo_id, max(last_id) FROM chunks GROUP BY repo_id")
        return {row[0]: row[1] for row in rows}

    def nearest(
        self,
        text: str,
        repos: Sequence[Repo],
        *,
        since: int,
        among: Numbers | None = None,
        count: int = 100,
    ) -> list[tuple[int, int, float]]:
        """Id, mark and likeness of the commits most like a text; one chunk at a time is read."""
        query = self._embedder.embed([without_references(text)])[0]
        if len(query) != self._dimensions:
            raise Conflict(
                f"The model now makes {len(query)} numbers, the vectors have {self._dimensions}",
                _REBUILD_HINT,
            )
        best: list[tuple[int, int, float]] = []
        if not query.any():
            return best
        rows = self._connection.execute(
            "SELECT * FROM chunks WHERE repo_id IN (SELECT value FROM json_each(?))",
            (json_list(repo.repo_id for repo in repos),),
        )
        for row in rows:
            chunk = _read(row)
            is_wanted = chunk.times >= since
            if among is not None:
                is_wanted &= np.isin(chunk.ids, among)
            wanted = chunk if is_wanted.all() else chunk.taken(is_wanted)
            best = _best([*best, *_scored(wanted, query, count)], count)
        return best


def _scored(chunk: Chunk, query: Numbers, count: int) -> list[tuple[int, int, float]]:
    scores = (chunk.vectors.astype(np.float32) @ query) * chunk.scales
    if len(scores) > count:
        top = np.argpartition(-scores, count)[:count]
        chunk, scores = chunk.taken(top), scores[top]
    pairs = zip(chunk.ids, chunk.marks, scores, strict=True)
    return [(int(one), int(mark), float(score)) for one, mark, score in pairs]


def _best(found: list[tuple[int, int, float]], count: int) -> list[tuple[int, int, float]]:
    return sorted(found, key=lambda one: (-one[2], -one[0]))[:count]


def is_marked(sha: bytes, mark: int) -> bool:
    """Whether a vector was made for the commit of this SHA."""
    return _mark(sha) == mark
