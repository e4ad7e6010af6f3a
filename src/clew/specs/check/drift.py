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
from pathlib import Path
from typing import Any, NamedTuple

from clew.specs.check.baselines import SOURCES, Baselines, is_wild, leads_out
from clew.specs.model import Spec
from clew.specs.store.store import SpecStore

_MOST_FILES = 500
_MOST_DEEP = 2  # more `**` than that can take longer than anybody waits
_STEP = 1 << 20
_SHA1_DIGITS = 40


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


def find_drift(store: SpecStore, spec_ids: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """Every completed spec that names files, or these ones, each with what changed."""
    if spec_ids is not None:
        chosen = [store.load(name) for name in spec_ids]
    else:
        specs = (store.read(head) for head in store.heads() if head.status == "completed")
        chosen = [spec for spec in specs if any(spec.words(name) for name in SOURCES)]
    return [drift.as_json() for drift in _drifts(store.project, chosen)]


def _drifts(project: Path, specs: list[Spec]) -> list[Drift]:
    """What changed below each of these; git is asked once, and each file is read once."""
    before, now = Baselines(project, specs), _Present(project)
    return [_drift(spec, before, now) for spec in specs]


def _drift(spec: Spec, baselines: Baselines, now: _Present) -> Drift:
    baseline = baselines.of(spec)
    if baseline is None:
        return Drift(spec.id, spec.title, None, (), 0)
    found: dict[str, FileDrift] = {}
    checked: set[str] = set()
    for field in SOURCES:
        for pattern in spec.words(field):
            before = baseline.files(pattern)
            for path in dict.fromkeys((*before, *now.files(pattern))):
                checked.add(path)
                known = before.get(path)
                change = _change(known, now.hash(path, known))
                if change and path not in found:
                    found[path] = FileDrift(path, change, field)
    return Drift(spec.id, spec.title, baseline.name, tuple(found.values()), len(checked))


class _Present:
    """The files as they are now, each looked at once."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._files: dict[str, list[str]] = {}
        self._hashes: dict[tuple[str, bool], str | None] = {}

    def files(self, pattern: str) -> list[str]:
        """The files that a path or glob names."""
        if pattern not in self._files:
            self._files[pattern] = _files(self._project, pattern)
        return self._files[pattern]

    def hash(self, path: str, like: str | None) -> str | None:
        """The hash of a file's content, as long as `like`."""
        key = path, bool(like and len(like) > _SHA1_DIGITS)
        if key not in self._hashes:
            self._hashes[key] = blob_hash(self._project / path, like)
        return self._hashes[key]


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
    if leads_out(pattern):
        return []
    plain = pattern.removeprefix("./")
    names = _matches(project, plain) if is_wild(plain) else [plain]
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
