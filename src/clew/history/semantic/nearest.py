"""Commits by meaning, from vectors kept in memory: the answer of their file, sooner.

The history room reads the vectors' file for every question. A server is asked often, so it keeps
the vectors for as long as the file stays as it was, if they are not too many.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from clew.history.model import PLACE_BITS
from clew.history.store.vectors import VectorFile, vectors_path
from clew.models.embedding import load_embedder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from clew.history.model import Repo
    from clew.history.store.interface import HistoryStore
    from clew.models.embedding import Embedder

    Numbers = NDArray[Any]

MOST_KEPT = 200_000
_MOST_FILES = 2
# The first numbers of a vector tell most; all are compared only for what is near by these.
_BEGINNING = 64
_REFINED = 1500
_UNWANTED = -1e9
_guard = threading.Lock()
_kept: dict[str, _Kept] = {}


def by_meaning(
    store: HistoryStore,
    text: str,
    repos: Sequence[Repo],
    *,
    times: tuple[int, int],
    count: int,
    also: Sequence[int] = (),
) -> list[tuple[int, int, float]]:
    """Id, mark and likeness of the commits most like a text, and of some others.

    A mark says whether the vector was made for the commit that has the id now.
    """
    embedder = load_embedder()  # before numpy is imported: it keeps that to one thread
    with _guard:
        kept = _current(store.path, embedder)
        near = kept.nearest(embedder, text, repos, times, count) if kept.is_all else None
        if near is not None:
            return [*near, *kept.likeness(also)]
    from clew.history.semantic.vectors import CommitVectors

    vectors = CommitVectors(store.path, embedder)
    try:
        return vectors.nearest(text, repos, since=times[0], count=count)
    finally:
        vectors.close()


def vectors_of(index: Path) -> tuple[str, dict[int, int]]:
    """The model that made an index's vectors, and up to which commit each repository has them."""
    embedder = load_embedder()
    with _guard:
        return embedder.name, _current(index, embedder).last_ids


def _current(index: Path, embedder: Embedder) -> _Kept:
    """The vectors of an index as they are now."""
    name = str(index)
    kept = _kept.get(name)
    if kept is None or not kept.is_current() or kept.model != embedder.name:
        if kept is not None:
            kept.close()
            del _kept[name]
        from clew.history.semantic.vectors import CommitVectors

        CommitVectors(index, embedder).close()  # refuses what another model made
        _kept[name] = kept = _Kept(index, embedder.name)
        while len(_kept) > _MOST_FILES:
            _kept.pop(next(iter(_kept))).close()
    return kept


class _Kept:
    """All vectors of one file, in one block, and how to know that they still are."""

    def __init__(self, index: Path, model: str) -> None:
        self.model = model
        self._path = vectors_path(index)
        self._identity = _inode(self._path)
        self._file = VectorFile.read(index)
        self._version = self._file.version()
        self.last_ids = self._file.last_ids()
        total = self._file.total()
        self._query: Numbers | None = None
        self.is_all = 0 < total <= MOST_KEPT
        if self.is_all:
            self._load(total)

    def _load(self, total: int) -> None:
        import numpy as np

        from clew.history.semantic.vectors import read_chunk

        self._ids = np.empty(total, "<i8")
        self._marks = np.empty(total, "<u8")
        self._times = np.empty(total, "<i8")
        self._vectors: Numbers | None = None
        at = 0
        for chunk in map(read_chunk, self._file.chunks()):
            here = slice(at, at + len(chunk.ids))
            self._ids[here], self._marks[here] = chunk.ids, chunk.marks
            self._times[here] = chunk.times
            if self._vectors is None:
                self._vectors = np.empty((total, chunk.vectors.shape[1]), np.float32)
            np.multiply(chunk.vectors, chunk.scales[:, None], out=self._vectors[here])
            at = here.stop
        assert self._vectors is not None
        self._beginnings = np.ascontiguousarray(self._vectors[:, :_BEGINNING])
        self._order = np.argsort(self._ids, kind="stable")
        self._sorted = self._ids[self._order]
        self._earliest, self._latest = int(self._times.min()), int(self._times.max())
        self._repos = {int(one) for one in np.unique(self._ids >> PLACE_BITS)}

    def is_current(self) -> bool:
        """Whether nothing was written since."""
        return _inode(self._path) == self._identity and self._file.version() == self._version

    def nearest(
        self,
        embedder: Embedder,
        text: str,
        repos: Sequence[Repo],
        times: tuple[int, int],
        count: int,
    ) -> list[tuple[int, int, float]] | None:
        """Id, mark and likeness of the most alike; None if the vectors do not fit the model."""
        import numpy as np

        from clew.history.semantic.vectors import without_references

        query = embedder.embed([without_references(text)])[0]
        if self._vectors is None or len(query) != self._vectors.shape[1]:
            return None
        self._query = query if query.any() else None
        if self._query is None:
            return []
        rough = self._beginnings @ query[:_BEGINNING]
        wanted = [repo.repo_id for repo in repos]
        first, last = times
        if first > self._earliest or last < self._latest or not self._repos.issubset(wanted):
            is_wanted = np.isin(self._ids >> PLACE_BITS, wanted)
            is_wanted &= (self._times >= first) & (self._times <= last)
            rough = np.where(is_wanted, rough, np.float32(_UNWANTED))
        near = _largest(rough, _REFINED)
        near = near[rough[near] > _UNWANTED]
        scores = self._vectors[near] @ query
        best = np.lexsort((-self._ids[near], -scores))[:count]
        found = zip(self._ids[near][best], self._marks[near][best], scores[best], strict=True)
        return [(int(one), int(mark), float(score)) for one, mark, score in found]

    def likeness(self, ids: Sequence[int]) -> list[tuple[int, int, float]]:
        """Id, mark and likeness of these commits to the text that was asked for last."""
        import numpy as np

        if not ids or self._vectors is None or self._query is None:
            return []
        wanted = np.array(ids, "<i8")
        places = self._order[
            np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        ]
        places = places[self._ids[places] == wanted]
        scores = self._vectors[places] @ self._query
        found = zip(self._ids[places], self._marks[places], scores, strict=True)
        return [(int(one), int(mark), float(score)) for one, mark, score in found]

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def _largest(scores: Numbers, count: int) -> Numbers:
    """Where the largest are, in no order."""
    import numpy as np

    if len(scores) <= count:
        return np.arange(len(scores))
    return np.argpartition(-scores, count)[:count]


def _inode(path: Path) -> int:
    return path.stat().st_ino if path.exists() else 0
