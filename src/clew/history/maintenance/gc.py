"""Making the index smaller: what no ref has reached for long, and what nothing refers to."""

from __future__ import annotations

import time
from dataclasses import dataclass

from clew.history.store.interface import HistoryStore

_DAY = 86_400


@dataclass(frozen=True)
class Freed:
    """What a clean-up dropped, or would drop."""

    commits: int
    patches: int
    paths: int
    people: int
    bytes_before: int
    bytes_after: int


def collect(store: HistoryStore, days: int = 30, *, dry_run: bool = False) -> Freed:
    """Drop unreachable commits that are older, then what is left without a use."""
    before = store.size()
    with store.locked():
        with store.writing(discard=dry_run):
            old = store.unreachable_before(int(time.time()) - days * _DAY)
            commits = store.delete_commits(old)
            swept = store.sweep()
        if not dry_run:
            store.compact()
    return Freed(commits, *swept, bytes_before=before, bytes_after=store.size())
