"""Which spec files changed since the last look, as the kernel reports (inotify).

An event is queued before the write that caused it returns, so whoever changed a file and then asks
is never answered from memory. Only file systems on which every change passes through this kernel
are watched; elsewhere, and where inotify is missing, `start` gives None and every file is looked at.
"""

from __future__ import annotations

import os
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _ONLYDIR, _ISDIR = 0x400, 0x800, 0x01000000, 0x40000000
_MASK = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
    | _DELETE_SELF | _MOVE_SELF | _ONLYDIR
)  # fmt: skip
_OF_A_FILE = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_EVENT = struct.Struct("iIII")
_BUFFER = 256 * 1024
_LOCAL = frozenset(
    {
        0xEF53,  # ext2, ext3, ext4
        0x58465342,  # xfs
        0x9123683E,  # btrfs
        0x01021994,  # tmpfs
        0xF2F52010,  # f2fs
        0x2FC12FC1,  # zfs
        0xCA451A4E,  # bcachefs
        0x794C7630,  # overlayfs
    }
)


class Watch:
    """An inotify instance over the directories that hold specs."""

    def __init__(self, libc: Any, descriptor: int) -> None:
        self._libc = libc
        self._descriptor = descriptor
        self._names: dict[int, str] = {}
        self._process = os.getpid()

    @classmethod
    def start(cls, directory: Path) -> Watch | None:
        """A watch that watches nothing yet, or None where it could not be relied upon."""
        if not sys.platform.startswith("linux"):
            return None
        try:
            import ctypes

            libc = ctypes.CDLL(None, use_errno=True)
            if not _is_local(ctypes, libc, directory):
                return None
            descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except (ImportError, OSError, AttributeError):
            return None
        return cls(libc, descriptor) if descriptor >= 0 else None

    def add(self, directory: Path, name: str) -> bool:
        """Watch one directory too; its files will be called `name/file`."""
        number = self._libc.inotify_add_watch(self._descriptor, os.fsencode(directory), _MASK)
        if number >= 0:
            self._names[number] = name
        return bool(number >= 0)

    @property
    def is_ours(self) -> bool:
        """Whether this process started it; a forked one would take away its parent's events."""
        return self._process == os.getpid()

    def changed_files(self) -> set[str] | None:
        """The files that something happened to since the last call; None where that is not known."""
        files: set[str] = set()
        certain = True
        while True:
            try:
                events = os.read(self._descriptor, _BUFFER)
            except BlockingIOError:
                return files if certain else None
            except OSError:
                return None
            certain = self._take(events, files) and certain

    def _take(self, events: bytes, files: set[str]) -> bool:
        """Note the files of these events; whether that is all that happened."""
        certain = True
        offset = 0
        while offset < len(events):
            number, mask, _, length = _EVENT.unpack_from(events, offset)
            offset += _EVENT.size + length
            directory = self._names.get(number)
            if directory is None or mask & _ISDIR or not mask & _OF_A_FILE or not length:
                certain = False
                continue
            name = os.fsdecode(events[offset - length : offset].rstrip(b"\0"))
            if name.endswith(".md") and not name.startswith("."):
                files.add(f"{directory}/{name}")
        return certain

    def close(self) -> None:
        """Stop watching."""
        if self._descriptor >= 0 and self.is_ours:
            with suppress(OSError):
                os.close(self._descriptor)
        self._descriptor = -1


def _is_local(ctypes: Any, libc: Any, directory: Path) -> bool:
    """Whether the file system is one on which nothing changes behind this kernel's back."""
    found = (ctypes.c_long * 64)()  # a statfs, which begins with its type
    if libc.statfs(os.fsencode(directory), found) != 0:
        return False
    return found[0] & 0xFFFFFFFF in _LOCAL
