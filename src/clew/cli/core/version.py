"""`version`: what runs here."""

from __future__ import annotations

import platform
import sqlite3
import sys

from clew import __version__
from clew.cli.core.app import command
from clew.kit.errors import ClewError
from clew.kit.git import git_version
from clew.kit.outcome import Outcome


@command()
def version() -> Outcome:
    """Show the versions of Clew and its dependencies."""
    try:
        git = ".".join(map(str, git_version()))
    except ClewError:
        git = "not installed"
    data = {
        "clew": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "git": git,
        "platform": platform.platform(),
        "executable": sys.executable,
    }
    return Outcome(data, tuple(f"{name:<10} {value}" for name, value in data.items()))
