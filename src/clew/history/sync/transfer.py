"""One repository's commits, taken out of one index and written to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.history.git.raw_changes import indexed_texts
from clew.history.model import CommitMeta, FileChange, IndexedCommit, first_id, last_id
from clew.history.store.delete import raw_patch

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from clew.history.store.store import HistoryStore

_BATCH = 500
_COMMITS = """
    SELECT c.*, a.name AS author_name, a.email AS author_email,
           k.name AS committer_name, k.email AS committer_email, b.digest, b.blob
    FROM commit_rows c
    JOIN people a ON a.person_id = c.author_id
    JOIN people k ON k.person_id = c.committer_id
    LEFT JOIN patch_rows b ON b.patch_id = c.patch_id
    WHERE c.id BETWEEN ? AND ?
"""


def copy_commits(source: HistoryStore, source_id: int, target: HistoryStore, target_id: int) -> int:
    """Append one repository's commits to another's; how many. Call inside a transaction."""
    batch: list[IndexedCommit] = []
    hidden: list[str] = []
    count = 0
    for commit, is_reachable in stored_commits(source, source_id):
        batch.append(commit)
        count += 1
        if not is_reachable:
            hidden.append(commit.meta.sha)
        if len(batch) == _BATCH:
            target.write_commits(target_id, batch)
            batch = []
    target.write_commits(target_id, batch)
    _hide(target, target_id, hidden)
    return count


def copy_progress(
    source: HistoryStore, source_id: int, target: HistoryStore, target_id: int
) -> None:
    """Take over how far a repository is indexed. Call inside a transaction."""
    target.set_tips(target_id, source.tips(source_id))
    state = source.state(source_id)
    if state is not None:
        at, sha, error = state["last_synced_at"], state["last_synced_sha"], state["last_error"]
        target.set_state(target_id, at, sha, error)


def stored_commits(store: HistoryStore, repo_id: int) -> Iterator[tuple[IndexedCommit, bool]]:
    """Every commit of a repository as it was written, and whether a ref still reaches it."""
    span = (first_id(repo_id), last_id(repo_id))
    for row in store.connection.execute(f"{_COMMITS} ORDER BY c.id", span):
        yield _commit(store.connection, row, _patch(row)), bool(row["reachable"])


def find_stored(
    store: HistoryStore, repo_id: int, sha: str
) -> tuple[IndexedCommit, bytes | None] | None:
    """One commit as it was written, and its patch."""
    found = store.known(repo_id, [sha])
    if sha not in found:
        return None
    row = store.connection.execute(_COMMITS, (found[sha], found[sha])).fetchone()
    patch = _patch(row)
    return _commit(store.connection, row, patch), patch


def _patch(row: sqlite3.Row) -> bytes | None:
    return raw_patch(row["blob"]) if row["blob"] is not None else None


def _commit(connection: sqlite3.Connection, row: sqlite3.Row, patch: bytes | None) -> IndexedCommit:
    added, removed, context = indexed_texts(patch, len(row["parents"]) // 20)
    return IndexedCommit(
        meta=_meta(row),
        files=_files(connection, row["id"]),
        patch_digest=row["digest"],
        patch_size=row["patch_size"],
        patch_blob=row["blob"],
        preview=row["preview"],
        added_text=added,
        removed_text=removed,
        context_text=context,
        problem=row["problem"],
        redactions=_redactions(connection, row["id"]),
    )


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


def _files(connection: sqlite3.Connection, commit_id: int) -> tuple[FileChange, ...]:
    rows = connection.execute(
        "SELECT p.path, f.status, o.path, f.added, f.removed FROM file_rows f"
        " JOIN paths p ON p.path_id = f.path_id LEFT JOIN paths o ON o.path_id = f.old_path_id"
        " WHERE f.commit_id = ? ORDER BY f.number",
        (commit_id,),
    )
    return tuple(FileChange(*row) for row in rows)


def _redactions(connection: sqlite3.Connection, commit_id: int) -> tuple[tuple[str, str], ...]:
    rows = connection.execute(
        "SELECT kind, hint FROM redactions WHERE commit_id = ? ORDER BY rowid", (commit_id,)
    )
    return tuple((row["kind"], row["hint"]) for row in rows)


def _hide(store: HistoryStore, repo_id: int, shas: list[str]) -> None:
    span = (first_id(repo_id), last_id(repo_id))
    store.connection.executemany(
        "UPDATE commit_rows SET reachable = 0 WHERE sha = ? AND id BETWEEN ? AND ?",
        [(bytes.fromhex(sha), *span) for sha in shas],
    )
