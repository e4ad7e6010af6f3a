"""Sync: from what is indexed to what git has now, in crash-safe batches.

Commits are written parents first, each batch in one transaction; the refs that count as done
are moved only when everything below them is in. A sync that was cut off anywhere goes on where
it stopped. Diffs come from several git processes at once; one thread writes.
"""

from __future__ import annotations

import hashlib
import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import zstandard

from clew.history.git.raw_changes import (
    indexed_texts,
    paired_sections,
    parse_raw,
    without_ignored,
)
from clew.history.git.ref_files import limits
from clew.history.git.salvage import readable_commits
from clew.history.git.stream import DiffReader, listed_commits, read_commits
from clew.history.model import (
    LARGEST_PATCH,
    PREVIEW_CHARACTERS,
    CommitMeta,
    FileChange,
    IndexedCommit,
    Repo,
)
from clew.history.store.interface import HistoryStore
from clew.history.sync.refs import existing_commits, reached_commits, read_tips, tips_are_kept
from clew.kit.errors import ClewError
from clew.kit.git import GitError
from clew.kit.text.diff import count_lines, is_binary_only
from clew.kit.text.redact import redact_patch

_BATCH = 48
_AHEAD = 10
_TRANSACTION_COMMITS = 4000
_TRANSACTION_BYTES = 48 * 1024 * 1024
_ZSTD_LEVEL = 3
_UNREAD = "could not be read"
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
        head, tips = read_tips(root, repo)
        done = store.tips(repo.repo_id)
        problem = store.state(repo.repo_id).error
        if tips == done and (problem is None or _stays_unread(store, repo, root, problem)):
            with store.writing():
                store.set_state(repo.repo_id, int(time.time()), head, problem)
            return SyncResult(known=0, tip=head, problems=(problem,) if problem else ())
        return _sync_changed(store, repo, root, head, tips, done, progress)
    except ClewError as error:
        with store.writing():
            store.set_state(repo.repo_id, None, None, error.message)
        raise


