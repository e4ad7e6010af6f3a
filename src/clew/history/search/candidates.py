"""Candidates for a ranking: commits of some repositories and times, by words and by files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from clew.history.lookup import time_range
from clew.history.model import LAST_PLACE, PLACE_BITS, Repo, first_id, last_id
from clew.history.store.interface import ALWAYS, HistoryStore, MessageRecord


class Candidates:
    """The commits of some repositories within a time, looked up quickly, and read in bulk."""

    def __init__(
        self,
        store: HistoryStore,
        repos: Sequence[Repo],
        since: int | None = None,
        until: int | None = None,
    ) -> None:
        self._store = store
        self._repos = repos
        self._times = time_range(since, until)
        places = store.places()
        alone = repos[0].repo_id if len(repos) == 1 else None
        self._span = (0, ALWAYS) if alone is None else (first_id(alone), last_id(alone))
        self._places = places if alone is None else {alone: places[alone]}
        self.size = sum(self._places.values())

    def having(self, expression: str, most: int, *, in_message: bool) -> list[int]:
        """Commits that match, the newest first; of all times, and of all repositories if many."""
        where = f"{{subject body}} : ({expression})" if in_message else expression
        return self._store.saying(where, self._span, most)

    def newer(self, number: int) -> int:
        """How many commits have this id or a larger one, about."""
        own = number >> PLACE_BITS
        after = sum(count for repo_id, count in self._places.items() if repo_id > own)
        return after + self._places.get(own, 0) - (number & LAST_PLACE)

    def messages(self, numbers: Iterable[int], longest: int) -> Iterator[MessageRecord]:
        """The messages, with the beginnings of their bodies, of those that count."""
        return self._store.messages(numbers, self._repos, self._times, longest)

    def sharing(self, files: Iterable[str], most: int) -> list[tuple[int, int, int]]:
        """The newest that touched the files: id, how many of them, and how many files in all."""
        return self._store.sharing(files, self._repos, self._times, most)
