"""Commits written to PostgreSQL and deleted again, with everything that mentions them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from psycopg import sql

from clew.history.model import FileChange, IndexedCommit, first_id
from clew.history.store.interface import Swept
from clew.kit.errors import NotFound
from clew.team.database import Database
from clew.team.history.base import span_of, stored, stored_or_none
from clew.team.history.lexemes import document
from clew.team.history.repositories import PARTITIONED, PostgresRepositories

_OF_REPO = ("repo_paths", "repo_people")
_OF_COMMITS = {"commit_text": "id", "file_rows": "commit_id", "redactions": "commit_id"}


class PostgresWrites(PostgresRepositories):
    """Everything that changes commits. All of it is called inside a transaction.

    Numbers of people and paths are shared by all repositories. They are given by a connection of
    their own, in transactions of one statement: else two workers would wait for each other for
    as long as either writes, and block each other for good.
    """

    def __init__(self, database: Database, path: Path, visible: frozenset[int] | None) -> None:
        super().__init__(database, path, visible)
        self._numbering = Database(database.address) if visible is None else self.database
        self._people: dict[tuple[str, str], int] = {}
        self._paths: dict[str, int] = {}
        self._written: set[int] = set()

    def write_commits(self, repo_id: int, commits: Sequence[IndexedCommit]) -> None:
        """Append commits to a repository's history."""
        row = self.database.row(
            "UPDATE repos SET next_place = next_place + %s WHERE repo_id = %s RETURNING next_place",
            (len(commits), repo_id),
        )
        if row is None:
            raise NotFound("The repository was removed meanwhile")
        first = first_id(repo_id) | (row[0] - len(commits))
        self._write(repo_id, list(enumerate(commits, start=first)))

    def _sort_in(self) -> None:
        """Have the text index sort in what was written last, before questions have to read it."""
        for repo_id in self._written:
            self.database.rows(
                "SELECT gin_clean_pending_list(i.indexrelid) FROM pg_index i"
                " JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam"
                " WHERE a.amname = 'gin' AND i.indrelid = to_regclass(%s)",
                (f"commit_text_{repo_id}",),
            )
        self._written.clear()

    def rewrite_commit(self, commit_id: int, commit: IndexedCommit, *, reachable: bool) -> None:
        """Replace what is known of one commit."""
        self.delete_commits([commit_id])
        self._write(commit_id >> 32, [(commit_id, commit)])
        self.database.run(
            "UPDATE commit_rows SET reachable = %s WHERE id = %s", (reachable, commit_id)
        )

    def _write(self, repo_id: int, placed: list[tuple[int, IndexedCommit]]) -> None:
        """Write commits to their places, table by table, by COPY."""
        if not placed:
            return
        self._written.add(repo_id)
        commits = [commit for _, commit in placed]
        self._number(commits)
        self._list(repo_id, commits)
        patches = self._write_patches(repo_id, commits)
        self.database.copy(
            "COPY commit_rows (id, sha, author_id, committer_id, author_time, author_zone,"
            " commit_time, subject, body, parents, patch_id, patch_size, preview, problem)"
            " FROM STDIN",
            [self._commit_row(number, commit, patches) for number, commit in placed],
        )
        self.database.copy(
            "COPY commit_text FROM STDIN",
            [(number, document(number, commit)) for number, commit in placed],
        )
        self.database.copy(
            "COPY file_rows FROM STDIN",
            [
                (number, at, self._paths[change.path], change.status,
                 None if change.old_path is None else self._paths[change.old_path],
                 change.added, change.removed)
                for number, commit in placed
                for at, change in enumerate(commit.files)
            ],
        )  # fmt: skip
        self.database.copy(
            "COPY redactions FROM STDIN",
            [
                (number, at, kind, stored(hint))
                for number, commit in placed
                for at, (kind, hint) in enumerate(commit.redactions)
            ],
        )
        self._touch(repo_id)

    def _write_patches(self, repo_id: int, commits: list[IndexedCommit]) -> dict[bytes, int]:
        """Store the patches that are new in this repository; the number of each by its digest."""
        wanted = {c.patch_digest: c for c in commits if c.patch_digest is not None}
        known = self.database.rows(
            "SELECT digest, patch_id FROM patch_rows"
            " WHERE digest = ANY(%s) AND patch_id BETWEEN %s AND %s",
            (list(wanted), *span_of(repo_id)),
        )
        numbers: dict[bytes, int] = {bytes(digest): number for digest, number in known}
        fresh = [commit for digest, commit in wanted.items() if digest not in numbers]
        if not fresh:
            return numbers
        row = self.database.row(
            "UPDATE repos SET next_patch = next_patch + %s WHERE repo_id = %s RETURNING next_patch",
            (len(fresh), repo_id),
        )
        assert row is not None
        start = first_id(repo_id) | (row[0] - len(fresh))
        rows = [
            (number, commit.patch_digest, commit.patch_size, commit.patch_blob or b"")
            for number, commit in enumerate(fresh, start=start)
        ]
        self.database.copy("COPY patch_rows FROM STDIN", rows)
        return numbers | {digest: number for number, digest, _, _ in rows if digest is not None}

    def _commit_row(
        self, commit_id: int, commit: IndexedCommit, patches: Mapping[bytes, int]
    ) -> tuple[object, ...]:
        meta, digest = commit.meta, commit.patch_digest
        return (
            commit_id,
            bytes.fromhex(meta.sha),
            self._people[meta.author_name, meta.author_email],
            self._people[meta.committer_name, meta.committer_email],
            meta.author_time,
            stored(meta.author_zone),
            meta.commit_time,
            stored(meta.subject),
            stored_or_none(meta.body),
            bytes.fromhex("".join(meta.parents)),
            None if digest is None else patches[digest],
            commit.patch_size,
            stored(commit.preview),
            stored_or_none(commit.problem),
        )

    def _number(self, commits: Sequence[IndexedCommit]) -> None:
        """Give numbers to the people and paths that have none yet."""
        people = {(c.meta.author_name, c.meta.author_email) for c in commits}
        people |= {(c.meta.committer_name, c.meta.committer_email) for c in commits}
        self._number_people(sorted(people - self._people.keys()))
        paths = {change.path for commit in commits for change in commit.files}
        paths |= {c.old_path for commit in commits for c in commit.files if c.old_path is not None}
        self._number_paths(sorted(paths - self._paths.keys()))

    def _list(self, repo_id: int, commits: Sequence[IndexedCommit]) -> None:
        """Note which paths and people a repository has: by that they are seen, or not."""
        paths = {self._paths[name] for c in commits for f in c.files for name in _names(f)}
        signed = {(c.meta.author_name, c.meta.author_email) for c in commits}
        signed |= {(c.meta.committer_name, c.meta.committer_email) for c in commits}
        numbers = (sorted(paths), sorted({self._people[one] for one in signed}))
        for table, found in zip(_OF_REPO, numbers, strict=True):
            self.database.run(
                f"INSERT INTO {table} SELECT one, %s FROM unnest(%s::bigint[]) one"
                " ON CONFLICT DO NOTHING",
                (repo_id, found),
            )

    def _number_people(self, people: list[tuple[str, str]]) -> None:
        if not people:
            return
        names, emails = [stored(name) for name, _ in people], [stored(one) for _, one in people]
        self._numbering.run(
            "INSERT INTO people (name, email) SELECT * FROM unnest(%s::text[], %s::text[])"
            " ON CONFLICT DO NOTHING",
            (names, emails),
        )
        rows = self._numbering.rows(
            "SELECT p.person_id FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY"
            " AS w(name, email, number) JOIN people p"
            " ON md5(p.name || E'\\n' || p.email) = md5(w.name || E'\\n' || w.email)"
            " ORDER BY w.number",
            (names, emails),
        )
        self._people |= {one: row[0] for one, row in zip(people, rows, strict=True)}

    def _number_paths(self, paths: list[str]) -> None:
        if not paths:
            return
        self._numbering.run(
            "INSERT INTO paths (path) SELECT * FROM unnest(%s::text[]) ON CONFLICT DO NOTHING",
            (paths,),
        )
        rows = self._numbering.rows(
            "SELECT p.path, p.path_id FROM unnest(%s::text[]) AS w(path)"
            " JOIN paths p ON md5(p.path) = md5(w.path)",
            (paths,),
        )
        self._paths |= dict(rows)

    def _forget_numbers(self) -> None:
        """Drop remembered numbers: their rows may have been deleted."""
        self._people.clear()
        self._paths.clear()

    def mark_reachable(self, repo_id: int, shas: Iterable[str]) -> int:
        """Record that refs reach exactly these commits; how many indexed ones they do not."""
        run, span = self.database.run, span_of(repo_id)
        run("CREATE TEMP TABLE IF NOT EXISTS reached (sha bytea) ON COMMIT DROP")
        run("TRUNCATE reached")
        self.database.copy("COPY reached FROM STDIN", [(bytes.fromhex(sha),) for sha in shas])
        run("ANALYZE reached")
        run(
            "UPDATE commit_rows c SET reachable = NOT c.reachable WHERE c.id BETWEEN %s AND %s"
            " AND c.reachable != EXISTS (SELECT 1 FROM reached r WHERE r.sha = c.sha)",
            span,
        )
        run("DROP TABLE reached")
        row = self.database.row(
            "SELECT count(*) FROM commit_rows WHERE id BETWEEN %s AND %s AND NOT reachable", span
        )
        self._touch(repo_id)
        return 0 if row is None else int(row[0])

    def hide_commits(self, repo_id: int, shas: Iterable[str]) -> None:
        """Record that no ref reaches these commits."""
        self.database.run(
            "UPDATE commit_rows SET reachable = false WHERE sha = ANY(%s) AND id BETWEEN %s AND %s",
            ([bytes.fromhex(sha) for sha in shas], *span_of(repo_id)),
        )
        self._touch(repo_id)

    def delete_commits(self, ids: Iterable[int]) -> int:
        """Delete commits wherever they are mentioned; how many."""
        wanted = list(ids)
        for table, column in _OF_COMMITS.items():
            self.database.run(f"DELETE FROM {table} WHERE {column} = ANY(%s)", (wanted,))
        for repo_id in {number >> 32 for number in wanted}:
            self._touch(repo_id)
        return self.database.run("DELETE FROM commit_rows WHERE id = ANY(%s)", (wanted,))

    def delete_repo_commits(self, repo_id: int) -> int:
        """Delete all commits of a repository; how many."""
        for table, column in _OF_COMMITS.items():
            self.database.run(
                f"DELETE FROM {table} WHERE {column} BETWEEN %s AND %s", span_of(repo_id)
            )
        for table in _OF_REPO:
            self.database.run(f"DELETE FROM {table} WHERE repo_id = %s", (repo_id,))
        self._touch(repo_id)
        return self.database.run(
            "DELETE FROM commit_rows WHERE id BETWEEN %s AND %s", span_of(repo_id)
        )

    def remove_repo(self, repo_id: int) -> int:
        """Delete a repository and everything indexed of it; how many commits. Transaction.

        Its partitions are dropped by `compact`: that needs a moment without readers.
        """
        count = self.delete_repo_commits(repo_id)
        self.database.run(
            "DELETE FROM patch_rows WHERE patch_id BETWEEN %s AND %s", span_of(repo_id)
        )
        self.sweep()
        for table in ("ref_tips", "ingest_state", "repos"):
            self.database.run(f"DELETE FROM {table} WHERE repo_id = %s", (repo_id,))
        return count

    def sweep_patches(self) -> int:
        """Delete patches that no commit has; how many."""
        return self.database.run(
            "DELETE FROM patch_rows p WHERE NOT EXISTS"
            " (SELECT 1 FROM commit_rows c WHERE c.patch_id = p.patch_id)"
        )

    def sweep(self) -> Swept:
        """Delete patches, paths and people that nothing refers to."""
        self._forget_numbers()
        patches = self.sweep_patches()
        paths = self.database.run(
            "DELETE FROM paths p WHERE NOT EXISTS"
            " (SELECT 1 FROM file_rows f WHERE f.path_id = p.path_id) AND NOT EXISTS"
            " (SELECT 1 FROM file_rows f WHERE f.old_path_id = p.path_id)"
        )
        people = self.database.run(
            "DELETE FROM people WHERE person_id NOT IN (SELECT author_id FROM commit_rows"
            " UNION SELECT committer_id FROM commit_rows)"
        )
        self._unlist()
        return Swept(patches, paths, people)

    def _unlist(self) -> None:
        """Forget that a repository has paths and people of which it has no commit any more."""
        self.database.run(
            "DELETE FROM repo_paths l WHERE NOT EXISTS (SELECT FROM file_rows f"
            " WHERE f.path_id = l.path_id AND f.commit_id >> 32 = l.repo_id) AND NOT EXISTS"
            " (SELECT FROM file_rows f WHERE f.old_path_id = l.path_id"
            " AND f.commit_id >> 32 = l.repo_id)"
        )
        self.database.run(
            "DELETE FROM repo_people WHERE (person_id, repo_id) NOT IN (SELECT author_id, id >> 32"
            " FROM commit_rows UNION SELECT committer_id, id >> 32 FROM commit_rows)"
        )

    def unreachable_before(self, time: int) -> list[int]:
        """Commits that no ref reaches and that were committed before a time."""
        rows = self.database.rows(
            "SELECT id FROM commit_rows WHERE NOT reachable AND commit_time < %s ORDER BY id",
            (time,),
        )
        return [row[0] for row in rows]

    def size(self) -> int:
        """How many bytes the index takes."""
        row = self.database.row(
            "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c"
            " WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
        )
        return 0 if row is None else int(row[0])

    def compact(self) -> None:
        """Drop the partitions of repositories that are gone, and give free pages back."""
        rows = self.database.rows("SELECT repo_id FROM repos")
        kept = {f"{table}_{repo_id}" for table in PARTITIONED for (repo_id,) in rows}
        found = self.database.rows(
            "SELECT i.inhrelid::regclass::text FROM pg_inherits i"
            " WHERE i.inhparent = ANY(%s::regclass[])",
            (list(PARTITIONED),),
        )
        for (name,) in found:
            if name not in kept:
                with self.database.transaction():
                    self.database.script(f"SET LOCAL lock_timeout = '10s'; DROP TABLE {name}")
        for table in (*PARTITIONED, "paths", "people", "redactions"):
            self.database.connection.execute(
                sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(table))
            )


def _names(change: FileChange) -> list[str]:
    """The paths of a change: its own, and the one before."""
    return [change.path, *([] if change.old_path is None else [change.old_path])]
