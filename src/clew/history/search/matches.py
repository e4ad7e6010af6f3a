"""Commits that the text index names and the filters let through, newest first."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from clew.history.store.scope import ALWAYS
from clew.history.store.scope import among as among_repos

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.history.model import Repo
    from clew.history.search.filters import Sieve
    from clew.history.store.store import HistoryStore

    Dated = tuple[int, int]

# How much a match weighs in subject, body, added, removed and context lines, and paths.
_WEIGHTS = "10.0, 4.0, 1.0, 0.6, 0.8, 3.0"
_WINDOW = 256
# So many commits that are newer than their place says are asked for one by one.
_FEW_LATE = 64
_END = (ALWAYS, ALWAYS)


def matches(
    store: HistoryStore, expression: str, among: tuple[int, int], sieve: Sieve
) -> Iterator[tuple[int, float, int, str]]:
    """Id, rank, author time and subject in the order of the history, newest first.

    They are read only as far as they are wanted.
    """
    selected = f"s.rowid, bm25(search_fts, {_WEIGHTS}), c.author_time, c.subject"
    for row in _rows(store, selected, expression, sieve, among):
        if sieve.keeps(row[0]):
            yield row


def newest(
    store: HistoryStore,
    expression: str | None,
    sieve: Sieve,
    count: int,
    after: tuple[int, ...] | None = None,
    excluded: frozenset[int] = frozenset(),
) -> tuple[list[Dated], bool]:
    """At most so many matches by author time, as (time, id); and whether there are no others.

    Those behind `after` alone, and none of the excluded.
    """
    before = (after[0], after[1]) if after else _END
    if expression is None:
        found = list(islice(_all_newest(store, sieve, before), count))
        return found, len(found) < count
    merged: list[Dated] = []
    is_all = True
    for repo in sieve.repos:
        part, is_whole = _newest_of(store, expression, repo, sieve, count, before, excluded)
        merged += part
        is_all = is_all and is_whole
    merged.sort(reverse=True)
    return merged[:count], is_all and len(merged) <= count


def _newest_of(
    store: HistoryStore,
    expression: str,
    repo: Repo,
    sieve: Sieve,
    count: int,
    before: Dated,
    excluded: frozenset[int],
) -> tuple[list[Dated], bool]:
    """The newest of one repository, exactly, without reading all that match.

    History is nearly in the order of time. A window of matches is read in the order of history;
    it is enough when no commit further back is newer than the last one wanted, or when these
    few can be asked for themselves.
    """
    first, last = sieve.span(repo)
    rows = _rows(store, "c.author_time, s.rowid", expression, sieve, (first, last))
    found: set[Dated] = set()
    window = max(_WINDOW, 2 * count)
    lowest = last
    while True:
        part = list(islice(rows, window))
        found |= {
            row for row in part if row < before and row[1] not in excluded and sieve.keeps(row[1])
        }
        if len(part) < window:
            return sorted(found, reverse=True), True
        lowest = part[-1][1]
        if len(found) >= count:
            least = sorted(found, reverse=True)[count - 1]
            late = _late(store, (first, lowest - 1), least[0], before[0])
            if len(late) <= _FEW_LATE:
                for commit_id in late:
                    again = _rows(
                        store, "c.author_time, s.rowid", expression, sieve, (commit_id, commit_id)
                    )
                    found |= {
                        row
                        for row in again
                        if row < before and commit_id not in excluded and sieve.keeps(commit_id)
                    }
                return sorted(found, reverse=True)[:count], False
        window *= 2


def _late(store: HistoryStore, among: tuple[int, int], newer: int, until: int) -> list[int]:
    """Commits far back in the history whose time is nevertheless newer."""
    rows = store.connection.execute(
        "SELECT id FROM commit_rows WHERE author_time > ? AND author_time <= ?"
        " AND id BETWEEN ? AND ? LIMIT ?",
        (newer, until, *among, _FEW_LATE + 1),
    )
    return [row[0] for row in rows]


def _rows(
    store: HistoryStore, selected: str, expression: str, sieve: Sieve, among: tuple[int, int]
) -> Iterator[Any]:
    condition, values = sieve.condition("s.rowid")
    cursor = store.connection.cursor()
    cursor.row_factory = None
    return cursor.execute(
        f"SELECT {selected} FROM search_fts s"  # noqa: S608 - columns and conditions of this room
        " CROSS JOIN commit_rows c ON c.id = s.rowid"
        f" WHERE search_fts MATCH ? AND s.rowid BETWEEN ? AND ? AND {condition}"
        " ORDER BY s.rowid DESC",
        (expression, *among, *values),
    )


def _all_newest(store: HistoryStore, sieve: Sieve, before: Dated) -> Iterator[Dated]:
    """All commits that pass, by author time."""
    condition, values = sieve.condition("c.id")
    source = "commit_rows c INDEXED BY commit_author_time"
    if sieve.ids is not None:
        source = "commit_rows c NOT INDEXED"
        condition = condition.replace("+c.id IN", "c.id IN")
    is_chosen, numbers = among_repos(sieve.repos)
    cursor = store.connection.cursor()
    cursor.row_factory = None
    rows = cursor.execute(
        f"SELECT c.author_time, c.id FROM {source}"  # noqa: S608 - conditions of this room
        f" WHERE {is_chosen} AND {condition}"
        " AND c.author_time <= ? AND (c.author_time, c.id) < (?, ?)"
        " ORDER BY c.author_time DESC, c.id DESC",
        (numbers, *values, before[0], *before),
    )
    for row in rows:
        if sieve.keeps(row[1]):
            yield row
