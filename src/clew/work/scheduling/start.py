"""How work begins: one spec, a chain of them, or several at once."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.kit.errors import Invalid, NotFound
from clew.specs.store.config import load_config
from clew.work.agents.options import WorkOptions
from clew.work.journal.journal import open_journal, read_journal
from clew.work.journal.schedules import schedule_view
from clew.work.journal.status_files import process_view
from clew.work.model import OPEN
from clew.work.runs.launch import START_SECONDS
from clew.work.runs.prepare import (
    BRIEF,
    UnmergedDependency,
    named_brief,
    prepare_work,
    refuse_ended,
    start_work,
)
from clew.work.runs.ready import Wanted, choose
from clew.work.runs.reconcile import reconcile
from clew.work.scheduling.process import start_schedule
from clew.work.scheduling.retry import policy_of
from clew.work.scheduling.scheduler import Order, Stagger

if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject
    from clew.specs.store.config import Config
    from clew.specs.store.store import SpecStore
    from clew.work.model import Run
    from clew.work.paths import Places

MOST_WORKERS = 64
_ANSWER_MARGIN = 0.3
_PROCESS_SECONDS = 5.0
_FIELDS = ("process_id", "spec_id", "pid", "started_at", "mode")


@dataclass(frozen=True)
class Mode:
    """What was asked for: a chain, so many at once, or neither."""

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
    places: Places,
    store: SpecStore,
    ids: tuple[str, ...],
    mode: Mode,
    options: WorkOptions | None = None,
) -> Begun:
    """Begin work as asked, within two seconds; what is wrong is told before anything changes."""
    deadline = time.monotonic() + START_SECONDS - _ANSWER_MARGIN
    options = options or WorkOptions()
    if mode.parallel is not None and not 1 <= mode.parallel <= MOST_WORKERS:
        raise Invalid(
            f"parallel must be from 1 to {MOST_WORKERS}: {mode.parallel}", "Name how many at once."
        )
    reconcile(places)
    specs = [store.load(name) for name in ids]
    for spec in specs:
        refuse_ended(spec)
    names = tuple(spec.id for spec in specs)
    if mode.name == "single" and len(names) > 1:
        raise Invalid(
            "Several specs need a mode", "Add --chain or --parallel N to work on all of them."
        )
    if mode.name == "single" and names and not store.graph().open_members(names[0]):
        return _single(places, store, names[0], options, deadline)
    return _several(places, store, names, mode, options, deadline)


def _single(
    places: Places, store: SpecStore, spec_id: str, options: WorkOptions, deadline: float
) -> Begun:
    brief = named_brief(places.root, BRIEF)
    left = max(0.1, deadline - time.monotonic())
    started = start_work(places, store, spec_id, options, brief=brief, seconds=left)
    run = _with_process(places, started)
    return Begun(_record(process_view(run)), run.run_id, None)


def _with_process(places: Places, run: Run) -> Run:
    """The run once its supervisor said who it is; that takes long only where the machine does."""
    deadline = time.monotonic() + _PROCESS_SECONDS
    while run.process_id is None and run.is_open and time.monotonic() < deadline:
        time.sleep(0.02)
        with open_journal(places) as journal:
            run = journal.get(run.run_id)
    return run


def _several(
    places: Places,
    store: SpecStore,
    names: tuple[str, ...],
    mode: Mode,
    options: WorkOptions,
    deadline: float,
) -> Begun:
    is_driver = mode.name == "single"
    mode = Mode(**{**vars(mode), "chain": True}) if is_driver else mode
    only = is_driver or (mode.parallel is not None and len(names) > 1)
    first = _first(places, store, Wanted(names, only, mode.labels))
    try:
        prepare_work(places, store, first, options, mode=mode.name)
    except UnmergedDependency:
        if not mode.merge:
            raise
    config = load_config(places.root)
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
    schedule = start_schedule(places, spec_id, mode.name, order, left)
    return Begun(_record(schedule_view(schedule)), None, schedule.schedule_id)


def _stagger(config: Config) -> Stagger:
    delay = float(config.number("parallel", "stagger_delay_ms") or 0)
    jitter = float(config.number("parallel", "stagger_jitter_ms") or 0)
    return Stagger(max(0.0, delay) / 1000, max(0.0, jitter) / 1000)


def _first(places: Places, store: SpecStore, wanted: Wanted) -> str:
    """The spec that comes first; a single one that cannot start tells why itself."""
    with read_journal(places) as journal:
        busy = [run.spec_id for run in journal.runs(phases=OPEN)] if journal else []
    choice = choose(store.snapshot(), wanted, settled=(), busy=busy)
    if choice.startable:
        return choice.startable[0]
    if wanted.ids:
        return wanted.ids[0]
    raise NotFound("No spec is ready", "`chant list` shows what there is, and what waits for what.")


def _record(view: JsonObject) -> JsonObject:
    return {name: view[name] for name in _FIELDS}
