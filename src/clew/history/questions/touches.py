"""Which commits touched a path, newest first."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from clew.history.search.filters import Filters, Sieve, make_sieve
from clew.history.search.paging import Cursor
from clew.history.store.scope import ALWAYS, chosen_repos, lower_bound
from clew.kit.sqlite import json_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from clew.history.store.store import HistoryStore

    Row = tuple[int, int, int, bytes, str, str, str]

__all__ = ["chosen_repos", "find_touches", "lower_bound", "page_of_touches", "paths_of"]

# Above so many rows it is quicker to walk the newest commits than to sort all that match.
_MANY_ROWS = 3000
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
    asked = Filters(since=since, repos=repos)
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
    sieve = make_sieve(store, replace(asked, since=start.since, until=start.until))
    most = min(limit, _MOST)
    if sieve.is_empty or most <= 0:
        return {"touches": [], "next_cursor": None}
    rows = list(islice(_rows(store, sieve, start.after or _AFTER_ALL, most + 1), most + 1))
    shown = rows[:most]
    names = {repo.repo_id: repo.name for repo in sieve.repos}
    more = replace(start, after=shown[-1][:3]).text() if len(rows) > most else None
    return {"touches": [_touch(row, names) for row in shown], "next_cursor": more}


def paths_of(store: HistoryStore, ids: Iterable[int]) -> list[tuple[int, str]]:
    """Each of these commits with each path that it touched."""
    rows = store.connection.execute(
        "SELECT DISTINCT w.value, p.path FROM json_each(?) w"
        " CROSS JOIN file_rows f ON f.commit_id = w.value JOIN paths p ON p.path_id = f.path_id",
        (json_list(ids),),
    )
    return [(row[0], row[1]) for row in rows]


def _rows(store: HistoryStore, sieve: Sieve, after: tuple[int, ...], count: int) -> Iterator[Row]:
    """Time, commit, file number, and what is told of it; newest first, behind a place."""
    wanted = json_list(sieve.paths or ())
    numbers = json_list(repo.repo_id for repo in sieve.repos)
    condition, values = replace(sieve, ids=None, paths=None, statuses="").condition("c.id")
    few = count if sieve.reached is None else -1
    cursor = store.connection.cursor()
    cursor.row_factory = None
    rows: Iterator[Row] = cursor.execute(
        "SELECT c.author_time, c.id, f.number, c.sha, c.subject, p.path, f.status"  # noqa: S608
        f" FROM {_source(store, wanted)} JOIN paths p ON p.path_id = f.path_id"
        f" WHERE {condition} AND c.id >> 32 IN (SELECT value FROM json_each(?))"
        " AND f.path_id IN (SELECT value FROM json_each(?))"
        " AND (? = '' OR instr(?, f.status))"
        " AND c.author_time <= ? AND (c.author_time, c.id, -f.number) < (?, ?, ?)"
        " ORDER BY c.author_time DESC, c.id DESC, f.number LIMIT ?",
        (*values, numbers, wanted, *[sieve.statuses] * 2, *after[:1] * 2, after[1], -after[2], few),
    )
    return (row for row in rows if sieve.keeps(row[1]))


def _touch(row: Row, names: dict[int, str]) -> dict[str, Any]:
    author_time, commit_id, _, sha, subject, path, status = row
    return {
        "repo": names[commit_id >> 32],
        "sha": sha.hex(),
        "subject": subject,
        "date": author_time,
        "path": path,
        "status": status,
    }


def _source(store: HistoryStore, wanted: str) -> str:
    """The join that starts where fewer rows are."""
    row = store.connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM json_each(?) w JOIN file_rows f"
        " ON f.path_id = w.value LIMIT ?)",
        (wanted, _MANY_ROWS),
    ).fetchone()
    if row[0] < _MANY_ROWS:
        return "file_rows f CROSS JOIN commit_rows c ON c.id = f.commit_id"
    return (
        "commit_rows c INDEXED BY commit_author_time CROSS JOIN file_rows f ON f.commit_id = c.id"
    )
