"""What the files of completed specs were like: recorded hashes, or what git has of a commit.

Git is asked about all files of all specs at once; only patterns need the whole list of a commit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from clew.kit.errors import ClewError
from clew.kit.git import guard, run_git
from clew.kit.times import parse_iso
from clew.specs.model import Spec

HASHES = "file_hashes"
SOURCES = ("tracks", "origin", "informed_by", "target_files")
_WILD = "*?["
_HASH = re.compile("[0-9a-fA-F]{4,64}")
_FEW = 3  # moments for which git is asked one by one


class Baseline(NamedTuple):
    """What is compared with: its name, and the hash of each file that a pattern names there."""

    name: str
    files: Callable[[str], dict[str, str]]


class Baselines:
    """The baselines of these specs."""

    def __init__(self, project: Path, specs: list[Spec]) -> None:
        self._project = project
        self._commits = _commits_of(project, [spec for spec in specs if not _recorded(spec)])
        self._lists: dict[str, dict[str, str]] = {}
        self._objects = _objects(project, self._questions(specs))

    def of(self, spec: Spec) -> Baseline | None:
        """What a spec is held against; None where nobody can tell."""
        recorded = _recorded(spec)
        if recorded is not None:
            return Baseline("recorded", lambda pattern: _fitting(recorded, pattern))
        commit = self._commits.get(spec.id)
        if commit is None or _tree(commit) not in self._objects:
            return None
        return Baseline(f"commit {commit}", lambda pattern: self._files(commit, pattern))

    def _questions(self, specs: list[Spec]) -> Iterable[str]:
        for spec in specs:
            commit = self._commits.get(spec.id)
            if commit is not None:
                yield _tree(commit)
                for pattern in (word for name in SOURCES for word in spec.words(name)):
                    if not is_wild(pattern) and not leads_out(pattern):
                        yield _blob(commit, pattern.removeprefix("./"))

    def _files(self, commit: str, pattern: str) -> dict[str, str]:
        plain = pattern.removeprefix("./")
        if leads_out(pattern):
            return {}
        if is_wild(plain):
            return _fitting(self._listed(commit), pattern)
        found = self._objects.get(_blob(commit, plain))
        return {plain: found[0]} if found and found[1] == "blob" else {}

    def _listed(self, commit: str) -> dict[str, str]:
        if commit not in self._lists:
            wanted = ("-r", "-z", "--end-of-options", guard(commit))
            self._lists[commit] = _blobs(run_git("ls-tree", *wanted, cwd=self._project))
        return self._lists[commit]


def _recorded(spec: Spec) -> dict[str, str] | None:
    found = spec.fields.get(HASHES)
    if not isinstance(found, dict):
        return None
    return {name: value for name, value in found.items() if isinstance(value, str)}


def _tree(commit: str) -> str:
    return f"{commit}^{{tree}}"


def _blob(commit: str, path: str) -> str:
    return f"{commit}:./{path}"


def _objects(project: Path, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """The hash and type of each object that git knows by such a name.

    All names begin with a hash: some others would end git, and with it all answers.
    """
    asked = [name for name in dict.fromkeys(names) if "\n" not in name]
    if not asked:
        return {}
    given = "".join(f"{name}\n" for name in asked).encode("utf-8", "surrogateescape")
    wanted = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
    try:
        lines = run_git(*wanted, cwd=project, given=given).decode("utf-8", "replace").split("\n")
    except ClewError:
        return {}
    found = {}
    for name, line in zip(asked, lines, strict=False):
        value, _, kind = line.partition(" ")
        if kind in ("blob", "tree"):
            found[name] = (value, kind)
    return found


def _blobs(listed: bytes) -> dict[str, str]:
    found = {}
    for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
        facts, _, path = entry.partition("\t")
        kind = facts.split(" ")
        if len(kind) == 3 and kind[1] == "blob":
            found[path] = kind[2]
    return found


def _commits_of(project: Path, specs: list[Spec]) -> dict[str, str]:
    """The commit that each spec is held against: its last, or the last before its completion."""
    last = {spec.id: spec.words("commits")[-1] for spec in specs if spec.words("commits")}
    named = {spec_id: commit for spec_id, commit in last.items() if _HASH.fullmatch(commit)}
    others = {s.id: s.head.completed_at for s in specs if s.id not in last and s.head.completed_at}
    history = _history(project) if len(others) > _FEW else None
    for spec_id, moment in others.items():
        found = _commit_before(project, moment, history)
        if found is not None:
            named[spec_id] = found
    return named


def _history(project: Path) -> list[tuple[int, str]]:
    """When each commit was made, the newest first."""
    try:
        out = run_git("rev-list", "--timestamp", "HEAD", "--", cwd=project).decode("ascii")
    except ClewError:
        return []
    return [(int(time), commit) for time, commit in map(str.split, out.splitlines())]


def _commit_before(project: Path, moment: str, history: list[tuple[int, str]] | None) -> str | None:
    try:
        if history is not None:
            limit = parse_iso(moment).timestamp()
            return next((commit for time, commit in history if time <= limit), None)
        found = run_git("rev-list", "-1", f"--before={moment}", "HEAD", "--", cwd=project)
    except (ClewError, ValueError):
        return None
    return found.decode("ascii", "replace").strip() or None


def leads_out(pattern: str) -> bool:
    """Whether a path may be outside of the project."""
    return pattern.startswith(("/", "~")) or ".." in pattern.split("/") or "\0" in pattern


def is_wild(pattern: str) -> bool:
    """Whether a path is a pattern."""
    return any(mark in pattern for mark in _WILD)


def _fitting(files: dict[str, str], pattern: str) -> dict[str, str]:
    return {path: value for path, value in files.items() if _fits(path, pattern)}


def _fits(path: str, pattern: str) -> bool:
    plain = pattern.removeprefix("./")
    if not is_wild(plain):
        return path == plain
    if "**" in plain:
        return fnmatchcase(path, plain) or fnmatchcase(path, plain.replace("**/", ""))
    return fnmatchcase(path, plain) and path.count("/") == plain.count("/")
