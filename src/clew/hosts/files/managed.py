"""Writing into files of other programs: backed up once, recorded, undone byte for byte."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.hosts.files.ledger import Record, identity
from clew.hosts.files.reading import read_bytes
from clew.kit.errors import ClewError, Conflict, Unavailable
from clew.kit.files import private_directory, write_atomic
from clew.kit.project import clew_home

if TYPE_CHECKING:
    from clew.hosts.files.ledger import Ledger


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
        write_atomic(path, before)
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
    write_atomic(path, original)
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
        write_atomic(path, after)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}") from error


def _delete(path: Path, directories: tuple[str, ...]) -> None:
    path.resolve().unlink(missing_ok=True)
    with suppress(OSError):
        for directory in directories:
            Path(directory).rmdir()
