"""Vectors of commits: made of their messages, kept in step with the index, compared with a text.

Each chunk holds up to `_CHUNK` vectors of one repository as bytes, with a scale each. A vector
is identified by its commit's id and a mark of its SHA, so that vectors never match the commits
of an index that was rebuilt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.history.store.vectors import WITH_SYNC, Near, VectorChunk, Vectors
from clew.kit.errors import Conflict
from clew.kit.text.diff import file_diffs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from clew.history.model import Repo
    from clew.history.store.interface import CommitRecord, HistoryStore
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

    def stored(self) -> VectorChunk | None:
        """The chunk as the file has it; none if it is empty."""
        if not len(self.ids):
            return None
        blobs = (values.tobytes() for values in vars(self).values())
        return VectorChunk(len(self.ids), int(self.ids.max()), *blobs)


def embed_commits(
    store: HistoryStore,
    embedder: Embedder,
    repos: Sequence[Repo],
    progress: Callable[[int], None] | None = None,
    *,
    rebuild: bool = False,
) -> Embedded:
    """Make the vectors that are missing, drop those of commits that are gone."""
    with store.new_vectors() as vectors:
        wanted = _settle_model(vectors, embedder, rebuild=rebuild)
        dropped = vectors.drop_other_repos([repo.repo_id for repo in store.repos()])
        added = 0
        for repo in repos:
            with vectors.locked(repo.repo_id):
                _require_model(vectors, wanted)
                missing, gone = _compare(vectors, store, repo)
                dropped += gone
                for start in range(0, len(missing), _BATCH):
                    batch = [int(one) for one in missing[start : start + _BATCH]]
                    _append(vectors, repo.repo_id, _chunk_of(store, embedder, batch))
                    added += len(batch)
                    if progress is not None:
                        progress(added)
        return Embedded(embedder.name, added, dropped, vectors.total())


def _settle_model(vectors: Vectors, embedder: Embedder, *, rebuild: bool) -> dict[str, str]:
    """Record what makes the vectors; vectors of something else are only dropped on request."""
    size = embedder.dimensions or embedder.embed(["probe"]).shape[1]
    wanted = {"model": embedder.name, "dimensions": str(size), "recipe": _RECIPE}
    if rebuild or not _made_by(vectors):
        with vectors.locked():
            if rebuild or not _made_by(vectors):
                vectors.start_anew(wanted)
    _require_model(vectors, wanted)
    return wanted


def _made_by(vectors: Vectors) -> dict[str, str]:
    known = vectors.about()
    known.pop(WITH_SYNC, None)
    return known


def _require_model(vectors: Vectors, wanted: dict[str, str]) -> None:
    known = _made_by(vectors)
    if known != wanted:
        raise Conflict(
            f"The vectors were made by {known['model']} ({known['dimensions']} numbers,"
            f" {known['recipe']}); now it would be {wanted['model']} ({wanted['dimensions']},"
            f" {_RECIPE})",
            _REBUILD_HINT,
        )


def _compare(vectors: Vectors, store: HistoryStore, repo: Repo) -> tuple[Numbers, int]:
    """The commits without a vector; vectors without a commit are dropped, and counted."""
    ids, marks = _indexed(store, repo)
    have = np.zeros(len(ids), bool)
    gone = 0
    for chunk_id, *stored in vectors.marks(repo.repo_id):
        own, own_marks = np.frombuffer(stored[0], "<i8"), np.frombuffer(stored[1], "<u8")
        places = np.minimum(np.searchsorted(ids, own), max(len(ids) - 1, 0))
        is_kept = np.zeros(len(own), bool)
        if len(ids):
            is_kept = (ids[places] == own) & (marks[places] == own_marks)
        have[places[is_kept]] = True
        if not is_kept.all():
            gone += int((~is_kept).sum())
            kept = read_chunk(vectors.chunk(chunk_id)).taken(is_kept)
            vectors.replace_chunk(chunk_id, kept.stored())
    return ids[~have], gone


def _indexed(store: HistoryStore, repo: Repo) -> tuple[Numbers, Numbers]:
    """The ids of the commits that have vectors, in order, and their marks."""
    kinds = np.dtype([("id", "<i8"), ("mark", "<u8")])
    commits = ((number, _mark(sha)) for number, sha in store.counted_commits(repo.repo_id))
    found = np.fromiter(commits, kinds)
    return found["id"], found["mark"]


def _mark(sha: bytes) -> int:
    return int.from_bytes(sha[:8], "little")


def _chunk_of(store: HistoryStore, embedder: Embedder, ids: list[int]) -> Chunk:
    commits = [found for _, found in sorted(store.commits(ids).items())]
    made = embedder.embed([commit_text(store, commit) for commit in commits])
    scales = np.abs(made).max(axis=1) / 127
    whole = np.rint(made / np.where(scales > 0, scales, 1)[:, None])
    return Chunk(
        np.array([commit.id for commit in commits], "<i8"),
        np.array([_mark(bytes.fromhex(commit.sha)) for commit in commits], "<u8"),
        np.array([commit.date for commit in commits], "<i8"),
        scales.astype("<f4"),
        whole.astype(np.int8),
    )


def without_references(text: str) -> str:
    """A text without issue numbers, SHAs, addresses and trailers: to a model they are noise."""
    return _REFERENCE.sub(" ", text)


def commit_text(store: HistoryStore, commit: CommitRecord) -> str:
    """What a commit's vector is made of: its message, and what it did when that says little.

    Measured: with paths and changed lines beside a telling message, fewer related commits are
    found, because one vector has room for one matter.
    """
    body = (commit.body or "")[:_LONGEST_MESSAGE]
    message = without_references(f"{commit.subject}\n{body}").strip()
    if len(message.split()) >= _TELLING_WORDS:
        return message
    paths = [file.path for file in store.files([commit.id])[commit.id]][:_MOST_PATHS]
    return "\n".join([message, *paths, _first_added(store.patch(commit.id))])


def _first_added(patch: bytes | None) -> str:
    if patch is None:
        return ""
    text = patch[:_LARGEST_READ].decode("utf-8", "replace")
    lines = (line for part in file_diffs(text) for _, line in part.added)
    return "\n".join(lines)[:_MOST_ADDED]


def _append(vectors: Vectors, repo_id: int, new: Chunk) -> None:
    """Add vectors to a repository's last chunk, or begin another one."""
    chunk_id = vectors.last_chunk(repo_id)
    if chunk_id is not None:
        last = read_chunk(vectors.chunk(chunk_id))
        if len(last.ids) + len(new.ids) <= _CHUNK:
            vectors.replace_chunk(chunk_id, last.joined(new).stored())
            return
    stored = new.stored()
    assert stored is not None
    vectors.add_chunk(repo_id, stored)


