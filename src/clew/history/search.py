"""Search: bounded candidates from the text index, ranked by relevance and recency."""

from __future__ import annotations

import sqlite3
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from clew.history.model import EXCERPT_CHARACTERS, first_id, last_id
from clew.history.pathmatch import matching_paths
from clew.history.query import Query, parse_query
from clew.history.touches import chosen_repos, lower_bound
from clew.kit.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.history.model import Repo
    from clew.history.store import HistoryStore

# Of the newest matches so many are ranked, of those in messages alone as many again: that keeps
# the time flat however long the history is.
_CANDIDATES = 256
_FEWEST_CANDIDATES = 50
_MOST_RESULTS = 1 << 31
_MOST_PATHS = 200
# How much a match weighs in subject, body, added, removed and context lines, and paths.
_WEIGHTS = "10.0, 4.0, 1.0, 0.6, 0.8, 3.0"
_HALF_LIFE_DAYS = 730.0
_RECENCY_SHARE = 0.3
_DEMOTED = ("Merge ", "Revert ")


def search_commits(
    store: HistoryStore,
    query: str,
    *,
    since: int | None = None,
    repos: Sequence[str] | None = None,
    paths: Sequence[str] | None = None,
    limit: int = 20,
) -> list[dict[str, Any]]:
    """Commits that match, best first, in the documented shape."""
    parsed = parse_query(query)
    chosen = chosen_repos(store, repos)
    wanted = matching_paths(store, paths) if paths is not None else None
    if limit <= 0 or not chosen or (wanted is not None and not wanted):
        return []
    scored = _candidates(store, parsed, chosen, since, wanted, min(limit, _MOST_RESULTS))
    best = sorted(scored, reverse=True)[:limit]
    return [_result(store, commit_id, chosen, wanted) for _, _, commit_id in best]


def _candidates(
    store: HistoryStore,
    query: Query,
    chosen: list[Repo],
    since: int | None,
    wanted: dict[int, str] | None,
    limit: int,
) -> list[tuple[float, int, int]]:
    """Score, time and id of the newest matches of every repository."""
    try:
        return _ranked(store, query.expression, chosen, since, wanted, limit)
    except sqlite3.OperationalError as error:
        if query.fallback is None:
            raise Invalid(f"The query is not understood: {error}") from None
    return _ranked(store, query.fallback, chosen, since, wanted, limit)


def _ranked(
    store: HistoryStore,
    expression: str,
    chosen: list[Repo],
    since: int | None,
    wanted: dict[int, str] | None,
    limit: int,
) -> list[tuple[float, int, int]]:
    each = max(_CANDIDATES // len(chosen), _FEWEST_CANDIDATES, limit)
    now = time.time()
    best: dict[int, tuple[float, int, int]] = {}
    for repo in chosen:
        for matched in (f"{{subject body}} : ({expression})", expression):
            rows = _matches(store, matched, repo, since, wanted)
            for commit_id, rank, author_time, subject in islice(rows, each):
                score = _score(rank, author_time, subject, now)
                if commit_id not in best or score > best[commit_id][0]:
                    best[commit_id] = (score, author_time, commit_id)
    return list(best.values())


def _matches(
    store: HistoryStore,
    expression: str,
    repo: Repo,
    since: int | None,
    wanted: dict[int, str] | None,
) -> Iterator[tuple[int, float, int, str]]:
    """Matches that pass the filters, newest first; read only as far as they are wanted."""
    cursor = store.connection.execute(
        f"SELECT s.rowid, bm25(search_fts, {_WEIGHTS}), c.author_time, c.subject"  # noqa: S608
        " FROM search_fts s CROSS JOIN commit_rows c ON c.id = s.rowid"
        " WHERE search_fts MATCH ? AND s.rowid BETWEEN ? AND ?"
        " AND c.reachable AND c.author_time >= ? ORDER BY s.rowid DESC",
        (
            expression,
            first_id(repo.repo_id),
            last_id(repo.repo_id),
            lower_bound(since),
        ),
    )
    for row in cursor:
        if wanted is None or _touches_any(store, row[0], wanted):
            yield tuple(row)


def _touches_any(store: HistoryStore, commit_id: int, wanted: dict[int, str]) -> bool:
    rows = store.connection.execute(
        "SELECT path_id FROM file_rows WHERE commit_id = ?", (commit_id,)
    )
    return any(row[0] in wanted for row in rows)


def _score(rank: float, author_time: int, subject: str, now: float) -> float:
    age_days = max(now - author_time, 0.0) / 86400
    recency: float = 2.0 ** (-age_days / _HALF_LIFE_DAYS)
    score = -rank * (1 - _RECENCY_SHARE + _RECENCY_SHARE * recency)
    return score * 0.8 if subject.startswith(_DEMOTED) else score


def _result(
    store: HistoryStore, commit_id: int, chosen: list[Repo], wanted: dict[int, str] | None
) -> dict[str, Any]:
    row = store.connection.execute(
        "SELECT c.sha, c.subject, c.author_time, c.preview, a.name FROM commit_rows c"
        " JOIN people a ON a.person_id = c.author_id WHERE c.id = ?",
        (commit_id,),
    ).fetchone()
    touched = store.connection.execute(
        "SELECT f.path_id, p.path FROM file_rows f JOIN paths p ON p.path_id = f.path_id"
        " WHERE f.commit_id = ? ORDER BY p.path",
        (commit_id,),
    )
    matched = [path for number, path in touched if wanted is None or number in wanted]
    names = {repo.repo_id: repo.name for repo in chosen}
    return {
        "repo": names[commit_id >> 32],
        "sha": row["sha"].hex(),
        "subject": row["subject"],
        "author": row["name"],
        "date": row["author_time"],
        "matched_paths": matched[:_MOST_PATHS],
        "patch_excerpt": row["preview"][:EXCERPT_CHARACTERS],
    }
