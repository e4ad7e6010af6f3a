"""How work begins: one spec, a chain of them, or several at once; and the processes behind it.

The scheduler and the watch run in processes of their own, which `Wiring.entry` starts by `main`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import ClewError, Conflict, Invalid, NotFound, Unavailable
from clew.kit.files import private_directory
from clew.kit.jsontext import JsonObject
from clew.kit.locks import HeldLock, try_lock
from clew.specs.query.commands import NamedCommand, settings_commands, spec_commands
from clew.specs.store.config import Config
from clew.work.agents.options import WorkOptions
from clew.work.journal.schedules import end_schedule, scheduler_lock, update_schedule
from clew.work.journal.status_files import process_view, schedule_view
from clew.work.model import OPEN, Schedule, ScheduleStatus
from clew.work.processes.child import Signals
from clew.work.processes.daemon import Handshake, be_detached, lock_after, start_detached
from clew.work.runs.prepare import (
    START_SECONDS,
    NoCriteria,
    UnmergedDependency,
    prepare_work,
    refuse_ended,
    start_work,
)
from clew.work.scheduling.ready import Wanted, choose, open_ids, policy_of
from clew.work.scheduling.scheduler import Order, Scheduler
from clew.work.scheduling.watch import (
    Watch,
    WatchOptions,
    is_watched,
    name_watcher,
    run_watch,
    watch_lock,
    watch_log,
)
from clew.work.workspace import Wiring, Workspace

_SCHEDULER, _WATCH = "scheduler", "watch"
MOST_WORKERS = 64
_FIELDS = ("process_id", "spec_id", "pid", "started_at", "mode")


def start_schedule(work: Workspace, spec_id: str, mode: str, order: Order) -> Schedule:
    """Start the scheduler on an order; a failure to start is raised in its own words."""
    lock = _free_scheduler(work)
    schedule = work.journal.add_schedule(spec_id, mode, order.as_plan())
    directory = private_directory(work.paths.store / "schedules" / schedule.schedule_id)
    try:
        start_detached((work.wiring.entry, _SCHEDULER), directory, lock, START_SECONDS, _SCHEDULER)
    except Unavailable as error:
        _end(work, schedule, ScheduleStatus.FAILED, error.message)
        raise
    return work.journal.schedule(schedule.schedule_id)


def start_watch(work: Workspace, options: WatchOptions | None = None) -> int:
    """Start a watch that outlives this process; its pid."""
    lock = watch_lock(work.paths)
    work.paths.watch_pid.unlink(missing_ok=True)
    given = jsontext.dumps(asdict(options or WatchOptions()))
    module = (work.wiring.entry, _WATCH, given)
    heard = start_detached(module, work.paths.store, lock, START_SECONDS, _WATCH)
    return heard.process(_WATCH)


def keep_watched(work: Workspace) -> str | None:
    """Have finished work merged by a watch; if none can start, the reason, which stops nobody."""
    try:
        if not is_watched(work.paths):
            start_watch(work)
    except ClewError as error:
        return None if is_watched(work.paths) else error.message
    return None


def _free_scheduler(work: Workspace) -> HeldLock:
    """The right to be the scheduler; one that has done its work is waited for while it ends."""
    other = next(iter(work.journal.schedules(running=True)), None)
    path = scheduler_lock(work.paths)
    lock = try_lock(path) if other else lock_after(path)
    if lock is None:
        pid = f", PID: {other.pid}" if other and other.pid else ""
        who = f" (spec: {other.spec_id}{pid})" if other else ""
        raise Conflict(
            f"Another work process is already running{who}",
            "Wait for it (`chant runs` shows it), or stop it: `chant pause --all`.",
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


def _be_watch(wiring: Wiring, options: WatchOptions, directory: Path, ready: Handshake) -> None:
    """Watch the project whose store this is; the lock came from the starter."""
    with Signals().noted() as signals:
        root = directory.resolve().parents[1]
        watch = Watch(root, wiring, options, stop=lambda: signals.stop_asked)
        watch.say = watch_log(watch.paths)
        name_watcher(watch.paths)
        ready.say("supervisor", pid=os.getpid())
        ready.say("started")
        run_watch(watch, signals)


def main(arguments: list[str], wiring: Wiring) -> int:
    """`KIND [OPTIONS] DIRECTORY HANDSHAKE LOCK`: be the scheduler or the watch.

    The options are the watch's; the latter two are descriptors.
    """
    kind, *options, directory, handshake, lock = arguments
    work = partial(_be_scheduler, wiring)
    if kind == _WATCH:
        work = partial(_be_watch, wiring, WatchOptions(**jsontext.loads(options[0])))
    return be_detached([directory, handshake, lock], work)


@dataclass(frozen=True)
class Mode:
    """What was asked for: a chain, a number of parallel runs, or neither."""

    chain: bool = False
    parallel: int | None = None
    most: int | None = None
    merge: bool = True
    on_failure: str | None = None
    retries: int | None = None
    labels: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The mode as the documented record names it."""
        if self.parallel is not None:
            return f"parallel({self.parallel})"
        return "chain" if self.chain else "single"


