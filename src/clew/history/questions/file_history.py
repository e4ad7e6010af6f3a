"""The history of one path, across renames and copies."""

from __future__ import annotations

from typing import Any

from clew.history.lookup import briefs, clean_path, lower_bound, page, span
from clew.history.model import Repo
from clew.history.store.interface import Change, CommitRecord, HistoryStore

_SHOWN = ("path", "status", "old_path", "added", "removed")


def file_history(
    store: HistoryStore, repo_name: str, path: str, *, since: int | None = None, limit: int = 50
) -> dict[str, Any]:
    """Commits that changed a path, newest first, and what each did to it."""
    repo = store.find_repo(repo_name)
    earliest = lower_bound(since)
    changes = [
        change
        for change in path_changes(store, repo, clean_path(path))
        if change.commit_time >= earliest
    ]
    found = page("commits", changes, limit)
    heads = briefs(store, [change.id for change in found["commits"]])
    found["commits"] = [
        head | {key: getattr(change, key) for key in _SHOWN}
        for head, change in zip(heads, found["commits"], strict=True)
    ]
    return found


def path_changes(store: HistoryStore, repo: Repo, path: str) -> list[Change]:
    """The changes of a path, newest first; where it came from another path, those of that one."""
    found: dict[tuple[int, str], Change] = {}
    pending = [(path, span(repo)[1])]
    while pending:
        name, before = pending.pop()
        for change in store.path_changes(repo.repo_id, name, before):
            found[change.id, change.path] = change
            if change.path == name and change.old_path is not None:
                pending.append((change.old_path, change.id - 1))
                break  # what was called so before is another file
    return sorted(found.values(), key=lambda one: (one.commit_time, one.id), reverse=True)


def recent_commits(store: HistoryStore, repo: Repo, path: str, most: int) -> list[CommitRecord]:
    """The last commits that changed a path, newest first."""
    ids = [change.id for change in path_changes(store, repo, path)[:most]]
    found = store.commits(ids).values()
    return sorted(found, key=lambda commit: (commit.date, commit.id), reverse=True)
