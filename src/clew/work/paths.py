"""Where worktrees are, and what of a run git must not see."""

from __future__ import annotations

import hashlib
import os
import re
from functools import lru_cache
from pathlib import Path

from clew.kit.errors import Invalid
from clew.kit.files import write_atomic
from clew.kit.git import GitError
from clew.kit.paths import ProjectPaths
from clew.kit.project import clew_home
from clew.kit.repository import common_directory
from clew.work.model import Run, check_run_id

STATUS_FILE = ".chant-status.json"
_EXCLUDED = (
    STATUS_FILE,
    ".aider*",
    "**/.chant/.store/",
    "**/.chant/logs/",
    "**/.chant/processes/",
    "**/.chant/watch.pid",
)


def paths_of_run(run_directory: Path) -> tuple[ProjectPaths, str]:
    """The project that a run's directory belongs to, and the run's id."""
    directory = run_directory.resolve()
    paths = ProjectPaths(directory.parents[3]) if len(directory.parents) > 3 else None
    if paths is None or paths.run_directory(check_run_id(directory.name)) != directory:
        raise Invalid(f"Not the directory of a run: {run_directory}")
    return paths, directory.name


@lru_cache(maxsize=32)
def git_common_directory(root: Path) -> Path:
    """The git directory that all worktrees of a repository share."""
    try:
        return common_directory(root)
    except GitError:
        raise Invalid(
            f"Not a git repository: {root}",
            "Work happens in git worktrees: run `git init` and commit first.",
        ) from None


def worktree_home(root: Path) -> Path:
    """The directory of this project's worktrees, named by the project and its repository.

    It is in Clew's home rather than below the project or its `.git`: test runners and bundlers
    crawl the one, and several ignore every path that has `/.git/` in it.
    """
    common = git_common_directory(root).resolve()
    digest = hashlib.sha256(os.fsencode(common)).hexdigest()[:10]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", root.resolve().name).strip(".-") or "project"
    return clew_home().absolute() / "worktrees" / f"{name[:60]}-{digest}"


def worktree_of(run: Run) -> Path | None:
    """The run's worktree if it is there."""
    if run.worktree is None:
        return None
    path = Path(run.worktree)
    return path if (path / ".git").is_file() else None


def keep_out_of_git(root: Path) -> None:
    """Make git ignore what runs write, so that no agent's `git add -A` takes it along."""
    file = git_common_directory(root) / "info" / "exclude"
    try:
        present = file.read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        present = ""
    missing = [line for line in _EXCLUDED if line not in present.splitlines()]
    if missing:
        gap = "" if not present or present.endswith("\n") else "\n"
        text = present + gap + "\n".join(("# Clew's run state", *missing)) + "\n"
        write_atomic(file, text.encode("utf-8", "surrogateescape"))
