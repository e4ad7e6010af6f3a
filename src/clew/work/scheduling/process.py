"""The scheduler and the watch in processes of their own: started, and what these processes do."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from clew.kit.errors import Conflict, Unavailable
from clew.kit.files import private_directory
from clew.kit.locks import try_lock
from clew.work.journal.schedules import end_schedule, scheduler_lock, update_schedule
from clew.work.model import Schedule, ScheduleStatus
from clew.work.processes.child import Signals
from clew.work.processes.daemon import be_detached, lock_after, start_detached
from clew.work.runs.prepare import START_SECONDS
from clew.work.scheduling.scheduler import Scheduler
from clew.work.scheduling.watch import Watch, name_watcher, run_watch, watch_lock, watch_log
from clew.work.workspace import Wiring, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from clew.kit.locks import HeldLock
    from clew.work.processes.daemon import Handshake
    from clew.work.scheduling.scheduler import Order

_SCHEDULER, _WATCH = "scheduler", "watch"
_WATCH_SECONDS = 10.0


def start_schedule(
    work: Workspace, spec_id: str, mode: str, order: Order, seconds: float = START_SECONDS
) -> Schedule:
    """Start the scheduler on an order; a failure to start is raised in its own words."""
    lock = _free_scheduler(work)
    schedule = work.journal.add_schedule(spec_id, mode, order.as_plan())
    directory = private_directory(work.paths.store / "schedules" / schedule.schedule_id)
    try:
        start_detached((work.wiring.entry, _SCHEDULER), directory, lock, seconds, _SCHEDULER)
    except Unavailable as error:
        _end(work, schedule, ScheduleStatus.FAILED, error.message)
        raise
    return work.journal.schedule(schedule.schedule_id)


def start_watch(work: Workspace) -> int:
    """Start a watch that outlives this process; its pid."""
    lock = watch_lock(work.paths)
    work.paths.watch_pid.unlink(missing_ok=True)
    module = (work.wiring.entry, _WATCH)
    heard = start_detached(module, work.paths.store, lock, _WATCH_SECONDS, _WATCH)
    if heard.pid is None:
        raise Unavailable(f"The watch did not start within {_WATCH_SECONDS:g} s", "Try again.")
    return heard.pid


def _free_scheduler(work: Workspace) -> HeldLock:
    """The right to be the scheduler; one that has done its work is waited for while it ends."""
    other = next(iter(work.journal.schedules(running=True)), None)
    path = scheduler_lock(work.paths)
    lock = try_lock(path) if other else lock_after(path)
    if lock is None:
        who = f" (spec: {other.spec_id}, PID: {other.pid})" if other else ""
        raise Conflict(
            f"Another work process is already running{who}",
            "Wait for it, or stop it with `clew pause --all`.",
        )
    return lock


def _end(work: Workspace, schedule: Schedule, status: ScheduleStatus, note: str) -> None:
    end_schedule(work.paths, work.journal, schedule.schedule_id, status, note)


def _be_scheduler(wiring: Wiring, directory: Path, ready: Handshake) -> None:
    """Work off the schedule whose directory this is; the lock came from the starter."""
    root, schedule_id = directory.resolve().parents[3], directory.name
    with Signals().noted() as signals, Workspace(root, wiring) as work:
        spec_id, pid = work.journal.schedule(schedule_id).spec_id, os.getpid()
        known = {"pid": pid, "process_id": f"{spec_id}-{pid}"}
        schedule = update_schedule(work.paths, work.journal, schedule_id, **known)
        ready.say("supervisor", pid=pid)
        try:
            status, note = Scheduler(work, schedule, ready).work_off(signals)
        except BaseException as error:
            _end(work, schedule, ScheduleStatus.FAILED, f"it broke off: {error}")
            raise
        _end(work, schedule, status, note)


def _be_watch(wiring: Wiring, directory: Path, ready: Handshake) -> None:
    """Watch the project whose store this is; the lock came from the starter."""
    with Signals().noted() as signals:
        watch = Watch(directory.resolve().parents[1], wiring, stop=lambda: signals.stop_asked)
        watch.say = watch_log(watch.paths)
        name_watcher(watch.paths)
        ready.say("supervisor", pid=os.getpid())
        ready.say("started")
        run_watch(watch, signals)


def main(arguments: list[str], wiring: Wiring) -> int:
    """`KIND DIRECTORY HANDSHAKE LOCK`: be the scheduler or the watch, the latter two descriptors."""
    work = {_SCHEDULER: _be_scheduler, _WATCH: _be_watch}[arguments[0]]
    return be_detached(arguments[1:], partial(work, wiring))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Wiring()))
