"""The history of one path, across renames and copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.history.store.scope import (
    COUNTED,
    bounded,
    briefs,
    clean_path,
    lower_bound,
    path_id,
    span,
)
from clew.kit.sqlite import json_list

if TYPE_CHECKING:
    import sqlite3

    from clew.history.model import Repo
    from clew.history.store.store import HistoryStore


def file_history(
    store: HistoryStore, repo_name: str, path: str, *, since: int | None = None, limit: int = 50
) -> dict[str, Any]:
    """Commits that changed a path, newest first, and what each did to it."""
    repo = store.find_repo(repo_name)
    rows = [
        row
        for row in path_rows(store, repo, clean_path(path))
        if row["author_time"] >= lower_bound(since)
    ]
    shown = rows[: bounded(limit)]
    heads = briefs(store, [row["id"] for row in shown])
    return {
        "total": len(rows),
        "limit": bounded(limit),
        "commits": [
            {**head, **{key: row[key] for key in _SHOWN}}
            for head, row in zip(heads, shown, strict=True)
        ],
    }


_SHOWN = ("path", "status", "old_path", "added", "removed")


def path_rows(store: HistoryStore, repo: Repo, path: str) -> list[sqlite3.Row]:
    """The changes of a path, newest first; where it came from another path, those of that one."""
    found: dict[tuple[int, str], sqlite3.Row] = {}
    pending = [(path, span(repo)[1])]
    while pending:
        name, before = pending.pop()
        number = path_id(store, name)
        for row in [] if number is None else _rows(store, repo, number, before):
            found[row["id"], row["path"]] = row
            if row["path"] == name and row["old_path"] is not None:
                pending.append((row["old_path"], row["id"] - 1))
                break  # what was called so before is another file
    return sorted(found.values(), key=lambda row: (row["commit_time"], row["id"]), reverse=True)


def recent_heads(store: HistoryStore, repo: Repo, path: str, most: int) -> list[sqlite3.Row]:
    """SHA, subject and time of the last commits that changed a path, newest first."""
    ids = (row["id"] for row in path_rows(store, repo, path)[:most])
    return store.connection.execute(
        "SELECT c.sha, c.subject, c.author_time FROM json_each(?) w"
        " CROSS JOIN commit_rows c ON c.id = w.value ORDER BY c.author_time DESC, c.id DESC",
        (json_list(ids),),
    ).fetchall()


def _rows(store: HistoryStore, repo: Repo, number: int, before: int) -> list[sqlite3.Row]:
    """The changes of one name up to a commit: under that name, and its being renamed away."""
    return store.connection.execute(
        "SELECT c.id, c.commit_time, c.author_time, c.author_id, p.path, f.status,"  # noqa: S608
        " o.path AS old_path, f.added, f.removed FROM"
        " (SELECT * FROM file_rows WHERE path_id = :path UNION ALL"
        "  SELECT * FROM file_rows WHERE old_path_id = :path AND status = 'R') f"
        " CROSS JOIN commit_rows c ON c.id = f.commit_id"
        " JOIN paths p ON p.path_id = f.path_id"
        " LEFT JOIN paths o ON o.path_id = f.old_path_id"
        f" WHERE {COUNTED} AND c.id BETWEEN :low AND :before ORDER BY c.id DESC",
        {"path": number, "low": span(repo)[0], "before": before},
    ).fetchall()
