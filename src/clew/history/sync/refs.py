"""Which refs count, where they point, and which commits they still reach."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from clew.history.model import Repo
from clew.history.store.interface import HistoryStore
from clew.kit.errors import Invalid
from clew.kit.git import GitError, guard, open_git, run_git

_COUNTED = ("refs/heads", "refs/tags")


class Refs:
    """What the refs to index point to now; many are listed by git, and taken apart if need be."""

    def __init__(self, root: Path, repo: Repo) -> None:
        if not root.is_dir():
            raise Invalid(
                f"No repository at {root}", "Move it back, or run 'commitmux remove-repo'."
            )
        self._root = root
        self._main = repo.default_branch or "HEAD"
        self._head = _resolve(root, repo.default_branch)
        self._listed = _listed_refs(root) if repo.all_refs else None
        self.is_marked = False

    @property
    def head(self) -> str:
        """The main tip."""
        return self._head or next(iter(self.tips.values()))

    @cached_property
    def tips(self) -> dict[str, str]:
        """Every ref to index with the commit it points to."""
        tips = {self._main: self._head} if self._head else {}
        if self._listed is not None:
            tips |= _tips_of(self._root, self._listed)
        if not tips:
            raise Invalid(
                f"{self._root} has no commit at {self._main}",
                "Make a first commit, or choose a branch with --default-branch.",
            )
        return tips

    @property
    def mark(self) -> str:
        """What stands for the tips, as long as no ref moves; empty where nothing can."""
        if self._listed is None:
            return ""
        told = f"{self._main} {self._head}\n".encode("utf-8", "surrogateescape") + self._listed
        return hashlib.blake2b(told, digest_size=20).hexdigest()

    @property
    def lasting_mark(self) -> str:
        """The mark, if no ref that leads to no commit now can lead to one without being moved."""
        every = 0 if self._listed is None else self._listed.count(b"\n") + bool(self._head)
        return self.mark if len(self.tips) == every else ""

    def are_done(self, store: HistoryStore, repo_id: int) -> bool:
        """Whether everything below the refs was indexed, as the store has it."""
        mark = self.mark
        self.is_marked = bool(mark) and mark == store.tips_mark(repo_id)
        return self.is_marked or self.tips == store.tips(repo_id)


def _resolve(root: Path, branch: str | None) -> str | None:
    """The commit of a branch, or of any other revision of that name, or of HEAD."""
    names = (f"refs/heads/{guard(branch)}", branch) if branch else ("HEAD",)
    for name in names:
        asked = ("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        found = run_git(*asked, cwd=root, check=False).decode("ascii").strip()
        if found:
            return found
    return None


def _listed_refs(root: Path) -> bytes:
    """Every local branch and tag, a line each: to what object it points, of what kind that is."""
    shape = "--format=%(objectname) %(objecttype) %(refname)"  # what tags lead to takes git longer
    try:
        return run_git("for-each-ref", shape, *_COUNTED, cwd=root)
    except GitError:  # a ref without its object stops git
        shape = "--format=%(objectname) tag %(refname)"
        return run_git("for-each-ref", shape, *_COUNTED, cwd=root)


def _tips_of(root: Path, listed: bytes) -> dict[str, str]:
    """Those of the listed refs that lead to a commit that is there."""
    lines = listed.decode("utf-8", "backslashreplace").split("\n")[:-1]
    refs = [line.split(" ", 2) for line in lines]
    found = {name: sha for sha, kind, name in refs if kind == "commit"}
    if len(found) < len(refs):
        tags = [raw for raw in listed.split(b"\n") if raw.split(b" ", 2)[1:2] == [b"tag"]]
        found |= _peeled(root, b"".join(b"%s\n" % raw.split(b" ", 2)[2] for raw in tags))
    return found


def _peeled(root: Path, listed: bytes) -> dict[str, str]:
    """Those of the refs that lead to a commit, through however many tags."""
    names = listed.decode("utf-8", "backslashreplace").split("\n")[:-1]
    questions = b"".join(b"%s^{commit}\n" % name for name in listed.split(b"\n")[:-1])
    answers = _fed(root, "cat-file", "--batch-check", lines=questions).split(b"\n")
    found = zip(names, (answer.split(b" ") for answer in answers), strict=False)
    return {name: words[0].decode("ascii") for name, words in found if words[1:2] == [b"commit"]}


def existing_commits(root: Path, shas: Iterable[str]) -> list[str]:
    """Those of the commits that the repository has."""
    questions = "".join(f"{sha}\n" for sha in shas).encode("ascii")
    answers = _fed(root, "cat-file", "--batch-check", lines=questions).split(b"\n")
    words = [answer.split(b" ") for answer in answers]
    return [word[0].decode("ascii") for word in words if word[1:2] == [b"commit"]]


def _fed(root: Path, *arguments: str, lines: bytes) -> bytes:
    """What git prints when it is fed these lines; a failure raises GitError."""
    with open_git(*arguments, cwd=root, feed=True) as process:
        printed, _ = process.communicate(lines)
    if process.returncode != 0:
        raise GitError(f"git {arguments[0]} failed with exit code {process.returncode}")
    return printed


def count_missing(root: Path, tips: Iterable[str], known: Iterable[str]) -> int:
    """How many commits the tips reach that the known ones do not."""
    lines = [*tips, *(f"^{sha}" for sha in known)]
    asked = "".join(f"{line}\n" for line in lines).encode("ascii")
    return int(_fed(root, "rev-list", "--count", "--stdin", lines=asked))


def tips_are_kept(root: Path, old: dict[str, str], new: dict[str, str]) -> bool:
    """Whether everything that was reachable still is."""
    kept = set(new.values())
    moved = [sha for sha in set(old.values()) if sha not in kept]
    if not moved:
        return True
    if len(existing_commits(root, moved)) < len(moved):
        return False
    return count_missing(root, moved, kept) == 0


def reached_commits(root: Path, tips: Iterable[str]) -> Iterator[str]:
    """Every commit that the tips reach."""
    process = open_git("rev-list", "--stdin", cwd=root, feed=True)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write("".join(f"{sha}\n" for sha in tips).encode())
        process.stdin.close()
        for line in process.stdout:
            yield line.strip().decode("ascii")
    if process.returncode != 0:
        raise GitError("git could not say which commits the refs still reach")
