"""What changes most: paths by commits, lines and authors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.history.search.pathmatch import matching_paths
from clew.history.store.scope import COUNTED, among, bounded, chosen_repos, lower_bound
from clew.kit.sqlite import json_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.history.store.store import HistoryStore

_FOREVER = 1 << 62


def hotspots(
    store: HistoryStore,
    *,
    repos: Sequence[str] | None = None,
    paths: Sequence[str] | None = None,
    since: int | None = None,
    until: int | None = None,
    limit: int = 20,
) -> dict[str, Any]:
    """The paths that most commits of a time changed."""
    chosen = chosen_repos(store, repos)
    condition, numbers = among(chosen)
    upper = lower_bound(_FOREVER if until is None else until)
    condition += f" AND {COUNTED} AND c.author_time BETWEEN ? AND ?"
    values: list[Any] = [numbers, lower_bound(since), upper]
    if paths is not None:
        condition += " AND f.path_id IN (SELECT value FROM json_each(?))"
        values.append(json_list(matching_paths(store, paths)))
    rows = store.connection.execute(
        "SELECT r.name AS repo, p.path, g.commits, g.added, g.removed, g.authors, g.total FROM"  # noqa: S608
        " (SELECT c.id >> 32 AS repo_id, f.path_id, count(*) AS commits, sum(f.added) AS added,"
        "  sum(f.removed) AS removed, count(DISTINCT a.email COLLATE NOCASE) AS authors,"
        "  count(*) OVER () AS total"
        "  FROM commit_rows c CROSS JOIN file_rows f ON f.commit_id = c.id"
        "  JOIN people a ON a.person_id = c.author_id"
        f"  WHERE {condition} GROUP BY 1, 2"
        "  ORDER BY commits DESC, added + removed DESC LIMIT max(?, 1)) g"
        " JOIN repos r ON r.repo_id = g.repo_id JOIN paths p ON p.path_id = g.path_id"
        " ORDER BY g.commits DESC, g.added + g.removed DESC, p.path",
        (*values, bounded(limit)),
    ).fetchall()
    found = [{key: row[key] for key in row.keys() if key != "total"} for row in rows]  # noqa: SIM118
    return {
        "total": rows[0]["total"] if rows else 0,
        "limit": bounded(limit),
        "paths": found[: bounded(limit)],
    }
