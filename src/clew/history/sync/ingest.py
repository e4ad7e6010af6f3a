"""Sync: from what is indexed to what git has now, in crash-safe batches.

Commits are written parents first, each batch in one transaction; the refs that count as done
are moved only when everything below them is in. A sync that was cut off anywhere goes on where
it stopped. Diffs come from several git processes at once; one thread writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from clew.history.git.ref_files import limits
from clew.history.git.salvage import any_readable, readable_commits
from clew.history.git.stream import listed_commits, read_commits
from clew.history.model import CommitMeta, IndexedCommit, Repo
from clew.history.store.interface import HistoryStore
from clew.history.sync.diffs import indexed_commits
from clew.history.sync.refs import Refs, existing_commits, reached_commits, tips_are_kept
from clew.kit.errors import ClewError
from clew.kit.git import GitError

_TRANSACTION_COMMITS = 4000
_TRANSACTION_BYTES = 48 * 1024 * 1024
_LOOKED_UP = 500  # commits at once: a team's database is asked over a network
_UNREAD = "could not be read"
_LOST = f" commits {_UNREAD} ("
_NAMED = 5  # of them, in a message
_UNFINISHED = "A sync is under way, or was cut off; run 'commitmux sync' to finish it"


@dataclass(frozen=True)
class SyncResult:
    """What a sync did."""

    indexed: int = 0
    known: int = 0
    filtered: int = 0
    problems: tuple[str, ...] = ()
    orphaned: int = 0
    tip: str | None = None


def sync_repo(
    store: HistoryStore, repo: Repo, progress: Callable[[int], None] | None = None
) -> SyncResult:
    """Bring one repository's index up to date."""
    root = Path(repo.local_path)
    try:
        refs = Refs(root, repo)
        problem = store.state(repo.repo_id).error
        stays = problem is not None and _stays_unread(store, repo, root, problem)
        if refs.are_done(store, repo.repo_id) and (problem is None or stays):
            with store.writing():
                if not refs.is_marked and refs.lasting_mark:
                    store.set_tips(repo.repo_id, refs.tips, refs.lasting_mark)
                store.set_state(repo.repo_id, int(time.time()), refs.head, problem)
            problems = tuple(problem.split("\n")) if problem else ()
            return SyncResult(tip=refs.head, problems=problems)
        counter = _Counter(progress)
        if problem is not None:
            _recall_problems(store, repo, root, counter, problem, stays=stays)
        return _sync_changed(store, repo, root, refs, counter)
    except ClewError as error:
        with store.writing():
            store.set_state(repo.repo_id, None, None, error.message)
        raise


def has_lost_commits(problem: str | None) -> bool:
    """Whether a sync's problem is that commits themselves, not only diffs, could not be read."""
    return _LOST in (problem or "")


