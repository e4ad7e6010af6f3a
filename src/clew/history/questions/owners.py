"""Who knows a file or a directory: authors by what they changed there, and how lately."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.history.questions.file_history import path_rows
from clew.history.store.scope import COUNTED, below, bounded, clean_path, lower_bound, span
from clew.kit.sqlite import json_list

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from clew.history.model import Repo
    from clew.history.store.store import HistoryStore

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
    rows = [row for row in _changes(store, repo, name) if row["author_time"] >= lower_bound(since)]
    ranked = _ranked(store, rows)
    return {
        "repo": repo.name,
        "path": name,
        "total": len(ranked),
        "limit": bounded(limit),
        "commits": len({row["id"] for row in rows}),
        "bus_factor": _bus_factor([owner["share"] for owner in ranked]),
        "owners": [
            {**owner, "share": round(owner["share"], 4)} for owner in ranked[: bounded(limit)]
        ],
    }


def _changes(store: HistoryStore, repo: Repo, path: str) -> Sequence[sqlite3.Row]:
    """The changes of a file across renames, or else of all files in the directory."""
    as_file = path_rows(store, repo, path) if path else []
    inside = below(store, path)
    if not inside:
        return as_file
    in_directory = store.connection.execute(
        "SELECT c.id, c.author_id, c.author_time, f.added, f.removed FROM commit_rows c"  # noqa: S608
        " CROSS JOIN file_rows f ON f.commit_id = c.id"
        f" WHERE {COUNTED} AND c.id BETWEEN ? AND ?"
        " AND f.path_id IN (SELECT value FROM json_each(?))",
        (*span(repo), json_list(inside)),
    ).fetchall()
    return [*as_file, *in_directory]


def _ranked(store: HistoryStore, rows: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
    newest = max((row["author_time"] for row in rows), default=0)
    people: dict[str, dict[str, Any]] = {}
    named = {
        row["person_id"]: (row["name"], row["email"])
        for row in store.connection.execute("SELECT person_id, name, email FROM people")
    }
    for row in sorted(rows, key=lambda row: (row["author_time"], row["id"])):
        name, email = named[row["author_id"]]
        owner = people.setdefault(email.lower(), {"ids": set(), "recent": {}, "lines": 0, "w": 0.0})
        weight = 2.0 ** ((row["author_time"] - newest) / _HALF_LIFE)
        changed = row["added"] + row["removed"]
        owner |= {"author": name, "email": email, "last_touch": row["author_time"]}
        owner["ids"].add(row["id"])
        owner["recent"][row["id"]] = weight
        owner["lines"] += changed
        owner["w"] += weight * changed
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
