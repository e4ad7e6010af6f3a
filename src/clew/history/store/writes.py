"""Commits written to SQLite and deleted again, with everything that mentions them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from clew.history.git.raw_changes import indexed_texts
from clew.history.model import IndexedCommit, first_id
from clew.history.store.base import SqliteBase, raw_patch, span_of
from clew.history.store.interface import Swept
from clew.history.store.packs import drop_patches, write_patches
from clew.kit.errors import NotFound, Unavailable

_PATH_COLUMNS = ("path_id", "old_path_id")
_PEOPLE_COLUMNS = ("author_id", "committer_id")


class SqliteWrites(SqliteBase):
    """Everything that changes commits. All of it is called inside a transaction."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        super().__init__(connection, path)
        self._people: dict[tuple[str, str], int] = {}
        self._paths: dict[str, int] = {}

    def write_commits(self, repo_id: int, commits: Sequence[IndexedCommit]) -> None:
        """Append commits to a repository's history."""
        row = self.connection.execute(
            "SELECT next_place FROM repos WHERE repo_id = ?", (repo_id,)
        ).fetchone()
        if row is None:
            raise NotFound("The repository was removed meanwhile")
        self._write(list(enumerate(commits, start=first_id(repo_id) | row[0])))
        self.connection.execute(
            "UPDATE repos SET next_place = ? WHERE repo_id = ?", (row[0] + len(commits), repo_id)
        )

    def rewrite_commit(self, commit_id: int, commit: IndexedCommit, *, reachable: bool) -> None:
        """Replace what is known of one commit."""
        self.delete_commits([commit_id])
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
        statement = f"INSERT INTO {table} VALUES (NULL{', ?' * len(values)})"  # noqa: S608
        cursor = self.connection.execute(statement, values)
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _forget_numbers(self) -> None:
        """Drop remembered numbers: their rows may have been deleted."""
        self._people.clear()
        self._paths.clear()

    def mark_reachable(self, repo_id: int, shas: Iterable[str]) -> int:
        """Record that refs reach exactly these commits; how many indexed ones they do not."""
        run, span = self.connection.execute, span_of(repo_id)
        run("CREATE TEMP TABLE IF NOT EXISTS reached (sha BLOB PRIMARY KEY)")
        run("DELETE FROM reached")
        self.connection.executemany(
            "INSERT OR IGNORE INTO reached VALUES (?)", ((bytes.fromhex(sha),) for sha in shas)
        )
        run(
            "UPDATE commit_rows SET reachable = sha IN (SELECT sha FROM reached)"
            " WHERE id BETWEEN ? AND ? AND reachable != (sha IN (SELECT sha FROM reached))",
            span,
        )
        run("DROP TABLE reached")
        hidden = "SELECT count(*) FROM commit_rows WHERE id BETWEEN ? AND ? AND NOT reachable"
        return int(run(hidden, span).fetchone()[0])

    def hide_commits(self, repo_id: int, shas: Iterable[str]) -> None:
        """Record that no ref reaches these commits."""
        self.connection.executemany(
            "UPDATE commit_rows SET reachable = 0 WHERE sha = ? AND id BETWEEN ? AND ?",
            [(bytes.fromhex(sha), *span_of(repo_id)) for sha in shas],
        )

    def delete_commits(self, ids: Iterable[int]) -> int:
        """Delete commits wherever they are mentioned; how many."""
        tables = [name for name, column in self._columns() if column == "commit_id"]
        count = 0
        for commit_id in ids:
            self._delete_text(commit_id)
            for table in tables:
                self.connection.execute(
                    f"DELETE FROM {table} WHERE commit_id = ?",  # noqa: S608
                    (commit_id,),
                )
            deleted = self.connection.execute("DELETE FROM commit_rows WHERE id = ?", (commit_id,))
            count += deleted.rowcount
        return count

    def delete_repo_commits(self, repo_id: int) -> int:
        """Delete all commits of a repository; how many."""
        rows = self.connection.execute(
            "SELECT id FROM commit_rows WHERE id BETWEEN ? AND ?", span_of(repo_id)
        ).fetchall()
        return self.delete_commits([row["id"] for row in rows])

    def remove_repo(self, repo_id: int) -> int:
        """Delete a repository and everything indexed of it; how many commits. Transaction."""
        count = self.delete_repo_commits(repo_id)
        self.sweep()
        for table in ("ref_tips", "ingest_state", "repos"):
            self.connection.execute(f"DELETE FROM {table} WHERE repo_id = ?", (repo_id,))  # noqa: S608
        return count

    def sweep_patches(self) -> int:
        """Delete patches that no commit has; how many."""
        rows = self.connection.execute(
            "SELECT patch_id FROM patch_places WHERE patch_id NOT IN"
            " (SELECT patch_id FROM commit_rows WHERE patch_id IS NOT NULL)"
        ).fetchall()
        drop_patches(self.connection, [row["patch_id"] for row in rows])
        return len(rows)

    def sweep(self) -> Swept:
        """Delete patches, paths and people that nothing refers to."""
        self._forget_numbers()
        patches = self.sweep_patches()
        used = self._references("paths", _PATH_COLUMNS)
        paths = self.connection.execute(
            f"SELECT path_id, path FROM paths WHERE path_id NOT IN ({used})"  # noqa: S608
        ).fetchall()
        for row in paths:
            self.connection.execute(
                "INSERT INTO paths_fts (paths_fts, rowid, path) VALUES ('delete', ?, ?)", tuple(row)
            )
            self.connection.execute("DELETE FROM paths WHERE path_id = ?", (row["path_id"],))
        used = self._references("people", _PEOPLE_COLUMNS)
        people = self.connection.execute(f"DELETE FROM people WHERE person_id NOT IN ({used})")  # noqa: S608
        return Swept(patches, len(paths), people.rowcount)

    def _columns(self) -> list[tuple[str, str]]:
        """Every ordinary table with each of its columns; not the text indexes' own."""
        return (
            self._tuples()
            .execute(
                "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
                " WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%'"
                " AND m.name NOT LIKE '%\\_fts\\_%' ESCAPE '\\'"
            )
            .fetchall()
        )

    def _references(self, target: str, columns: tuple[str, ...]) -> str:
        """A query for every number in columns that refer to a table."""
        return " UNION ".join(
            f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608
            for table, column in self._columns()
            if table != target and column in columns
        )

    def _delete_text(self, commit_id: int) -> None:
        """Take a commit out of the text indexes, which must be given what they hold of it."""
        row = self.connection.execute(
            "SELECT c.subject, c.body, c.preview, length(c.parents) / 20 AS parents, p.blob"
            " FROM commit_rows c LEFT JOIN patch_rows p ON p.patch_id = c.patch_id WHERE c.id = ?",
            (commit_id,),
        ).fetchone()
        if row is None:
            return
        self.connection.execute(
            "INSERT INTO commits_fts (commits_fts, rowid, subject, body, patch_preview)"
            " VALUES ('delete', ?, ?, ?, ?)",
            (commit_id, row["subject"], row["body"], row["preview"]),
        )
        paths = self.connection.execute(
            "SELECT p.path FROM file_rows f JOIN paths p ON p.path_id = f.path_id"
            " WHERE f.commit_id = ? ORDER BY f.number",
            (commit_id,),
        )
        texts = indexed_texts(raw_patch(row["blob"]), row["parents"])
        self.connection.execute(
            "INSERT INTO search_fts (search_fts, rowid, subject, body, added, removed, context,"
            " paths) VALUES ('delete', ?, ?, ?, ?, ?, ?, ?)",
            (commit_id, row["subject"], row["body"], *texts, "\n".join(path[0] for path in paths)),
        )

    def unreachable_before(self, time: int) -> list[int]:
        """Commits that no ref reaches and that were committed before a time."""
        rows = self._tuples().execute(
            "SELECT id FROM commit_rows WHERE NOT reachable AND commit_time < ?", (time,)
        )
        return [row[0] for row in rows]

    def size(self) -> int:
        """How many bytes the index takes."""
        pages, size = (
            int(self.connection.execute(f"PRAGMA {what}").fetchone()[0])
            for what in ("page_count", "page_size")
        )
        return pages * size

    def compact(self) -> None:
        """Merge the text indexes and give free pages back; readers go on meanwhile."""
        run = self.connection.execute
        try:
            for index in ("commits_fts", "search_fts", "paths_fts"):
                run(f"INSERT INTO {index} ({index}) VALUES ('optimize')")  # noqa: S608
            run("VACUUM")
            run("PRAGMA busy_timeout=500")  # a reader may keep the log; then it stays
            run("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.OperationalError as error:
            raise Unavailable(
                f"What was unused is dropped, but the file could not be made smaller: {error}",
                "Try again when nothing else uses the index, and see that the disk has room.",
            ) from error


def _search_row(commit_id: int, commit: IndexedCommit) -> tuple[object, ...]:
    paths = "\n".join(change.path for change in commit.files)
    texts = (commit.added_text, commit.removed_text, commit.context_text)
    return (commit_id, commit.meta.subject, commit.meta.body, *texts, paths)
