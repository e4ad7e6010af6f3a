"""What several rooms ask a git repository: its directory, branches, worktrees and ancestry."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from clew.kit.git import git_line, guard, run_git

_BRANCHES = "refs/heads/"


class Checkout(NamedTuple):
    """A worktree that git knows, which may be gone; without a branch while it is detached."""

    path: Path
    branch: str | None


def common_directory(root: Path) -> Path:
    """The git directory that all worktrees of a repository share."""
    return Path(git_line(root, "rev-parse", "--path-format=absolute", "--git-common-dir"))


def checkouts(root: Path) -> list[Checkout]:
    """The main worktree and the linked ones, in git's order."""
    listed = run_git("worktree", "list", "--porcelain", "-z", cwd=root)
    found: list[Checkout] = []
    for field in os.fsdecode(listed).split("\0"):
        name, _, value = field.partition(" ")
        if name == "worktree":
            found.append(Checkout(Path(value), None))
        elif name == "branch" and found:
            found[-1] = Checkout(found[-1].path, value.removeprefix(_BRANCHES))
    return found


def branch_tip(root: Path, branch: str, *, check: bool = True) -> str | None:
    """The commit that a branch is at; None if there is none of exactly this name."""
    ref = guard(_BRANCHES + branch)
    form = "--format=%(refname) %(objectname)"
    # Branches below a directory of that name are listed, too.
    listed = git_line(root, "for-each-ref", form, ref, check=check).split("\n")
    found = (line.partition(" ") for line in listed)
    return next((commit for name, _, commit in found if name == ref), None)


def is_ancestor(
    root: Path, older: str, newer: str, *, check: bool = True, timeout: float = 60
) -> bool:
    """Whether one commit is in the history of another; unchecked, a commit that is gone is not."""
    words = ("rev-list", "--count", guard(older), f"^{guard(newer)}", "--")
    return git_line(root, *words, check=check, timeout=timeout) == "0"
