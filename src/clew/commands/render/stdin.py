"""What is piped in: standard input, read once, with an end to the waiting."""

from __future__ import annotations

import os
import stat

from clew.kit.errors import Invalid, Unavailable

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


def waiting_bytes() -> int:
    """How much lies ready in a pipe that nobody asked for; it is not taken out."""
    try:
        if not stat.S_ISFIFO(os.fstat(0).st_mode):
            return 0
        import fcntl
        import termios

        return int.from_bytes(fcntl.ioctl(0, termios.FIONREAD, bytes(4)), "little")
    except (OSError, ImportError):
        return 0


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
