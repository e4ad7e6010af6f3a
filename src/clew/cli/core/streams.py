"""The standard streams: usable however the program was started, with readable errors."""

from __future__ import annotations

import os
import select
import sys
from contextlib import suppress
from io import FileIO, TextIOWrapper
from pathlib import Path
from typing import TextIO

from clew.kit.errors import Invalid, Unavailable
from clew.kit.outcome import Drawn
from clew.kit.text.display import os_reason, terminal_text

_LARGEST_INPUT = 1_000_000


class OutputFailed(Unavailable):
    """Standard output cannot be written; reported on standard error."""


def prepare_streams(*, is_server: bool) -> None:
    """Make every text printable, and replace closed streams by /dev/null.

    Files opened later would get the free numbers, and what is printed would end up in them. A
    server looks after its input and output itself.
    """
    if sys.stderr is None:
        sys.stderr = _nothing(2, "w")
    if sys.stdin is None and not is_server:
        sys.stdin = _nothing(0, "r")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is None and not is_server:
        sys.stdout = _nothing(1, "w")
        raise OutputFailed("Standard output is closed")


def _nothing(number: int, mode: str) -> TextIO:
    opened = os.open(os.devnull, os.O_RDWR)
    if opened == number:
        os.set_inheritable(number, True)
    else:
        os.dup2(opened, number)
        os.close(opened)
    return TextIOWrapper(FileIO(number, mode, closefd=False), encoding="utf-8")


def read_text(name: str) -> str:
    """The text in a file; `-` is standard input."""
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(_LARGEST_INPUT + 1)
        else:
            with Path(name).open("rb") as stream:
                raw = stream.read(_LARGEST_INPUT + 1)
    except OSError as error:
        raise Unavailable(f"Cannot read the text: {os_reason(error)}") from error
    if len(raw) > _LARGEST_INPUT:
        raise Invalid(f"{name} is larger than 1 MB", "Send the most important part.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid(f"{name} is not UTF-8 text", "Save it as UTF-8.") from None


def write_out(text: str, end: str = "\n") -> None:
    """Write a text and a newline to standard output, now. A reader that left is no error."""
    try:
        print(text if isinstance(text, Drawn) else terminal_text(text), end=end, flush=True)
    except OSError as error:
        silence_stdout()
        if not isinstance(error, BrokenPipeError):
            raise _unwritable(error) from error


def settle_out() -> OutputFailed | None:
    """Write what is still held back, so that it fails here and not when the program ends."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        silence_stdout()
        return None if isinstance(error, BrokenPipeError) else _unwritable(error)
    return None


def say(text: str) -> None:
    """Write a line to standard error; a failure is ignored."""
    try:
        print(terminal_text(text), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        _silence(sys.stderr)


def reader_left(error: Exception) -> bool:
    """Whether this error means that nobody reads standard output any more."""
    if not isinstance(error, BrokenPipeError) or sys.stdout is None:
        return False
    poll = select.poll()
    with suppress(OSError, ValueError):
        poll.register(sys.stdout.fileno(), select.POLLOUT)
        return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
    return False


def silence_stdout() -> None:
    """Send the rest of standard output nowhere, so that ending the program cannot fail."""
    _silence(sys.stdout)


def _silence(stream: TextIO) -> None:
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, stream.fileno())
        os.close(nothing)


def _unwritable(error: OSError) -> OutputFailed:
    return OutputFailed(f"Standard output cannot be written: {os_reason(error)}")
