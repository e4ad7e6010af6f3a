"""The main branch: which it is, and how it moves without harm to a checkout of it.

A branch that nobody has checked out moves by compare-and-swap. One that is checked out, which is
usual for the user's own checkout, moves together with its files as `git merge --ff-only` does it,
and only when no file that changes has been touched there: other uncommitted work stays as it is.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from clew.kit.errors import Conflict, NotFound
from clew.kit.git import PLAIN_DIFF, GitError, git_line, guard, run_git
from clew.kit.repository import branch_tip, checkouts
from clew.kit.text.display import shown_path
from clew.specs.store.config import DEFAULT, Config
from clew.work.paths import git_common_directory

_USUAL = ("main", "master")
_CHECKOUT_SECONDS = 600
_MOST_SHOWN = 5


class MainMoved(Conflict):
    """Somebody else moved the main branch first."""


class CheckoutInTheWay(Conflict):
    """The main branch is checked out, and files that would change are being changed there."""

    def __init__(self, place: Path, branch: str, files: list[str], words: str = "") -> None:
        shown = ", ".join(files[:_MOST_SHOWN]) + (" ..." if len(files) > _MOST_SHOWN else "")
        why = f"has changes of yours in files that the merge changes: {shown}" if files else words
        super().__init__(
            f"'{branch}' is checked out in {shown_path(place)}, which {why}",
            "Commit, stash or move them, then run `clew merge` again; nothing was changed.",
        )
        self.files = files


def main_branch(root: Path, config: Config) -> str:
    """The branch that work is merged into: the configured one, or the repository's default."""
    wanted = config.text("defaults", "main_branch") or "main"
    if tip_of(root, wanted) is not None:
        return guard(wanted)
    if config.origin("defaults", "main_branch") != DEFAULT:
        raise NotFound(
            f"There is no branch '{wanted}', which `defaults.main_branch` names",
            "Correct it in .chant/config.md.",
        )
    remote = _leads_to(root, "refs/remotes/origin/HEAD")
    here = _leads_to(root, "HEAD")
    for name in (remote.removeprefix("origin/"), *_USUAL, here):
        if name and tip_of(root, name) is not None:
            return name
    raise NotFound("No main branch was found", "Name it as `defaults.main_branch`.")


def tip_of(root: Path, branch: str) -> str | None:
    """The commit that a branch is at; None, too, where git cannot tell."""
    return branch_tip(root, branch, check=False)


def checkout_of(root: Path, branch: str) -> Path | None:
    """The worktree that has the branch checked out."""
    there = (known.path for known in checkouts(root) if known.branch == branch)
    return next((place for place in there if place.is_dir()), None)


def branch_tips(root: Path) -> dict[str, str]:
    """Every branch and the commit it is at."""
    form = "--format=%(refname:lstrip=2) %(objectname)"
    out = git_line(root, "for-each-ref", form, "refs/heads", check=False)
    pairs = (line.partition(" ") for line in out.split("\n") if line)
    return {name: commit for name, _, commit in pairs}


def touched_files(place: Path, old: str, new: str) -> list[str]:
    """The files that differ between two commits and that somebody is changing in a checkout."""
    return [shown_path(name) for name in _touched(place, old, new)[0]]


def _touched(place: Path, old: str, new: str) -> tuple[list[bytes], list[bytes]]:
    """The files in the way, and those that have the new content already.

    Such files are left by a fast-forward that was killed; what is staged is always the user's.
    """
    out = run_git(
        "diff", *PLAIN_DIFF, "--name-status", "--no-renames", "-z", old, new, "--", cwd=place
    )
    fields = out.split(b"\0")[:-1]
    status = run_git(
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=no",
        cwd=place,
        working=True,
    )
    changed = {entry[3:]: entry[:1] for entry in status.split(b"\0") if entry}
    top = os.fsencode(git_line(place, "rev-parse", "--show-toplevel", check=False))
    in_the_way, arrived = list[bytes](), list[bytes]()
    for kind, name in zip(fields[::2], fields[1::2], strict=True):
        file = os.path.join(top, name)  # noqa: PTH118 (bytes)
        if name in changed or (kind == b"A" and os.path.lexists(file)):
            is_new = changed.get(name, b" ") == b" " and _has_content(place, file, new, name)
            (arrived if is_new else in_the_way).append(name)
    return in_the_way, arrived


