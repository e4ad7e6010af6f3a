"""Ignored files that a new worktree needs: `.worktreeinclude` names them, git's own way."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path, PurePath

from clew.kit.git import open_git, run_git

INCLUDE_FILE = ".worktreeinclude"
_NEVER = (".git", ".chant")


def copy_included(root: Path, worktree: Path) -> list[str]:
    """Copy what `.worktreeinclude` names and git ignores; what is there already stays.

    Tracked files never match: a worktree has its own.
    """
    file = root / INCLUDE_FILE
    if not file.is_file():
        return []
    named = run_git(
        "ls-files", "--others", "--ignored", f"--exclude-from={file}", "-z", cwd=root, timeout=300
    )
    copied = []
    for name in _ignored(root, named):
        place = os.fsdecode(name)
        if PurePath(place).parts[0] not in _NEVER and _copy(root, worktree, place):
            copied.append(place)
    return copied


def _ignored(root: Path, names: bytes) -> list[bytes]:
    if not names:
        return []
    with open_git("check-ignore", "-z", "--stdin", cwd=root, feed=True) as process:
        out, _ = process.communicate(names)
    return [name for name in out.split(b"\0") if name]


def _copy(root: Path, worktree: Path, place: str) -> bool:
    source, target = root / place, worktree / place
    top = worktree.resolve()
    if top not in (target.parent.resolve(), *target.parent.resolve().parents):
        return False  # a link in the worktree would lead the copy out of it
    if target.exists() or target.is_symlink():
        return False
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
        return True
    return False
