"""What the system or a database refused, as an error that says what to do next."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from clew.kit.errors import Unavailable
from clew.kit.sqlite import UnsuitableDatabase, damage_of_opened
from clew.kit.text.display import os_reason

_FREE_SPACE = "Free some space, then try again."
_NOT_YOURS = "Check its permissions (ls -ld), or choose another place."
_TAKEN = "The name is taken: move that file away, or choose another place."
_DISK = "Check the disk, then try again."
_PLACE = "Choose a writable place."
_DAMAGED = "A file of Clew is damaged: `clew doctor` names it, and the command that repairs it."
_STRANGE = (
    "no such table", "no such column", "no such index", "malformed", "Could not decode", "vtable ",
    "file is not a database", "unable to validate",
)  # fmt: skip
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
# Of what an extra brings, what is imported first.
_EXTRAS = {
    "joserfc": "team", "procrastinate": "team", "prometheus_client": "team", "psycopg": "team",
    "starlette": "web", "uvicorn": "web",
}  # fmt: skip
# By the primary code, the low byte; every other one is a mistake in Clew.
_AFTER_SQLITE = {
    sqlite3.SQLITE_FULL: _FREE_SPACE,
    sqlite3.SQLITE_IOERR: _DISK,
    sqlite3.SQLITE_READONLY: _PLACE,
    sqlite3.SQLITE_CANTOPEN: _NOT_YOURS,
    sqlite3.SQLITE_PERM: _NOT_YOURS,
    sqlite3.SQLITE_BUSY: "Another program is writing: try again.",
}


def is_damage(error: BaseException) -> bool:
    """Whether a database is not what it should be; Clew's own statements name only what is there."""
    if not isinstance(error, sqlite3.DatabaseError) or isinstance(error, UnsuitableDatabase):
        return isinstance(error, UnsuitableDatabase)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or str(error).startswith(
        _STRANGE
    )


def next_step(error: OSError | sqlite3.Error) -> str | None:
    """What helps against this refusal."""
    if is_damage(error):
        return _DAMAGED
    if isinstance(error, sqlite3.Error):
        return _AFTER_SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    return _AFTER_ERRNO.get(error.errno or 0)


def moved_away(path: Path) -> str:
    """The command that takes a database away with its log, which holds the latest of its content."""
    from shlex import quote

    ends = ("", "-wal") if path.with_name(f"{path.name}-wal").exists() else ("",)
    moves = [f"mv {quote(f'{path}{end}')} {quote(f'{path}.damaged{end}')}" for end in ends]
    return " && ".join([*moves, f"rm -f {quote(f'{path}-shm')}"])


def database_refusal(what: str, path: Path, error: sqlite3.DatabaseError) -> Unavailable:
    """Why a database of Clew cannot be used, and what helps."""
    step = next_step(error)
    if is_damage(error):
        step = f"Move it away, and a new one is made: {moved_away(path)}"
    return Unavailable(f"{what} cannot be used: {error}: {path}", step)


def refusal(error: BaseException) -> Unavailable | None:
    """What the system or a database refused; None where the error is a mistake in Clew."""
    if isinstance(error, OSError) and not isinstance(error, ValueError):
        return Unavailable(os_reason(error), next_step(error))
    if isinstance(error, ModuleNotFoundError):
        extra = _EXTRAS.get((error.name or "").partition(".")[0])
        if extra:
            return Unavailable(
                f"This needs the extra '{extra}', which is not installed",
                f"Run pip install 'clew[{extra}]'.",
            )
    step = next_step(error) if isinstance(error, sqlite3.Error) else None
    if step and not is_damage(error):
        return Unavailable(f"The database cannot be used: {error}", step)
    found = damage_of_opened()  # a row that makes no sense is no mistake in Clew
    if found is not None:
        return Unavailable(f"The database at {found[0]} is damaged: {found[1]}", _DAMAGED)
    return Unavailable(f"The database cannot be used: {error}", step) if step else None
