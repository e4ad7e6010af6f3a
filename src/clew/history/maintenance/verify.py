"""The index against git: the same commits, and of each the same words, files and patch."""

from __future__ import annotations

import hashlib
import random
from contextlib import closing
from pathlib import Path
from typing import Any

from clew.history.git.stream import read_commits
from clew.history.model import LARGEST_PATCH, CommitMeta, IndexedCommit, Repo
from clew.history.store.interface import HistoryStore
from clew.history.sync.diffs import indexed_commits
from clew.kit.errors import Invalid, Unavailable
from clew.kit.git import run_git

_SHOWN = 100


def verify_repo(store: HistoryStore, repo: Repo, sample: int | None = None) -> dict[str, Any]:
    """How one repository's index differs from git; all commits are looked at, or a sample."""
    root = Path(repo.local_path)
    tips = list(dict.fromkeys(store.tips(repo.repo_id).values()))
    if not root.is_dir():
        raise Invalid(f"No repository at {root}", "Move it back, or run 'commitmux update-repo'.")
    lost = [sha for sha in tips if not run_git("cat-file", "-t", sha, cwd=root, check=False)]
    report = _Report(repo.name)
    for sha in lost:
        report.add("lost", sha, "git no longer has this tip; run 'commitmux sync'")
    wanted = _wanted(root, repo, [sha for sha in tips if sha not in lost])
    indexed = _indexed_shas(store, repo, report)
    if tips and not lost:
        _compare_sets(report, set(wanted), indexed)
    for index, sha in store.commits_without_text(repo.repo_id):
        report.add("text", sha, f"is not in {index}")
    common = [meta for sha, meta in wanted.items() if sha in indexed]
    if sample is not None and sample < len(common):
        common = random.Random().sample(common, sample)  # noqa: S311 - no secret
    with closing(indexed_commits(root, repo, iter(common))) as batches:
        for batch in batches:
            for expected in batch:
                _compare(report, store, repo, expected)
    return report.data(len(wanted), len(common), is_synced=bool(tips))


class _Report:
    """The differences found so far."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0
        self._found: list[dict[str, str]] = []

    def add(self, kind: str, sha: str, detail: str) -> None:
        self._count += 1
        if len(self._found) < _SHOWN:
            self._found.append({"kind": kind, "sha": sha, "detail": detail})

    def data(self, commits: int, compared: int, *, is_synced: bool) -> dict[str, Any]:
        return {
            "name": self._name,
            "synced": is_synced,
            "commits": commits,
            "compared": compared,
            "difference_count": self._count,
            "differences": self._found,
        }


def _wanted(root: Path, repo: Repo, tips: list[str]) -> dict[str, CommitMeta]:
    """The commits that the index should hold."""
    if not tips:
        return {}
    author = repo.author_filter.lower() if repo.author_filter else None
    return {
        meta.sha: meta
        for meta in read_commits(root, tips)
        if author is None or meta.author_email.lower() == author
    }


def _indexed_shas(store: HistoryStore, repo: Repo, report: _Report) -> set[str]:
    found: set[str] = set()
    for sha in store.reachable_shas(repo.repo_id):
        if sha in found:
            report.add("twice", sha, "is in the index more than once")
        found.add(sha)
    return found


def _compare_sets(report: _Report, wanted: set[str], indexed: set[str]) -> None:
    for sha in sorted(wanted - indexed):
        report.add("missing", sha, "is in git and not in the index")
    for sha in sorted(indexed - wanted):
        report.add("extra", sha, "is in the index, and git does not reach it")


def _compare(report: _Report, store: HistoryStore, repo: Repo, expected: IndexedCommit) -> None:
    sha = expected.meta.sha
    try:
        stored = store.stored_commit(repo.repo_id, sha)
    except Unavailable as error:
        report.add("patch", sha, f"the stored patch cannot be read: {error.message}")
        return
    if stored is None:
        report.add("missing", sha, "left the index meanwhile")
        return
    commit, patch = stored
    if commit.meta != expected.meta:
        report.add("message", sha, "message, people or times differ")
    if expected.problem is not None:
        report.add("unreadable", sha, "git cannot read this commit's diff")
    elif commit.problem is not None:
        report.add("unread", sha, "git could not read its diff when it was indexed")
    elif commit.files != expected.files:
        report.add("files", sha, "the files differ")
    elif commit.patch_digest is None and expected.patch_size > LARGEST_PATCH:
        report.add("ends", sha, "is large, and was indexed before the ends of its patch were kept")
    elif _digest(patch) != expected.patch_digest or commit.patch_digest != expected.patch_digest:
        report.add("patch", sha, "the patch differs")


def _digest(patch: bytes | None) -> bytes | None:
    return None if patch is None else hashlib.blake2b(patch, digest_size=16).digest()
