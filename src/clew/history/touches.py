"""Which commits touched a path, newest first."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clew.history.pathmatch import matching_paths
from clew.kit.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.history.model import Repo
    from clew.history.store import HistoryStore

# Above so many rows it is quicker to walk the newest commits than to sort all that match.
_MANY_ROWS = 3000
_ALWAYS = 1 << 62
_MOST = 1 << 31


def find_touches(
    store: HistoryStore,
    path_glob: str,
    *,
    since: int | None = None,
    repos: Sequence[str] | None = None,
    limit: int = 50,
) -> list[dict[str, Any]]:
    """One row per file and commit, in the documented shape."""
    paths = matching_paths(store, [path_glob])
    chosen = chosen_repos(store, repos)
    if not paths or not chosen or limit <= 0:
        return []
    wanted = json.dumps(list(paths))
    numbers = json.dumps([repo.repo_id for repo in chosen])
    source = _source(store, wanted)
    rows = store.connection.execute(
        "SELECT c.id, c.sha, c.subject, c.author_time, p.path, f.status"  # noqa: S608
        f" FROM {source} JOIN paths p ON p.path_id = f.path_id"
        " WHERE c.reachable AND c.id >> 32 IN (SELECT value FROM json_each(?))"
        " AND c.author_time >= ? AND f.path_id IN (SELECT value FROM json_each(?))"
        " ORDER BY c.author_time DESC, c.id DESC, f.number LIMIT ?",
        (numbers, lower_bound(since), wanted, min(limit, _MOST)),
    ).fetchall()
    names = {repo.repo_id: repo.name for repo in chosen}
    return [
        {
            "repo": names[row["id"] >> 32],
            "sha": row["sha"].hex(),
            "subject": row["subject"],
            "date": row["author_time"],
            "path": row["path"],
            "status": row["status"],
        }
        for row in rows
    ]


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


def lower_bound(since: int | None) -> int:
    """The earliest time that is wanted, as a number that the index can hold."""
    return -_ALWAYS if since is None else max(-_ALWAYS, min(since, _ALWAYS))


def chosen_repos(store: HistoryStore, names: Sequence[str] | None) -> list[Repo]:
    """The repositories of these names, or all; a name that is not registered is an error."""
    repos = store.repos()
    if names is None:
        return repos
    known = {repo.name: repo for repo in repos}
    unknown = [name for name in names if name not in known]
    if unknown:
        listed = ", ".join(known) or "none"
        raise NotFound(f"Repo '{unknown[0]}' not found", f"Registered: {listed}.")
    return [known[name] for name in dict.fromkeys(names)]
