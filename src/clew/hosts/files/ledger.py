"""The ledger of what Clew wrote into other programs' files, so that all of it can be undone.

One JSON file in Clew's home. A record is written before the file it speaks of, so a crash in
between leaves at worst a record of something that is not there, which undoing skips.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.hosts.files.reading import read_bytes
from clew.kit import jsontext
from clew.kit.errors import Invalid
from clew.kit.files import private_directory, write_atomic
from clew.kit.locks import locked
from clew.kit.project import clew_home

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        self.records = {record.path: record for record in _read(path)}

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


def _read(path: Path) -> list[Record]:
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
