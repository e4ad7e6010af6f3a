"""Registered repositories in SQLite, and how far each is indexed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping

from clew.history.model import Repo
from clew.history.store.base import SqliteBase, span_of
from clew.history.store.interface import SyncState
from clew.kit.errors import Conflict, NotFound
from clew.kit.sqlite import writing

_COLUMNS = (
    "name, local_path, remote_url, default_branch, all_refs, exclude_prefixes, author_filter,"
    " managed_clone"
)
# The mark of all refs lies among them, under the name that no ref has.
_TIPS = "SELECT ref, sha FROM ref_tips WHERE repo_id = ? AND ref != ''"
_MARK = "SELECT sha FROM ref_tips WHERE repo_id = ? AND ref = ''"


class SqliteRepositories(SqliteBase):
    """The repositories of the index."""

    def repos(self) -> list[Repo]:
        """All repositories, in the order they were added."""
        rows = self.connection.execute("SELECT * FROM repos ORDER BY repo_id")
        return [_repo(row) for row in rows]

    def find_repo(self, name: str) -> Repo:
        """The repository of that name; NotFound if there is none."""
        stored = name.encode("utf-8", "replace").decode("utf-8")
        row = self.connection.execute("SELECT * FROM repos WHERE name = ?", (stored,)).fetchone()
        if row is None:
            raise NotFound(f"Repo '{name}' not found")
        return _repo(row)

    def add_repo(self, repo: Repo) -> Repo:
        """Register a repository; Conflict if the name is taken."""
        statement = f"INSERT INTO repos ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
        try:
            with writing(self.connection):
                self.connection.execute(statement, _values(repo))
        except sqlite3.IntegrityError:
            raise Conflict(
                f"A repo named '{repo.name}' already exists."
                " Use 'commitmux status' to see all repos."
            ) from None
        return self.find_repo(repo.name)

    def update_repo(self, repo: Repo) -> None:
        """Store a repository's new settings."""
        with writing(self.connection):
            self.connection.execute(
                f"UPDATE repos SET ({_COLUMNS}) = (?, ?, ?, ?, ?, ?, ?, ?) WHERE repo_id = ?",  # noqa: S608
                (*_values(repo), repo.repo_id),
            )

    def places(self) -> dict[int, int]:
        """The place that the next commit of each repository gets: about how many it has."""
        return dict(self._tuples().execute("SELECT repo_id, next_place FROM repos").fetchall())

    def commit_count(self, repo_id: int) -> int:
        """How many reachable commits of a repository are indexed."""
        row = self.connection.execute(
            "SELECT count(*) FROM commit_rows WHERE reachable = 1 AND id BETWEEN ? AND ?",
            span_of(repo_id),
        ).fetchone()
        return int(row[0])

    def state(self, repo_id: int) -> SyncState:
        """The outcome of the last sync."""
        row = self.connection.execute(
            "SELECT last_synced_at, last_synced_sha, last_error FROM ingest_state"
            " WHERE repo_id = ?",
            (repo_id,),
        ).fetchone()
        return SyncState() if row is None else SyncState(*row)

    def set_state(self, repo_id: int, at: int | None, sha: str | None, error: str | None) -> None:
        """Store the outcome of a sync; None keeps what is there, except for the error."""
        self.connection.execute(
            "INSERT INTO ingest_state VALUES (?, ?, ?, ?) ON CONFLICT (repo_id) DO UPDATE SET"
            " last_synced_at = coalesce(excluded.last_synced_at, last_synced_at),"
            " last_synced_sha = coalesce(excluded.last_synced_sha, last_synced_sha),"
            " last_error = excluded.last_error",
            (repo_id, at, sha, error),
        )

    def tips(self, repo_id: int) -> dict[str, str]:
        """The refs up to which everything is indexed."""
        rows = self._tuples().execute(_TIPS, (repo_id,))
        return dict(rows.fetchall())

    def tips_mark(self, repo_id: int) -> str | None:
        """What was said to stand for these refs: sooner read than all of them."""
        row = self.connection.execute(_MARK, (repo_id,)).fetchone()
        return None if row is None else str(row[0])

    def set_tips(self, repo_id: int, tips: Mapping[str, str], mark: str = "") -> None:
        """Store the refs up to which everything is indexed now, and their mark. Transaction."""
        marked = {**tips, "": mark} if mark else tips
        self.connection.execute("DELETE FROM ref_tips WHERE repo_id = ?", (repo_id,))
        self.connection.executemany(
            "INSERT INTO ref_tips VALUES (?, ?, ?)",
            [(repo_id, ref, sha) for ref, sha in marked.items()],
        )


def _repo(row: sqlite3.Row) -> Repo:
    return Repo(
        repo_id=row["repo_id"],
        name=row["name"],
        local_path=row["local_path"],
        remote_url=row["remote_url"],
        default_branch=row["default_branch"],
        all_refs=bool(row["all_refs"]),
        exclude_prefixes=tuple(json.loads(row["exclude_prefixes"])),
        author_filter=row["author_filter"],
        managed_clone=bool(row["managed_clone"]),
    )


def _values(repo: Repo) -> tuple[object, ...]:
    return (
        repo.name,
        repo.local_path,
        repo.remote_url,
        repo.default_branch,
        int(repo.all_refs),
        json.dumps(list(repo.exclude_prefixes)),
        repo.author_filter,
        int(repo.managed_clone),
    )
