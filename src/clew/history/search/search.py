"""Search: bounded candidates from the text index, ranked by relevance and recency.

What matches of the one ranking's best comes first. Of the others the newest matches are ranked,
those in messages apart from the others; what is older follows by date. So every match has its place in the answer, and a page costs the same however long the
history is.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from clew.history.model import EXCERPT_CHARACTERS, PLACE_BITS
from clew.history.ranking.ranking import Ranker
from clew.history.search.filters import Filters, resolve_filters
from clew.history.search.matches import newest
from clew.history.search.paging import Cursor, fitting
from clew.history.search.query import FIELDS, PLACES, Query, parse_query, within
from clew.history.search.snippets import snippets
from clew.history.search.unsearched import unsearched
from clew.history.store.interface import (
    CommitFilter,
    Dated,
    HistoryStore,
    Match,
    QueryNotUnderstood,
)
from clew.kit.errors import Invalid
from clew.kit.jsontext import dumps

MAX_CHARACTERS = 20_000
SNIPPETS = 3
_MOST_SNIPPETS = 50
_MOST_COMMITS = 500
SORTS = ("relevance", "date")
# How many of the newest matches are ranked, and half as many of older ones in messages.
_CANDIDATES = 256
_FEWEST_CANDIDATES = 50
# Where few matches pass the filters, these are enough once _DEPTH commits have been read.
_ENOUGH = 20
_DEPTH = 8192
_MOST_RESULTS = 1 << 31
_MOST_PATHS = 200
# Commits with some of the words follow: up to so many, or up to so many results in all, where
# fewer commits than this have all of this many words.
_FIRST_RANKED, _FILLED = 50, 10
_FEW_MATCHES, _MANY_WORDS = 10, 4
_HALF_LIFE_DAYS = 730.0
_RECENCY_SHARE = 0.3
_DEMOTED = ("Merge ", "Revert ")

_Row = TypeVar("_Row", Match, Dated)


@dataclass(frozen=True)
class SearchRequest:
    """A search: words or none, filters, what comes first, and where to look.

    Plain words are ordered by the one ranking, except for `search`, whose order is documented.
    """

    text: str | None
    filters: Filters = field(default_factory=Filters)
    sort: str = "relevance"
    place: str = "all"
    is_learned: bool = True

    @property
    def words_of_changes(self) -> list[str]:
        """The words that it looks for in what commits changed."""
        if self.text is None or self.place == "message":
            return []
        terms = parse_query(self.text).terms
        return [word for term in terms if term.columns in FIELDS["diff"] for word in term.words]


@dataclass(frozen=True)
class Page:
    """Commits in their order, the place behind each, and whether and how many there are more."""

    ids: list[int]
    behind: list[Cursor]
    has_more: bool
    total: int | None

    def next_cursor(self, shown: int) -> str | None:
        """The cursor of the next page, after this many results were shown."""
        is_end = shown == 0 or (shown >= len(self.behind) and not self.has_more)
        return None if is_end else self.behind[shown - 1].text()


@dataclass(frozen=True)
class Found:
    """One page of a search, its query and filter, and how many of the last have only some words."""

    page: Page
    is_changed: bool
    query: Query | None
    wanted: CommitFilter
    any_word: int = 0


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
    found = marked_commits(store, query, since=since, repos=repos, paths=paths, limit=limit)
    return found[0]


def marked_commits(
    store: HistoryStore,
    query: str,
    *,
    since: int | None = None,
    repos: Sequence[str] | None = None,
    paths: Sequence[str] | None = None,
    limit: int = 20,
) -> tuple[list[dict[str, Any]], int]:
    """Commits in the documented shape, and how many of the last have only some of the words."""
    filters = Filters(since=since, repos=repos, paths=paths, by_author_date=True)
    found = find(store, SearchRequest(query, filters, is_learned=False), limit=limit)
    return documented(store, found), found.any_word


def find(
    store: HistoryStore, asked: SearchRequest, *, limit: int = 20, cursor: str | None = None
) -> Found:
    """The commits that match and pass the filters; without a text all that pass, by date."""
    _check(asked)
    query = None if asked.text is None else parse_query(asked.text)
    by_date = query is None or asked.sort == "date"
    given = Cursor.read(cursor, asked.filters, asked.text, asked.place, by_date)
    wanted = resolve_filters(store, replace(asked.filters, since=given.since, until=given.until))
    state = _state(store)
    start = replace(given, now=given.now or int(time.time()), state=state)
    most = min(limit, _MOST_RESULTS)
    some: list[int] = []
    if wanted.is_empty or most <= 0:
        page = Page([], [], has_more=False, total=0 if wanted.is_empty else None)
    else:
        pages = _Pages(store, wanted, start, asked)
        page = pages.of(query, most, by_date=by_date)
        if query is not None and not by_date and cursor is None:
            some = _having_some(pages, asked, query, page, most)
            page = replace(page, ids=page.ids + some)
    return Found(page, given.state not in (None, state), query, wanted, len(some))


def _having_some(
    pages: _Pages, asked: SearchRequest, query: Query, page: Page, most: int
) -> list[int]:
    """What has some of the words, best first, where no commit has all, or few have many."""
    if page.total is None or page.has_more or asked.place != "all":
        return []
    if (page.ids or not query.is_plain) and not _may_be_filled(query, page.total):
        return []  # what has signs and few words was meant as it is written
    wished = max(0, min(most, _FILLED if page.ids else _FIRST_RANKED) - len(page.ids))
    best = pages.best[: wished + len(page.ids)] if wished else []
    return [one for one in best if one not in page.ids][:wished]


def _may_be_filled(query: Query, total: int) -> bool:
    """Whether so few commits have all of so many words that others may follow."""
    return total < _FEW_MATCHES and len(query.terms) >= _MANY_WORDS


def documented(store: HistoryStore, found: Found) -> list[dict[str, Any]]:
    """The commits of a page in the documented shape."""
    ids = found.page.ids
    names = {repo.repo_id: repo.name for repo in found.wanted.repos}
    commits, paths = store.commits(ids), store.matched_paths(ids, found.wanted)
    return [
        {
            "repo": names[commit.id >> PLACE_BITS],
            "sha": commit.sha,
            "subject": commit.subject,
            "author": commit.author,
            "date": commit.date,
            "matched_paths": paths[commit.id][:_MOST_PATHS],
            "patch_excerpt": commit.preview[:EXCERPT_CHARACTERS],
        }
        for commit in (commits[commit_id] for commit_id in ids)
    ]


def page_of_commits(
    store: HistoryStore,
    asked: SearchRequest,
    *,
    limit: int = 20,
    cursor: str | None = None,
    lines: int = SNIPPETS,
    max_chars: int | None = None,
) -> dict[str, Any]:
    """Commits with the lines that match, as many as fit, and where the next page begins."""
    most = min(limit, _MOST_COMMITS)
    found = find(store, asked, limit=most, cursor=cursor)
    records = store.commits(found.page.ids)
    moments = [records[commit_id].commit_time for commit_id in found.page.ids]
    commits = [
        {**commit, "committed": moment, "snippets": []}
        for commit, moment in zip(documented(store, found), moments, strict=True)
    ]
    sizes = [len(dumps(commit)) for commit in commits] if max_chars is not None else []
    count = len(commits) if max_chars is None else fitting([(n, n) for n in sizes], max_chars)[0]
    lines_of = _snippets(store, found.page.ids[:count], found, min(lines, _MOST_SNIPPETS))
    for commit_id, commit in zip(found.page.ids, commits, strict=True):
        commit["snippets"] = lines_of.get(commit_id, [])
    shown, left_out = _fit(commits, sizes, max_chars)
    answer: dict[str, Any] = {
        "commits": shown,
        "total": found.page.total,
        "next_cursor": found.page.next_cursor(len(shown)),
        "left_out": left_out,
    }
    if found.any_word:
        answer["any_word"] = max(0, found.any_word - left_out["commits"])
    return {**answer, "index_changed": True} if found.is_changed else answer


def unseen_beside(
    store: HistoryStore, page: dict[str, Any], asked: SearchRequest
) -> dict[str, Any]:
    """What a page of commits may have missed; one that is cut off does not claim to have all."""
    is_end = page["next_cursor"] is None
    return unsearched(store, asked.filters, asked.words_of_changes) if is_end else {}


def _fit(
    commits: list[dict[str, Any]], bare_sizes: list[int], max_chars: int | None
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """As much as fits: lines go first, then commits; and how much was left out."""
    if max_chars is None:
        return commits, {"commits": 0, "snippets": 0}
    sizes = list(zip(bare_sizes, (len(dumps(commit)) for commit in commits), strict=True))
    count, bare = fitting(sizes, max_chars)
    shown = [{**c, "snippets": []} if n in bare else c for n, c in enumerate(commits[:count])]
    lines = sum(len(commits[number]["snippets"]) for number in bare)
    return shown, {"commits": len(commits) - count, "snippets": lines}


def _snippets(
    store: HistoryStore, ids: Sequence[int], found: Found, most: int
) -> dict[int, list[dict[str, Any]]]:
    """The lines that match, of those of the commits that have a patch."""
    query = found.query
    if query is None or most <= 0:
        return {}
    wanted = None if found.wanted.paths is None else frozenset(found.wanted.paths.values())
    return {
        commit_id: snippets(
            patch.decode("utf-8", "replace"),
            query,
            most=most,
            shows_path=lambda path: wanted is None or path in wanted,
        )
        for commit_id, patch in store.patches(ids)
    }


class _Pages:
    """The order of all that matches, cut into pages."""

    def __init__(
        self, store: HistoryStore, wanted: CommitFilter, start: Cursor, asked: SearchRequest
    ) -> None:
        self._store = store
        self._wanted = wanted
        self._start = start
        self._asked = asked

    def of(self, query: Query | None, most: int, *, by_date: bool) -> Page:
        """The page that begins where the cursor says."""
        if query is None:
            return self._dated(None, most)
        for expression in (query.expression, query.fallback or query.expression):
            try:
                written = within(expression, self._asked.place)
                if by_date:
                    return self._dated(written, most)
                return self._ranked(query, written, most)
            except QueryNotUnderstood as error:
                problem = error
        raise problem

    @cached_property
    def best(self) -> list[int]:
        """What the one ranking finds, the best first."""
        return self._best(None)

    def _best(self, matched: Mapping[int, float] | None) -> list[int]:
        ranker = Ranker(self._store, self._wanted, matched=matched)
        return [one.id for one in ranker.rank(self._asked.text or "", _FIRST_RANKED)]

    def _first(
        self, query: Query, expression: str, known: Collection[int], rows: Sequence[Match] | None
    ) -> list[int]:
        """What comes first: those of the one ranking's best that match, as some are known to."""
        if rows is not None and not _may_be_filled(query, len(known)):
            return self._best({row[0]: -row[1] for row in rows})
        match = self._store.dated_matches
        return [
            one
            for one in self.best
            if one in known or (rows is None and any(match(expression, (one, one), self._wanted)))
        ]

    def _ranked(self, query: Query, expression: str, most: int) -> Page:
        first: list[int] = []
        rows: list[Match] | None = None
        at, count = self._start.offset, 0
        is_all = is_enough = False
        if query.is_plain and self._asked.is_learned and self._asked.place == "all":
            known, is_all = latest(self._store, expression, self._wanted)
            count = len(known)
            if count > 1:
                if is_all or self._wanted.is_narrow:
                    rows, _ = matches(self._store, expression, self._wanted)
                first = self._first(query, expression, known, rows)
            is_enough = at + most < len(first) or (is_all and len(first) == count)
        ordered = first
        if not is_enough or self._start.after:  # the others need an order only where it shows
            if rows is None:
                rows, is_all = matches(self._store, expression, self._wanted)
            others = _in_order(rows, self._start.now or 0)
            ordered = list(dict.fromkeys([*first, *others]))
            count = len(ordered)
            at = count if self._start.after else at
        ids = ordered[at : at + most]
        total = count if is_all else self._start.total
        behind = [self._behind(total, offset=at + n + 1) for n in range(len(ids))]
        if is_all or at + most < len(ordered):
            return Page(ids, behind, at + most < max(count, len(ordered)), total)
        rest = self._dated(expression, most - len(ids), frozenset(ordered))
        return Page(ids + rest.ids, behind + rest.behind, rest.has_more, total)

    def _dated(
        self, expression: str | None, most: int, excluded: frozenset[int] = frozenset()
    ) -> Page:
        after = self._start.after
        rows, is_all = newest(self._store, expression, self._wanted, most + 1, after, excluded)
        is_counted = is_all and after is None and not excluded
        total = len(rows) if is_counted else self._start.total
        behind = [self._behind(total, after=row) for row in rows[:most]]
        return Page([row[1] for row in rows[:most]], behind, len(rows) > most, total)

    def _behind(self, total: int | None, **place: Any) -> Cursor:
        return replace(self._start, **{"offset": 0, "after": None, "total": total, **place})


