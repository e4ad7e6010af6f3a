"""What the system or a database refused, as an error that says what to do next."""

from __future__ import annotations

import errno
import sqlite3

from clew.kit.errors import Unavailable
from clew.kit.text.display import os_reason

_FREE_SPACE = "Free some space, then try again."
_NOT_YOURS = "Check its permissions (ls -ld), or choose another place."
_TAKEN = "The name is taken: move that file away, or choose another place."
_DISK = "Check the disk, then try again."
_PLACE = "Choose a writable place."
_DAMAGED = "Move the damaged file away. `clew doctor` shows what can be rebuilt."
_AFTER_ERRNO = {
    errno.ENOSPC: _FREE_SPACE,
    errno.EDQUOT: _FREE_SPACE,
    errno.EFBIG: "Raise the limit of a file's size: ulimit -f unlimited",
    errno.EIO: _DISK,
    errno.EACCES: _NOT_YOURS,
    errno.EPERM: _NOT_YOURS,
    errno.EROFS: _PLACE,
    errno.EEXIST: _TAKEN,
    errno.ENOTDIR: _TAKEN,
    errno.EISDIR: _TAKEN,
    errno.EMFILE: "Raise the limit of open files: ulimit -n 4096",
}
# By the primary code, the low byte; every other one is a mistake in Clew.
_AFTER_SQLITE = {
    sqlite3.SQLITE_FULL: _FREE_SPACE,
    sqlite3.SQLITE_IOERR: _DISK,
    sqlite3.SQLITE_READONLY: _PLACE,
    sqlite3.SQLITE_CANTOPEN: _NOT_YOURS,
    sqlite3.SQLITE_PERM: _NOT_YOURS,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_BUSY: "Another program is writing: try again.",
}


def next_step(error: OSError | sqlite3.Error) -> str | None:
    """What helps against this refusal."""
    if isinstance(error, sqlite3.Error):
        return _AFTER_SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    return _AFTER_ERRNO.get(error.errno or 0)


def refusal(error: BaseException) -> Unavailable | None:
    """What the system or a database refused; None where the error is a mistake in Clew."""
    if isinstance(error, OSError) and not isinstance(error, ValueError):
        return Unavailable(os_reason(error), next_step(error))
    step = next_step(error) if isinstance(error, sqlite3.Error) else None
    return Unavailable(f"The database cannot be used: {error}", step) if step else None