def _stays_unread(store: HistoryStore, repo: Repo, root: Path, problem: str) -> bool:
    """Whether all that went wrong is what git still cannot read, as far as some of it tells."""
    for line in problem.split("\n"):
        if _UNREAD not in line:
            return False
        if _LOST in line and any_readable(root, _named(line)):
            return False
    left = [commit.sha for commit in store.unread_commits(repo.repo_id)]
    if not left:
        return _LOST in problem
    probed = existing_commits(root, {left[0], left[len(left) // 2], left[-1]})
    with closing(indexed_commits(root, repo, listed_commits(root, probed))) as batches:
        return bool(probed) and all(commit.problem for batch in batches for commit in batch)


def _unread_line(root: Path, shas: list[str], what: str) -> list[str]:
    """Commits that could not be read, in one line: how many, why, and what to do."""
    if not shas:
        return []
    named = ", ".join(sha[:12] for sha in shas[:_NAMED])
    named += f" and {len(shas) - _NAMED} more" if len(shas) > _NAMED else ""
    why = "objects are missing or damaged; 'git fsck' tells which"
    if "partial" in limits(root):
        why = "a partial clone lacks objects; 'git fetch --refetch --no-filter' brings them"
    return [f"{len(shas)} {what} {_UNREAD} ({named}): {why}"]


def _named(line: str) -> list[str]:
    """The commits that such a line names."""
    return line.partition("(")[2].partition(")")[0].partition(" and ")[0].split(", ")


def _recall_problems(
    store: HistoryStore,
    repo: Repo,
    root: Path,
    counter: _Counter,
    problem: str,
    *,
    stays: bool,
) -> None:
    """Read again what could not be read before; where some tell that it stays so, remember it."""
    left = {commit.sha: commit for commit in store.unread_commits(repo.repo_id)}
    if stays:
        counter.problems += [line for line in problem.split("\n") if _LOST in line]
        counter.is_broken = bool(counter.problems)
    else:
        counter.is_retried = True
        again = listed_commits(root, existing_commits(root, left))
        with closing(indexed_commits(root, repo, again)) as batches:
            for batch in batches:
                with store.writing():
                    for commit in batch:
                        if commit.problem is None:
                            old = left.pop(commit.meta.sha)
                            store.rewrite_commit(old.id, commit, reachable=old.reachable)
    counter.unread += [commit.sha for commit in left.values() if commit.reachable]


def _sync_changed(
    store: HistoryStore, repo: Repo, root: Path, refs: Refs, counter: _Counter
) -> SyncResult:
    head, tips = refs.head, refs.tips
    done = store.tips(repo.repo_id)
    was_lost = has_lost_commits(store.state(repo.repo_id).error)
    known = [] if counter.is_retried and was_lost else existing_commits(root, set(done.values()))
    fresh = _fresh_commits(store, repo, root, list(dict.fromkeys(tips.values())), known, counter)
    with closing(indexed_commits(root, repo, fresh)) as batches:
        while _write_some(store, repo, batches, counter):
            pass
    orphaned = 0
    with store.writing():
        if not counter.is_broken:
            moved = counter.known > 0 or not tips_are_kept(root, done, tips)
            reached = reached_commits(root, tips.values())
            is_rewritten = counter.is_retried or moved
            orphaned = store.mark_reachable(repo.repo_id, reached) if is_rewritten else 0
        store.set_tips(repo.repo_id, tips, refs.lasting_mark)
        counter.problems += _unread_line(root, counter.unread, "diffs")
        problem = "\n".join(counter.problems) or None
        store.set_state(repo.repo_id, int(time.time()), head, problem)
    return SyncResult(
        indexed=counter.indexed,
        known=counter.known,
        filtered=counter.filtered,
        problems=tuple(counter.problems),
        orphaned=orphaned,
        tip=head,
    )


class _Counter:
    """What happened so far."""

    def __init__(self, progress: Callable[[int], None] | None) -> None:
        self.indexed = 0
        self.known = 0
        self.filtered = 0
        self.problems: list[str] = []
        self.unread: list[str] = []
        self.is_broken = False
        self.is_retried = False
        self._progress = progress

    def add(self, written: list[IndexedCommit]) -> None:
        self.indexed += len(written)
        self.unread += [commit.meta.sha for commit in written if commit.problem]
        if self._progress is not None:
            self._progress(self.indexed)


def _readable(
    root: Path, tips: list[str], done: list[str], counter: _Counter
) -> Iterator[CommitMeta]:
    """All commits; where git cannot walk the history, those that it can still read."""
    begun = False
    try:
        for commit in read_commits(root, tips, done):
            begun = True
            yield commit
    except GitError:
        if begun:
            raise
    else:
        return
    shas, unreadable = readable_commits(root, tips)
    counter.is_broken = bool(unreadable)
    counter.problems = _unread_line(root, unreadable, "commits")
    yield from listed_commits(root, shas)


def _fresh_commits(
    store: HistoryStore,
    repo: Repo,
    root: Path,
    tips: list[str],
    done: list[str],
    counter: _Counter,
) -> Iterator[CommitMeta]:
    """Commits that are not indexed yet, parents first."""
    wanted = repo.author_filter.lower() if repo.author_filter else None
    commits = _readable(root, tips, done, counter)
    while some := list(islice(commits, _LOOKED_UP)):
        known = store.known(repo.repo_id, [commit.sha for commit in some])
        for commit in some:
            if commit.sha in known:
                counter.known += 1
            elif wanted is not None and commit.author_email.lower() != wanted:
                counter.filtered += 1
            else:
                yield commit


def _write_some(
    store: HistoryStore, repo: Repo, batches: Iterator[list[IndexedCommit]], counter: _Counter
) -> bool:
    """Write batches as they come, in one transaction of bounded size; whether there were any."""
    count = size = 0
    with store.writing():
        for batch in batches:
            store.write_commits(repo.repo_id, batch)
            counter.add(batch)
            count += len(batch)
            size += sum(commit.patch_size for commit in batch)
            if count >= _TRANSACTION_COMMITS or size >= _TRANSACTION_BYTES:
                break
        if count:
            store.set_state(repo.repo_id, None, None, _UNFINISHED)
    return count > 0
