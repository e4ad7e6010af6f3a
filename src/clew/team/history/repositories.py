"""Registered repositories in PostgreSQL, and how far each is indexed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

import psycopg

from clew.history.model import Repo, first_id
from clew.history.store.interface import SyncState
from clew.kit.errors import Conflict, NotFound
from clew.team.history.base import COLUMNS, PostgresBase, span_of

_SETTINGS = "%s, %s, %s, %s, %s, %s, %s, %s"
PARTITIONED = ("commit_rows", "commit_text", "file_rows", "patch_rows")
# The mark of all refs lies among them, under the name that no ref has.
_TIPS = "SELECT ref, sha FROM ref_tips WHERE repo_id = %s AND ref != ''"
_MARK = "SELECT sha FROM ref_tips WHERE repo_id = %s AND ref = ''"


class PostgresRepositories(PostgresBase):
    """The repositories of the index."""

    def find_repo(self, name: str) -> Repo:
        """The repository of that name; NotFound if there is none."""
        found = next((repo for repo in self.repos() if repo.name == name), None)
        if found is None:
            raise NotFound(f"Repo '{name}' not found")
        return found

    def add_repo(self, repo: Repo) -> Repo:
        """Register a repository, with partitions of its own; Conflict if the name is taken."""
        try:
            with self._own_transaction():
                row = self.database.row(
                    f"INSERT INTO repos ({COLUMNS}) VALUES ({_SETTINGS}) RETURNING repo_id",
                    _values(repo),
                )
                assert row is not None
                self._add_partitions(row[0])
                self._touch(row[0])
        except psycopg.errors.UniqueViolation:
            raise Conflict(
                f"A repo named '{repo.name}' already exists."
                " Use 'commitmux status' to see all repos."
            ) from None
        return self.find_repo(repo.name)

    def _own_transaction(self) -> AbstractContextManager[None]:
        return nullcontext() if self.database.in_transaction else self.database.transaction()

    def _add_partitions(self, repo_id: int) -> None:
        """Attached, not made in place: that would keep every reader waiting."""
        first, behind = first_id(repo_id), first_id(repo_id + 1)
        self.database.script(
            ";".join(
                f"CREATE TABLE {table}_{repo_id} (LIKE {table} INCLUDING ALL);"
                f"ALTER TABLE {table} ATTACH PARTITION {table}_{repo_id}"
                f" FOR VALUES FROM ({first}) TO ({behind})"
                for table in PARTITIONED
            )
        )

    def _touch(self, repo_id: int) -> None:
        """Record that something of a repository was written."""
        self.database.run(
            "INSERT INTO repo_changes (repo_id) VALUES (%s)"
            " ON CONFLICT (repo_id) DO UPDATE SET number = repo_changes.number + 1",
            (repo_id,),
        )

    def update_repo(self, repo: Repo) -> None:
        """Store a repository's new settings."""
        with self._own_transaction():
            self.database.run(
                f"UPDATE repos SET ({COLUMNS}) = ({_SETTINGS}) WHERE repo_id = %s",
                (*_values(repo), repo.repo_id),
            )
            self._touch(repo.repo_id)

    def commit_count(self, repo_id: int) -> int:
        """How many reachable commits of a repository are indexed."""
        row = self.database.row(
            "SELECT count(*) FROM commit_rows WHERE reachable AND id BETWEEN %s AND %s",
            span_of(repo_id),
        )
        return 0 if row is None else int(row[0])

    def state(self, repo_id: int) -> SyncState:
        """The outcome of the last sync."""
        row = self.database.row(
            "SELECT last_synced_at, last_synced_sha, last_error FROM ingest_state"
            " WHERE repo_id = %s",
            (repo_id,),
        )
        return SyncState() if row is None else SyncState(*row)

    def set_state(self, repo_id: int, at: int | None, sha: str | None, error: str | None) -> None:
        """Store the outcome of a sync; None keeps what is there, except for the error."""
        self.database.run(
            "INSERT INTO ingest_state AS s VALUES (%s, %s, %s, %s) ON CONFLICT (repo_id)"
            " DO UPDATE SET last_synced_at = coalesce(excluded.last_synced_at, s.last_synced_at),"
            " last_synced_sha = coalesce(excluded.last_synced_sha, s.last_synced_sha),"
            " last_error = excluded.last_error",
            (repo_id, at, sha, None if error is None else error.replace("\x00", " ")),
        )

    def tips(self, repo_id: int) -> dict[str, str]:
        """The refs up to which everything is indexed."""
        rows = self.database.rows(_TIPS, (repo_id,))
        return dict(rows)

    def tips_mark(self, repo_id: int) -> str | None:
        """What was said to stand for these refs: sooner read than all of them."""
        row = self.database.row(_MARK, (repo_id,))
        return None if row is None else str(row[0])

    def set_tips(self, repo_id: int, tips: Mapping[str, str], mark: str = "") -> None:
        """Store the refs up to which everything is indexed now, and their mark. Transaction."""
        marked = {**tips, "": mark} if mark else tips
        self.database.run("DELETE FROM ref_tips WHERE repo_id = %s", (repo_id,))
        self.database.copy(
            "COPY ref_tips FROM STDIN", [(repo_id, ref, sha) for ref, sha in marked.items()]
        )
        self._touch(repo_id)


def _values(repo: Repo) -> tuple[object, ...]:
    return (
        repo.name,
        repo.local_path,
        repo.remote_url,
        repo.default_branch,
        repo.all_refs,
        list(repo.exclude_prefixes),
        repo.author_filter,
        repo.managed_clone,
    )
