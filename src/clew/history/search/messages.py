"""Messages of many commits of a repository at once: those with a word, and the newest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clew.history.store.scope import COUNTED, span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.history.model import Repo
    from clew.history.store.store import HistoryStore


class SizedMessage(NamedTuple):
    """A commit's message, and how many lines the commit added."""

    sha: str
    subject: str
    body: str
    date: int
    lines: int


def messages_with(store: HistoryStore, repo: Repo, words: Sequence[str]) -> list[tuple[str, str]]:
    """SHA and message of the commits whose message has one of the words, the oldest first."""
    rows = store.connection.execute(
        "SELECT c.sha, c.subject, c.body FROM search_fts s"  # noqa: S608
        " CROSS JOIN commit_rows c ON c.id = s.rowid WHERE search_fts MATCH ?"
        f" AND s.rowid BETWEEN ? AND ? AND {COUNTED} ORDER BY s.rowid",
        (f"{{subject body}} : ({' OR '.join(words)})", *span(repo)),
    )
    return [(row["sha"].hex(), f"{row['subject']}\n\n{row['body'] or ''}") for row in rows]


def newest_sized_messages(
    store: HistoryStore, repo: Repo, count: int, *, besides: str
) -> list[SizedMessage]:
    """The newest commits first; lines of paths that begin with `besides` are not counted."""
    rows = store.connection.execute(
        "SELECT c.sha, c.subject, c.body, c.author_time, (SELECT coalesce(sum(f.added), 0)"  # noqa: S608
        " FROM file_rows f JOIN paths p ON p.path_id = f.path_id WHERE f.commit_id = c.id"
        " AND p.path NOT LIKE ?) AS lines FROM commit_rows c"
        f" WHERE {COUNTED} AND c.id BETWEEN ? AND ? ORDER BY c.id DESC LIMIT ?",
        (f"{besides}%", *span(repo), count),
    )
    return [
        SizedMessage(
            row["sha"].hex(), row["subject"], row["body"] or "", row["author_time"], row["lines"]
        )
        for row in rows
    ]
