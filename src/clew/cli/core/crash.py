"""The report of a bug: everything a maintainer asks for, ready to paste."""

from __future__ import annotations

import platform
import sqlite3
import sys
import time
import traceback
from pathlib import Path

from clew import __version__
from clew.kit.files import private_directory, write_atomic
from clew.kit.project import clew_home
from clew.kit.text.display import shown_text


def write_report(error: BaseException, name: str, arguments: list[str]) -> Path:
    """Write the crash report and return its path."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    path = private_directory(clew_home() / "crashes") / f"{stamp}-{error.__class__.__name__}.md"
    write_atomic(path, report_text(error, name, arguments), mode=0o600)
    return path


def report_text(error: BaseException, name: str, arguments: list[str]) -> str:
    """The report: versions, the command as typed, the traceback. Home paths are shortened."""
    trace = "".join(traceback.format_exception(error))
    text = "\n".join(
        [
            f"### {name} crashed: {error.__class__.__name__}",
            "",
            f"- clew {__version__}",
            f"- Python {sys.version.split()[0]} ({platform.python_implementation()})",
            f"- SQLite {sqlite3.sqlite_version}",
            f"- {platform.platform()}",
            f"- command: `{name} {' '.join(map(_without_secret, arguments))}`",
            "",
            "```",
            trace.rstrip(),
            "```",
            "",
        ]
    )
    return shown_text(_with_short_home(text))


def _without_secret(word: str) -> str:
    """The word as typed, but for the value of a variable that is a secret by its name."""
    from clew.commands.files.declarations import is_secret_name

    name, equals, _ = word.partition("=")
    return f"{name}=[redacted]" if equals and is_secret_name(name) else word


def _with_short_home(text: str) -> str:
    try:
        return text.replace(str(Path.home()), "~")
    except RuntimeError:  # nobody knows where home is
        return text
