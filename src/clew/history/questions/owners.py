"""Who knows a file or a directory: authors by what they changed there, and how lately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clew.history.lookup import clean_path, lower_bound, page
from clew.history.questions.file_history import path_changes
from clew.history.store.interface import Change, HistoryStore

_HALF_LIFE = 365.0 * 86400
_MAJORITY = 0.5


def owners(
    store: HistoryStore,
    repo_name: str,
    path: str = "",
    *,
    since: int | None = None,
    limit: int = 10,
) -> dict[str, Any]:
    """Authors of a path, the foremost first; the bus factor is how many hold half of it."""
    repo = store.find_repo(repo_name)
    name = clean_path(path) if path not in ("", ".") else ""
    # A file across renames, or else all files in the directory.
    changes = path_changes(store, repo, name) if name else []
    changes += store.directory_changes(repo.repo_id, name)
    changes = [change for change in changes if change.commit_time >= lower_bound(since)]
    ranked = _ranked(store, changes)
    return page(
        "owners",
        [{**owner, "share": round(owner["share"], 4)} for owner in ranked],
        limit,
        repo=repo.name,
        path=name,
        commits=len({change.id for change in changes}),
        bus_factor=_bus_factor([owner["share"] for owner in ranked]),
    )


def _ranked(store: HistoryStore, changes: Sequence[Change]) -> list[dict[str, Any]]:
    newest = max((change.author_time for change in changes), default=0)
    people: dict[str, dict[str, Any]] = {}
    named = {number: (name, email) for number, name, email in store.people()}
    for change in sorted(changes, key=lambda change: (change.author_time, change.id)):
        name, email = named[change.author_id]
        owner = people.setdefault(email.lower(), {"ids": set(), "recent": {}, "lines": 0, "w": 0.0})
        weight = 2.0 ** ((change.author_time - newest) / _HALF_LIFE)
        lines = (change.added or 0) + (change.removed or 0)  # a damaged row has none
        owner |= {"author": name, "email": email, "last_touch": change.author_time}
        owner["ids"].add(change.id)
        owner["recent"][change.id] = weight
        owner["lines"] += lines
        owner["w"] += weight * lines
    return _shares(list(people.values()))


def _shares(people: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Half of a share is of the commits, half of the lines, both weighted by how recent."""
    commits = sum(sum(one["recent"].values()) for one in people)
    lines = sum(one["w"] for one in people)
    shown = []
    for one in people:
        of_commits = sum(one["recent"].values()) / commits
        of_lines = one["w"] / lines if lines else of_commits
        shown.append(
            {
                "author": one["author"],
                "email": one["email"],
                "commits": len(one["ids"]),
                "lines": one["lines"],
                "last_touch": one["last_touch"],
                "share": (of_commits + of_lines) / 2,
            }
        )
    return sorted(shown, key=lambda one: (-one["share"], one["email"]))


def _bus_factor(shares: list[float]) -> int:
    held = 0.0
    for count, share in enumerate(shares, start=1):
        held += share
        if held >= _MAJORITY - 1e-9:
            return count
    return 0
