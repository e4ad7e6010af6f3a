"""Standard input, read once and with a time limit; and the file that `--write` names."""

from __future__ import annotations

import os
import stat

from clew.commands.files.disk import is_inside
from clew.commands.files.layers import project_root
from clew.kit.errors import Conflict, Invalid, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WAIT_SECONDS = 30.0
LARGEST_INPUT = 8 << 20
_CHUNK = 1 << 16
_kept: list[str] = []


def read_standard_input(wait: float = WAIT_SECONDS) -> str:
    """Everything that standard input holds; empty on a terminal. Asked again, the same text."""
    if not _kept:
        _kept.append(_piped(wait) if is_piped() else "")
    return _kept[0]


def is_piped() -> bool:
    """Whether standard input is a file or a pipe."""
    try:
        return not os.isatty(0) and not stat.S_ISCHR(os.fstat(0).st_mode)
    except OSError:
        return False


def unread_input(taken: str | None) -> list[str]:
    """A warning about piped input that the command did not ask for; the input stays there."""
    try:
        if taken is not None or not stat.S_ISFIFO(os.fstat(0).st_mode):
            return []
        import fcntl
        import termios

        waiting = any(fcntl.ioctl(0, termios.FIONREAD, bytes(4)))
    except (OSError, ImportError):
        return []
    return ["The command takes no input, so standard input was not read"] if waiting else []


def _piped(wait: float) -> str:
    import select
    import time

    end = time.monotonic() + wait
    parts: list[bytes] = []
    size = 0
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([0], [], [], left)[0]:
            raise Unavailable(
                f"Stdin reading timed out after {wait * 1000:.0f}ms",
                "Close the pipe that feeds it, or run with </dev/null.",
            )
        chunk = os.read(0, _CHUNK)
        if not chunk:
            return b"".join(parts).decode("utf-8", "replace")
        size += len(chunk)
        if size > LARGEST_INPUT:
            raise Invalid(f"More than {LARGEST_INPUT} bytes of input", "Name a file with -f.")
        parts.append(chunk)


def write_guarded(
    output: str, text: str, settings: Mapping[str, str] | None = None, *, force: bool = False
) -> str:
    """Write the text and return the path; outside the project, or over a file, only by force."""
    from pathlib import Path

    from clew.kit.files import write_atomic
    from clew.kit.text.display import shown_path

    if "\0" in output:
        raise Invalid("A path cannot contain a NUL character", "Name another file.")
    place = os.path.abspath(output)
    shown = shown_path(place)
    if os.path.isdir(place):
        raise Invalid(f"{shown} is a directory", "Name a file in it.")
    if not force and os.path.lexists(place):
        raise Conflict(f"{shown} already exists", "Name another file, or add --force.")
    root = project_root(settings)
    inside = any(is_inside(base, place) for base in (root, "."))
    if not force and (not inside or ".git" in Path(os.path.realpath(place)).parts):
        raise Invalid(f"{shown} is outside the project", "Write inside it, or add --force.")
    write_atomic(Path(place), text)
    return shown
