"""Registering repositories: what may be one, under which name, and forgetting it again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from clew.history.lookup import read_patch
from clew.history.model import Repo, first_id, last_id
from clew.history.patches import changed_lines
from clew.history.store import HistoryStore, check_name
from clew.kit.errors import Invalid
from clew.kit.git import GitError, run_git
from clew.kit.sqlite import writing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence


def register(
    store: HistoryStore,
    path: Path,
    *,
    name: str | None = None,
    exclude: Sequence[str] = (),
    all_refs: bool = False,
    default_branch: str | None = None,
    author: str | None = None,
) -> Repo:
    """Register a local repository; its history is read by the next sync."""
    root = repository_root(path)
    remote = run_git("config", "--get", "remote.origin.url", cwd=root, check=False)
    repo = Repo(
        repo_id=0,
        name=check_name(name if name is not None else root.name.removesuffix(".git")),
        local_path=str(root),
        remote_url=os.fsdecode(remote).strip() or None,
        default_branch=default_branch,
        all_refs=all_refs,
        exclude_prefixes=tuple(exclude),
        author_filter=author,
    )
    return store.add_repo(repo)


def repository_root(path: Path) -> Path:
    """The root of a repository: a checkout, a linked worktree or a bare directory."""
    if not path.is_dir():
        raise Invalid(f"No such directory: {path}")
    root = path.resolve()
    try:
        bare = run_git("rev-parse", "--is-bare-repository", cwd=root).strip() == b"true"
        shown = "--absolute-git-dir" if bare else "--show-toplevel"
        top = Path(os.fsdecode(run_git("rev-parse", shown, cwd=root).rstrip(b"\n")))
    except GitError:
        raise Invalid(f"'{root}' is not a git repository") from None
    if top.resolve() != root:
        raise Invalid(f"'{root}' is not a git repository", f"Its root is {top}.")
    return root


def remove(store: HistoryStore, name: str) -> int:
    """Forget a repository and everything indexed of it; how many commits that were."""
    repo = store.find_repo(name)
    span = (first_id(repo.repo_id), last_id(repo.repo_id))
    connection = store.connection
    with writing(connection):
        rows = connection.execute(
            "SELECT id, subject, body, preview, patch_id, length(parents) AS parents"
            " FROM commit_rows WHERE id BETWEEN ? AND ?",
            span,
        ).fetchall()
        for row in rows:
            _forget_text(store, row)
        connection.execute("DELETE FROM file_rows WHERE commit_id BETWEEN ? AND ?", span)
        connection.execute("DELETE FROM commit_rows WHERE id BETWEEN ? AND ?", span)
        connection.execute(
            "DELETE FROM patch_rows WHERE patch_id NOT IN"
            " (SELECT patch_id FROM commit_rows WHERE patch_id IS NOT NULL)"
        )
        for table in ("ref_tips", "ingest_state", "repos"):
            connection.execute(
                f"DELETE FROM {table} WHERE repo_id = ?",  # noqa: S608 - fixed names
                (repo.repo_id,),
            )
    return len(rows)


def _forget_text(store: HistoryStore, row: sqlite3.Row) -> None:
    """Take a commit out of the text indexes, which need to be told what they hold of it."""
    commit_id, subject, body = row["id"], row["subject"], row["body"]
    connection = store.connection
    connection.execute(
        "INSERT INTO commits_fts (commits_fts, rowid, subject, body, patch_preview)"
        " VALUES ('delete', ?, ?, ?, ?)",
        (commit_id, subject, body, row["preview"]),
    )
    text = read_patch(store, row["patch_id"]) if row["parents"] <= 20 else None
    added, removed, context = changed_lines((text or "").encode("utf-8"))
    paths = connection.execute(
        "SELECT p.path FROM file_rows f JOIN paths p ON p.path_id = f.path_id"
        " WHERE f.commit_id = ? ORDER BY f.number",
        (commit_id,),
    )
    connection.execute(
        "INSERT INTO search_fts (search_fts, rowid, subject, body, added, removed, context, paths)"
        " VALUES ('delete', ?, ?, ?, ?, ?, ?, ?)",
        (commit_id, subject, body, added, removed, context, "\n".join(p[0] for p in paths)),
    )
