"""Whether a branch's work is in another: by ancestry, by its patches, or squashed into one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.kit.git import GitError, git_line, guard
from clew.kit.repository import is_ancestor
from clew.work.model import KEEPER

if TYPE_CHECKING:
    from pathlib import Path

# A fixed date gives the same commit each time, so asking often does not fill the repository.
_FIXED = {**KEEPER, "GIT_AUTHOR_DATE": "@1 +0000", "GIT_COMMITTER_DATE": "@1 +0000"}


def is_merged(root: Path, branch: str, target: str) -> bool:
    """Whether the target has everything that the branch brings."""
    guard(branch), guard(target)
    return (
        is_ancestor(root, branch, target)
        or _all_picked(root, target, branch)
        or _merging_changes_nothing(root, target, branch)
        or _squash_is_picked(root, target, branch)
    )


def _all_picked(root: Path, target: str, branch: str) -> bool:
    """Every commit has a twin with the same patch: rebased or cherry-picked."""
    lines = git_line(root, "cherry", target, branch).splitlines()
    return bool(lines) and all(line.startswith("-") for line in lines)


def _merging_changes_nothing(root: Path, target: str, branch: str) -> bool:
    try:
        merged = git_line(root, "merge-tree", "--write-tree", target, branch)
    except GitError:  # a conflict, or a git that cannot do this yet
        return False
    return merged == git_line(root, "rev-parse", f"{target}^{{tree}}")


def _squash_is_picked(root: Path, target: str, branch: str) -> bool:
    """The branch as one commit has a twin, though the target went on from there."""
    try:
        base = git_line(root, "merge-base", target, branch)
    except GitError:  # no common history
        return False
    squashed = git_line(
        root, "commit-tree", f"{branch}^{{tree}}", "-p", base, "-m", "squashed", variables=_FIXED
    )
    return _all_picked(root, target, squashed)
