"""The merge queue as rows of the journal: what is to be merged, how far it is, how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from clew.kit import jsontext
from clew.kit.sqlite import writing
from clew.work.model import now_text

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence
    from typing import Any


class MergeStatus(StrEnum):
    """Where an entry is; each step is recorded before the next one begins."""

    QUEUED = "queued"
    MERGING = "merging"
    MOVING = "moving"
    WAITING = "waiting"
    MERGED = "merged"
    CONFLICT = "conflict"
    FAILED = "failed"


OPEN_MERGES = (MergeStatus.QUEUED, MergeStatus.MERGING, MergeStatus.MOVING, MergeStatus.WAITING)
UNDER_WAY = (MergeStatus.MERGING, MergeStatus.MOVING)
_LISTS = ("files", "left_out")


@dataclass(frozen=True)
class Entry:
    """One branch on its way into the main branch."""

    number: int
    spec_id: str
    branch: str
    target: str
    strategy: str
    status: MergeStatus
    tip: str | None
    onto: str | None
    candidate: str | None
    is_checked: bool
    delete_branch: bool
    files: tuple[str, ...]
    left_out: tuple[str, ...]
    note: str | None
    conflict_spec: str | None
    created_at: str
    updated_at: str


class MergeQueue:
    """The entries of one project."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def add(
        self, spec_id: str, branch: str, target: str, *, strategy: str, delete_branch: bool
    ) -> Entry:
        """Put a branch into the queue; one that is in it already stays where it is."""
        now = now_text()
        with writing(self._database) as database:
            present = self._one("spec_id = ? AND " + _among(OPEN_MERGES), spec_id)
            if present is None:
                cursor = database.execute(
                    "INSERT INTO merges (spec_id, branch, target, strategy, status,"
                    " delete_branch, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (spec_id, branch, target, strategy, MergeStatus.QUEUED,
                     int(delete_branch), now, now),
                )  # fmt: skip
                number = cursor.lastrowid
            else:
                number = present.number
                database.execute(
                    "UPDATE merges SET strategy = ?, target = ?, branch = ?, delete_branch = ?"
                    " WHERE number = ?",
                    (strategy, target, branch, int(delete_branch), number),
                )
        assert number is not None
        return self.get(number)

    def record(self, number: int, status: MergeStatus, **fields: Any) -> Entry:
        """Take an entry one step on, with what became known."""
        columns = {"status": status, "updated_at": now_text(), **fields}
        for name in _LISTS:
            if name in columns:
                columns[name] = jsontext.dumps(list(columns[name]))
        assigned = ", ".join(f"{name} = ?" for name in columns)
        with writing(self._database) as database:
            database.execute(
                f"UPDATE merges SET {assigned} WHERE number = ?",  # noqa: S608 (our own names)
                (*columns.values(), number),
            )
        return self.get(number)

    def get(self, number: int) -> Entry:
        """One entry."""
        found = self._one("number = ?", number)
        assert found is not None
        return found

    def open_entries(self, statuses: Sequence[MergeStatus] = OPEN_MERGES) -> list[Entry]:
        """What is still to be merged, in its order."""
        return self._many(f"{_among(statuses)} ORDER BY number")

    def latest(self, spec_id: str) -> Entry | None:
        """The newest entry of a spec."""
        return self._one("spec_id = ? ORDER BY number DESC", spec_id)

    def recent(self, limit: int) -> list[Entry]:
        """The newest entries, the newest first."""
        return self._many("1 ORDER BY number DESC LIMIT ?", limit)

    def _one(self, condition: str, *values: object) -> Entry | None:
        return next(iter(self._many(f"{condition} LIMIT 1", *values)), None)

    def _many(self, condition: str, *values: object) -> list[Entry]:
        query = f"SELECT * FROM merges WHERE {condition}"  # noqa: S608 (fixed texts)
        return [_entry(row) for row in self._database.execute(query, values)]


def _among(statuses: Sequence[MergeStatus]) -> str:
    return f"status IN ({', '.join(repr(str(status)) for status in statuses)})"


def _entry(row: sqlite3.Row) -> Entry:
    values = dict(row)
    lists = {name: tuple(jsontext.loads(values[name])) for name in _LISTS}
    flags = {name: bool(values[name]) for name in ("is_checked", "delete_branch")}
    return Entry(**{**values, **lists, **flags, "status": MergeStatus(values["status"])})
