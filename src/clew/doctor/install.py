"""Checks of this installation: its commands on PATH, its optional parts."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from clew.catalog.faces import FACES
from clew.doctor.model import Check, Subject, shell_path, show_path

# An optional part: what it is for, and the modules that must be there.
EXTRAS = {"web": ("clew serve --http", ("starlette", "uvicorn"))}


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
    """Which optional parts are installed; none is a fault when missing."""
    return [_extra(name, purpose, modules) for name, (purpose, modules) in EXTRAS.items()]


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
