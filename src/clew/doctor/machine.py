"""Checks of this machine: Python, git, SQLite, and Clew's own installation."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

from clew.catalog.faces import FACES
from clew.doctor.home import write_problem
from clew.doctor.model import Check, Subject, shell_path, show_path
from clew.kit.errors import Unavailable
from clew.kit.git import git_version, run_git
from clew.kit.project import clew_home

MINIMUM_PYTHON = (3, 11)
MINIMUM_GIT = (2, 30)

# What a statement must be able to do, tried in a database in memory.
SQLITE_NEEDS = {
    "FTS5": "CREATE VIRTUAL TABLE words USING fts5(text); SELECT * FROM words('a')",
    "trigram": "CREATE VIRTUAL TABLE grams USING fts5(text, tokenize='trigram')",
    "JSON": "SELECT json_extract('{\"a\": 1}', '$.a'), value FROM json_each('[1]')",
}
SQLITE_EXTRAS = {
    "contentless_delete": (
        "CREATE VIRTUAL TABLE lean USING fts5(text, content='', contentless_delete=1)"
    ),
}
# An optional part: what it is for, and the modules that must be there.
EXTRAS = {"web": ("clew serve --http", ("starlette", "uvicorn"))}
_NEWER_PYTHON = "uv python install 3.13"


def python(_subject: Subject) -> Check:
    """Whether this Python is new enough."""
    summary = f"Python {platform.python_version()} ({sys.executable})"
    if sys.version_info[:2] >= MINIMUM_PYTHON:
        return Check("python", "ok", summary)
    needed = _dotted(MINIMUM_PYTHON)
    return Check("python", "fail", f"{summary}; {needed} or newer is needed", fix=_NEWER_PYTHON)


def git(_subject: Subject) -> Check:
    """Whether git is installed and new enough."""
    try:
        version = git_version()
    except Unavailable as error:
        return Check("git", "fail", error.message, fix=_install_git())
    needed = _dotted(MINIMUM_GIT)
    if not version:
        return Check("git", "fail", "git reports no version", fix=_install_git())
    if version < MINIMUM_GIT:
        summary = f"git {_dotted(version)} is too old; {needed} or newer is needed"
        return Check("git", "fail", summary, fix=_install_git())
    return Check("git", "ok", f"git {_dotted(version)}")


def identity(subject: Subject) -> Check:
    """Whether git has a user name and email."""
    where = subject.root or Path("/")
    name = _git_setting(where, "user.name", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME")
    email = _git_setting(where, "user.email", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")
    if name and email:
        return Check("git identity", "ok", f"{name} <{email}>")
    examples = {"name": '"Your Name"', "email": "you@example.com"}
    missing = [word for word, value in (("name", name), ("email", email)) if not value]
    return Check(
        "git identity",
        "warn",
        f"git has no user {' and '.join(missing)}",
        detail="git refuses to commit until it is set.",
        fix=" && ".join(f"git config --global user.{one} {examples[one]}" for one in missing),
    )


def sqlite(_subject: Subject) -> Check:
    """Whether SQLite has the features that the indexes need."""
    missing = [name for name, script in SQLITE_NEEDS.items() if not _works(script)]
    if not _write_ahead_log_works():
        missing.append("WAL")
    summary = f"SQLite {sqlite3.sqlite_version}"
    if missing:
        return Check(
            "sqlite",
            "fail",
            f"{summary} lacks {', '.join(missing)}",
            detail="Use a Python with a complete SQLite, such as those of uv.",
            fix=_NEWER_PYTHON,
        )
    features = ", ".join([*SQLITE_NEEDS, "WAL"])
    there = {name: "yes" if _works(script) else "no" for name, script in SQLITE_EXTRAS.items()}
    detail = f"Optional: {', '.join(map(' '.join, there.items()))}"
    return Check("sqlite", "ok", f"{summary} with {features}", detail=detail)


def commands(_subject: Subject) -> Check:
    """Whether every face's command is found on PATH and is this installation's."""
    folder = _scripts_folder()
    if folder is None:
        summary = "Clew runs from its source; its commands are not installed"
        return Check("commands", "warn", summary, fix=f"{_python()} -m pip install clew")
    missing, strangers = [], []
    for name in FACES:
        first = shutil.which(name)
        if first is None:
            missing.append(name)
        elif not is_this_installation(Path(first)):
            strangers.append(f"{name} is {show_path(Path(first))}")
    if not missing and not strangers:
        return Check("commands", "ok", f"{', '.join(FACES)} in {show_path(folder)}")
    problems = [f"{', '.join(missing)} not on PATH"] if missing else []
    problems += [f"another program comes first: {', '.join(strangers)}"] if strangers else []
    return Check(
        "commands",
        "warn",
        "; ".join(problems),
        detail=f"This installation's commands are in {show_path(folder)}.",
        fix=f'export PATH={shell_path(folder)}:"$PATH"',
    )


def extras(_subject: Subject) -> list[Check]:
    """Which optional parts are installed; a missing one is no error."""
    return [_extra(name, purpose, modules) for name, (purpose, modules) in EXTRAS.items()]


def _works(script: str) -> bool:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(script)
    except sqlite3.Error:
        return False
    finally:
        connection.close()
    return True


def _write_ahead_log_works() -> bool:
    # The databases live in Clew's home, and network file systems have no shared memory for WAL.
    with tempfile.TemporaryDirectory(dir=_probe_place(), prefix=".doctor-") as directory:
        connection = sqlite3.connect(Path(directory) / "probe.sqlite3")
        try:
            mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            connection.execute("CREATE TABLE probe (value)")
        except sqlite3.Error:
            return False
        finally:
            connection.close()
    return bool(mode == "wal")


def _probe_place() -> Path | None:
    try:
        home = clew_home()
        return home if home.is_dir() and not write_problem(home) else None
    except (Unavailable, OSError):  # another check reports it
        return None


def _git_setting(where: Path, key: str, *variables: str) -> str:
    inherited = [os.environ.get(variable, "") for variable in variables]
    if all(inherited):
        return inherited[0]
    return (
        run_git("config", "--get", key, cwd=where, check=False).decode("utf-8", "replace").strip()
    )


def _install_git() -> str:
    if sys.platform == "darwin":
        return "xcode-select --install"
    managers = {
        "apt-get": "sudo apt-get install git",
        "dnf": "sudo dnf install git",
        "pacman": "sudo pacman -S git",
        "apk": "sudo apk add git",
        "zypper": "sudo zypper install git",
    }
    folders = ("/usr/bin", "/sbin", "/bin", "/usr/sbin")
    for manager, command in managers.items():
        if any(os.access(f"{folder}/{manager}", os.X_OK) for folder in folders):
            return command
    return "Install git from https://git-scm.com/downloads"


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _extra(name: str, purpose: str, modules: tuple[str, ...]) -> Check:
    missing = [module for module in modules if find_spec(module) is None]
    if not missing:
        return Check(f"extra {name}", "ok", f"Installed, for {purpose}")
    command = f"{_python()} -m pip install 'clew[{name}]'"
    summary = f"Not installed; only {purpose} needs it"
    return Check(f"extra {name}", "ok", summary, detail=f"To add it: {command}")


def _scripts_folder() -> Path | None:
    folders = [sysconfig.get_path("scripts")]
    if os.name == "posix":
        folders.append(sysconfig.get_path("scripts", "posix_user"))
    folders.append(str(Path(sys.argv[0]).absolute().parent))
    for folder in map(Path, folders):
        if all((folder / name).is_file() for name in FACES):
            return folder
    return None


def is_this_installation(program: Path) -> bool:
    """Whether a program is one of this installation's commands, directly or through a link."""
    folder = _scripts_folder()
    ours = [] if folder is None else [(folder / name).resolve() for name in FACES]
    return program.resolve() in ours


def _python() -> str:
    return shell_path(Path(sys.executable))
