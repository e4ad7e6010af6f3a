"""Which project a call is about, and where Clew keeps what belongs to the user."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, NotFound
from clew.kit.git import run_git

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT_VARIABLES = ("CLEW_PROJECT", "CLAUDE_PROJECT_DIR")
_MARKERS = (".git", ".chant", ".agent")
_HOME_MARKERS = (".git", ".chant")  # ~/.agent holds a user's own commands, not a project


def clew_home() -> Path:
    """Where Clew keeps conversations, settings and secrets: `CLEW_HOME` or `~/.clew`."""
    return Path(os.environ.get("CLEW_HOME") or Path.home() / ".clew").expanduser()


def find_project(explicit: str | None = None, settings: Mapping[str, str] | None = None) -> Path:
    """The project's root.

    Asked for in this order: the explicit argument, `--project`, `CLEW_PROJECT`,
    `CLAUDE_PROJECT_DIR`, the working directory. From there the nearest ancestor with a
    project's mark counts, and a linked worktree leads to its main checkout.
    """
    named = explicit or (settings or {}).get("project")
    named = named or next((v for v in map(os.environ.get, PROJECT_VARIABLES) if v), None)
    start = Path(named).expanduser() if named else _working_directory()
    if not start.is_dir():
        raise NotFound(f"No such project directory: {start}", "Name an existing directory.")
    root = _marked_ancestor(start.resolve())
    if root is None and named:
        return start.resolve()
    if root is None:
        raise NotFound(
            f"No project found in {start} or above it",
            "Run in a git repository, or name one with --project or CLEW_PROJECT.",
        )
    return _main_checkout(root)


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotFound("The working directory is gone", "Change to one that exists.") from None


def _marked_ancestor(start: Path) -> Path | None:
    home = Path.home()
    for directory in (start, *start.parents):
        markers = _HOME_MARKERS if directory == home else _MARKERS
        if any((directory / marker).exists() for marker in markers):
            return directory
    return None


def _main_checkout(root: Path) -> Path:
    if not (root / ".git").is_file():
        return root
    try:
        common = run_git("rev-parse", "--path-format=absolute", "--git-common-dir", cwd=root)
    except ClewError:
        return root
    main = Path(os.fsdecode(common.rstrip(b"\n")))
    return main.parent if main.name == ".git" else root
