"""Where hosts keep their files on this machine, and which hosts are here."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from clew.hosts.model import Host, Scope, System
from clew.hosts.table import HOSTS
from clew.kit.errors import ClewError, UsageError
from clew.kit.git import git_line
from clew.kit.project import PROJECT_VARIABLES, find_project


def this_system() -> System:
    """The kind of operating system that decides where settings lie."""
    if sys.platform == "darwin":
        return "darwin"
    return "windows" if os.name == "nt" else "linux"


def config_path(
    host: Host, scope: Scope, project: Path | None, system: System | None = None
) -> Path:
    """The file in which this host looks for servers of this scope."""
    templates = (
        host.project_files if scope == "project" else host.user_files[system or this_system()]
    )
    if not templates:
        known = " and ".join(host.scopes)
        raise UsageError(f"{host.title} has no {scope} scope", f"It knows: {known}.")
    candidates = [filled(template, host, project, system) for template in templates]
    return next((path for path in candidates if path.exists()), candidates[0])


@dataclass(frozen=True)
class Presence:
    """A host and what shows that it is on this machine, if anything does."""

    host: Host
    sign: str | None


def look_around(project: Path | None) -> list[Presence]:
    """Every host of the table with the sign of its presence."""
    return [Presence(host, _sign(host, project)) for host in HOSTS.values()]


def _sign(host: Host, project: Path | None) -> str | None:
    for program in host.programs:
        if shutil.which(program):
            return f"{program} is on PATH"
    for mark in host.marks:
        if "{project}" in mark and project is None:
            continue
        path = filled(mark, host, project)
        if path.exists():
            return f"{short(path)} exists"
    return None


def filled(template: str, host: Host, project: Path | None, system: System | None = None) -> Path:
    """A path template of the host on this machine."""
    home = Path.home()
    places = {
        "home": home,
        "xdg": Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config"),
        "apps": _applications(home, system or this_system()),
        "project": project or Path(),
    }
    own = os.environ.get(host.own_variable) if host.own_variable else None
    places["own"] = Path(own or host.own_default.format(**places)).expanduser()
    # Claude Code has its settings in ~/.claude, but its servers beside that directory.
    places["config"] = Path(own or f"{home}/.claude")
    return Path(template.format(**places))


def _applications(home: Path, system: System) -> Path:
    if system == "darwin":
        return home / "Library" / "Application Support"
    if system == "windows":
        return Path(os.environ.get("APPDATA") or home / "AppData" / "Roaming")
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")


def checkout_root(named: str | None = None) -> Path:
    """The directory that project files go into: the project, or the linked worktree one is in.

    Specs and runs belong to the main checkout, but a host reads the files of the checkout it
    was started in.
    """
    project = find_project(named)
    if named or any(map(os.environ.get, PROJECT_VARIABLES)):
        return project
    try:
        top = git_line(Path.cwd(), "rev-parse", "--show-toplevel")
    except ClewError:
        return project
    return Path(top) if top else project


def checkout_root_or_none(named: str | None = None) -> Path | None:
    """Like `checkout_root`, or None outside of any project."""
    try:
        return checkout_root(named)
    except ClewError:
        if named:
            raise
        return None


def short(path: Path) -> str:
    """The path as people write it: relative to the working directory, or with ~ for home."""
    for base, prefix in ((Path.cwd(), ""), (Path.home(), "~/")):
        if path.is_relative_to(base):
            return f"{prefix}{path.relative_to(base)}"
    return str(path)
