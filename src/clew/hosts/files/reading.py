"""Reading files of other programs; in a clone, anything may be under their names."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from clew.kit.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 16 * 1024 * 1024
_CHUNK = 1024 * 1024
# A FIFO put there between the two looks must not make the opening wait.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def read_bytes(path: Path) -> bytes | None:
    """The bytes of a regular file of bearable size, or None when there is no such file."""
    try:
        _refuse_odd(path, path.stat())  # before opening, which already does things to a device
        return _read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error


def _read(path: Path) -> bytes:
    handle = os.open(path, _FLAGS | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        _refuse_odd(path, os.fstat(handle))
        data = bytearray()
        while chunk := os.read(handle, _CHUNK):
            data += chunk
            if len(data) > LARGEST:
                raise _too_large(path)
        return bytes(data)
    finally:
        os.close(handle)


def _refuse_odd(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise Invalid(
            f"{path} is not a regular file but {_kind(found.st_mode)}",
            "Nothing was changed. Move it away, then run this again.",
        )
    if found.st_size > LARGEST:
        raise _too_large(path)


def _too_large(path: Path) -> Invalid:
    most = LARGEST // (1024 * 1024)
    return Invalid(
        f"{path} is larger than {most} MiB, the largest size that Clew reads",
        "Nothing was changed. Make the file smaller, then run this again.",
    )


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
