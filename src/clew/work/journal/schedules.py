"""Schedules and the one scheduler of a project, which holds a lock for as long as it lives.

A schedule that is running while the lock is free lost its scheduler.
"""

from __future__ import annotations

from pathlib import Path

from clew.kit.locks import try_lock
from clew.kit.paths import ProjectPaths
from clew.work.journal.interface import Journal
from clew.work.journal.status_files import schedule_view, write_process
from clew.work.model import Schedule, ScheduleStatus, now_text

_KILLED = "its scheduler was killed; runs that it had started go on by themselves"


def scheduler_lock(paths: ProjectPaths) -> Path:
    """The lock that the one scheduler of a project holds."""
    return paths.store / "scheduler.lock"


def update_schedule(
    paths: ProjectPaths, journal: Journal, schedule_id: str, **fields: object
) -> Schedule:
    """Store what became known about a schedule, and show it to other programs."""
    schedule = journal.update_schedule(schedule_id, **fields)
    if schedule.process_id is not None:
        write_process(paths, schedule_view(schedule))
    return schedule


def end_schedule(
    paths: ProjectPaths, journal: Journal, schedule_id: str, status: ScheduleStatus, note: str
) -> None:
    """Store how a schedule ended."""
    ended = {"status": status, "note": note, "ended_at": now_text()}
    update_schedule(paths, journal, schedule_id, **ended)


def stop_schedules(paths: ProjectPaths, journal: Journal) -> None:
    """Have the schedules under way start nothing more."""
    end_orphaned_schedules(paths, journal)
    for schedule in journal.schedules(running=True):
        journal.update_schedule(schedule.schedule_id, stop_asked=1)


def end_orphaned_schedules(paths: ProjectPaths, journal: Journal) -> None:
    """End the schedules whose scheduler is gone."""
    found = journal.schedules(running=True)
    if not found:
        return
    lock = try_lock(scheduler_lock(paths))
    try:
        orphaned = found if lock is not None else found[1:]  # the newest one is alive
        for schedule in orphaned:
            end_schedule(paths, journal, schedule.schedule_id, ScheduleStatus.FAILED, _KILLED)
    finally:
        if lock is not None:
            lock.release()
