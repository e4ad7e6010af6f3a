"""The ledger of what Clew wrote into other programs' files: backed up, recorded and undoable.

One JSON file in Clew's home. A record is written before the file it speaks of, so a crash in
between leaves at worst a record of something that is not there, which undoing skips.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from clew.kit import jsontext
from clew.kit.errors import ClewError, Conflict, Invalid, Unavailable
from clew.kit.files import private_directory, write_atomic
from clew.kit.locks import locked
from clew.kit.project import clew_home

LARGEST = 16 * 1024 * 1024
# A FIFO put there between the two looks must not make the opening wait.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def read_bytes(path: Path) -> bytes | None:
    """The bytes of a regular file of acceptable size, or None when there is no such file."""
    try:
        _refuse_odd(path, path.stat())  # before opening, which already does things to a device
        return _read_regular(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error


def _read_regular(path: Path) -> bytes:
    handle = os.open(path, _FLAGS | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        _refuse_odd(path, os.fstat(handle))
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise _too_large(path)
    return data


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


_VERSION = 1


@dataclass(frozen=True)
class Record:
    """One file that Clew changed or made.

    `parts` names what is ours in it (an entry per face, the managed block, the whole file) with
    the trace that removing it needs, and for a user's own file under `from` the projects whose
    runs asked for it ("" for a run outside of any). `unbroken` means every change since the original was ours,
    so the original may be put back whole while the file still is as we wrote it.
    """

    path: str
    kind: str
    project: str | None
    written_sha256: str
    host: str | None = None
    scope: str | None = None
    original_sha256: str | None = None
    backup: str | None = None
    created_file: bool = False
    created_directories: tuple[str, ...] = ()
    unbroken: bool = True
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def changed(self, **values: Any) -> Record:
        """The record with other values in some fields."""
        return replace(self, **values)

    def origins(self, part: str) -> list[str]:
        """From which projects this part of a user's own file was asked for."""
        return list(self.parts.get(part, {}).get("from", ()))

    def with_origins(self, part: str, origins: list[str]) -> Record:
        """The record with other origins of one part."""
        return self.changed(parts={**self.parts, part: {**self.parts[part], "from": origins}})


class Ledger:
    """The records, by path."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = {record.path: record for record in _read_records(path)}

    def get(self, path: Path) -> Record | None:
        """The record of this file, if Clew wrote it."""
        return self.records.get(identity(path))

    def put(self, record: Record) -> None:
        """Keep this record, now and on disk."""
        self.records[record.path] = record
        self.save()

    def drop(self, path: str) -> None:
        """Forget the record of this file."""
        self.records.pop(path, None)
        self.save()

    def trace(self, path: Path, part: str) -> dict[str, Any]:
        """What removing a part of this file needs to know."""
        record = self.get(path)
        return record.parts.get(part, {}) if record else {}

    def forget(self, path: Path, part: str) -> None:
        """Forget a part that someone else has already removed."""
        record = self.get(path)
        if record is not None and part in record.parts:
            rest = {name: trace for name, trace in record.parts.items() if name != part}
            if rest:
                self.put(record.changed(parts=rest))
            else:
                self.drop(record.path)

    def save(self) -> None:
        """Write the ledger."""
        files = [asdict(record) for _, record in sorted(self.records.items())]
        private_directory(self.path.parent)
        text = jsontext.pretty({"version": _VERSION, "files": files})
        write_atomic(self.path, text + "\n", mode=0o600)


@contextmanager
def open_ledger() -> Iterator[Ledger]:
    """The ledger under its lock, which also orders all writing into hosts' files."""
    home = private_directory(clew_home())
    with locked(home / "ledger.lock"):
        yield Ledger(home / "ledger.json")


def read_ledger() -> Ledger:
    """The ledger for looking only, without waiting for the lock."""
    return Ledger(clew_home() / "ledger.json")


def identity(path: Path) -> str:
    """The name under which a file is kept in the ledger, the same through every link."""
    return str(path.resolve())