def read_chunk(chunk: VectorChunk) -> Chunk:
    """The numbers in a stored chunk."""
    return Chunk(
        np.frombuffer(chunk.ids, "<i8"),
        np.frombuffer(chunk.marks, "<u8"),
        np.frombuffer(chunk.times, "<i8"),
        np.frombuffer(chunk.scales, "<f4"),
        np.frombuffer(chunk.vectors, np.int8).reshape(chunk.size, -1),
    )


class CommitVectors:
    """The vectors of an index, for reading, together with the model that made them."""

    def __init__(self, vectors: Vectors, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors = vectors
        known = vectors.about()
        if (known.get("model"), known.get("recipe")) != (embedder.name, _RECIPE):
            made_by = f"{known.get('model', 'nothing')}, {known.get('recipe', 'unfinished')}"
            raise Conflict(
                f"The vectors were made by another model ({made_by}) than {embedder.name},"
                f" {_RECIPE}",
                _REBUILD_HINT,
            )
        self._dimensions = int(known["dimensions"])

    def compared(
        self,
        text: str,
        repos: Sequence[Repo],
        times: tuple[int, int],
        count: int,
        also: Sequence[int],
    ) -> Near | None:
        """Id, mark and likeness of the most alike and of some others, where an engine compares."""
        query = self._query(text)
        repo_ids = [repo.repo_id for repo in repos]
        return self._vectors.compared(query.tolist(), repo_ids, times, count, also)

    def _query(self, text: str) -> Numbers:
        query: Numbers = self._embedder.embed([without_references(text)])[0]
        if len(query) != self._dimensions:
            raise Conflict(
                f"The model now makes {len(query)} numbers, the vectors have {self._dimensions}",
                _REBUILD_HINT,
            )
        return query

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
        query = self._query(text)
        best: Near = []
        if not query.any():
            return best
        for stored in self._vectors.chunks([repo.repo_id for repo in repos]):
            chunk = read_chunk(stored)
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
