"""Files that usually change together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from clew.history.questions.file_history import path_rows
from clew.history.store.scope import bounded, clean_path, lower_bound
from clew.kit.sqlite import json_list

if TYPE_CHECKING:
    from clew.history.store.store import HistoryStore

# A commit of more files than this is a reformatting or an import: it couples nothing.
_MOST_FILES = 50


def co_change(
    store: HistoryStore,
    repo_name: str,
    path: str,
    *,
    since: int | None = None,
    min_support: int = 2,
    limit: int = 20,
) -> dict[str, Any]:
    """Files that changed in the same commits as a path, the most frequent first."""
    repo = store.find_repo(repo_name)
    rows = path_rows(store, repo, clean_path(path))
    own = {row["path"] for row in rows} | {row["old_path"] for row in rows} | {path}
    touched = {row["id"] for row in rows if row["author_time"] >= lower_bound(since)}
    together, small = _partners(store, touched)
    partners: list[dict[str, Any]] = [
        {"path": other, "support": count, "confidence": round(count / len(small), 4)}
        for other, count in together.items()
        if other not in own and count >= min_support
    ]
    partners.sort(key=lambda one: (-one["support"], one["path"]))
    return {
        "repo": repo.name,
        "path": path,
        "commits": len(small),
        "left_out": len(touched) - len(small),
        "total": len(partners),
        "limit": bounded(limit),
        "files": partners[: bounded(limit)],
    }


def _partners(store: HistoryStore, touched: set[int]) -> tuple[Counter[str], set[int]]:
    """How often each path is in these commits, and which commits were small enough to count."""
    listed = store.connection.execute(
        "SELECT w.value, count(*) FROM json_each(?) w"
        " CROSS JOIN file_rows f ON f.commit_id = w.value GROUP BY w.value",
        (json_list(sorted(touched)),),
    )
    small = {row[0] for row in listed if row[1] <= _MOST_FILES}
    rows = store.connection.execute(
        "SELECT p.path, count(DISTINCT f.commit_id) FROM json_each(?) w"
        " CROSS JOIN file_rows f ON f.commit_id = w.value"
        " JOIN paths p ON p.path_id = f.path_id WHERE f.status != 'D' GROUP BY p.path",
        (json_list(sorted(small)),),
    )
    return Counter({row[0]: row[1] for row in rows}), small
