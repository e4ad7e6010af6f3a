"""Commits whose changes a question could not see whole, and the git command that looks at them.

Of patches that are too large the index has the two ends; of those that git could not read, nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from clew.history.lookup import briefs, chosen_repos
from clew.history.search.filters import Filters, resolve_filters
from clew.history.store.interface import CommitFilter, HistoryStore

_MOST_NAMED = 3


def unsearched(store: HistoryStore, filters: Filters, words: Sequence[str]) -> dict[str, Any]:
    """What a search for words in changes may have missed of what its filters let through."""
    if not words:
        return {}
    every = CommitFilter(chosen_repos(store, filters.repos))
    key = ("unsearched", *(repo.repo_id for repo in every.repos))
    if not store.remembered(key, lambda: store.unsearched(every)):
        return {}
    passing = store.unsearched(resolve_filters(store, filters))
    return named_commits(store, passing, ["-i", "-G", max(words, key=len)])


def named_commits(
    store: HistoryStore, ids: Sequence[int], looked_for: Sequence[str]
) -> dict[str, Any]:
    """How many commits were not searched, the latest, and how git looks for it; {} if none."""
    named = briefs(store, ids[:_MOST_NAMED])
    if not named:
        return {}
    own = [one["sha"][:12] for one in named if one["repo"] == named[0]["repo"]]
    is_one = len(own) == len(named)
    return {
        "unsearched": len(ids),
        "unsearched_commits": [
            one["sha"][:12] if is_one else f"{one['repo']}:{one['sha'][:12]}" for one in named
        ],
        "unsearched_look": shlex.join(["git", "log", "--no-walk", *looked_for, *own]),
    }


def unsearched_line(found: dict[str, Any]) -> str:
    """The same for people."""
    named = found["unsearched_commits"]
    more = found["unsearched"] - len(named)
    return (
        f"Too large or unreadable, not searched whole: {', '.join(named)}"
        f"{f' and {more} more' if more else ''}. Look with: {found['unsearched_look']}"
    )
