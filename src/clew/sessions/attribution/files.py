"""Files and commits of a repository, line by line: git says where they come from, edits say why."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clew.kit.errors import NotFound
from clew.kit.git import PLAIN_DIFF, GitError, git_line, guard, run_git
from clew.sessions.attribution.origins import Attribution, Bounds, Origin
from clew.sessions.index.interface import SessionIndex

_HEAD = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)")
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
_LARGEST = 4 * 1024 * 1024


@dataclass(frozen=True)
class Line:
    """One line of a file: its commit, and its origin where there is evidence."""

    number: int
    text: str
    commit: str
    origin: Origin | None


class Repository:
    """A project's repository, asked through git, and its lines explained by the index."""

    def __init__(self, index: SessionIndex, root: Path) -> None:
        self.root = root
        self._index = index
        self._project = os.path.realpath(root)
        self._attribution = Attribution(index, self._project, self._vanished())
        self._times: dict[str, Bounds] = {}

    def _vanished(self) -> list[str]:
        """The paths that agents edited and that are not in the project now."""
        edited = self._index.edited_paths(self._project)
        if not edited:
            return []
        try:
            listed = run_git("ls-tree", "-r", "-z", "--name-only", "HEAD", cwd=self.root)
        except GitError:
            return []
        present = set(os.fsdecode(listed).split("\0"))
        return sorted(path for path in edited if path not in present)

    def blame(self, path: str, revision: str = "HEAD") -> list[Line]:
        """Every line of a file as of a commit."""
        words = ("blame", "--porcelain", "--no-textconv", guard(revision), "--", guard(path))
        try:
            told = run_git("-c", "blame.ignoreRevsFile=", *words, cwd=self.root)
        except GitError:
            raise NotFound(
                f"No file {path} at {revision}", "Give the path from the root."
            ) from None
        commits = list(self._porcelain(told))
        blob, lines = self._content(revision, path)
        bounds = [self._times[commit] for commit in commits]
        found = self._attribution.origins(path, blob, lines, bounds)
        return [
            Line(number, text, commit, origin)
            for number, (text, commit, origin) in enumerate(
                zip(lines, commits, found, strict=True), 1
            )
        ]

    def added_by(self, commit: str) -> dict[str, list[Line]]:
        """The lines that a commit added, by file."""
        bounds = self._bounds(commit)
        found: dict[str, list[Line]] = {}
        for path, numbers in self._added(commit).items():
            blob, lines = self._content(commit, path)
            if not lines:
                continue
            origins = self._attribution.origins(path, blob, lines, [bounds] * len(lines))
            found[path] = [
                Line(number, lines[number - 1], commit, origins[number - 1])
                for number in numbers
                if number <= len(lines)
            ]
        return found

    def line(self, commit: str, path: str, numbers: range) -> list[Line]:
        """Lines of a file as a commit has them."""
        bounds = self._bounds(commit)
        blob, lines = self._content(commit, path)
        origins = self._attribution.origins(path, blob, lines, [bounds] * len(lines))
        return [
            Line(number, lines[number - 1], commit, origins[number - 1])
            for number in numbers
            if 0 < number <= len(lines)
        ]

    def _content(self, revision: str, path: str) -> tuple[str, list[str]]:
        """A blob's id and its lines; none where it is too large or no text."""
        try:
            blob = git_line(self.root, "rev-parse", "--verify", f"{guard(revision)}:{path}")
            raw = run_git("cat-file", "blob", blob, cwd=self.root)
        except GitError:
            return "", []
        if len(raw) > _LARGEST or b"\0" in raw[:8000]:
            return "", []
        text = raw.decode("utf-8", "replace")
        return blob, text.removesuffix("\n").replace("\r\n", "\n").split("\n") if text else []

    def _bounds(self, commit: str) -> Bounds:
        if commit not in self._times:
            said = git_line(self.root, "log", "-1", "--format=%at %ct", guard(commit), "--")
            authored, committed = map(int, said.split())
            self._times[commit] = Bounds(authored, committed)
        return self._times[commit]

    def _porcelain(self, told: bytes) -> Iterator[str]:
        """The commit of each line, and when it was written."""
        times: dict[str, dict[bytes, int]] = {}
        commit = ""
        for line in told.split(b"\n"):
            head = _HEAD.match(line)
            name, _, value = line.partition(b" ")
            if head:
                commit = head[1].decode()
                times.setdefault(commit, {})
            elif name in (b"author-time", b"committer-time") and value.isdigit():
                times[commit][name] = int(value)
            elif line.startswith(b"\t"):
                some = times[commit]
                self._times[commit] = Bounds(
                    some.get(b"author-time", 0), some.get(b"committer-time", 0)
                )
                yield commit

    def _added(self, commit: str) -> dict[str, list[int]]:
        """The numbers of the lines that a commit added, by file."""
        told = run_git(
            *("-c", "core.quotePath=false", "diff-tree", "-p", "-U0", "-M", "--root", "-m"),
            *("--first-parent", "--no-commit-id", *PLAIN_DIFF, guard(commit), "--"),
            cwd=self.root,
        ).decode("utf-8", "surrogateescape")
        found: dict[str, list[int]] = {}
        path = ""
        for line in told.split("\n"):
            if line.startswith("+++ "):
                path = line[6:].rstrip("\t") if line.startswith("+++ b/") else ""
            hunk = _HUNK.match(line)
            if hunk and path:
                first, count = int(hunk[1]), int(hunk[2] or 1)
                found.setdefault(path, []).extend(range(first, first + count))
        return found


def counted(lines: list[Line]) -> dict[str, int]:
    """How many lines have which origin."""
    counts = Counter(
        "unknown" if line.origin is None else "session" if line.origin.is_agents else "edited"
        for line in lines
    )
    return {name: counts.get(name, 0) for name in ("session", "edited", "unknown")}
