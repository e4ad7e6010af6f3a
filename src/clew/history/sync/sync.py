"""Syncing as commands do it: one at a time, clones fetched first, from scratch on request."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.history.model import first_id, last_id
from clew.history.semantic.vector_file import embed_after_sync
from clew.history.store.delete import forget_repo_commits, sweep_patches
from clew.history.store.store import HistoryStore
from clew.history.sync.clones import fetch_clone
from clew.history.sync.ingest import SyncResult, sync_repo
from clew.history.sync.repositories import index_lock
from clew.history.sync.transfer import copy_commits, copy_progress
from clew.kit.errors import ClewError, Invalid
from clew.kit.locks import try_lock
from clew.kit.sqlite import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clew.history.model import Repo

    Progress = Callable[[int], None]


def bring_up_to_date(
    store: HistoryStore,
    repo: Repo,
    progress: Progress | None = None,
    *,
    full: bool = False,
    may_skip: bool = False,
) -> SyncResult:
    """Read a repository's new commits, or with `full` all of them anew.

    With `may_skip` nothing is done while another sync of the repository waits for its turn: it
    will look at the refs only then, and so see everything that is there now.
    """
    queue = try_lock(store.path.with_name(f"{store.path.name}.queue-{repo.repo_id}"))
    if queue is None and may_skip:
        return SyncResult()
    try:
        if repo.managed_clone:
            _fetch(store, repo)
        with index_lock(store):
            if queue is not None:
                queue.release()
            done = _read_anew(store, repo, progress) if full else sync_repo(store, repo, progress)
    finally:
        if queue is not None:
            queue.release()
    problem = embed_after_sync(store, repo)
    return replace(done, problems=(*done.problems, problem)) if problem else done


def _fetch(store: HistoryStore, repo: Repo) -> None:
    try:
        fetch_clone(Path(repo.local_path))
    except ClewError as error:
        with writing(store.connection):
            store.set_state(repo.repo_id, None, None, error.message)
        raise


def _read_anew(store: HistoryStore, repo: Repo, progress: Progress | None) -> SyncResult:
    """Index a repository in a file beside the index, then put it in the old one's place at once."""
    with _scratch(store.path) as path:
        fresh = HistoryStore.create(path)
        try:
            fresh.connection.execute("PRAGMA synchronous=OFF")
            copied = fresh.add_repo(replace(repo, repo_id=0))
            result = sync_repo(fresh, copied, progress)
            _refuse_worse(store, repo, fresh, copied)
            _replace(store, repo, fresh, copied)
        finally:
            fresh.close()
    return result


def _refuse_worse(store: HistoryStore, repo: Repo, fresh: HistoryStore, copied: Repo) -> None:
    """Keep the old index when git can now read less than it could then."""
    unread = _unread(fresh, copied)
    if not fresh.tips(copied.repo_id) or unread > _unread(store, repo):
        raise Invalid(
            f"git cannot read all of '{repo.name}' now; what was indexed is kept",
            "Run 'git fsck' in the repository.",
        )


def _unread(store: HistoryStore, repo: Repo) -> int:
    row = store.connection.execute(
        "SELECT count(*) FROM commit_rows WHERE id BETWEEN ? AND ? AND problem IS NOT NULL",
        (first_id(repo.repo_id), last_id(repo.repo_id)),
    ).fetchone()
    return int(row[0])


def _replace(store: HistoryStore, repo: Repo, fresh: HistoryStore, copied: Repo) -> None:
    try:
        with writing(store.connection):
            forget_repo_commits(store, repo.repo_id)
            copy_commits(fresh, copied.repo_id, store, repo.repo_id)
            copy_progress(fresh, copied.repo_id, store, repo.repo_id)
            sweep_patches(store.connection)
    except BaseException:
        store.forget_numbers()
        raise


@contextmanager
def _scratch(index: Path) -> Iterator[Path]:
    """A place for an index that is not kept; those of syncs that were killed are cleared."""
    prefix = f".{index.name}.full-"
    for left in index.parent.glob(f"{_literal(prefix)}*"):
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=index.parent) as directory:
        yield Path(directory) / "index.sqlite3"


def _literal(text: str) -> str:
    from glob import escape

    return escape(text)
