"""Histories that git cannot walk because commits are missing or damaged: what is left of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from clew.kit.git import git_line, open_git


def readable_commits(root: Path, tips: Iterable[str]) -> tuple[list[str], list[str]]:
    """The commits that can still be reached and read, parents first, and those that cannot."""
    objects = _Objects(root)
    parents: dict[str, tuple[str, ...]] = {}
    unreadable: dict[str, None] = {}
    ordered: dict[str, None] = {}
    try:
        waiting = [(tip, False) for tip in tips]
        while waiting:
            sha, is_done = waiting.pop()
            if is_done:
                ordered[sha] = None
            elif sha not in parents and sha not in unreadable:
                found = objects.parents(sha)
                if found is None:
                    unreadable[sha] = None
                else:
                    parents[sha] = found
                    waiting += [(sha, True), *((parent, False) for parent in found)]
    finally:
        objects.close()
    return list(ordered), list(unreadable)


def any_readable(root: Path, shas: Iterable[str]) -> bool:
    """Whether one of these commits can be read."""
    objects = _Objects(root)
    try:
        return any(objects.parents(sha) is not None for sha in shas)
    finally:
        objects.close()


class _Objects:
    """Commit objects by name, from one process that is started again when damage ends it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process: subprocess.Popen[bytes] | None = None
        shallow = root / git_line(root, "rev-parse", "--git-path", "shallow")
        self._shallow = set(shallow.read_text().split()) if shallow.exists() else set()

    def parents(self, sha: str) -> tuple[str, ...] | None:
        """The parents of a commit; None when it cannot be read."""
        if self._process is None:
            self._process = open_git("cat-file", "--batch", cwd=self._root, feed=True)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(BrokenPipeError):
            stdin.write(f"{sha}\n".encode("ascii"))
            stdin.flush()
        words = stdout.readline().split()
        if not words:
            self.close()
            return None
        if words[1] != b"commit":
            return None
        header = stdout.read(int(words[2]) + 1).partition(b"\n\n")[0]
        if sha in self._shallow:
            return ()
        lines = header.decode("ascii", "replace").split("\n")
        return tuple(line[7:] for line in lines if line.startswith("parent "))

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            with suppress(BrokenPipeError):
                self._process.communicate()
            self._process = None
