"""Which commits touched a path, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from clew.history.model import PLACE_BITS
from clew.history.search.filters import Filters, resolve_filters
from clew.history.search.paging import Cursor
from clew.history.store.interface import ALWAYS, HistoryStore, Touch

_MOST = 1 << 31
_AFTER_ALL = (ALWAYS, ALWAYS, 0)


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