def _stays_unread(store: HistoryStore, repo: Repo, root: Path, problem: str) -> bool:
    """Whether all that went wrong is commits that git still cannot read, as far as some tell."""
    if _UNREAD not in problem:
        return False
    left = [commit.sha for commit in store.unread_commits(repo.repo_id)]
    probed = existing_commits(root, {left[0], left[len(left) // 2], left[-1]}) if left else []
    batches = _indexed(root, repo, listed_commits(root, probed))
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


def _went_wrong(store: HistoryStore, repo: Repo) -> bool:
    """Whether the last sync was cut off or could not read everything."""
    return store.state(repo.repo_id).error is not None


def _sync_changed(
    store: HistoryStore,
    repo: Repo,
    root: Path,
    head: str,
    tips: dict[str, str],
    done: dict[str, str],
    progress: Callable[[int], None] | None,
) -> SyncResult:
    counter = _Counter(progress)
    retried = _went_wrong(store, repo)
    if retried:
        _retry_problems(store, repo, root, counter)
    known = existing_commits(root, set(done.values()))
    fresh = _fresh_commits(store, repo, root, list(dict.fromkeys(tips.values())), known, counter)
    with closing(_indexed(root, repo, fresh)) as batches:
        while _write_some(store, repo, batches, counter):
            pass
    orphaned = 0
    with store.writing():
        if not counter.is_broken:
            rewritten = retried or counter.known > 0 or not tips_are_kept(root, done, tips)
            reached = reached_commits(root, tips.values())
            orphaned = store.mark_reachable(repo.repo_id, reached) if rewritten else 0
            store.set_tips(repo.repo_id, tips)
        counter.tell_unread(root)
        problem = counter.problems[-1] if counter.problems else None
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
        self._progress = progress

    def add(self, written: list[IndexedCommit]) -> None:
        self.indexed += len(written)
        self.unread += [commit.meta.sha for commit in written if commit.problem]
        if self._progress is not None:
            self._progress(self.indexed)

    def tell_unread(self, root: Path) -> None:
        """Say in one line which diffs could not be read."""
        self.problems += _unread_line(root, self.unread, "diffs")


def _retry_problems(store: HistoryStore, repo: Repo, root: Path, counter: _Counter) -> None:
    """Read again the commits whose diffs could not be read before."""
    left = {commit.sha: commit for commit in store.unread_commits(repo.repo_id)}
    for batch in _indexed(root, repo, listed_commits(root, existing_commits(root, left))):
        with store.writing():
            for commit in batch:
                if commit.problem is None:
                    old = left.pop(commit.meta.sha)
                    store.rewrite_commit(old.id, commit, reachable=old.reachable)
    counter.unread += [commit.sha for commit in left.values() if commit.reachable]


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
    counter.problems += _unread_line(root, unreadable, "commits")
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
    for commit in _readable(root, tips, done, counter):
        if store.known(repo.repo_id, [commit.sha]):
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


def _indexed(
    root: Path, repo: Repo, commits: Iterator[CommitMeta]
) -> Generator[list[IndexedCommit], None, None]:
    """Commits with their diffs, in the same order, read by several processes at once."""
    workers = [_DiffWorker(root, repo) for _ in range(_worker_count())]
    pending: list[_Job] = []
    try:
        for turn, batch in enumerate(_batches(commits)):
            pending.append(workers[turn % len(workers)].submit(batch))
            while len(pending) > _AHEAD * len(workers):
                yield pending.pop(0).result()
        while pending:
            yield pending.pop(0).result()
    finally:
        for worker in workers:
            worker.stop()


def _worker_count() -> int:
    return min(max(os.cpu_count() or 1, 1), 8)


def _batches(commits: Iterator[CommitMeta]) -> Iterator[list[CommitMeta]]:
    batch: list[CommitMeta] = []
    for commit in commits:
        batch.append(commit)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


class _Job:
    """A batch on its way, and where its result will be."""

    def __init__(self, batch: list[CommitMeta]) -> None:
        self.batch = batch
        self.twins = _twins(batch)
        self.asked = [meta for meta in batch if meta.sha not in self.twins]
        self._done: queue.SimpleQueue[list[IndexedCommit] | BaseException] = queue.SimpleQueue()

    def finish(self, outcome: list[IndexedCommit] | BaseException) -> None:
        self._done.put(outcome)

    def result(self) -> list[IndexedCommit]:
        outcome = self._done.get()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


def _twins(batch: list[CommitMeta]) -> dict[str, str]:
    """Merges that change what an earlier commit does: they have its first parent and its tree.

    Nearly half of the merges are of that kind, and git need not be asked for their diffs.
    """
    seen: dict[tuple[str, str], str] = {}
    twins: dict[str, str] = {}
    for meta in batch:
        if meta.parents:
            first = seen.setdefault((meta.parents[0], meta.tree), meta.sha)
            if first != meta.sha and len(meta.parents) > 1:
                twins[meta.sha] = first
    return twins


class _DiffWorker:
    """A thread with a git process of its own; one batch is asked for ahead of the one read."""

    def __init__(self, root: Path, repo: Repo) -> None:
        self._reader = DiffReader(root)
        self._ignored = repo.ignored
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._compressor = zstandard.ZstdCompressor(level=_ZSTD_LEVEL)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def submit(self, batch: list[CommitMeta]) -> _Job:
        job = _Job(batch)
        self._jobs.put(job)
        return job

    def stop(self) -> None:
        self._jobs.put(None)
        self._reader.stop()
        self._thread.join()
        self._reader.close()

    def _work(self) -> None:
        asked: list[tuple[_Job, str]] = []
        ended = False
        while not ended or asked:
            while not ended and len(asked) < 2 and (not asked or not self._jobs.empty()):
                job = self._jobs.get()
                if job is None:
                    ended = True
                else:
                    self._ask(job, asked)
            if asked:
                self._answer(*asked.pop(0), waiting=asked)

    def _ask(self, job: _Job, asked: list[tuple[_Job, str]]) -> None:
        try:
            asked.append((job, self._reader.send(job.asked)))
        except Exception as error:  # noqa: BLE001 - it is raised again where the result is used
            job.finish(error)

    def _answer(self, job: _Job, marker: str, waiting: list[tuple[_Job, str]]) -> None:
        try:
            diffs = self._reader.receive(job.asked, marker)
            while None in diffs:
                self._recover(job, diffs, waiting)
            found = {
                meta.sha: index_commit(meta, diff, self._ignored, self._compressor)
                for meta, diff in zip(job.asked, diffs, strict=True)
            }
            job.finish(
                [
                    _same(meta, found[job.twins[meta.sha]])
                    if meta.sha in job.twins
                    else found[meta.sha]
                    for meta in job.batch
                ]
            )
        except Exception as error:  # noqa: BLE001 - it is raised again where the result is used
            job.finish(error)

    def _recover(
        self, job: _Job, diffs: list[bytes | None], waiting: list[tuple[_Job, str]]
    ) -> None:
        """Where git stopped at a commit it cannot read: note it, go on behind it."""
        self._reader.close()
        broken = diffs.index(None)
        diffs[broken] = UNREADABLE
        rest = job.asked[broken + 1 :]
        if rest:
            diffs[broken + 1 :] = self._reader.receive(rest, self._reader.send(rest))
        for number, (later, _) in enumerate(waiting):
            waiting[number] = (later, self._reader.send(later.asked))


def _same(meta: CommitMeta, twin: IndexedCommit) -> IndexedCommit:
    """A merge with the diff of its twin."""
    if twin.problem is not None:
        return _unread(meta)
    return replace(twin, meta=meta, added_text="", removed_text="", context_text="")


def _unread(meta: CommitMeta) -> IndexedCommit:
    return IndexedCommit(meta, problem=f"{meta.sha}: git could not read this commit's diff")


UNREADABLE = b"\x00unreadable"


def index_commit(
    meta: CommitMeta,
    diff: bytes | None,
    ignored: tuple[str, ...],
    compressor: zstandard.ZstdCompressor,
) -> IndexedCommit:
    """What the index keeps of a commit and its diff."""
    if diff is None or diff == UNREADABLE:
        return _unread(meta)
    raw, patch = _split_diff(diff)
    changes = parse_raw(raw)
    parts = paired_sections(changes, patch)
    if any(change[1].startswith(ignored) for change in changes):
        changes, parts = without_ignored(changes, parts, ignored)
        patch = b"".join(parts)
    files = tuple(
        FileChange(path, status, old, *count_lines(part))
        for (status, path, old, _, _), part in zip(changes, parts, strict=True)
    )
    if not patch or len(patch) > LARGEST_PATCH or is_binary_only(patch):
        return IndexedCommit(meta, files, patch_size=len(patch))
    return _with_patch(meta, files, patch, compressor)


def _with_patch(
    meta: CommitMeta,
    files: tuple[FileChange, ...],
    patch: bytes,
    compressor: zstandard.ZstdCompressor,
) -> IndexedCommit:
    patch, redactions = redact_patch(patch)
    texts = indexed_texts(patch, len(meta.parents))
    return IndexedCommit(
        meta=meta,
        files=files,
        patch_digest=hashlib.blake2b(patch, digest_size=16).digest(),
        patch_size=len(patch),
        patch_blob=compressor.compress(patch),
        preview=patch[: PREVIEW_CHARACTERS * 4].decode("utf-8", "replace")[:PREVIEW_CHARACTERS],
        added_text=texts[0],
        removed_text=texts[1],
        context_text=texts[2],
        redactions=redactions,
    )


def _split_diff(diff: bytes) -> tuple[list[bytes], bytes]:
    """The raw lines and the patch of a diff."""
    if not diff.startswith(b":"):
        return [], diff.lstrip(b"\n")
    head, _, patch = diff.partition(b"\n\n")
    return [line for line in head.split(b"\n") if line.startswith(b":")], patch