def latest(
    store: HistoryStore, expression: str, wanted: CommitFilter
) -> tuple[frozenset[int], bool]:
    """The newest matches, unordered: as many as are ranked; and whether these are all."""
    rows: list[int] = []
    is_all = True
    for repo in wanted.repos:
        dated = store.dated_matches(expression, wanted.span(repo), wanted)
        part, is_whole = _window(((one, at) for at, one in dated), wanted)
        rows += [one for one, _ in part]
        is_all = is_all and is_whole
    return frozenset(rows), is_all


def matches(store: HistoryStore, expression: str, wanted: CommitFilter) -> tuple[list[Match], bool]:
    """The newest matches, and older ones in messages; and whether these are all."""
    in_messages = within(expression, "message")
    if "NOT" in expression:  # what must not occur must not occur anywhere
        in_messages = f"({in_messages}) AND ({expression})"
    rows: list[Match] = []
    is_all = True
    for repo in wanted.repos:
        first, last = wanted.span(repo)
        part, is_whole = _window(store.ranked_matches(expression, (first, last), wanted), wanted)
        rows += part
        if not is_whole:
            is_all = False
            below = (first, part[-1][0] - 1)
            older = store.ranked_matches(in_messages, below, wanted)
            rows += _window(older, wanted, share=2)[0]
    return rows, is_all


def _in_order(rows: Sequence[Match], now: float) -> list[int]:
    """The best first, by relevance and recency."""
    scored = [(_score(row[1], row[2], row[3], now), row[2], row[0]) for row in rows]
    return [number for _, _, number in sorted(scored, reverse=True)]


def _window(
    matches: Iterator[_Row], wanted: CommitFilter, share: int = 1
) -> tuple[list[_Row], bool]:
    """The newest matches that are ranked, by the ids that they begin with; and if there are no others."""
    each = max(_CANDIDATES // len(wanted.repos), _FEWEST_CANDIDATES) // share
    rows: list[_Row] = []
    lowest = 0
    for row in matches:
        if not rows and wanted.is_narrow:
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
    places = store.places()
    return hash((sum(places.values()), sum(places))) & 0xFFFFFF


def _check(asked: SearchRequest) -> None:
    if asked.sort not in SORTS:
        raise Invalid(f"sort must be one of {', '.join(SORTS)}")
    if asked.place not in PLACES:
        raise Invalid(f"in must be one of {', '.join(PLACES)}")
