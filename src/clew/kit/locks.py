"""Locks that the operating system frees when their holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class HeldLock:
    """An exclusive lock on a file, held until released or until this process ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        """The descriptor that holds the lock; a child that inherits it holds the lock too."""
        return self._descriptor

    def release(self) -> None:
        """Give the lock back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def try_lock(path: Path) -> HeldLock | None:
    """The lock, or None when another process holds it."""
    return _lock(path, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock for the length of a block, waiting for it if need be."""
    lock = _lock(path, fcntl.LOCK_EX)
    assert lock is not None
    try:
        yield
    finally:
        lock.release()


def _lock(path: Path, operation: int) -> HeldLock | None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, operation)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return HeldLock(descriptor)
