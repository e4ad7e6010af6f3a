"""Syncing as commands do it: one at a time, clones fetched first, from scratch on request."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from clew.history.model import IndexedCommit, Repo
from clew.history.store.interface import HistoryStore
from clew.history.store.sqlite import SqliteHistory
from clew.history.store.vectors import WITH_SYNC, NoVectors
from clew.history.sync.clones import fetch_clone
from clew.history.sync.ingest import SyncResult, has_lost_commits, sync_repo
from clew.kit.errors import ClewError, Invalid
from clew.kit.locks import HeldLock, try_lock

Progress = Callable[[int], None]


_COPIED_AT_ONCE = 500


def bring_up_to_date(
    store: HistoryStore,
    repo: Repo,
    progress: Progress | None = None,
    *,
    full: bool = False,
    may_skip: bool = False,
    local: bool = False,
) -> SyncResult:
    """Read a repository's new commits, or with `full` all of them again.

    With `local` nothing is fetched and no vector made.
    With `may_skip` nothing is done while another sync of the repository waits for its turn: it
    will look at the refs only then, and so see everything that is there now.
    """
    waiting = store.path.with_name(f"{store.path.name}.queue-{repo.repo_id}")
    queue = try_lock(waiting)
    if queue is None and may_skip:
        return SyncResult()
    try:
        if repo.managed_clone and not local:
            _fetch(store, repo)
        with store.locked(repo.repo_id):
            _leave(queue, waiting)
            done = _rebuild(store, repo, progress) if full else sync_repo(store, repo, progress)
    finally:
        _leave(queue, waiting)
    problem = None if local else _embed(store, repo)
    return replace(done, problems=(*done.problems, problem)) if problem else done


def _leave(queue: HeldLock | None, file: Path) -> None:
    """Let the next one wait; its file is its own."""
    if queue is not None and queue.fileno() >= 0:
        file.unlink(missing_ok=True)
        queue.release()


def _fetch(store: HistoryStore, repo: Repo) -> None:
    try:
        fetch_clone(Path(repo.local_path))
    except ClewError as error:
        with store.writing():
            store.set_state(repo.repo_id, None, None, error.message)
        raise


def _rebuild(store: HistoryStore, repo: Repo, progress: Progress | None) -> SyncResult:
    """Index a repository in a file beside the index, then put it in the old one's place at once."""
    with _scratch(store.path) as path, SqliteHistory.create(path, is_scratch=True) as fresh:
        copied = fresh.add_repo(replace(repo, repo_id=0))
        result = sync_repo(fresh, copied, progress)
        _refuse_worse(store, repo, fresh, copied)
        with store.writing():
            store.delete_repo_commits(repo.repo_id)
            copy_repo(fresh, copied.repo_id, store, repo.repo_id)
            store.sweep_patches()
    return result


def _refuse_worse(store: HistoryStore, repo: Repo, fresh: HistoryStore, copied: Repo) -> None:
    """Keep the old index when git can now read less than it could then."""
    before, now = (one.state(of.repo_id).error for one, of in ((store, repo), (fresh, copied)))
    is_less = has_lost_commits(now) and not has_lost_commits(before)
    unread = len(fresh.unread_commits(copied.repo_id))
    if is_less or unread > len(store.unread_commits(repo.repo_id)):
        raise Invalid(
            f"git cannot read all of '{repo.name}' now; what was indexed is kept",
            "Run 'git fsck' in the repository.",
        )


def copy_repo(source: HistoryStore, source_id: int, target: HistoryStore, target_id: int) -> int:
    """Append one repository's commits to another's, and how far it is indexed; how many.

    Call it inside a transaction of the target.
    """
    batch: list[IndexedCommit] = []
    hidden: list[str] = []
    count = 0
    for commit, is_reachable in source.stored_commits(source_id):
        batch.append(commit)
        count += 1
        if not is_reachable:
            hidden.append(commit.meta.sha)
        if len(batch) == _COPIED_AT_ONCE:
            target.write_commits(target_id, batch)
            batch = []
    target.write_commits(target_id, batch)
    target.hide_commits(target_id, hidden)
    target.set_tips(target_id, source.tips(source_id))
    target.set_state(target_id, *source.state(source_id))
    return count


def _embed(store: HistoryStore, repo: Repo) -> str | None:
    """Make a repository's new vectors if the user wants that; what went wrong, if anything.

    A sync is not spoilt by a model that does not answer.
    """
    try:
        if WITH_SYNC not in store.vectors().about():
            return None
        from clew.models.embedding import load_embedder

        embedder = load_embedder()  # before numpy is imported: it keeps that to one thread
        from clew.history.semantic.vectors import embed_commits

        embed_commits(store, embedder, [repo])
    except NoVectors:
        return None
    except ClewError as error:
        return f"no vectors: {error.message}"
    return None


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
