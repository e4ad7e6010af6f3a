"""Drift: files that a completed spec depends on and that have changed since.

What counts is content. When a spec is completed, `file_hashes` keeps git's own hash of each file
that `tracks`, `origin`, `informed_by` or `target_files` name; a spec without it is held against the
last of its commits, or else against the last commit before its `completed_at`. A fresh clone, a
touched file or another branch with the same content is no drift.
"""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from clew.kit.errors import ClewError
from clew.kit.git import guard, run_git
from clew.specs.model import Spec
from clew.specs.store.store import SpecStore

HASHES = "file_hashes"
SOURCES = ("tracks", "origin", "informed_by", "target_files")
_MOST_FILES = 500
_MOST_DEEP = 2  # more `**` than that can take longer than anybody waits
_STEP = 1 << 20
_SHA1_DIGITS = 40
_WILD = "*?["


class FileDrift(NamedTuple):
    """One file that is not as it was."""

    path: str
    change: str  # modified, added or deleted
    field: str


class Drift(NamedTuple):
    """What became of the files of one spec; without a baseline nobody can tell."""

    spec_id: str
    title: str | None
    baseline: str | None
    files: tuple[FileDrift, ...]
    checked: int

    def as_json(self) -> dict[str, Any]:
        """The fields by name; `changed` lists the files in words."""
        return {
            "id": self.spec_id,
            "title": self.title,
            "baseline": self.baseline,
            "changed": [f"{file.path} ({file.change})" for file in self.files],
            "files": [file._asdict() for file in self.files],
            "checked": self.checked,
        }


def hashes_of(project: Path, spec: Spec) -> dict[str, str]:
    """The hash of every file that a spec names, by its path from the project's root."""
    found: dict[str, str] = {}
    for field in SOURCES:
        for pattern in spec.words(field):
            for path in _files(project, pattern):
                if path not in found and len(found) < _MOST_FILES:
                    value = blob_hash(project / path)
                    if value:
                        found[path] = value
    return dict(sorted(found.items()))


def drift_of(project: Path, spec: Spec) -> Drift:
    """What changed below a completed spec."""
    baseline, before = _baseline(project, spec)
    if before is None:
        return Drift(spec.id, spec.title, None, (), 0)
    found: dict[str, FileDrift] = {}
    checked: set[str] = set()
    for field in SOURCES:
        for pattern in spec.words(field):
            present = _files(project, pattern)
            names = [name for name in before if _fits(name, pattern)]
            for path in dict.fromkeys((*names, *present)):
                checked.add(path)
                known = before.get(path)
                change = _change(known, blob_hash(project / path, known))
                if change and path not in found:
                    found[path] = FileDrift(path, change, field)
    return Drift(spec.id, spec.title, baseline, tuple(found.values()), len(checked))


def find_drift(store: SpecStore, spec_ids: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Every completed spec that names files, or these ones, each with what changed."""
    if spec_ids is not None:
        return [drift_of(store.project, store.load(name)).as_json() for name in spec_ids]
    specs = (store.read(head) for head in store.heads() if head.status == "completed")
    named = (spec for spec in specs if any(spec.words(name) for name in SOURCES))
    return [drift_of(store.project, spec).as_json() for spec in named]


def blob_hash(path: Path, like: str | None = None) -> str | None:
    """The hash that git gives this content, as long as `like`; None where there is no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        kind = "sha256" if like and len(like) > _SHA1_DIGITS else "sha1"
        found = hashlib.new(kind, b"blob %d\0" % status.st_size, usedforsecurity=False)
        while block := os.read(descriptor, _STEP):
            found.update(block)
    finally:
        os.close(descriptor)
    return found.hexdigest()


def _change(before: str | None, now: str | None) -> str | None:
    if before == now:
        return None
    if before is None:
        return "added"
    return "deleted" if now is None else "modified"


def _files(project: Path, pattern: str) -> list[str]:
    """The files of the project that a path or glob names, never any outside of it."""
    if pattern.startswith(("/", "~")) or ".." in pattern.split("/") or "\0" in pattern:
        return []
    plain = pattern.removeprefix("./")
    names = _matches(project, plain) if _is_wild(plain) else [plain]
    root = project.resolve()
    kept = []
    for name in sorted(names)[: _MOST_FILES * 2]:
        path = project / name
        if path.is_file() and path.resolve().is_relative_to(root):
            kept.append(name)
    return kept


def _matches(project: Path, pattern: str) -> list[str]:
    if pattern.count("**") > _MOST_DEEP:
        return []
    # Unlike Path.glob, it stays out of `.git` and of everything else that is hidden.
    return glob.glob(pattern, root_dir=project, recursive=True)  # noqa: PTH207


def _is_wild(pattern: str) -> bool:
    return any(mark in pattern for mark in _WILD)


def _fits(path: str, pattern: str) -> bool:
    plain = pattern.removeprefix("./")
    if not _is_wild(plain):
        return path == plain
    if "**" in plain:
        return fnmatchcase(path, plain) or fnmatchcase(path, plain.replace("**/", ""))
    return fnmatchcase(path, plain) and path.count("/") == plain.count("/")


def _baseline(project: Path, spec: Spec) -> tuple[str | None, dict[str, str] | None]:
    recorded = spec.fields.get(HASHES)
    if isinstance(recorded, dict):
        return "recorded", {k: v for k, v in recorded.items() if isinstance(v, str)}
    commits = spec.words("commits")
    commit = commits[-1] if commits else _commit_before(project, spec.head.completed_at)
    if commit is None:
        return None, None
    try:
        listed = run_git("ls-tree", "-r", "-z", "--end-of-options", guard(commit), cwd=project)
    except ClewError:
        return None, None
    tree: dict[str, str] = {}
    for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
        facts, _, path = entry.partition("\t")
        kind = facts.split(" ")
        if len(kind) == 3 and kind[1] == "blob":
            tree[path] = kind[2]
    return f"commit {commit}", tree


def _commit_before(project: Path, moment: str | None) -> str | None:
    if not moment:
        return None
    try:
        found = run_git("rev-list", "-1", f"--before={moment}", "HEAD", "--", cwd=project)
    except ClewError:
        return None
    return found.decode("ascii", "replace").strip() or None
