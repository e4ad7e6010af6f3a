"""Which secrets were kept out of the index: where, of what kind, and how they began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.history.model import first_id, last_id

if TYPE_CHECKING:
    from clew.history.model import Repo
    from clew.history.store.store import HistoryStore


def list_redactions(store: HistoryStore, repo: Repo) -> list[dict[str, Any]]:
    """The redactions of one repository, oldest commit first."""
    rows = store.connection.execute(
        "SELECT c.sha, c.author_time AS date, c.subject, c.reachable, r.kind, r.hint"
        " FROM redactions r JOIN commit_rows c ON c.id = r.commit_id"
        " WHERE r.commit_id BETWEEN ? AND ? ORDER BY r.commit_id, r.rowid",
        (first_id(repo.repo_id), last_id(repo.repo_id)),
    )
    return [
        {
            "repo": repo.name,
            "sha": row["sha"].hex(),
            "date": row["date"],
            "subject": row["subject"],
            "reachable": bool(row["reachable"]),
            "kind": row["kind"],
            "hint": row["hint"],
        }
        for row in rows
    ]
