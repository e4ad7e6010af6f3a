"""What changes most: paths by commits, lines and authors, and repositories week by week."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from clew.history.lookup import bounded, chosen_repos, time_range
from clew.history.search.pathmatch import matching_paths
from clew.history.store.interface import HistoryStore

WEEK = 7 * 86400


def hotspots(
    store: HistoryStore,
    *,
    repos: Sequence[str] | None = None,
    paths: Sequence[str] | None = None,
    since: int | None = None,
    until: int | None = None,
    limit: int = 20,
) -> dict[str, Any]:
    """The paths that most commits of a time changed."""
    chosen = chosen_repos(store, repos)
    wanted = None if paths is None else matching_paths(store, paths)
    total, found = store.hotspots(chosen, time_range(since, until), wanted, bounded(limit))
    return {
        "total": total,
        "limit": bounded(limit),
        "paths": [hotspot._asdict() for hotspot in found],
    }


def weekly_commits(
    store: HistoryStore, weeks: int, repo: str | None = None
) -> tuple[range, dict[str, Counter[int]]]:
    """The last weeks up to the newest commit, counted from 1970, and commits by name and week."""
    last = min(int(time.time()), store.newest_time() or 0) // WEEK
    periods = range(last - weeks + 1, last + 1)
    counts: dict[str, Counter[int]] = {}
    for name, week, count in store.counts_by_period(WEEK, periods):
        if repo not in (None, name):
            continue
        counts.setdefault(name, Counter())[week] += count
    return periods, counts
