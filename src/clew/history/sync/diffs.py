"""Commits with their diffs, as the index keeps them: read by several git processes at once."""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

import zstandard

from clew.history.git.gaps import Gaps, ObjectNames
from clew.history.git.raw_changes import (
    indexed_texts,
    paired_sections,
    parse_raw,
    without_ignored,
)
from clew.history.git.stream import DiffReader
from clew.history.model import (
    KEPT_END,
    LARGEST_PATCH,
    PREVIEW_CHARACTERS,
    CommitMeta,
    FileChange,
    IndexedCommit,
    Repo,
)
from clew.kit.text.diff import count_lines, is_binary_only
from clew.kit.text.excerpt import both_ends
from clew.kit.text.redact import redact_patch

_BATCH = 48
_AHEAD = 4  # batches for each process; all that is read and not written is in memory
_ZSTD_LEVEL = 3


def indexed_commits(
    root: Path, repo: Repo, commits: Iterator[CommitMeta]
) -> Generator[list[IndexedCommit], None, None]:
    """Commits with their diffs, in the same order, read by several processes at once."""
    names = ObjectNames(root)
    workers = [_DiffWorker(root, repo, names) for _ in range(_worker_count())]
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
        self.lacking: dict[str, bytes] = {}
        self._done: queue.SimpleQueue[list[IndexedCommit] | BaseException] = queue.SimpleQueue()

    @property
    def readable(self) -> list[CommitMeta]:
        """Those whose diffs git can be asked for."""
        return [meta for meta in self.asked if meta.sha not in self.lacking]

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

    def __init__(self, root: Path, repo: Repo, names: ObjectNames) -> None:
        self._reader = DiffReader(root)
        self._names = names
        self._gaps = Gaps(root, names)
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
        self._gaps.stop()
        self._thread.join()
        self._reader.close()
        self._gaps.close()

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
            asked.append((job, self._send(job)))
        except Exception as error:  # noqa: BLE001 - it is raised again where the result is used
            job.finish(error)

    def _send(self, job: _Job) -> str:
        if self._names.are_wanted:
            job.lacking = self._gaps.among(job.asked)
        return self._reader.send(job.readable)

    def _answer(self, job: _Job, marker: str, waiting: list[tuple[_Job, str]]) -> None:
        try:
            found = {
                meta.sha: index_commit(meta, diff, self._ignored, self._compressor)
                for meta, diff in self._diffs(job, marker, waiting)
            }
            for meta in job.asked:
                if meta.sha in job.lacking:
                    found[meta.sha] = unread_commit(meta, job.lacking[meta.sha], self._ignored)
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

    def _diffs(
        self, job: _Job, marker: str, waiting: list[tuple[_Job, str]]
    ) -> Iterator[tuple[CommitMeta, bytes]]:
        """The diffs of a job; where git stops at one, it is noted and git goes on behind it."""
        rest = job.readable
        while True:
            diffs = self._reader.receive(rest, marker)
            for meta, diff in zip(rest, diffs, strict=True):
                if diff is not None:
                    yield meta, diff
            if None not in diffs:
                return
            rest = rest[diffs.index(None) :]
            self._reader.close()
            self._names.are_wanted = True
            job.lacking |= {rest[0].sha: b"", **self._gaps.among(rest)}
            rest = [meta for meta in rest if meta.sha not in job.lacking]
            marker = self._reader.send(rest)
            for number, (later, _) in enumerate(waiting):
                waiting[number] = (later, self._send(later))


def _same(meta: CommitMeta, twin: IndexedCommit) -> IndexedCommit:
    """A merge with the diff of its twin."""
    problem = None if twin.problem is None else _problem(meta)
    return replace(
        twin, meta=meta, added_text="", removed_text="", context_text="", problem=problem
    )


def unread_commit(
    meta: CommitMeta, raw: bytes = b"", ignored: tuple[str, ...] = ()
) -> IndexedCommit:
    """A commit of whose changes no more is known than the files, or not even these."""
    changes = parse_raw(_split_diff(raw)[0])
    kept, _ = without_ignored(changes, [b""] * len(changes), ignored)
    if changes and not kept:
        return IndexedCommit(meta)
    files = tuple(FileChange(path, status, old) for status, path, old, _, _ in kept)
    return IndexedCommit(meta, files, problem=_problem(meta))


def _problem(meta: CommitMeta) -> str:
    return f"{meta.sha}: git could not read this commit's diff"


def index_commit(
    meta: CommitMeta, diff: bytes, ignored: tuple[str, ...], compressor: zstandard.ZstdCompressor
) -> IndexedCommit:
    """What the index keeps of a commit and its diff."""
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
    if not patch or is_binary_only(patch):
        return IndexedCommit(meta, files, patch_size=min(len(patch), LARGEST_PATCH))
    return _with_patch(meta, files, patch, compressor)


def _with_patch(
    meta: CommitMeta,
    files: tuple[FileChange, ...],
    patch: bytes,
    compressor: zstandard.ZstdCompressor,
) -> IndexedCommit:
    patch, redactions = redact_patch(patch)
    size = len(patch)
    if size > LARGEST_PATCH:
        patch = both_ends(patch, KEPT_END)
    texts = indexed_texts(patch, len(meta.parents))
    return IndexedCommit(
        meta=meta,
        files=files,
        patch_digest=hashlib.blake2b(patch, digest_size=16).digest(),
        patch_size=size,
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
