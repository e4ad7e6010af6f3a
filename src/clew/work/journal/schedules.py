"""Schedules as rows of the journal: which specs are to be worked through, by whom, how it ended.

One scheduler works for a project at a time, and holds the lock for as long as it lives. A schedule
that is running while the lock is free was cut off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.kit import jsontext
from clew.kit.errors import NotFound
from clew.kit.locks import try_lock
from clew.kit.sqlite import writing
from clew.work.journal.status_files import write_process
from clew.work.model import new_run_id, now_text, second_text

if TYPE_CHECKING:
    from pathlib import Path

    from clew.kit.jsontext import JsonObject
    from clew.work.journal.journal import Journal
    from clew.work.paths import Places

RUNNING, COMPLETED, FAILED = "running", "completed", "failed"
_CUT_OFF = "its scheduler was killed; runs that it had started go on by themselves"


@dataclass(frozen=True)
class Schedule:
    """One order to work through specs."""

    schedule_id: str
    process_id: str | None
    spec_id: str
    mode: str
    plan: JsonObject
    pid: int | None
    status: str
    note: str | None
    stop_asked: bool
    created_at: str
    ended_at: str | None


def scheduler_lock(places: Places) -> Path:
    """The lock that the one scheduler of a project holds."""
    return places.store / "scheduler.lock"


def schedule_directory(places: Places, schedule_id: str) -> Path:
    """What one schedule has for itself."""
    return places.store / "schedules" / schedule_id


def add_schedule(journal: Journal, spec_id: str, mode: str, plan: JsonObject) -> Schedule:
    """A new schedule, not begun yet."""
    schedule_id = new_run_id()
    with writing(journal.database) as database:
        database.execute(
            "INSERT INTO schedules (schedule_id, spec_id, mode, plan, status, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (schedule_id, spec_id, mode, jsontext.dumps(plan), RUNNING, now_text()),
        )
    return get_schedule(journal, schedule_id)


def get_schedule(journal: Journal, schedule_id: str) -> Schedule:
    """One schedule."""
    for found in _select(journal, "WHERE schedule_id = ?", schedule_id):
        return found
    raise NotFound(f"No such schedule: {schedule_id}", "`clew runs` shows what there is.")


def schedules(journal: Journal, *, running: bool = False) -> list[Schedule]:
    """All schedules, or those that are under way; the newest first."""
    return _select(journal, "WHERE status = ?", RUNNING) if running else _select(journal, "")


def begin_schedule(places: Places, journal: Journal, schedule_id: str, pid: int) -> Schedule:
    """Say which process works it off."""
    before = get_schedule(journal, schedule_id)
    _set(journal, schedule_id, pid=pid, process_id=f"{before.spec_id}-{pid}")
    return _shown(places, get_schedule(journal, schedule_id))


def end_schedule(
    places: Places, journal: Journal, schedule_id: str, status: str, note: str
) -> Schedule:
    """Say how it ended."""
    _set(journal, schedule_id, status=status, note=note, ended_at=now_text())
    return _shown(places, get_schedule(journal, schedule_id))


def ask_to_stop(places: Places, journal: Journal) -> list[Schedule]:
    """Have the schedules under way start nothing more; which these are."""
    settle_schedules(places, journal)
    found = schedules(journal, running=True)
    for schedule in found:
        _set(journal, schedule.schedule_id, stop_asked=1)
    return found


def settle_schedules(places: Places, journal: Journal) -> None:
    """End the schedules whose scheduler is gone."""
    found = schedules(journal, running=True)
    if not found:
        return
    lock = try_lock(scheduler_lock(places))
    try:
        cut_off = found if lock is not None else found[1:]  # the newest one is alive
        for schedule in cut_off:
            end_schedule(places, journal, schedule.schedule_id, FAILED, _CUT_OFF)
    finally:
        if lock is not None:
            lock.release()


def schedule_view(schedule: Schedule) -> JsonObject:
    """A schedule as the documented process record."""
    return {
        "process_id": schedule.process_id or schedule.schedule_id,
        "spec_id": schedule.spec_id,
        "pid": schedule.pid or 0,
        "status": schedule.status,
        "started_at": second_text(schedule.created_at),
        "completed_at": second_text(schedule.ended_at) if schedule.ended_at else None,
        "mode": schedule.mode,
        "note": schedule.note,
    }


def _shown(places: Places, schedule: Schedule) -> Schedule:
    if schedule.process_id is not None:
        write_process(places, schedule_view(schedule))
    return schedule


def _set(journal: Journal, schedule_id: str, **columns: object) -> None:
    assigned = ", ".join(f"{name} = ?" for name in columns)
    with writing(journal.database) as database:
        database.execute(
            f"UPDATE schedules SET {assigned} WHERE schedule_id = ?",  # noqa: S608 (fixed names)
            (*columns.values(), schedule_id),
        )


def _select(journal: Journal, condition: str, *values: object) -> list[Schedule]:
    rows = journal.database.execute(
        f"SELECT * FROM schedules {condition} ORDER BY created_at DESC",  # noqa: S608 (fixed)
        values,
    )
    return [_schedule(dict(row)) for row in rows]


def _schedule(row: JsonObject) -> Schedule:
    plan = jsontext.loads(row["plan"])
    return Schedule(**{**row, "plan": plan, "stop_asked": bool(row["stop_asked"])})
