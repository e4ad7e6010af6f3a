"""How many commits each repository got, week by week."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.history.store.store import HistoryStore

WEEK = 7 * 86400


def weekly_commits(store: HistoryStore, weeks: int) -> tuple[range, dict[str, Counter[int]]]:
    """The last weeks up to the newest commit, counted from 1970, and commits by name and week."""
    newest = store.connection.execute("SELECT max(author_time) FROM commits").fetchone()[0]
    last = min(int(time.time()), int(newest or 0)) // WEEK
    shown = range(last - weeks + 1, last + 1)
    rows = store.connection.execute(
        "SELECT r.name, c.author_time / ? AS week, count(*) FROM commits c"
        " JOIN repos r ON r.repo_id = c.repo_id"
        " WHERE c.reachable AND c.author_time >= ? AND c.author_time < ? GROUP BY 1, 2",
        (WEEK, shown.start * WEEK, shown.stop * WEEK),
    )
    counts: dict[str, Counter[int]] = {}
    for name, week, count in rows:
        counts.setdefault(name, Counter())[week] += count
    return shown, counts
