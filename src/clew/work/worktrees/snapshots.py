"""Uncommitted work, kept as a commit under a ref of its own; worktree and index stay untouched."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from clew.kit.git import GitError, git_line, guard, run_git
from clew.work.model import KEEPER

SNAPSHOT_REFS = "refs/chant/snapshots/"


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
