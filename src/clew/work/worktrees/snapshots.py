"""What a branch or worktree holds: uncommitted work kept as a commit, and whether work is merged.

A snapshot is under a ref of its own; worktree and index stay untouched. Work is in another branch
by ancestry, by its patches, or squashed into one commit.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.git import GitError, git_line, guard, run_git
from clew.kit.repository import is_ancestor
from clew.work.model import KEEPER

if TYPE_CHECKING:
    from pathlib import Path

SNAPSHOT_REFS = "refs/chant/snapshots/"
# A fixed date gives the same commit each time, so asking often does not fill the repository.
_FIXED = {**KEEPER, "GIT_AUTHOR_DATE": "@1 +0000", "GIT_COMMITTER_DATE": "@1 +0000"}


def take_snapshot(worktree: Path, run_id: str, note: str) -> str | None:
    """The commit that keeps what is not on the branch yet, untracked files too; None if nothing.

    The index it is built with is a copy, so even a worktree in the middle of a merge, or with the
    index lock of a git that was killed, can be kept.
    """
    if _has_nothing_new(worktree):
        return None
    head = git_line(worktree, "rev-parse", "--verify", "HEAD^{commit}")
    with tempfile.TemporaryDirectory(prefix="clew-snapshot-") as directory:
        index = Path(directory) / "index"
        variables = {"GIT_INDEX_FILE": str(index)}
        own_index = Path(
            git_line(worktree, "rev-parse", "--path-format=absolute", "--git-path", "index")
        )
        if own_index.exists():
            shutil.copyfile(own_index, index)
        else:
            run_git("read-tree", head, cwd=worktree, variables=variables)
        # Files that cannot be read, or a repository inside, must not keep the rest from being kept.
        run_git(
            "-c", "advice.addEmbeddedRepo=false", "add", "--all", "--ignore-errors", "--", ":/",
            cwd=worktree, check=False, timeout=600, variables=variables,
        )  # fmt: skip
        tree = git_line(worktree, "write-tree", variables=variables)
    if tree != git_line(worktree, "rev-parse", f"{head}^{{tree}}"):
        message = f"Uncommitted work of run {run_id}\n\n{note}"
        kept = git_line(worktree, "commit-tree", tree, "-p", head, "-m", message, variables=KEEPER)
    elif _is_on_a_branch(worktree, head):
        return None
    else:
        kept = head
    run_git("update-ref", SNAPSHOT_REFS + guard(run_id), kept, cwd=worktree)
    return kept


def _has_nothing_new(worktree: Path) -> bool:
    """Whether one look is enough to see that everything is on a branch."""
    out = run_git(
        "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal",
        "--ignore-submodules=none", cwd=worktree, check=False, timeout=600,
    )  # fmt: skip
    lines = [line for line in out.split(b"\0") if line]
    on_branch = any(
        line.startswith(b"# branch.head ") and not line.endswith(b" (detached)") for line in lines
    )
    return on_branch and all(line.startswith(b"# ") for line in lines)


def restore_snapshot(worktree: Path, commit: str) -> bool:
    """Put the files of a snapshot into a new worktree, uncommitted as they were.

    False, and nothing done, when the branch has gone on since: that is for people to merge.
    """
    head = git_line(worktree, "rev-parse", "HEAD")
    if git_line(worktree, "rev-list", "--parents", "-1", guard(commit)).split()[1:] != [head]:
        return False
    run_git("restore", f"--source={guard(commit)}", "--worktree", "--", ":/", cwd=worktree)
    return True


def _is_on_a_branch(worktree: Path, commit: str) -> bool:
    names = git_line(
        worktree, "for-each-ref", "--count=1", "--format=x", "--contains", commit, "refs/heads"
    )
    return bool(names)


def snapshot_or_reason(worktree: Path, run_id: str, note: str) -> tuple[str | None, str | None]:
    """The snapshot, or in words why none could be taken."""
    try:
        return take_snapshot(worktree, run_id, note), None
    except (GitError, OSError) as error:
        return None, f"No snapshot could be taken of {worktree}: {error}"


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
