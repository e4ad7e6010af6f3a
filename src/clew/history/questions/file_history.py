"""The commits of a path: of one file across renames and copies, or of all paths that match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from clew.history.lookup import briefs, clean_path, lower_bound, page, span
from clew.history.model import PLACE_BITS, Repo
from clew.history.search.filters import Filters, resolve_filters
from clew.history.search.paging import Cursor
from clew.history.store.interface import ALWAYS, Change, CommitRecord, HistoryStore, Touch

_SHOWN = ("path", "status", "old_path", "added", "removed")
_MOST = 1 << 31
_AFTER_ALL = (ALWAYS, ALWAYS, 0)


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


def find_touches(
    store: HistoryStore,
    path_glob: str,
    *,
    since: int | None = None,
    repos: Sequence[str] | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    """One row per file and commit, in the documented shape."""
    asked = Filters(since=since, repos=repos, by_author_date=True)
    touches: list[dict[str, Any]] = page_of_touches(store, path_glob, asked, limit=limit)["touches"]
    return touches


def page_of_touches(
    store: HistoryStore,
    path_glob: str,
    filters: Filters | None = None,
    *,
    limit: int = 50,
    cursor: str | None = None,
) -> dict[str, Any]:
    """The same with all filters, page by page."""
    asked = replace(filters or Filters(), paths=[path_glob])
    start = Cursor.read(cursor, asked, "touches")
    wanted = resolve_filters(store, replace(asked, since=start.since, until=start.until))
    most = min(limit, _MOST)
    if wanted.is_empty or most <= 0:
        return {"touches": [], "next_cursor": None}
    time, commit_id, number = (*(start.after or _AFTER_ALL), 0)[:3]
    found = list(islice(store.touches(wanted, (time, commit_id, number), most + 1), most + 1))
    names = {repo.repo_id: repo.name for repo in wanted.repos}
    more = replace(start, after=tuple(found[most - 1][:3])).text() if len(found) > most else None
    return {"touches": [_as_data(touch, names) for touch in found[:most]], "next_cursor": more}


def _as_data(touch: Touch, names: dict[int, str]) -> dict[str, Any]:
    return {
        "repo": names[touch.id >> PLACE_BITS],
        "sha": touch.sha,
        "subject": touch.subject,
        "date": touch.author_time,
        "path": touch.path,
        "status": touch.status,
    }
