"""A schedule in a process of its own: started, and what that process does."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from clew.kit.errors import Conflict
from clew.kit.files import private_directory
from clew.kit.locks import try_lock
from clew.work.journal.journal import open_journal
from clew.work.journal.schedules import (
    FAILED,
    Schedule,
    add_schedule,
    begin_schedule,
    end_schedule,
    get_schedule,
    schedule_directory,
    scheduler_lock,
    schedules,
)
from clew.work.paths import Places
from clew.work.processes.child import Signals
from clew.work.processes.daemon import be_detached, lock_after, not_started, start_detached
from clew.work.runs.launch import START_SECONDS
from clew.work.scheduling.scheduler import Scheduler

if TYPE_CHECKING:
    from pathlib import Path

    from clew.kit.locks import HeldLock
    from clew.work.journal.journal import Journal
    from clew.work.processes.startup_pipe import Handshake
    from clew.work.scheduling.scheduler import Order

LOG = "scheduler.log"
_MODULE = "clew.work.scheduling.process"


def start_schedule(
    places: Places, spec_id: str, mode: str, order: Order, seconds: float = START_SECONDS
) -> Schedule:
    """Start the scheduler on an order; a failure to start is raised in its own words."""
    with open_journal(places) as journal:
        lock = _scheduler_lock(places, journal)
        schedule = add_schedule(journal, spec_id, mode, order.as_plan())
        directory = private_directory(schedule_directory(places, schedule.schedule_id))
        heard = start_detached(_MODULE, directory, lock, seconds, LOG)
        if heard.event == "failed" or (heard.is_closed and heard.event != "started"):
            error = not_started(heard, directory / LOG, "scheduler")
            end_schedule(places, journal, schedule.schedule_id, FAILED, error.message)
            raise error
        return get_schedule(journal, schedule.schedule_id)


def _scheduler_lock(places: Places, journal: Journal) -> HeldLock:
    """The right to be the scheduler; one that has done its work is waited for while it ends."""
    other = next(iter(schedules(journal, running=True)), None)
    path = scheduler_lock(places)
    lock = try_lock(path) if other else lock_after(path)
    if lock is None:
        who = f" (spec: {other.spec_id}, PID: {other.pid})" if other else ""
        raise Conflict(
            f"Another work process is already running{who}",
            "Wait for it, or stop it with `clew pause --all`.",
        )
    return lock


def run_schedule(directory: Path, ready: Handshake) -> None:
    """Be the scheduler of the schedule whose directory this is; the lock came from the starter."""
    places = Places(directory.resolve().parents[3])
    with Signals().noted() as signals, open_journal(places) as journal:
        schedule = begin_schedule(places, journal, directory.name, os.getpid())
        ready.say("supervisor", pid=os.getpid())
        scheduler = Scheduler(places, journal, schedule, ready)
        try:
            status, note = scheduler.work_off(signals)
        except BaseException as error:
            end_schedule(places, journal, schedule.schedule_id, FAILED, f"it broke off: {error}")
            raise
        end_schedule(places, journal, schedule.schedule_id, status, note)


def main(arguments: list[str]) -> int:
    """`python -m clew.work.scheduling.process DIRECTORY HANDSHAKE LOCK`, the latter descriptors."""
    return be_detached(arguments, run_schedule)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
