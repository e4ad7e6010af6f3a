"""Commits read from PostgreSQL: one by one, and all of a repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from clew.history.git.raw_changes import indexed_texts
from clew.history.model import CommitMeta, FileChange, IndexedCommit
from clew.history.store.base import raw_patch, whole_patch
from clew.history.store.interface import (
    CommitFilter,
    CommitRecord,
    Redaction,
    SizedMessage,
    TouchedFile,
    UnreadCommit,
)
from clew.team.database import Row
from clew.team.history.base import (
    AUTHOR,
    COUNTED,
    RECORD,
    PostgresBase,
    shown,
    shown_or_none,
    span_of,
)

_STORED = """
    SELECT c.id, encode(c.sha, 'hex'), encode(c.parents, 'hex'), a.name, a.email, c.author_time,
           c.author_zone, k.name, k.email, c.commit_time, c.subject, c.body,
           b.digest, c.patch_size, b.blob, c.preview, c.problem, c.reachable
    FROM commit_rows c
    JOIN people a ON a.person_id = c.author_id
    JOIN people k ON k.person_id = c.committer_id
    LEFT JOIN patch_rows b ON b.patch_id = c.patch_id
    WHERE c.id
"""
_PAGE = 500
_PATCHES = 64
_LONG_PAGE = 20_000


class PostgresCommits(PostgresBase):
    """The commits of the index, for reading."""

    def known(self, repo_id: int, shas: Iterable[str]) -> dict[str, int]:
        """Which of these commits are indexed, with their ids."""
        wanted = [bytes.fromhex(sha) for sha in shas]
        if not wanted:
            return {}
        rows = self.database.rows(
            "SELECT encode(sha, 'hex'), id FROM commit_rows"
            " WHERE sha = ANY(%s) AND id BETWEEN %s AND %s",
            (wanted, *span_of(repo_id)),
        )
        return dict(rows)

    def commits(self, ids: Iterable[int]) -> dict[int, CommitRecord]:
        """Commits by id; those that are not there are left out."""
        wanted = list(ids)
        own = self._own(wanted)
        found = self._records(
            f"SELECT {RECORD} FROM commit_rows{own} c {AUTHOR} WHERE c.id = ANY(%s)",
            (wanted,),
            kept=bool(own),
        )
        return {record.id: record for record in found}

    def commits_by_prefix(
        self, repo_id: int, prefix: str, most: int, *, with_unreachable: bool = False
    ) -> list[CommitRecord]:
        """The commits whose SHA begins so."""
        ends = bytes.fromhex(prefix.ljust(40, "0")), bytes.fromhex(prefix.ljust(40, "f"))
        return self._records(
            f"SELECT {RECORD} FROM commit_rows c {AUTHOR} WHERE c.sha BETWEEN %s AND %s"
            " AND c.id BETWEEN %s AND %s AND (c.reachable OR %s) LIMIT %s",
            (*ends, *span_of(repo_id), with_unreachable, most),
        )

    def files(self, ids: Iterable[int]) -> dict[int, list[TouchedFile]]:
        """The files of each of these commits, sorted by path."""
        found: dict[int, list[TouchedFile]] = {commit_id: [] for commit_id in ids}
        own = self._own(found)
        rows = self.database.rows(
            f"SELECT f.commit_id, f.path_id, p.path, f.status, o.path FROM file_rows{own} f"
            " JOIN paths p ON p.path_id = f.path_id"
            " LEFT JOIN paths o ON o.path_id = f.old_path_id"
            " WHERE f.commit_id = ANY(%s) ORDER BY p.path",
            (list(found),),
            kept=bool(own),
        )
        for commit_id, *file in rows:
            found[commit_id].append(TouchedFile(*file))
        return found

    def matched_paths(self, ids: Iterable[int], wanted: CommitFilter) -> dict[int, list[str]]:
        """Those paths of each of these commits that the filter asks for, sorted."""
        paths, statuses = wanted.paths, wanted.statuses
        return {
            commit_id: [
                file.path
                for file in files
                if (paths is None or file.path_id in paths)
                and (not statuses or file.status in statuses)
            ]
            for commit_id, files in self.files(ids).items()
        }

    def patch(self, commit_id: int, largest: int | None = None) -> bytes | None:
        """A commit's patch; None if it has none, a larger one, or one of which only the ends are kept."""
        row = self.database.row(
            "SELECT p.blob, c.patch_size FROM commit_rows c"
            " JOIN patch_rows p ON p.patch_id = c.patch_id"
            " WHERE c.id = %s AND (%s::bigint IS NULL OR c.patch_size <= %s)",
            (commit_id, largest, largest),
        )
        return None if row is None else whole_patch(*row)

    def patches(self, ids: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The patches of those of these commits that have one, or its two ends, in this order."""
        wanted = list(ids)
        for start in range(0, len(wanted), _PATCHES):
            part = wanted[start : start + _PATCHES]
            rows = self.database.rows(
                "SELECT c.id, p.blob FROM commit_rows c JOIN patch_rows p"
                " ON p.patch_id = c.patch_id WHERE c.id = ANY(%s)",
                (part,),
            )
            found: dict[int, bytes] = dict(rows)
            for number in part:
                patch = raw_patch(found.get(number))
                if patch is not None:
                    yield number, patch

    def stored_commit(self, repo_id: int, sha: str) -> tuple[IndexedCommit, bytes | None] | None:
        """One commit as it was written, and its patch."""
        found = self.known(repo_id, [sha]).get(sha)
        row = None if found is None else self.database.row(f"{_STORED} = %s", (found,))
        if row is None:
            return None
        patch = raw_patch(row[14])
        (commit,) = self._stored([row])
        return commit, patch

    def stored_commits(self, repo_id: int) -> Iterator[tuple[IndexedCommit, bool]]:
        """Every commit of a repository as it was written, and whether a ref reaches it."""
        batch: list[Row] = []
        for row in self._paged(_STORED, span_of(repo_id), _PAGE):
            batch.append(row)
            if len(batch) == _PAGE:
                yield from zip(self._stored(batch), [one[-1] for one in batch], strict=True)
                batch = []
        yield from zip(self._stored(batch), [one[-1] for one in batch], strict=True)

    def _stored(self, rows: list[Row]) -> list[IndexedCommit]:
        ids = [row[0] for row in rows]
        files: dict[int, list[FileChange]] = {}
        for number, *change in self.database.rows(
            "SELECT f.commit_id, p.path, f.status, o.path, f.added, f.removed FROM file_rows f"
            " JOIN paths p ON p.path_id = f.path_id LEFT JOIN paths o ON o.path_id = f.old_path_id"
            " WHERE f.commit_id = ANY(%s) ORDER BY f.commit_id, f.number",
            (ids,),
        ):
            files.setdefault(number, []).append(FileChange(*change))
        secrets: dict[int, list[tuple[str, str]]] = {}
        for number, kind, hint in self.database.rows(
            "SELECT commit_id, kind, hint FROM redactions WHERE commit_id = ANY(%s)"
            " ORDER BY commit_id, number",
            (ids,),
        ):
            secrets.setdefault(number, []).append((kind, shown(hint)))
        return [_commit(row, files.get(row[0], ()), secrets.get(row[0], ())) for row in rows]

    def reachable_shas(self, repo_id: int) -> Iterator[str]:
        """The reachable commits of a repository, in its order."""
        statement = "SELECT id, encode(sha, 'hex') FROM commit_rows WHERE reachable AND id"
        return (row[1] for row in self._paged(statement, span_of(repo_id), _LONG_PAGE))

    def ancestry(self, repo_id: int) -> Iterator[tuple[int, bytes, bytes]]:
        """Id, SHA and the parents' SHAs in a row, of every commit; SHAs are 20 bytes each."""
        rows = self._paged(
            "SELECT id, sha, parents FROM commit_rows WHERE id", span_of(repo_id), _LONG_PAGE
        )
        return ((number, sha, parents) for number, sha, parents in rows)

    def counted_commits(self, repo_id: int, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Id and SHA of the commits that count, in their order; those after one, or all."""
        first, last = span_of(repo_id)
        statement = f"SELECT c.id, c.sha FROM commit_rows c WHERE {COUNTED} AND c.id"
        rows = self._paged(statement, (max(first, after + 1), last), _LONG_PAGE)
        return ((number, sha) for number, sha in rows)

    def unread_commits(self, repo_id: int) -> list[UnreadCommit]:
        """The commits whose diffs could not be read."""
        rows = self.database.rows(
            "SELECT id, encode(sha, 'hex'), problem, reachable FROM commit_rows"
            " WHERE problem IS NOT NULL AND id BETWEEN %s AND %s ORDER BY id",
            span_of(repo_id),
        )
        return [UnreadCommit(*row) for row in rows]

    def commits_without_text(self, repo_id: int) -> Iterator[tuple[str, str]]:
        """Text index and SHA of each commit that is missing in one."""
        rows = self.database.rows(
            "SELECT encode(c.sha, 'hex') FROM commit_rows c WHERE c.id BETWEEN %s AND %s"
            " AND NOT EXISTS (SELECT 1 FROM commit_text t WHERE t.id = c.id)",
            span_of(repo_id),
        )
        return (("commit_text", row[0]) for row in rows)

    def redactions(self, repo_id: int) -> list[Redaction]:
        """The secrets that were kept out, oldest commit first."""
        rows = self.database.rows(
            "SELECT encode(c.sha, 'hex'), c.author_time, c.subject, r.kind, r.hint, c.reachable"
            " FROM redactions r JOIN commit_rows c ON c.id = r.commit_id"
            " WHERE r.commit_id BETWEEN %s AND %s ORDER BY r.commit_id, r.number",
            span_of(repo_id),
        )
        return [
            Redaction(sha, date, shown(subject), kind, shown(hint), reached)
            for sha, date, subject, kind, hint, reached in rows
        ]

    def newest_messages(self, repo_id: int, most: int, besides: str) -> list[SizedMessage]:
        """The newest commits first; lines of paths that begin with `besides` are not counted."""
        rows = self.database.rows(
            "SELECT encode(c.sha, 'hex'), c.subject, coalesce(c.body, ''), c.author_time,"
            " (SELECT coalesce(sum(f.added), 0)::bigint FROM file_rows f"
            "  JOIN paths p ON p.path_id = f.path_id WHERE f.commit_id = c.id"
            "  AND NOT starts_with(p.path, %s)) FROM commit_rows c"
            f" WHERE {COUNTED} AND c.id BETWEEN %s AND %s ORDER BY c.id DESC LIMIT %s",
            (besides, *span_of(repo_id), most),
        )
        return [SizedMessage(row[0], shown(row[1]), shown(row[2]), *row[3:]) for row in rows]

    def people(self) -> list[tuple[int, str, str]]:
        """Number, name and address of everybody."""
        rows = self.database.rows("SELECT person_id, name, email FROM people")
        return [(number, shown(name), shown(email)) for number, name, email in rows]


def _commit(
    row: Row, files: Iterable[FileChange], redactions: Iterable[tuple[str, str]]
) -> IndexedCommit:
    parents = row[2]
    meta = CommitMeta(
        sha=row[1],
        parents=tuple(parents[start : start + 40] for start in range(0, len(parents), 40)),
        author_name=shown(row[3]),
        author_email=shown(row[4]),
        author_time=row[5],
        author_zone=row[6],
        committer_name=shown(row[7]),
        committer_email=shown(row[8]),
        commit_time=row[9],
        subject=shown(row[10]),
        body=shown_or_none(row[11]),
    )
    added, removed, context = indexed_texts(raw_patch(row[14]), len(meta.parents))
    return IndexedCommit(
        meta=meta,
        files=tuple(files),
        patch_digest=row[12],
        patch_size=row[13],
        patch_blob=row[14],
        preview=shown(row[15]),
        added_text=added,
        removed_text=removed,
        context_text=context,
        problem=shown_or_none(row[16]),
        redactions=tuple(redactions),
    )
