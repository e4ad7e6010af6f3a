"""Which project a call is about, and where Clew keeps what belongs to the user."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, Invalid, NotFound, Unavailable
from clew.kit.text.display import clipped, os_reason, shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT_VARIABLES = ("CLEW_PROJECT", "CLAUDE_PROJECT_DIR")
_MARKERS = (".git", ".chant", ".agent")
_EXISTING = "Name an existing directory."
_HOME_MARKERS = (".git", ".chant")  # ~/.agent holds a user's own commands, not a project


def clew_home() -> Path:
    """Where Clew keeps conversations, settings and secrets: `CLEW_HOME` or `~/.clew`."""
    named = os.environ.get("CLEW_HOME")
    try:
        return Path(named or "~/.clew").expanduser()
    except RuntimeError:
        what = f"CLEW_HOME ({shown_path(named)})" if named else "~/.clew"
        raise Unavailable(
            f"{what} is in the home directory of a user that is not known here",
            "Set CLEW_HOME to the full path of a directory.",
        ) from None


def find_project(explicit: str | None = None, settings: Mapping[str, str] | None = None) -> Path:
    """The project's root.

    Asked for in this order: the explicit argument, `--project`, `CLEW_PROJECT`,
    `CLAUDE_PROJECT_DIR`, the working directory. From there the nearest ancestor with a
    project's mark counts, and a linked worktree leads to its main checkout.
    """
    named = explicit or (settings or {}).get("project")
    named = named or next((v for v in map(os.environ.get, PROJECT_VARIABLES) if v), None)
    start = _named_directory(named) if named else _working_directory()
    root = _marked_ancestor(start.resolve())
    if root is None and named:
        return start.resolve()
    if root is None:
        raise NotFound(
            f"No project found in {shown_path(start)} or above it",
            "Run in a git repository, or name one with --project or CLEW_PROJECT.",
        )
    return _main_checkout(root)


def _named_directory(named: str) -> Path:
    """The directory of this name; everything that a name can do wrong is said in plain words."""
    shown = clipped(shown_path(named))
    try:
        if "\0" in named:
            raise Invalid("A project's path cannot contain a NUL character", _EXISTING)
        place = Path(named).expanduser()
        if stat.S_ISDIR(place.stat().st_mode):
            return place
    except UnicodeEncodeError:
        raise Invalid(f"No path can be called {shown}", _EXISTING) from None
    except RuntimeError:
        raise NotFound(f"No such project directory: {shown} (no such user)", _EXISTING) from None
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:
        raise NotFound(f"No usable project directory: {os_reason(error)}", _EXISTING) from error
    raise NotFound(f"No such project directory: {shown}", _EXISTING)


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise NotFound("The working directory is gone", "Change to one that exists.") from None
    except OSError as error:
        hint = "Change to one that you may read."
        raise NotFound(f"The working directory is unusable: {os_reason(error)}", hint) from error


def _marked_ancestor(start: Path) -> Path | None:
    home = _user_home()
    for directory in (start, *start.parents):
        markers = _HOME_MARKERS if directory == home else _MARKERS
        if any(_exists(directory / marker) for marker in markers):
            return directory
    return None


def _user_home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:  # no HOME, and a user without an entry
        return None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a directory that may not be searched
        return False


def _main_checkout(root: Path) -> Path:
    if not (root / ".git").is_file():
        return root
    from clew.kit.repository import common_directory

    try:
        main = common_directory(root)
    except (ClewError, OSError):
        return root
    return main.parent if main.name == ".git" else root