def _has_content(place: Path, file: bytes, commit: str, name: bytes) -> bool:
    """Whether a file is as it is in a commit, or as absent."""
    entry = run_git(
        "--literal-pathspecs", "ls-tree", "-z", commit, "--", os.fsdecode(name), cwd=place
    )
    if not os.path.lexists(file) or not entry:
        return not os.path.lexists(file) and not entry
    mode, _, blob = entry.split(b"\t")[0].split()
    is_executable = os.access(file, os.X_OK)
    if os.path.islink(file) or mode != (b"100755" if is_executable else b"100644"):  # noqa: PTH114
        return False
    found = run_git("hash-object", "--", os.fsdecode(file), cwd=place, check=False, working=True)
    return found.strip() == blob


def move_main(root: Path, branch: str, old: str, new: str) -> None:
    """Move the branch from one commit to another; either all of it happens or nothing."""
    _refuse_rebased(root, branch)
    place = checkout_of(root, branch)
    if place is not None:
        _forward(root, place, branch, old, new)
        return
    try:
        run_git(
            "update-ref", "-m", "clew: merge", f"refs/heads/{branch}", guard(new), guard(old),
            cwd=root,
        )  # fmt: skip
    except GitError:
        _raise_if_moved(root, branch, old)
        raise
    place = checkout_of(root, branch)
    if place is not None:  # checked out in this very moment, at the old commit or at the new
        run_git("read-tree", "-m", "-u", old, new, cwd=place, check=False, working=True)


def _refuse_rebased(root: Path, branch: str) -> None:
    """A branch that somebody is rebasing is not checked out, but it is theirs all the same."""
    common = git_common_directory(root)
    for directory in (common, *(common / "worktrees").glob("*")):
        for name in ("rebase-merge", "rebase-apply"):
            with suppress(OSError):
                said = (directory / name / "head-name").read_text(encoding="utf-8").strip()
                if said == f"refs/heads/{branch}":
                    raise CheckoutInTheWay(directory, branch, [], "is in the middle of a rebase")


def _forward(root: Path, place: Path, branch: str, old: str, new: str) -> None:
    """Move a branch and its checkout; git does not begin if it would overwrite anything."""
    in_the_way, arrived = _touched(place, old, new)
    if in_the_way:
        raise CheckoutInTheWay(place, branch, [shown_path(name) for name in in_the_way])
    _raise_if_moved(root, branch, old)
    names = [os.fsdecode(name) for name in arrived]
    try:
        if names:
            run_git("update-index", "--add", "--remove", "--", *names, cwd=place, working=True)
        run_git(
            "-c", f"branch.{branch}.mergeOptions=",
            "merge", "--quiet", "--ff-only", "--no-squash", "--no-autostash",
            "--no-overwrite-ignore", "--no-verify-signatures", guard(new),
            cwd=place, timeout=_CHECKOUT_SECONDS, working=True,
        )  # fmt: skip
    except GitError as error:
        if names:
            run_git("--literal-pathspecs", "reset", "--quiet", "--", *names, cwd=place, check=False)
        _raise_if_moved(root, branch, old)
        words = error.message.removeprefix("git merge failed: ")
        raise CheckoutInTheWay(place, branch, [], f"git cannot bring forward: {words}") from error


def _raise_if_moved(root: Path, branch: str, old: str) -> None:
    if tip_of(root, branch) != old:
        raise MainMoved(f"'{branch}' has moved meanwhile", "Try again.")


def _leads_to(root: Path, ref: str) -> str:
    return git_line(root, "symbolic-ref", "--quiet", "--short", ref, check=False)