def _read_records(path: Path) -> list[Record]:
    try:
        data = read_bytes(path)
        if data is None:
            return []
        return [_record(item) for item in jsontext.loads_bytes(data)["files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise Invalid(
            f"{path} is not readable: {error}",
            "It lists what Clew wrote into hosts' files. Move it away to start a new one.",
        ) from error


def _record(item: dict[str, Any]) -> Record:
    item["created_directories"] = tuple(item.get("created_directories", ()))
    return Record(**item)


@dataclass(frozen=True)
class Owner:
    """On whose behalf a file is written."""

    kind: str
    project: Path | None = None
    host: str | None = None
    scope: str | None = None


def refuse_outside(path: Path, project: Path | None, *, force: bool) -> None:
    """Refuse a project's file that is a link to somewhere else: a clone could point anywhere."""
    real = path.resolve()
    if project is None or force or real.is_relative_to(project.resolve()):
        return
    raise Conflict(
        f"{path} leads out of the project, to {real}",
        "Nothing was changed. --force writes there anyway.",
    )


def digest(data: bytes | None) -> str | None:
    """The SHA-256 of bytes, None for no file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def write_part(
    ledger: Ledger,
    path: Path,
    owner: Owner,
    part: str,
    trace: dict[str, Any],
    *,
    before: bytes | None,
    after: bytes,
) -> Record | None:
    """Record and write a change of one part; returns the record as it was before."""
    known = ledger.get(path)
    record = known or _first_record(path, owner, before)
    first_trace = record.parts.get(part, trace)
    ledger.put(
        record.changed(
            written_sha256=digest(after),
            unbroken=record.unbroken and (known is None or known.written_sha256 == digest(before)),
            parts={**record.parts, part: first_trace},
        )
    )
    try:
        _write(path, before, after)
    except ClewError:
        _restore_record(ledger, ledger.records[record.path], known)
        raise
    return known


def _restore_record(ledger: Ledger, record: Record, known: Record | None) -> None:
    if known is None:
        _drop_backup(record)
        ledger.drop(record.path)
    else:
        ledger.put(known)


def take_back(
    ledger: Ledger, path: Path, known: Record | None, *, before: bytes | None, after: bytes
) -> bool:
    """Restore file and record as they were before `write_part`.

    False when another program has changed the file since, which is then left alone.
    """
    record = ledger.get(path)
    assert record is not None
    if read_bytes(path) != after:
        return False
    if before is None:
        _delete(path, record.created_directories)
    else:
        write_atomic(path.resolve(), before)
    _restore_record(ledger, record, known)
    return True


def remove_part(
    ledger: Ledger, path: Path, part: str, *, current: bytes, reduced: bytes, blank: bool
) -> str:
    """Write the file without one part: `restored`, `deleted` or `removed`.

    `reduced` is the file with the part cut out; where nothing but Clew has touched the file
    since, the original is put back instead.
    """
    record = ledger.get(path)
    if record is None:
        _write(path, current, reduced)
        return "removed"
    rest = _inherited(record.parts, part)
    original, is_exact = _original(record, part, current)
    if not rest and is_exact:
        done = _put_back(path, record, original)
    elif not rest and record.created_file and blank:
        done = _put_back(path, record, None)
    else:
        _write(path, current, reduced)
        done = "restored" if not rest and digest(reduced) == record.original_sha256 else "removed"
    _settle(ledger, record, rest, path, done)
    return done


def _inherited(parts: dict[str, dict[str, Any]], leaving: str) -> dict[str, dict[str, Any]]:
    """The other parts; they take over what the leaving one knows of the object they share."""
    legacy = {key: parts.get(leaving, {}).get(key) for key in ("created", "hollow")}
    known = {key: value for key, value in legacy.items() if value}
    return {name: {**trace, **known} for name, trace in parts.items() if name != leaving}


def _settle(
    ledger: Ledger, record: Record, rest: dict[str, dict[str, Any]], path: Path, done: str
) -> None:
    if rest:
        written = str(digest(read_bytes(path)))
        ledger.put(record.changed(parts=rest, written_sha256=written))
        return
    if done in ("restored", "deleted"):
        _drop_backup(record)  # the file says the same again
    ledger.drop(record.path)


def _original(record: Record, part: str, current: bytes) -> tuple[bytes | None, bool]:
    """The bytes before Clew's first change, and whether they may simply be put back."""
    untouched = record.unbroken and digest(current) == record.written_sha256
    was_there_before = record.parts.get(part, {}).get("was_ours", False)
    if not untouched or was_there_before:
        return None, False
    if record.created_file:
        return None, True
    backup = read_bytes(Path(record.backup)) if record.backup else None
    return backup, backup is not None and digest(backup) == record.original_sha256


def _put_back(path: Path, record: Record, original: bytes | None) -> str:
    if original is None:
        _delete(path, record.created_directories)
        return "deleted"
    write_atomic(path.resolve(), original)
    return "restored"


def _first_record(path: Path, owner: Owner, before: bytes | None) -> Record:
    return Record(
        path=identity(path),
        kind=owner.kind,
        project=str(owner.project) if owner.project else None,
        host=owner.host,
        scope=owner.scope,
        written_sha256="",
        original_sha256=digest(before),
        backup=None if before is None else str(_back_up(path, before)),
        created_file=before is None,
        created_directories=_missing_directories(path),
    )


def _back_up(path: Path, data: bytes) -> Path:
    """Keep the original in Clew's home.

    Not beside the file: there it would turn up in `git status`, and it may hold other servers'
    secrets. The name carries the contents' hash, so a later backup never replaces this one.
    """
    place = hashlib.sha256(identity(path).encode()).hexdigest()[:8]
    name = f"{path.name.lstrip('.')}.{place}.{str(digest(data))[:12]}"
    backup = private_directory(clew_home() / "backups") / name
    if not backup.exists():
        write_atomic(backup, data, mode=0o600)
    return backup


def _drop_backup(record: Record) -> None:
    if record.backup:
        with suppress(FileNotFoundError):
            Path(record.backup).unlink()


def _missing_directories(path: Path) -> tuple[str, ...]:
    missing = []
    for directory in path.resolve().parents:
        if directory.exists():
            break
        missing.append(str(directory))
    return tuple(missing)


def _write(path: Path, before: bytes | None, after: bytes) -> None:
    """Write, unless the file has changed since it was read a moment ago."""
    if read_bytes(path) != before:
        raise Conflict(f"{path} was modified by another program just now", "Run this again.")
    try:
        write_atomic(path.resolve(), after)  # out of a project only if the user insists
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}") from error


def _delete(path: Path, directories: tuple[str, ...]) -> None:
    path.resolve().unlink(missing_ok=True)
    with suppress(OSError):
        for directory in directories:
            Path(directory).rmdir()
