"""How work begins: one spec, a chain of them, or several at once."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clew.kit.errors import Invalid, NotFound
from clew.work.agents.options import WorkOptions
from clew.work.journal.status_files import process_view, schedule_view
from clew.work.model import OPEN
from clew.work.runs.prepare import (
    START_SECONDS,
    UnmergedDependency,
    prepare_work,
    refuse_ended,
    start_work,
)
from clew.work.scheduling.process import start_schedule
from clew.work.scheduling.ready import Wanted, choose, policy_of
from clew.work.scheduling.scheduler import Order, Stagger

if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject
    from clew.specs.store.config import Config
    from clew.work.workspace import Workspace

MOST_WORKERS = 64
_ANSWER_MARGIN = 0.3
_PROCESS_SECONDS = 5.0
_FIELDS = ("process_id", "spec_id", "pid", "started_at", "mode")


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
    """Begin work as asked, within two seconds; errors are raised before anything changes."""
    deadline = time.monotonic() + START_SECONDS - _ANSWER_MARGIN
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
        return _single(work, names[0], options, deadline)
    return _several(work, names, mode, options, deadline)


def _single(work: Workspace, spec_id: str, options: WorkOptions, deadline: float) -> Begun:
    left = max(0.1, deadline - time.monotonic())
    run = start_work(work, spec_id, options, seconds=left)
    # Its supervisor says who it is; that takes long only where the machine is slow.
    deadline = time.monotonic() + _PROCESS_SECONDS
    while run.process_id is None and run.is_open and time.monotonic() < deadline:
        time.sleep(0.02)
        run = work.journal.get(run.run_id)
    return Begun(_record(process_view(run)), run.run_id, None)


def _several(
    work: Workspace, names: tuple[str, ...], mode: Mode, options: WorkOptions, deadline: float
) -> Begun:
    is_driver = mode.name == "single"
    mode = replace(mode, chain=True) if is_driver else mode
    only = is_driver or (mode.parallel is not None and len(names) > 1)
    first = _first(work, Wanted(names, only, mode.labels))
    try:
        prepare_work(work, first, options, mode=mode.name)
    except UnmergedDependency:
        if not mode.merge:
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
    left = max(0.1, deadline - time.monotonic())
    schedule = start_schedule(work, spec_id, mode.name, order, left)
    return Begun(_record(schedule_view(schedule)), None, schedule.schedule_id)


def _stagger(config: Config) -> Stagger:
    delay = float(config.number("parallel", "stagger_delay_ms") or 0)
    jitter = float(config.number("parallel", "stagger_jitter_ms") or 0)
    return Stagger(max(0.0, delay) / 1000, max(0.0, jitter) / 1000)


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
