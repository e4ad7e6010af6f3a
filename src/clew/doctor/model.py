"""A check's result, and what is being checked."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from clew.kit.errors import ClewError
from clew.kit.project import find_project
from clew.kit.text.display import shown_path

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Check:
    """What one check found.

    `fix` is the command that repairs it, for a person to run. `repair` is what `--fix` calls; a
    check has one only where that is safe.
    """

    name: str
    status: Status
    summary: str
    detail: str = ""
    fix: str | None = None
    repair: Callable[[Subject], str] | None = None

    def as_data(self) -> dict[str, str | bool | None]:
        """The check for programs."""
        return {
            "name": self.name,
            "status": self.status,
            "summary": self.summary,
            "detail": self.detail,
            "fix": self.fix,
            "repairable": self.repair is not None,
        }


@dataclass(frozen=True)
class Subject:
    """What is checked: which project, and whether commands named in host files may be started."""

    project: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    start_commands: bool = False

    @property
    def root(self) -> Path | None:
        """The project's directory, if there is one; a check of its own says what is wrong with it."""
        try:
            return find_project(self.project, self.settings)
        except ClewError:
            return None


def show_path(path: Path) -> str:
    """The path for people, with `~` for the home directory."""
    inside = _below_home(path)
    return shown_path(path) if inside is None else f"~/{shown_path(inside)}"


def shell_path(path: Path) -> str:
    """The path for a shell, safe to paste."""
    inside = _below_home(path)
    return _quoted(str(path)) if inside is None else f"~/{_quoted(str(inside))}"


def _below_home(path: Path) -> Path | None:
    try:
        home = Path.home()
    except RuntimeError:  # no HOME, and a user without an entry
        return None
    return path.relative_to(home) if path != home and path.is_relative_to(home) else None


def _quoted(text: str) -> str:
    r"""The word as a shell reads it; bytes that are not UTF-8 take the form $'\xff'."""
    if shown_path(text) == text:
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{shown_path(escaped)}'"
