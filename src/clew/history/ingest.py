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
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import zstandard

from clew.history.gitstream import DiffReader, read_commits
from clew.history.model import (
    LARGEST_PATCH,
    PREVIEW_CHARACTERS,
    CommitMeta,
    FileChange,
    IndexedCommit,
    Repo,
)
from clew.history.patches import (
    changed_lines,
    count_lines,
    is_binary_only,
    parse_raw,
    sections,
)
from clew.history.redact import redact_patch
from clew.history.refs import mark_reachable, read_tips, tips_are_kept
from clew.kit.errors import ClewError
from clew.kit.sqlite import writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from clew.history.store import HistoryStore

_BATCH = 48
_AHEAD = 4
_TRANSACTION_COMMITS = 2000
_TRANSACTION_BYTES = 24 * 1024 * 1024
_ZSTD_LEVEL = 3


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
        if tips == done:
            with writing(store.connection):
                store.set_state(repo.repo_id, int(time.time()), head, None)
            return SyncResult(known=0, tip=head)
        return _sync_changed(store, repo, root, head, tips, done, progress)
    except ClewError as error:
        with writing(store.connection):
            store.set_state(repo.repo_id, None, None, error.message)
        raise


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
    known = [sha for sha in dict.fromkeys(done.values()) if _exists(root, sha)]
    fresh = _fresh_commits(store, repo, root, list(dict.fromkeys(tips.values())), known, counter)
    for batch in _transactions(_indexed(root, repo, fresh)):
        try:
            with writing(store.connection):
                store.write_commits(repo.repo_id, batch)
        except BaseException:
            store.forget_numbers()
            raise
        counter.add(batch)
    with writing(store.connection):
        rewritten = counter.known > 0 or not tips_are_kept(root, done, tips)
        orphaned = mark_reachable(store, repo, root, tips) if rewritten else 0
        store.set_tips(repo.repo_id, tips)
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
        self._progress = progress

    def add(self, batch: list[IndexedCommit]) -> None:
        self.indexed += len(batch)
        self.problems += [c.problem for c in batch if c.problem]
        if self._progress is not None:
            self._progress(self.indexed)


def _exists(root: Path, sha: str) -> bool:
    from clew.kit.git import run_git

    found = run_git("cat-file", "-t", sha, cwd=root, check=False)
    return found.strip() == b"commit"


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
    for commit in read_commits(root, tips, done):
        if store.known(repo.repo_id, [commit.sha]):
            counter.known += 1
        elif wanted is not None and commit.author_email.lower() != wanted:
            counter.filtered += 1
        else:
            yield commit


def _transactions(commits: Iterator[IndexedCommit]) -> Iterator[list[IndexedCommit]]:
    batch: list[IndexedCommit] = []
    size = 0
    for commit in commits:
        batch.append(commit)
        size += commit.patch_size
        if len(batch) >= _TRANSACTION_COMMITS or size >= _TRANSACTION_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _indexed(root: Path, repo: Repo, commits: Iterator[CommitMeta]) -> Iterator[IndexedCommit]:
    """Commits with their diffs, in the same order, read by several processes at once."""
    workers = [_DiffWorker(root, repo) for _ in range(_worker_count())]
    pending: list[_Job] = []
    try:
        for turn, batch in enumerate(_batches(commits)):
            pending.append(workers[turn % len(workers)].submit(batch))
            while len(pending) > _AHEAD * len(workers):
                yield from pending.pop(0).result()
        while pending:
            yield from pending.pop(0).result()
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
        self._done: queue.SimpleQueue[list[IndexedCommit] | BaseException] = queue.SimpleQueue()

    def finish(self, outcome: list[IndexedCommit] | BaseException) -> None:
        self._done.put(outcome)

    def result(self) -> list[IndexedCommit]:
        outcome = self._done.get()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome


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
        self._reader.close()
        self._thread.join(10)

    def _work(self) -> None:
        asked: list[tuple[_Job, str]] = []
        ended = False
        while not ended or asked:
            while not ended and len(asked) < 2 and (not asked or not self._jobs.empty()):
                job = self._jobs.get()
                if job is None:
                    ended = True
                else:
                    asked.append((job, self._reader.send(job.batch)))
            if asked:
                self._answer(*asked.pop(0), waiting=asked)

    def _answer(self, job: _Job, marker: str, waiting: list[tuple[_Job, str]]) -> None:
        try:
            diffs = self._reader.receive(job.batch, marker)
            while None in diffs:
                self._recover(job, diffs, waiting)
            job.finish(
                [
                    index_commit(meta, diff, self._ignored, self._compressor)
                    for meta, diff in zip(job.batch, diffs, strict=True)
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
        rest = job.batch[broken + 1 :]
        if rest:
            diffs[broken + 1 :] = self._reader.receive(rest, self._reader.send(rest))
        for number, (later, _) in enumerate(waiting):
            waiting[number] = (later, self._reader.send(later.batch))


UNREADABLE = b"\x00unreadable"


def index_commit(
    meta: CommitMeta,
    diff: bytes | None,
    ignored: tuple[str, ...],
    compressor: zstandard.ZstdCompressor,
) -> IndexedCommit:
    """What the index keeps of a commit and its diff."""
    if diff is None or diff == UNREADABLE:
        return IndexedCommit(meta, problem=f"{meta.sha}: git could not read this commit's diff")
    raw, patch = _split_diff(diff)
    changes = parse_raw(raw)
    parts = list(sections(patch))
    dropped = {n for n, change in enumerate(changes) if change[1].startswith(ignored)}
    if dropped:
        kept = [n for n in range(len(changes)) if n not in dropped]
        if len(parts) == len(changes):
            parts = [parts[n] for n in kept]
            patch = b"".join(parts)
        else:
            patch, parts = b"", []
        changes = [changes[n] for n in kept]
    counted = len(parts) == len(changes)
    files = tuple(
        FileChange(path, status, old, *(count_lines(parts[n]) if counted else (0, 0)))
        for n, (status, path, old, _, _) in enumerate(changes)
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
    # A merge repeats what its second parent's commits say already; only its files are indexed.
    texts = changed_lines(patch) if len(meta.parents) < 2 else ("", "", "")
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
