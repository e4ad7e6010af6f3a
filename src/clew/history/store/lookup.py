"""One commit: its message and files, and its patch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clew.history.model import first_id, last_id
from clew.history.store.delete import raw_patch
from clew.kit.errors import Invalid, NotFound

if TYPE_CHECKING:
    import sqlite3

    from clew.history.store.store import HistoryStore

_HEX = re.compile(r"[0-9a-f]{4,40}")


def get_commit(store: HistoryStore, repo_name: str, sha: str) -> dict[str, Any]:
    """A commit's metadata and files, in the documented shape."""
    row = find_row(store, repo_name, sha, f"Commit {repo_name}:{sha} not found")
    author = store.connection.execute(
        "SELECT name FROM people WHERE person_id = ?", (row["author_id"],)
    ).fetchone()
    return {
        "repo": repo_name,
        "sha": row["sha"].hex(),
        "subject": row["subject"],
        "body": row["body"],
        "author": author["name"],
        "date": row["author_time"],
        "changed_files": changed_files(store, row["id"]),
    }


def changed_files(store: HistoryStore, commit_id: int) -> list[dict[str, Any]]:
    """The files of a commit, sorted by path."""
    rows = store.connection.execute(
        "SELECT p.path, f.status,"
        " CASE WHEN f.status LIKE 'R%' THEN o.path END AS old_path FROM file_rows f"
        " JOIN paths p ON p.path_id = f.path_id"
        " LEFT JOIN paths o ON o.path_id = f.old_path_id"
        " WHERE f.commit_id = ? ORDER BY p.path",
        (commit_id,),
    )
    return [dict(row) for row in rows]


def get_patch(
    store: HistoryStore, repo_name: str, sha: str, max_bytes: int | None = None
) -> dict[str, Any]:
    """A commit's patch, whole or cut at a character boundary."""
    missing = f"Patch {repo_name}:{sha} not found"
    row = find_row(store, repo_name, sha, missing)
    text = read_patch(store, row["patch_id"])
    if text is None:
        raise NotFound(missing)
    if max_bytes is not None:
        text = text.encode("utf-8")[: max(max_bytes, 0)].decode("utf-8", "ignore")
    return {"repo": repo_name, "sha": row["sha"].hex(), "patch_text": text}


def body_of(store: HistoryStore, commit_id: int) -> str:
    """A commit's message without its subject."""
    row = store.connection.execute(
        "SELECT body FROM commit_rows WHERE id = ?", (commit_id,)
    ).fetchone()
    return "" if row is None else str(row["body"] or "")


def small_patch(store: HistoryStore, commit_id: int, largest: int) -> str:
    """A commit's patch, or nothing if it has none or a larger one."""
    row = store.connection.execute(
        "SELECT patch_id, patch_size FROM commit_rows WHERE id = ?", (commit_id,)
    ).fetchone()
    if row is None or row["patch_id"] is None or row["patch_size"] > largest:
        return ""
    return read_patch(store, row["patch_id"]) or ""


def read_patch(store: HistoryStore, patch_id: int | None) -> str | None:
    """The text of a stored patch; bytes that are no UTF-8 are shown as replacement signs."""
    if patch_id is None:
        return None
    row = store.connection.execute(
        "SELECT blob FROM patch_rows WHERE patch_id = ?", (patch_id,)
    ).fetchone()
    if row is None:
        return None
    return raw_patch(row["blob"]).decode("utf-8", "replace")


def find_row(store: HistoryStore, repo_name: str, sha: str, missing: str) -> sqlite3.Row:
    """The commit whose id begins so; unreachable ones count only when named in full."""
    try:
        repo = store.find_repo(repo_name)
    except NotFound:
        raise NotFound(missing) from None
    wanted = sha.strip().lower()
    if not _HEX.fullmatch(wanted):
        raise NotFound(missing)
    low = bytes.fromhex(wanted.ljust(40, "0"))
    high = bytes.fromhex(wanted.ljust(40, "f"))
    rows = store.connection.execute(
        "SELECT * FROM commit_rows INDEXED BY commit_sha"
        " WHERE sha BETWEEN ? AND ? AND id BETWEEN ? AND ? AND (reachable OR ?) LIMIT 9",
        (low, high, first_id(repo.repo_id), last_id(repo.repo_id), len(wanted) == 40),
    ).fetchall()
    if not rows:
        raise NotFound(missing)
    if len(rows) > 1:
        candidates = ", ".join(row["sha"].hex()[:12] for row in rows[:8])
        raise Invalid(f"{sha} stands for several commits: {candidates}", "Give more of the SHA.")
    found: sqlite3.Row = rows[0]
    return found