@dataclass(frozen=True)
class Begun:
    """Work under way: the documented record, and the run or the schedule behind it."""

    record: JsonObject
    run_id: str | None
    schedule_id: str | None


def begin_work(
    work: Workspace, ids: tuple[str, ...], mode: Mode, options: WorkOptions | None = None
) -> Begun:
    """Begin work as asked, within a moment; errors are raised before anything changes."""
    options = options or WorkOptions()
    if mode.parallel is not None and not 1 <= mode.parallel <= MOST_WORKERS:
        raise Invalid(
            f"parallel must be from 1 to {MOST_WORKERS}: {mode.parallel}", "Name how many at once."
        )
    specs = [work.store.load(name) for name in ids]
    for spec in specs:
        refuse_ended(spec)
    names = tuple(spec.id for spec in specs)
    if mode.name == "single" and len(names) > 1:
        raise Invalid(
            "Several specs need a mode", "Add --chain or --parallel N to work on all of them."
        )
    if mode.name == "single" and names and not work.store.graph().open_members(names[0]):
        try:
            return _single(work, names[0], options)
        except UnmergedDependency:
            if not (mode.merge and work.config().flag("watch", "merge")):
                raise  # else a scheduler merges first what it builds on
    return _several(work, names, mode, options)


def _single(work: Workspace, spec_id: str, options: WorkOptions) -> Begun:
    run = start_work(work, spec_id, options)
    return Begun(_record(process_view(run)), run.run_id, None)


def _several(work: Workspace, names: tuple[str, ...], mode: Mode, options: WorkOptions) -> Begun:
    only = _is_only(names, mode)
    mode = replace(mode, chain=True) if mode.name == "single" else mode
    first = _first(work, Wanted(names, only, mode.labels))
    try:
        prepare_work(work, first, options, mode=mode.name)
    except UnmergedDependency:
        if not mode.merge:
            raise
    except NoCriteria:
        if first in names:
            raise
    config = work.config()
    order = Order(
        names,
        only,
        mode.labels,
        mode.parallel or 1,
        mode.most,
        mode.merge,
        options,
        policy_of(config, mode.name, mode.on_failure, mode.retries),
        _stagger(config),
    )
    spec_id = names[0] if names else first
    schedule = start_schedule(work, spec_id, mode.name, order)
    return Begun(_record(schedule_view(schedule)), None, schedule.schedule_id)


def _is_only(names: tuple[str, ...], mode: Mode) -> bool:
    """Whether nothing but the named specs and their members is meant."""
    return mode.name == "single" or (mode.parallel is not None and len(names) > 1)


def commands_of(work: Workspace, ids: tuple[str, ...], mode: Mode) -> list[NamedCommand]:
    """Every command that this work may come to run: of the settings, and of the specs meant."""
    names = tuple(work.store.load(name).id for name in ids)
    found = work.store.snapshot()
    meant = open_ids(found, Wanted(names, _is_only(names, mode), mode.labels))
    specs = [work.store.load(name) for name in meant]
    return [*settings_commands(work.config()), *spec_commands(specs)]


def _stagger(config: Config) -> tuple[float, float]:
    """Seconds between the starts of parallel work, so that not all ask at once, and a part by chance."""
    delay = config.number("parallel", "stagger_delay_ms") or 0
    jitter = config.number("parallel", "stagger_jitter_ms") or 0
    return max(0.0, delay) / 1000, max(0.0, jitter) / 1000


def _first(work: Workspace, wanted: Wanted) -> str:
    """The spec that comes first; a single one that cannot start tells why itself."""
    open_runs = work.journal.runs(phases=OPEN) if work.paths.journal.exists() else []
    busy = [run.spec_id for run in open_runs]
    choice = choose(work.store.snapshot(), wanted, done=(), busy=busy)
    if choice.startable:
        return choice.startable[0]
    if wanted.ids:
        return wanted.ids[0]
    raise NotFound("No spec is ready", "`chant list` shows what there is, and what waits for what.")


def _record(view: JsonObject) -> JsonObject:
    return {name: view[name] for name in _FIELDS}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Wiring()))
