"""Files and commits of a repository, line by line: git says where they come from, edits say why."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from clew.kit.errors import NotFound
from clew.kit.git import PLAIN_DIFF, GitError, git_line, guard, run_git
from clew.kit.text.diff import FileDiff, file_diffs
from clew.sessions.attribution.origins import Attribution, Bounds, Origin
from clew.sessions.index.sqlite import SessionIndex

_HEAD = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)")
_BLOB = re.compile(r"^index [0-9a-f]+\.\.([0-9a-f]*[1-9a-f][0-9a-f]*)", re.MULTILINE)
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
        self._project = os.path.realpath(root)
        edited = index.edited_paths(self._project)
        self.has_edits = bool(edited)
        self._attribution = Attribution(index, self._project, self._vanished(edited))
        self._times: dict[str, Bounds] = {}

    def _vanished(self, edited: list[str]) -> list[str]:
        """The paths that agents edited and that are not in the project now."""
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
        commits, names = self._porcelain(told)
        blob, lines = self._content(revision, path)
        bounds = [self._times[commit] for commit in commits]
        found = self._attribution.origins(path, blob, lines, bounds, names)
        return [
            Line(number, text, commit, origin)
            for number, (text, commit, origin) in enumerate(
                zip(lines, commits, found, strict=True), 1
            )
        ]

    def added_by(self, commits: Sequence[str]) -> dict[str, dict[str, list[Line]]]:
        """The lines that commits added, by commit and file; one look at git for all of them."""
        patches = self._patches(commits)
        blobs = self._blobs({blob for files in patches.values() for _, blob in files})
        found: dict[str, dict[str, list[Line]]] = {}
        for commit, files in patches.items():
            found[commit] = {}
            for file, blob in files:
                lines = blobs.get(blob, [])
                bounds = [self._times[commit]] * len(lines)
                names = (file.old_path,)
                origins = self._attribution.origins(file.path, blob, lines, bounds, names)
                found[commit][file.path] = [
                    Line(number, lines[number - 1], commit, origins[number - 1])
                    for number, _ in file.added
                    if number <= len(lines)
                ]
        return found

    def _patches(self, commits: Sequence[str]) -> dict[str, list[tuple[FileDiff, str]]]:
        """What commits did to files that stayed, each with its blob; when they did, is remembered."""
        told = run_git(
            *("-c", "core.quotePath=false", "log", "--no-walk=unsorted", "--stdin", "-p", "-U0"),
            *("-M", "--full-index", "--diff-merges=first-parent", "--format=%x01%H %at %ct"),
            *PLAIN_DIFF,
            cwd=self.root,
            given="".join(f"{guard(commit)}\n" for commit in commits).encode(),
        ).decode("utf-8", "replace")
        found: dict[str, list[tuple[FileDiff, str]]] = {}
        for part in re.split(r"^\x01", told, flags=re.MULTILINE)[1:]:
            head, _, patch = part.partition("\n")
            commit, authored, committed = head.split()
            self._times[commit] = Bounds(int(authored), int(committed))
            files = ((file, _BLOB.search(file.header)) for file in file_diffs(patch.lstrip("\n")))
            found[commit] = [(file, blob[1]) for file, blob in files if blob and not file.is_binary]
        return found

    def _blobs(self, names: Collection[str]) -> dict[str, list[str]]:
        """The lines of blobs; none of what is too large or no text."""
        asked = sorted(name for name in names if name.strip("0"))
        bodies = blob_contents(self.root, asked)
        return {
            name: text_lines(body)
            for name, body in zip(asked, bodies, strict=True)
            if body is not None
        }

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
        return blob, text_lines(raw)

    def _bounds(self, commit: str) -> Bounds:
        if commit not in self._times:
            said = git_line(self.root, "log", "-1", "--format=%at %ct", guard(commit), "--")
            authored, committed = map(int, said.split())
            self._times[commit] = Bounds(authored, committed)
        return self._times[commit]

    def _porcelain(self, told: bytes) -> tuple[list[str], set[str]]:
        """The commit of each line, and the names that the file had; when it was, is remembered."""
        times: dict[str, dict[bytes, int]] = {}
        commits: list[str] = []
        names: set[str] = set()
        commit = ""
        for line in told.split(b"\n"):
            head = _HEAD.match(line)
            name, _, value = line.partition(b" ")
            if head:
                commit = head[1].decode()
                times.setdefault(commit, {})
            elif name in (b"author-time", b"committer-time") and value.isdigit():
                times[commit][name] = int(value)
            elif name == b"filename":
                names.add(os.fsdecode(value))
            elif line.startswith(b"\t"):
                some = times[commit]
                self._times[commit] = Bounds(
                    some.get(b"author-time", 0), some.get(b"committer-time", 0)
                )
                commits.append(commit)
        return commits, names


def blob_contents(root: Path, names: Sequence[str]) -> list[bytes | None]:
    """Files by the names of their objects, in order; None for what is not there or too large."""
    usable = [name if "\n" not in name else "0" for name in names]
    asked = "".join(f"{name}\n" for name in usable).encode("utf-8", "surrogateescape")
    told = run_git("cat-file", "--batch", cwd=root, given=asked)
    found: list[bytes | None] = []
    at = 0
    while at < len(told):
        end = told.index(b"\n", at)
        head = told[at:end].split()
        at = end + 1
        if len(head) == 3 and head[1] in (b"blob", b"tree", b"commit", b"tag"):
            size = int(head[2])
            is_wanted = head[1] == b"blob" and size <= _LARGEST
            found.append(told[at : at + size] if is_wanted else None)
            at += size + 1
        else:
            found.append(None)
    return found


def text_lines(raw: bytes) -> list[str]:
    """A file's lines; none where it is too large or no text."""
    if not raw or len(raw) > _LARGEST or b"\0" in raw[:8000]:
        return []
    text = raw.decode("utf-8", "replace")
    return text.removesuffix("\n").replace("\r\n", "\n").split("\n")


def counted(lines: list[Line]) -> dict[str, int]:
    """How many lines have which origin."""
    counts = Counter(
        "unknown" if line.origin is None else "session" if line.origin.is_agents else "edited"
        for line in lines
    )
    return {name: counts.get(name, 0) for name in ("session", "edited", "unknown")}
