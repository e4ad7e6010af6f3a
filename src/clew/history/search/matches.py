"""Commits that the text index names and the filters let through, newest first."""

from __future__ import annotations

from itertools import islice

from clew.history.model import Repo
from clew.history.store.interface import ALWAYS, CommitFilter, Dated, HistoryStore

_WINDOW = 256
# Up to this many commits that are newer than their place in history are checked one by one.
_FEW_LATE = 64
_END = (ALWAYS, ALWAYS)


def newest(
    store: HistoryStore,
    expression: str | None,
    wanted: CommitFilter,
    count: int,
    after: tuple[int, ...] | None = None,
    excluded: frozenset[int] = frozenset(),
) -> tuple[list[Dated], bool]:
    """The newest matches by author time, as (time, id); and whether there are no others.

    Those behind `after` alone, and none of the excluded.
    """
    before = (after[0], after[1]) if after else _END
    if expression is None:
        found = list(islice(store.newest(wanted, before), count))
        return found, len(found) < count
    merged: list[Dated] = []
    is_all = True
    for repo in wanted.repos:
        part, is_whole = _newest_of(store, expression, repo, wanted, count, before, excluded)
        merged += part
        is_all = is_all and is_whole
    merged.sort(reverse=True)
    return merged[:count], is_all and len(merged) <= count


def _newest_of(
    store: HistoryStore,
    expression: str,
    repo: Repo,
    wanted: CommitFilter,
    count: int,
    before: Dated,
    excluded: frozenset[int],
) -> tuple[list[Dated], bool]:
    """The newest of one repository, exactly, without reading all that match.

    History is nearly in the order of time. A window of matches is read in the order of history;
    it is enough when no commit further back is newer than the last one wanted, or when these
    few can be asked for themselves.
    """
    first, last = wanted.span(repo)
    rows = store.dated_matches(expression, (first, last), wanted)
    found: set[Dated] = set()
    window = max(_WINDOW, 2 * count)
    while True:
        part = list(islice(rows, window))
        found |= {row for row in part if row < before and row[1] not in excluded}
        if len(part) < window:
            return sorted(found, reverse=True), True
        if len(found) >= count:
            least = sorted(found, reverse=True)[count - 1]
            further_back = (first, part[-1][1] - 1)
            late = store.newer_than(least[0], before[0], further_back, _FEW_LATE + 1)
            if len(late) <= _FEW_LATE:
                for one in late:
                    again = store.dated_matches(expression, (one, one), wanted)
                    found |= {row for row in again if row < before and one not in excluded}
                return sorted(found, reverse=True)[:count], False
        window *= 2
