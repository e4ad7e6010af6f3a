"""Locks that the operating system frees when their holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.kit.errors import Conflict

LOCK_TIMEOUT = 30.0
LONG_LOCK_TIMEOUT = 1800.0
_FIRST_NAP = 0.0005
_LONGEST_NAP = 0.05
# A clone can bring a link in the place of a lock.
_ITSELF = os.O_NOFOLLOW | os.O_CLOEXEC


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
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _ITSELF, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return HeldLock(descriptor)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock; needs no right to write."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _ITSELF)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def locked(path: Path, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """Hold an exclusive lock for a block; a `Conflict` if it is not free within the timeout.

    `LOCK_TIMEOUT` is for locks around one quick change, `LONG_LOCK_TIMEOUT` for those around the
    work of other programs. A suspended holder will not end by itself, so it gets the short one.
    """
    lock = _lock_within(path, timeout)
    try:
        yield
    finally:
        lock.release()


def _lock_within(path: Path, timeout: float) -> HeldLock:
    began = time.monotonic()
    nap = _FIRST_NAP
    while (lock := try_lock(path)) is None:
        waited = time.monotonic() - began
        if waited >= min(timeout, LOCK_TIMEOUT):
            refuse_stopped(path, waited)
        if waited >= timeout:
            raise _held(path, waited)
        time.sleep(nap * (0.5 + time.monotonic_ns() % 512 / 1024))  # so that waiters take turns
        nap = min(2 * nap, _LONGEST_NAP)
    return lock


def refuse_stopped(path: Path, waited: float) -> None:
    """Refuse to wait longer for a lock whose holder is suspended."""
    holder = _holder(path)
    if holder is not None and _is_stopped(holder):
        raise Conflict(
            f"Process {holder}, which holds the lock {path}, is suspended (waited {waited:.0f} s)",
            f"Continue it (kill -CONT {holder}) or end it (kill -KILL {holder}); nothing is lost.",
        )


def _held(path: Path, waited: float) -> Conflict:
    """Who keeps the lock, as far as the system tells, and what can be done about it."""
    holder = _holder(path)
    who = f"process {holder}" if holder else "another process"
    hint = f"Try again later; see what it does: ps -fp {holder}" if holder else "Try again later."
    return Conflict(
        f"Timed out after {waited:.0f} s waiting for {who}, which holds the lock {path}", hint
    )


def _holder(path: Path) -> int | None:
    """The process that took the lock; None where the system does not tell."""
    try:
        status = path.stat()
        device = status.st_dev
        file = f"{os.major(device):02x}:{os.minor(device):02x}:{status.st_ino}"
        with open("/proc/locks", encoding="ascii") as table:
            entries = [line.split() for line in table]
        pids = [int(words[4]) for words in entries if words[1] == "FLOCK" and words[5] == file]
    except (OSError, ValueError, IndexError):
        return None
    return pids[0] if pids and pids[0] > 0 else None


def _is_stopped(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            status = file.read()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] in (["T"], ["t"])
