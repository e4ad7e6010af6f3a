"""Commits read from SQLite: one by one, and all of a repository."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

import zstandard

from clew.history.git.raw_changes import indexed_texts
from clew.history.model import CommitMeta, FileChange, IndexedCommit
from clew.history.store.base import (
    AUTHOR,
    COUNTED,
    RECORD,
    SqliteBase,
    raw_patch,
    span_of,
    whole_patch,
)
from clew.history.store.interface import (
    CommitFilter,
    CommitRecord,
    Redaction,
    SizedMessage,
    TouchedFile,
    UnreadCommit,
)
from clew.kit.sqlite import json_list

_STORED = """
    SELECT c.*, a.name AS author_name, a.email AS author_email,
           k.name AS committer_name, k.email AS committer_email, b.digest, b.blob
    FROM commit_rows c
    JOIN people a ON a.person_id = c.author_id
    JOIN people k ON k.person_id = c.committer_id
    LEFT JOIN patch_rows b ON b.patch_id = c.patch_id
    WHERE c.id BETWEEN ? AND ?
"""


class SqliteCommits(SqliteBase):
    """The commits of the index, for reading."""

    def known(self, repo_id: int, shas: Iterable[str]) -> dict[str, int]:
        """Which of these commits are indexed, with their ids."""
        low, high = span_of(repo_id)
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

    def commits(self, ids: Iterable[int]) -> dict[int, CommitRecord]:
        """Commits by id; those that are not there are left out."""
        found = self._records(
            f"SELECT {RECORD} FROM json_each(?) w"  # noqa: S608
            f" CROSS JOIN commit_rows c ON c.id = w.value {AUTHOR}",
            (json_list(ids),),
        )
        return {record.id: record for record in found}

    def commits_by_prefix(
        self, repo_id: int, prefix: str, most: int, *, with_unreachable: bool = False
    ) -> list[CommitRecord]:
        """The commits whose SHA begins so."""
        ends = bytes.fromhex(prefix.ljust(40, "0")), bytes.fromhex(prefix.ljust(40, "f"))
        return self._records(
            f"SELECT {RECORD} FROM commit_rows c INDEXED BY commit_sha {AUTHOR}"  # noqa: S608
            " WHERE c.sha BETWEEN ? AND ? AND c.id BETWEEN ? AND ? AND (c.reachable OR ?) LIMIT ?",
            (*ends, *span_of(repo_id), with_unreachable, most),
        )

    def files(self, ids: Iterable[int]) -> dict[int, list[TouchedFile]]:
        """The files of each of these commits, sorted by path."""
        found: dict[int, list[TouchedFile]] = {commit_id: [] for commit_id in ids}
        cursor = self._tuples().execute(
            "SELECT f.commit_id, f.path_id, p.path, f.status, f.old_path_id FROM json_each(?) w"
            " CROSS JOIN file_rows f ON f.commit_id = w.value"
            " JOIN paths p ON p.path_id = f.path_id ORDER BY p.path",
            (json_list(found),),
        )
        rows = cursor.fetchall()
        # Few files came from another path: their old names are looked up apart.
        old = self._path_names({row[4] for row in rows if row[4] is not None})
        make = tuple.__new__  # half the time of calling the class, and there may be thousands
        for commit_id, path_id, path, status, old_id in rows:
            found[commit_id].append(make(TouchedFile, (path_id, path, status, old.get(old_id))))
        return found

    def matched_paths(self, ids: Iterable[int], wanted: CommitFilter) -> dict[int, list[str]]:
        """Those paths of each of these commits that the filter asks for, sorted."""
        found: dict[int, list[str]] = {commit_id: [] for commit_id in ids}
        paths, statuses = wanted.paths, wanted.statuses
        rows = self._tuples().execute(
            "SELECT f.commit_id, p.path, f.path_id, f.status FROM json_each(?) w"
            " CROSS JOIN file_rows f ON f.commit_id = w.value"
            " CROSS JOIN paths p ON p.path_id = f.path_id",
            (json_list(found),),
        )
        for commit_id, path, path_id, status in rows.fetchall():
            if (paths is None or path_id in paths) and (not statuses or status in statuses):
                found[commit_id].append(path)
        for own in found.values():  # by code points, as SQLite sorts
            own.sort()
        return found

    def _path_names(self, ids: set[int]) -> dict[int | None, str]:
        rows = self._tuples().execute(
            "SELECT p.path_id, p.path FROM json_each(?) w JOIN paths p ON p.path_id = w.value",
            (json_list(ids),),
        )
        return dict(rows.fetchall()) if ids else {}

    def patch(self, commit_id: int, largest: int | None = None) -> bytes | None:
        """A commit's patch; None if it has none, a larger one, or one of which only the ends are kept."""
        row = self.connection.execute(
            "SELECT p.blob, c.patch_size FROM commit_rows c"
            " JOIN patch_rows p ON p.patch_id = c.patch_id"
            " WHERE c.id = ? AND (? IS NULL OR c.patch_size <= ?)",
            (commit_id, largest, largest),
        ).fetchone()
        return None if row is None else whole_patch(*row)

    def patches(self, ids: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The patches of those of these commits that have one, or its two ends, in this order."""
        rows = self._tuples().execute(
            "SELECT c.id, p.pack_id, p.start, p.length FROM json_each(?) w"
            " CROSS JOIN commit_rows c ON c.id = w.value"
            " CROSS JOIN patch_places p ON p.patch_id = c.patch_id",
            (json_list(ids),),
        )
        at, frames = -1, b""
        decompressor = (
            zstandard.ZstdDecompressor()
        )  # to make one for each takes as long as the rest
        for commit_id, pack_id, start, length in rows:
            if pack_id != at:  # patches of neighbours lie in one pack
                at, frames = pack_id, self._frames(pack_id)
            patch = raw_patch(frames[start : start + length], decompressor)
            assert patch is not None
            yield commit_id, patch

    def _frames(self, pack_id: int) -> bytes:
        row = self.connection.execute(
            "SELECT frames FROM patch_packs WHERE pack_id = ?", (pack_id,)
        ).fetchone()
        found: bytes = row["frames"]
        return found

    def stored_commit(self, repo_id: int, sha: str) -> tuple[IndexedCommit, bytes | None] | None:
        """One commit as it was written, and its patch."""
        found = self.known(repo_id, [sha])
        if sha not in found:
            return None
        row = self.connection.execute(_STORED, (found[sha], found[sha])).fetchone()
        patch = raw_patch(row["blob"])
        return self._stored(row, patch), patch

    def stored_commits(self, repo_id: int) -> Iterator[tuple[IndexedCommit, bool]]:
        """Every commit of a repository as it was written, and whether a ref reaches it."""
        for row in self.connection.execute(f"{_STORED} ORDER BY c.id", span_of(repo_id)):
            yield self._stored(row, raw_patch(row["blob"])), bool(row["reachable"])

    def _stored(self, row: sqlite3.Row, patch: bytes | None) -> IndexedCommit:
        meta = _meta(row)
        added, removed, context = indexed_texts(patch, len(meta.parents))
        files = self._tuples().execute(
            "SELECT p.path, f.status, o.path, f.added, f.removed FROM file_rows f"
            " JOIN paths p ON p.path_id = f.path_id LEFT JOIN paths o ON o.path_id = f.old_path_id"
            " WHERE f.commit_id = ? ORDER BY f.number",
            (row["id"],),
        )
        redactions = self._tuples().execute(
            "SELECT kind, hint FROM redactions WHERE commit_id = ? ORDER BY rowid", (row["id"],)
        )
        return IndexedCommit(
            meta=meta,
            files=tuple(FileChange(*file) for file in files),
            patch_digest=row["digest"],
            patch_size=row["patch_size"],
            patch_blob=row["blob"],
            preview=row["preview"],
            added_text=added,
            removed_text=removed,
            context_text=context,
            problem=row["problem"],
            redactions=tuple(redactions),
        )

    def reachable_shas(self, repo_id: int) -> Iterator[str]:
        """The reachable commits of a repository, in its order."""
        rows = self.connection.execute(
            "SELECT sha FROM commit_rows WHERE id BETWEEN ? AND ? AND reachable ORDER BY id",
            span_of(repo_id),
        )
        return (row[0].hex() for row in rows)

    def ancestry(self, repo_id: int) -> Iterator[tuple[int, bytes, bytes]]:
        """Id, SHA and the parents' SHAs in a row, of every commit; SHAs are 20 bytes each."""
        return self._tuples().execute(
            "SELECT id, sha, parents FROM commit_rows WHERE id BETWEEN ? AND ?", span_of(repo_id)
        )

    def counted_commits(self, repo_id: int, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Id and SHA of the commits that count, in their order; those after one, or all."""
        first, last = span_of(repo_id)
        return self._tuples().execute(
            "SELECT c.id, c.sha FROM commit_rows c"  # noqa: S608
            f" WHERE c.id BETWEEN ? AND ? AND {COUNTED} ORDER BY c.id",
            (max(first, after + 1), last),
        )

    def unread_commits(self, repo_id: int) -> list[UnreadCommit]:
        """The commits whose diffs could not be read."""
        rows = self._tuples().execute(
            "SELECT id, lower(hex(sha)), problem, reachable FROM commit_rows"
            " WHERE problem IS NOT NULL AND id BETWEEN ? AND ?",
            span_of(repo_id),
        )
        return [UnreadCommit._make((*row[:-1], bool(row[-1]))) for row in rows]

    def commits_without_text(self, repo_id: int) -> Iterator[tuple[str, str]]:
        """Text index and SHA of each commit that is missing in one."""
        for index in ("commits_fts", "search_fts"):
            rows = self.connection.execute(
                "SELECT sha FROM commit_rows WHERE id BETWEEN ? AND ?"  # noqa: S608
                f" AND id NOT IN (SELECT id FROM {index}_docsize)",
                span_of(repo_id),
            )
            for row in rows:
                yield index, row["sha"].hex()

    def redactions(self, repo_id: int) -> list[Redaction]:
        """The secrets that were kept out, oldest commit first."""
        rows = self._tuples().execute(
            "SELECT lower(hex(c.sha)), c.author_time, c.subject, r.kind, r.hint, c.reachable"
            " FROM redactions r JOIN commit_rows c ON c.id = r.commit_id"
            " WHERE r.commit_id BETWEEN ? AND ? ORDER BY r.commit_id, r.rowid",
            span_of(repo_id),
        )
        return [Redaction._make((*row[:-1], bool(row[-1]))) for row in rows]

    def newest_messages(self, repo_id: int, most: int, besides: str) -> list[SizedMessage]:
        """The newest commits first; lines of paths that begin with `besides` are not counted."""
        rows = self._tuples().execute(
            "SELECT lower(hex(c.sha)), c.subject, coalesce(c.body, ''), c.author_time,"  # noqa: S608
            " (SELECT coalesce(sum(f.added), 0) FROM file_rows f"
            "  JOIN paths p ON p.path_id = f.path_id WHERE f.commit_id = c.id"
            "  AND p.path NOT LIKE ?) FROM commit_rows c"
            f" WHERE {COUNTED} AND c.id BETWEEN ? AND ? ORDER BY c.id DESC LIMIT ?",
            (f"{besides}%", *span_of(repo_id), most),
        )
        return [SizedMessage(*row) for row in rows]

    def people(self) -> list[tuple[int, str, str]]:
        """Number, name and address of everybody."""
        return self._tuples().execute("SELECT person_id, name, email FROM people").fetchall()


def _meta(row: sqlite3.Row) -> CommitMeta:
    parents = row["parents"].hex()
    return CommitMeta(
        sha=row["sha"].hex(),
        parents=tuple(parents[start : start + 40] for start in range(0, len(parents), 40)),
        author_name=row["author_name"],
        author_email=row["author_email"],
        author_time=row["author_time"],
        author_zone=row["author_zone"],
        committer_name=row["committer_name"],
        committer_email=row["committer_email"],
        commit_time=row["commit_time"],
        subject=row["subject"],
        body=row["body"],
    )
