"""Commits by meaning: compared by the index's engine, or here with vectors kept in memory.

A server is asked often, so it keeps the vectors for as long as they stay as they were, if they are
not too many; else each question reads them all.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from clew.history.model import PLACE_BITS
from clew.models.embedding import load_embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from clew.history.model import Repo
    from clew.history.store.interface import HistoryStore
    from clew.history.store.vectors import Vectors
    from clew.models.embedding import Embedder

    Numbers = NDArray[Any]

MOST_KEPT = 200_000
_MOST_KEPT = 2
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
    vectors = store.vectors()
    with _guard:
        kept = _current(vectors, embedder)
        near = kept.nearest(embedder, text, repos, times, count) if kept.is_all else None
        if near is not None:
            return [*near, *kept.likeness(also)]
    from clew.history.semantic.vectors import CommitVectors

    made = CommitVectors(vectors, embedder)
    found = made.compared(text, repos, times, count, also)
    return made.nearest(text, repos, since=times[0], count=count) if found is None else found


def vectors_of(store: HistoryStore) -> tuple[str, dict[int, int]]:
    """The model that made an index's vectors, and up to which commit each repository has them."""
    embedder = load_embedder()
    with _guard:
        return embedder.name, _current(store.vectors(), embedder).last_ids


def _current(vectors: Vectors, embedder: Embedder) -> _Kept:
    """The vectors of an index as they are now."""
    kept = _kept.get(vectors.place)
    if kept is None or kept.version != vectors.version() or kept.model != embedder.name:
        _kept.pop(vectors.place, None)
        from clew.history.semantic.vectors import CommitVectors

        CommitVectors(vectors, embedder)  # refuses what another model made
        _kept[vectors.place] = kept = _Kept(vectors, embedder.name)
        while len(_kept) > _MOST_KEPT:
            del _kept[next(iter(_kept))]
    return kept


class _Kept:
    """All vectors of one index, in one block, and how to know that they still are."""

    def __init__(self, vectors: Vectors, model: str) -> None:
        self.model = model
        self.version = vectors.version()
        self.last_ids = vectors.last_ids()
        total = vectors.total()
        self._query: Numbers | None = None
        self.is_all = 0 < total <= MOST_KEPT and not vectors.are_compared
        if self.is_all:
            self._load(vectors, total)

    def _load(self, vectors: Vectors, total: int) -> None:
        import numpy as np

        from clew.history.semantic.vectors import read_chunk

        self._ids = np.empty(total, "<i8")
        self._marks = np.empty(total, "<u8")
        self._times = np.empty(total, "<i8")
        self._vectors: Numbers | None = None
        at = 0
        for chunk in map(read_chunk, vectors.chunks()):
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


def _largest(scores: Numbers, count: int) -> Numbers:
    """Where the largest are, in no order."""
    import numpy as np

    if len(scores) <= count:
        return np.arange(len(scores))
    return np.argpartition(-scores, count)[:count]
