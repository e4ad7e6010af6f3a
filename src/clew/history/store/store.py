"""The index: opening it, its repositories, and what is written to it."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from clew.history.model import PLACE_BITS, IndexedCommit, Repo, first_id, last_id
from clew.history.store.packs import write_patches
from clew.history.store.schema import MIGRATIONS
from clew.kit.errors import Conflict, Invalid, NotFound, Unavailable
from clew.kit.sqlite import open_database, open_read_only, writing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_NAME = re.compile(r"[\w.@+][\w.@+~ /-]{0,199}")


def database_path(settings: Mapping[str, str] | None = None) -> Path:
    """Where the index is: `--db`, `COMMITMUX_DB`, or `~/.commitmux/db.sqlite3`."""
    named = (settings or {}).get("db") or os.environ.get("COMMITMUX_DB")
    return Path(named).expanduser() if named else Path.home() / ".commitmux" / "db.sqlite3"


def check_name(name: str) -> str:
    """A repository name that is safe to show, to store and to use in a path."""
    parts = name.split("/")
    if not _NAME.fullmatch(name) or not {"", ".", ".."}.isdisjoint(parts):
        raise Invalid(
            f"Not a usable repository name: {name!r}",
            "Choose one with --name: letters, digits, and . _ - @ + ~ between them.",
        )
    return name


class HistoryStore:
    """One connection to the index."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.connection = connection
        self.path = path
        self._people: dict[tuple[str, str], int] = {}
        self._paths: dict[str, int] = {}

    @classmethod
    def create(cls, path: Path) -> HistoryStore:
        """Open the index for writing, making it if there is none."""
        try:
            connection = open_database(path, MIGRATIONS)
            # The index can be built again, so a commit need not wait for the disk: a crash may
            # lose the last batches, never mix them.
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA cache_size=-32768")
            return cls(connection, path)
        except sqlite3.DatabaseError as error:
            raise _unusable("open", path, error) from error

    @classmethod
    def open(cls, path: Path) -> HistoryStore:
        """Open an index that exists, for writing."""
        _require(path)
        return cls.create(path)

    @classmethod
    def read(cls, path: Path) -> HistoryStore:
        """Open an index that exists, for reading only."""
        _require(path)
        try:
            connection = open_read_only(path)
            connection.execute("SELECT count(*) FROM repos")
        except sqlite3.DatabaseError as error:
            raise _unusable("read", path, error) from error
        return cls(connection, path)

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def __del__(self) -> None:
        """Close what nobody closed: a command ends, a thread ends, a file was replaced."""
        self.connection.close()

    def repos(self) -> list[Repo]:
        """All repositories, in the order they were added."""
        rows = self.connection.execute("SELECT * FROM repos ORDER BY repo_id")
        return [_repo(row) for row in rows]

    def find_repo(self, name: str) -> Repo:
        """The repository of that name."""
        stored = name.encode("utf-8", "replace").decode("utf-8")
        row = self.connection.execute("SELECT * FROM repos WHERE name = ?", (stored,)).fetchone()
        if row is None:
            raise NotFound(f"Repo '{name}' not found")
        return _repo(row)

    def add_repo(self, repo: Repo) -> Repo:
        """Register a repository."""
        try:
            with writing(self.connection):
                cursor = self.connection.execute(
                    "INSERT INTO repos (name, local_path, remote_url, default_branch, all_refs,"
                    " exclude_prefixes, author_filter, managed_clone)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    _repo_values(repo),
                )
        except sqlite3.IntegrityError:
            raise Conflict(
                f"A repo named '{repo.name}' already exists."
                " Use 'commitmux status' to see all repos."
            ) from None
        return self.find_repo(repo.name) if cursor.rowcount else repo

    def update_repo(self, repo: Repo) -> None:
        """Store a repository's new settings."""
        with writing(self.connection):
            self.connection.execute(
                "UPDATE repos SET name = ?, local_path = ?, remote_url = ?, default_branch = ?,"
                " all_refs = ?, exclude_prefixes = ?, author_filter = ?, managed_clone = ?"
                " WHERE repo_id = ?",
                (*_repo_values(repo), repo.repo_id),
            )

    def commit_count(self, repo_id: int) -> int:
        """How many reachable commits of a repository are indexed."""
        row = self.connection.execute(
            "SELECT count(*) FROM commit_rows WHERE reachable = 1 AND id BETWEEN ? AND ?",
            (first_id(repo_id), last_id(repo_id)),
        ).fetchone()
        return int(row[0])

    def state(self, repo_id: int) -> sqlite3.Row | None:
        """When a repository was synced, up to where, and what went wrong."""
        row: sqlite3.Row | None = self.connection.execute(
            "SELECT * FROM ingest_state WHERE repo_id = ?", (repo_id,)
        ).fetchone()
        return row

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
        rows = self.connection.execute(
            "SELECT ref, sha FROM ref_tips WHERE repo_id = ?", (repo_id,)
        )
        return {row["ref"]: row["sha"] for row in rows}

    def set_tips(self, repo_id: int, tips: Mapping[str, str]) -> None:
        """Store the refs up to which everything is indexed now."""
        self.connection.execute("DELETE FROM ref_tips WHERE repo_id = ?", (repo_id,))
        self.connection.executemany(
            "INSERT INTO ref_tips VALUES (?, ?, ?)",
            [(repo_id, ref, sha) for ref, sha in tips.items()],
        )

    def known(self, repo_id: int, shas: Sequence[str]) -> dict[str, int]:
        """Which of these commits are indexed, with their ids."""
        low, high = first_id(repo_id), last_id(repo_id)
        found = {}
        for sha in shas:
            row = self.connection.execute(
                "SELECT id FROM commit_rows INDEXED BY commit_sha"
                " WHERE sha = ? AND id BETWEEN ? AND ?",
                (bytes.fromhex(sha), low, high),
            ).fetchone()
            if row is not None:
                found[sha] = row[0]
        return found

    def next_place(self, repo_id: int) -> int:
        """The place of the next commit of a repository."""
        row = self.connection.execute(
            "SELECT next_place FROM repos WHERE repo_id = ?", (repo_id,)
        ).fetchone()
        if row is None:
            raise NotFound("The repository was removed meanwhile")
        return int(row[0])

    def write_commits(self, repo_id: int, commits: Sequence[IndexedCommit]) -> None:
        """Append commits to a repository's history. Call inside a transaction."""
        place = self.next_place(repo_id)
        first = (repo_id << PLACE_BITS) | place
        self._write(list(enumerate(commits, start=first)))
        self.connection.execute(
            "UPDATE repos SET next_place = ? WHERE repo_id = ?", (place + len(commits), repo_id)
        )

    def write_commit(self, commit_id: int, commit: IndexedCommit, *, reachable: bool) -> None:
        """Write a commit to a place that is free. Call inside a transaction."""
        self._write([(commit_id, commit)])
        self.connection.execute(
            "UPDATE commit_rows SET reachable = ? WHERE id = ?", (int(reachable), commit_id)
        )

    def _write(self, placed: list[tuple[int, IndexedCommit]]) -> None:
        """Write commits to their places, table by table."""
        patches = write_patches(self.connection, [commit for _, commit in placed])
        write = self.connection.executemany
        write(
            "INSERT INTO commit_rows (id, sha, author_id, committer_id, author_time, author_zone,"
            " commit_time, subject, body, parents, patch_id, patch_size, preview, problem)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [self._commit_row(number, commit, patches) for number, commit in placed],
        )
        write(
            "INSERT INTO file_rows VALUES (?, ?, ?, ?, ?, ?, ?)",
            [row for number, commit in placed for row in self._file_rows(number, commit)],
        )
        write(
            "INSERT INTO redactions VALUES (?, ?, ?)",
            [(number, *found) for number, commit in placed for found in commit.redactions],
        )
        write(
            "INSERT INTO commits_fts (rowid, subject, body, patch_preview) VALUES (?, ?, ?, ?)",
            [(number, c.meta.subject, c.meta.body, c.preview) for number, c in placed],
        )
        write(
            "INSERT INTO search_fts (rowid, subject, body, added, removed, context, paths)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            [_search_row(number, commit) for number, commit in placed],
        )

    def _commit_row(
        self, commit_id: int, commit: IndexedCommit, patches: Mapping[bytes, int]
    ) -> tuple[object, ...]:
        meta, digest = commit.meta, commit.patch_digest
        return (
            commit_id,
            bytes.fromhex(meta.sha),
            self._person_id(meta.author_name, meta.author_email),
            self._person_id(meta.committer_name, meta.committer_email),
            meta.author_time,
            meta.author_zone,
            meta.commit_time,
            meta.subject,
            meta.body,
            bytes.fromhex("".join(meta.parents)),
            None if digest is None else patches[digest],
            commit.patch_size,
            commit.preview,
            commit.problem,
        )

    def _file_rows(self, commit_id: int, commit: IndexedCommit) -> Iterator[tuple[object, ...]]:
        for number, change in enumerate(commit.files):
            old_path = None if change.old_path is None else self._path_id(change.old_path)
            path = self._path_id(change.path)
            yield (
                commit_id, number, path, change.status, old_path, change.added, change.removed,
            )  # fmt: skip

    def _person_id(self, name: str, email: str) -> int:
        key = (name, email)
        if key not in self._people:
            row = self.connection.execute(
                "SELECT person_id FROM people WHERE name = ? AND email = ?", key
            ).fetchone()
            self._people[key] = row[0] if row is not None else self._inserted("people", key)
        return self._people[key]

    def _path_id(self, path: str) -> int:
        if path not in self._paths:
            row = self.connection.execute(
                "SELECT path_id FROM paths WHERE path = ?", (path,)
            ).fetchone()
            self._paths[path] = row[0] if row is not None else self._add_path(path)
        return self._paths[path]

    def _add_path(self, path: str) -> int:
        path_id = self._inserted("paths", (path,))
        self.connection.execute(
            "INSERT INTO paths_fts (rowid, path) VALUES (?, ?)", (path_id, path)
        )
        return path_id

    def _inserted(self, table: str, values: tuple[str, ...]) -> int:
        """Insert a row and return its number.

        Not by RETURNING: that opens a savepoint, at which the text indexes write out what they
        have collected, as a segment of its own each time.
        """
        statement = f"INSERT INTO {table} VALUES (NULL{', ?' * len(values)})"  # noqa: S608 - fixed
        cursor = self.connection.execute(statement, values)
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def forget_numbers(self) -> None:
        """Drop remembered numbers, after a transaction that was rolled back."""
        self._people.clear()
        self._paths.clear()


def _search_row(commit_id: int, commit: IndexedCommit) -> tuple[object, ...]:
    paths = "\n".join(change.path for change in commit.files)
    texts = (commit.added_text, commit.removed_text, commit.context_text)
    return (commit_id, commit.meta.subject, commit.meta.body, *texts, paths)


def _unusable(what: str, path: Path, error: sqlite3.DatabaseError) -> Unavailable:
    from clew.kit.refusals import next_step

    return Unavailable(f"Cannot {what} the database at {path}: {error}", next_step(error))


def _require(path: Path) -> None:
    if not path.exists():
        raise Unavailable(f"Database not found at {path}. Run 'commitmux init' first.")


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


def _repo_values(repo: Repo) -> tuple[object, ...]:
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
