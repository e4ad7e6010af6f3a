"""Search: bounded candidates from the text index, ranked by relevance and recency.

The newest matches are ranked, those in messages apart from the others; what is older follows
by date. So every match has its place in the answer, and a page costs the same however long the
history is.
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clew.history.model import EXCERPT_CHARACTERS
from clew.history.search.filters import Filters, Sieve, make_sieve
from clew.history.search.matches import matches, newest
from clew.history.search.paging import Cursor
from clew.history.search.query import PLACES, Query, parse_query, within
from clew.kit.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.history.store.store import HistoryStore

    Match = tuple[int, float, int, str]

SORTS = ("relevance", "date")
# Of the newest matches so many are ranked, and half as many of older ones in messages.
_CANDIDATES = 256
_FEWEST_CANDIDATES = 50
# Where few matches pass the filters, these do, once so many commits have been gone through.
_ENOUGH = 20
_DEPTH = 8192
_MOST_RESULTS = 1 << 31
_MOST_PATHS = 200
_HALF_LIFE_DAYS = 730.0
_RECENCY_SHARE = 0.3
_DEMOTED = ("Merge ", "Revert ")


@dataclass(frozen=True)
class Asked:
    """A search: words or none, filters, what comes first, and where to look."""

    text: str | None
    filters: Filters = field(default_factory=Filters)
    sort: str = "relevance"
    place: str = "all"


@dataclass(frozen=True)
class Page:
    """Commits in their order, the place behind each, and whether and how many there are more."""

    ids: list[int]
    behind: list[Cursor]
    has_more: bool
    total: int | None

    def next_cursor(self, shown: int) -> str | None:
        """Where to go on when so many of the page were shown."""
        is_end = shown == 0 or (shown == len(self.ids) and not self.has_more)
        return None if is_end else self.behind[shown - 1].text()


@dataclass(frozen=True)
class Found:
    """One page of a search, and what it was asked."""

    page: Page
    is_changed: bool
    query: Query | None
    sieve: Sieve


def search_commits(
    store: HistoryStore,
    query: str,
    *,
    since: int | None = None,
    repos: Sequence[str] | None = None,
    paths: Sequence[str] | None = None,
    limit: int = 20,
) -> list[dict[str, Any]]:
    """Commits that match, best first, in the documented shape."""
    asked = Asked(query, Filters(since=since, repos=repos, paths=paths))
    found = find(store, asked, limit=limit)
    return [documented(store, commit_id, found.sieve) for commit_id in found.page.ids]


def find(store: HistoryStore, asked: Asked, *, limit: int = 20, cursor: str | None = None) -> Found:
    """The commits that match and pass the filters; without a text all that pass, by date."""
    _check(asked)
    query = None if asked.text is None else parse_query(asked.text)
    by_date = query is None or asked.sort == "date"
    given = Cursor.read(cursor, asked.filters, asked.text, asked.place, by_date)
    sieve = make_sieve(store, replace(asked.filters, since=given.since, until=given.until))
    state = _state(store)
    start = replace(given, now=given.now or int(time.time()), state=state)
    most = min(limit, _MOST_RESULTS)
    if sieve.is_empty or most <= 0:
        page = Page([], [], has_more=False, total=0 if sieve.is_empty else None)
    else:
        page = _Pages(store, sieve, start).of(query, asked.place, most, by_date=by_date)
    return Found(page, given.state not in (None, state), query, sieve)


def documented(store: HistoryStore, commit_id: int, sieve: Sieve) -> dict[str, Any]:
    """One hit in the documented shape."""
    row = store.connection.execute(
        "SELECT c.sha, c.subject, c.author_time, c.preview, a.name FROM commit_rows c"
        " JOIN people a ON a.person_id = c.author_id WHERE c.id = ?",
        (commit_id,),
    ).fetchone()
    touched = store.connection.execute(
        "SELECT f.path_id, f.status, p.path FROM file_rows f"
        " JOIN paths p ON p.path_id = f.path_id WHERE f.commit_id = ? ORDER BY p.path",
        (commit_id,),
    )
    matched = [path for number, status, path in touched if sieve.passes_file(number, status)]
    names = {repo.repo_id: repo.name for repo in sieve.repos}
    return {
        "repo": names[commit_id >> 32],
        "sha": row["sha"].hex(),
        "subject": row["subject"],
        "author": row["name"],
        "date": row["author_time"],
        "matched_paths": matched[:_MOST_PATHS],
        "patch_excerpt": row["preview"][:EXCERPT_CHARACTERS],
    }


class _Pages:
    """The order of all that matches, cut into pages."""

    def __init__(self, store: HistoryStore, sieve: Sieve, start: Cursor) -> None:
        self._store = store
        self._sieve = sieve
        self._start = start

    def of(self, query: Query | None, place: str, most: int, *, by_date: bool) -> Page:
        """The page that begins where the cursor says."""
        if query is None:
            return self._dated(None, most)
        for expression in (query.expression, query.fallback or query.expression):
            try:
                written = within(expression, place)
                return self._dated(written, most) if by_date else self._ranked(written, most)
            except sqlite3.OperationalError as error:
                problem = str(error)
        raise Invalid(f"The query is not understood: {problem}", "Put its words in quotes.")

    def _ranked(self, expression: str, most: int) -> Page:
        best, is_all = rank(self._store, expression, self._sieve, self._start.now or 0)
        ordered = [commit_id for _, _, commit_id in best]
        at = len(ordered) if self._start.after else self._start.offset
        ids = ordered[at : at + most]
        total = len(ordered) if is_all else self._start.total
        behind = [self._behind(total, offset=at + n + 1) for n in range(len(ids))]
        if is_all or at + most < len(ordered):
            return Page(ids, behind, at + most < len(ordered), total)
        rest = self._dated(expression, most - len(ids), frozenset(ordered))
        return Page(ids + rest.ids, behind + rest.behind, rest.has_more, total)

    def _dated(
        self, expression: str | None, most: int, excluded: frozenset[int] = frozenset()
    ) -> Page:
        after = self._start.after
        rows, is_all = newest(self._store, expression, self._sieve, most + 1, after, excluded)
        is_counted = is_all and after is None and not excluded
        total = len(rows) if is_counted else self._start.total
        behind = [self._behind(total, after=row) for row in rows[:most]]
        return Page([row[1] for row in rows[:most]], behind, len(rows) > most, total)

    def _behind(self, total: int | None, **place: Any) -> Cursor:
        return replace(self._start, **{"offset": 0, "after": None, "total": total, **place})


def rank(
    store: HistoryStore, expression: str, sieve: Sieve, now: float
) -> tuple[list[tuple[float, int, int]], bool]:
    """Score, time and id of the newest matches, best first; and whether these are all."""
    each = max(_CANDIDATES // len(sieve.repos), _FEWEST_CANDIDATES)
    in_messages = within(expression, "message")
    if "NOT" in expression:  # what must not occur must not occur anywhere
        in_messages = f"({in_messages}) AND ({expression})"
    rows: list[Match] = []
    is_all = True
    for repo in sieve.repos:
        first, last = sieve.span(repo)
        part, is_whole = _window(store, expression, (first, last), sieve, each)
        rows += part
        if not is_whole:
            is_all = False
            below = (first, part[-1][0] - 1)
            rows += _window(store, in_messages, below, sieve, each // 2)[0]
    scored = [(_score(row[1], row[2], row[3], now), row[2], row[0]) for row in rows]
    return sorted(scored, reverse=True), is_all


def _window(
    store: HistoryStore, expression: str, among: tuple[int, int], sieve: Sieve, each: int
) -> tuple[list[Match], bool]:
    """The newest matches that are ranked, and whether there are no others."""
    rows: list[Match] = []
    lowest = 0
    for row in matches(store, expression, among, sieve):
        if not rows and sieve.is_narrow:
            lowest = row[0] - _DEPTH
        if len(rows) == each or (len(rows) >= _ENOUGH and row[0] < lowest):
            return rows, False
        rows.append(row)
    return rows, True


def _score(rank_: float, author_time: int, subject: str, now: float) -> float:
    age_days = max(now - author_time, 0.0) / 86400
    recency: float = 2.0 ** (-age_days / _HALF_LIFE_DAYS)
    score = -rank_ * (1 - _RECENCY_SHARE + _RECENCY_SHARE * recency)
    return score * 0.8 if subject.startswith(_DEMOTED) else score


def _state(store: HistoryStore) -> int:
    """A number that changes when commits come or repositories go."""
    row = store.connection.execute("SELECT sum(next_place), sum(repo_id) FROM repos").fetchone()
    return hash((row[0], row[1])) & 0xFFFFFF


def _check(asked: Asked) -> None:
    if asked.sort not in SORTS:
        raise Invalid(f"sort must be one of {', '.join(SORTS)}")
    if asked.place not in PLACES:
        raise Invalid(f"in must be one of {', '.join(PLACES)}")
