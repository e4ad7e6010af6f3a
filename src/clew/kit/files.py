"""Files written whole or not at all, and private where they hold secrets."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_atomic(path: Path, data: bytes | str, *, mode: int | None = None) -> None:
    """Replace a file in one step: readers see the old bytes or the new ones, never a mix.

    Links are followed, so a dot-file kept elsewhere stays a link; permissions are kept unless
    `mode` says otherwise.
    """
    payload = data.encode("utf-8") if isinstance(data, str) else data
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    if mode is None:
        mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        error.filename = str(target)  # the temporary name would tell nobody anything
        raise
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(payload)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        Path(temporary).replace(target)
    except BaseException as error:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
        if isinstance(error, OSError) and error.errno:
            error.filename = str(target)
        raise
    _sync_directory(target.parent)


def private_directory(path: Path) -> Path:
    """The directory; it and the parents that are missing are made for their owner only."""
    if not path.is_dir():
        private_directory(path.parent)
        path.mkdir(exist_ok=True, mode=0o700)
    return path


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
