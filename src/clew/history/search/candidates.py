"""Candidates for a ranking: commits of some repositories and times, by words and by files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.history.model import LAST_PLACE, PLACE_BITS, first_id, last_id
from clew.history.store.scope import ALWAYS, COUNTED, among, lower_bound
from clew.kit.sqlite import json_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clew.history.model import Repo
    from clew.history.store.store import HistoryStore


class Candidates:
    """The commits of some repositories within a time, looked up quickly, and read in bulk."""

    def __init__(
        self,
        store: HistoryStore,
        repos: Sequence[Repo],
        since: int | None = None,
        until: int | None = None,
    ) -> None:
        self._cursor = store.connection.cursor()
        self._cursor.row_factory = None
        condition, numbers = among(repos)
        self._condition = f"{COUNTED} AND {condition} AND c.author_time BETWEEN ? AND ?"
        upper = lower_bound(ALWAYS if until is None else until)
        self._values = (numbers, lower_bound(since), upper)
        alone = repos[0] if len(repos) == 1 else None
        rows = self._cursor.execute("SELECT repo_id, next_place FROM repos")
        places: dict[int, int] = dict(rows.fetchall())
        self._places = {alone.repo_id: places[alone.repo_id]} if alone else places
        self._span = (first_id(alone.repo_id), last_id(alone.repo_id)) if alone else None
        self.size = sum(self._places.values())

    def having(self, expression: str, most: int, *, in_message: bool) -> list[int]:
        """Commits that match, the newest first; of all times, and of all repositories if many."""
        where = f"{{subject body}} : ({expression})" if in_message else expression
        span = " AND rowid BETWEEN ? AND ?" if self._span else ""
        rows = self._cursor.execute(
            f"SELECT rowid FROM search_fts WHERE search_fts MATCH ?{span}"  # noqa: S608
            " ORDER BY rowid DESC LIMIT ?",
            (where, *(self._span or ()), most),
        )
        return [row[0] for row in rows]

    def newer(self, number: int) -> int:
        """How many commits have this id or a larger one, about."""
        own = number >> PLACE_BITS
        after = sum(count for repo_id, count in self._places.items() if repo_id > own)
        return after + self._places.get(own, 0) - (number & LAST_PLACE)

    def messages(
        self, numbers: Iterable[int], longest: int
    ) -> Iterator[tuple[int, str, str | None, bytes]]:
        """Id, subject, beginning of the body, and SHA of those that count."""
        return self._cursor.execute(
            "SELECT c.id, c.subject, substr(c.body, 1, ?), c.sha FROM json_each(?) w"  # noqa: S608
            f" CROSS JOIN commit_rows c ON c.id = w.value WHERE {self._condition}",
            (longest, json_list(numbers), *self._values),
        )

    def sharing(self, files: Iterable[str], most: int) -> list[tuple[int, int, int]]:
        """The newest that touched the files: id, how many of them, and how many files in all."""
        return self._cursor.execute(
            "SELECT c.id, count(DISTINCT f.path_id) AS shared,"  # noqa: S608
            " (SELECT count(*) FROM file_rows o WHERE o.commit_id = c.id) AS size"
            " FROM json_each(?) w JOIN paths p ON p.path = w.value"
            " CROSS JOIN file_rows f ON f.path_id = p.path_id"
            " CROSS JOIN commit_rows c ON c.id = f.commit_id"
            f" WHERE {self._condition} GROUP BY c.id ORDER BY c.id DESC LIMIT ?",
            (json_list(files), *self._values, most),
        ).fetchall()
