"""The scheduler: N slots that are filled again as specs finish, in a process of its own.

Single specs need none. A chain has one slot, parallel(N) has N. What is ready, what is at work and
what failed is read anew from the specs and the journal each time it looks, so that whatever others
do meanwhile counts. It starts runs and watches them; each run belongs to its own supervisor, and
goes on if the scheduler is killed.
"""

from __future__ import annotations

import random
import select
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

from clew.kit.errors import ClewError, NotFound
from clew.kit.jsontext import JsonObject
from clew.kit.text.display import terminal_text
from clew.work.agents.options import WorkOptions
from clew.work.merging.queue import MergeResult
from clew.work.model import (
    AT_REST,
    OPEN,
    ClaimLost,
    MergeStatus,
    Phase,
    Run,
    Schedule,
    ScheduleStatus,
    now_text,
)
from clew.work.processes.child import Signals
from clew.work.processes.daemon import Handshake
from clew.work.runs.prepare import NoCriteria, NoFreeAgent, UnmergedDependency, start_work
from clew.work.runs.reconcile import reconcile
from clew.work.scheduling.ready import Choice, Policy, Wanted, choose, retry_time
from clew.work.workspace import Workspace

_LOOK_SECONDS = 0.25
_SLOT_SECONDS = 10.0
DONE, FAILURE, LEFT, UNMERGED = "completed", "failed", "left", "not merged"
ASKED = "asked"


@dataclass(frozen=True)
class Order:
    """What is to be worked through, and how; `stagger` is how long after a start the next one comes."""

    ids: tuple[str, ...] = ()
    only: bool = False
    labels: tuple[str, ...] = ()
    slots: int = 1
    most: int | None = None
    merge: bool = True
    options: WorkOptions = field(default_factory=WorkOptions)
    policy: Policy = field(default_factory=Policy)
    stagger: tuple[float, float] = (0.0, 0.0)  # seconds, and how much more or less by chance

    def as_plan(self) -> JsonObject:
        """The order as the journal keeps it."""
        return {**asdict(self), "ids": list(self.ids), "labels": list(self.labels)}

    @classmethod
    def of(cls, plan: JsonObject) -> Order:
        """The order that the journal keeps."""
        options, policy = WorkOptions(**plan["options"]), Policy(**plan["policy"])
        lists = {name: tuple(plan[name]) for name in ("ids", "labels", "stagger")}
        return cls(**{**plan, **lists, "options": options, "policy": policy})


class Scheduler:
    """One order, worked off."""

    def __init__(self, work: Workspace, schedule: Schedule, ready: Handshake) -> None:
        self._work = work
        self._schedule = schedule
        self._ready = ready
        self._order = Order.of(schedule.plan)
        self._active: dict[str, str] = {}
        self._outcomes: dict[str, str] = {}
        self._retry_at: dict[str, float] = {}
        self._merging: dict[str, Future[MergeResult]] = {}
        self._merger = ThreadPoolExecutor(1, "merge")
        self._started = 0
        self._next_start = 0.0
        self._stopping: str | None = None

    def work_off(self, signals: Signals) -> tuple[ScheduleStatus, str]:
        """Work until nothing is left to start; the status and a note in words."""
        while True:
            reconcile(self._work)
            self._collect()
            self._collect_merges()
            self._look_for_stop(signals)
            waits = self._fill()
            self._ready.say("started")
            is_idle = not self._active and not waits
            if not self._merging and (is_idle or self._stopping == ASKED):
                return self._result()
            signals.clear()  # the ends of git's processes must not wake it
            if not signals.stop_asked:
                select.select([signals], [], [], _LOOK_SECONDS)

    def _look_for_stop(self, signals: Signals) -> None:
        asked = self._work.journal.schedule(self._schedule.schedule_id).stop_asked
        if signals.stop_asked or asked:
            self._stopping = ASKED

    def _collect(self) -> None:
        """See which runs have ended, and what follows."""
        for spec_id, run_id in list(self._active.items()):
            run = self._work.journal.get(run_id)
            if run.phase in AT_REST and run.settled_at is not None:
                del self._active[spec_id]
                self._conclude(spec_id, run)

    def _conclude(self, spec_id: str, run: Run) -> None:
        if run.phase is Phase.FINISHED:
            self._outcomes[spec_id] = DONE
            self._begin_merge(spec_id)
        elif run.phase in (Phase.FAILED, Phase.INTERRUPTED):
            self._failed(spec_id, run.failure or str(run.phase))
        else:
            self._outcomes[spec_id] = LEFT
            if self._schedule.mode == "chain":
                self._stopping = self._stopping or f"{spec_id} was {run.phase}"
        self._say(f"{spec_id}: {self._outcomes.get(spec_id, 'to be tried again')}")

    def _failed(self, spec_id: str, reason: str) -> None:
        runs = self._work.journal.runs(spec_id=spec_id)
        ours = [run for run in runs if run.created_at >= self._schedule.created_at]
        again = retry_time(self._order.policy, ours, time.time()) if ours else None
        if again is not None and self._stopping is None:
            self._retry_at[spec_id] = again
            return
        self._outcomes[spec_id] = FAILURE
        if self._order.policy.stops:
            self._stopping = self._stopping or f"{spec_id} failed: {reason.splitlines()[0]}"

    def _begin_merge(self, spec_id: str) -> None:
        """Merge beside the loop: a project's checks may take long, and slots must not stay empty."""
        if self._order.merge:
            self._merging[spec_id] = self._merger.submit(self._merge, spec_id)

    def _merge(self, spec_id: str) -> MergeResult:
        from clew.work.merging.queue import merge_finished

        with Workspace(self._work.root, store=self._work.store) as work:  # of this thread
            return merge_finished(work, spec_id)

    def _collect_merges(self) -> None:
        for spec_id, merge in list(self._merging.items()):
            if not merge.done():
                continue
            del self._merging[spec_id]
            error = merge.exception()
            if error is None:
                self._say(f"{spec_id}: merged")
            elif isinstance(error, NotFound) and self._was_merged(spec_id):
                self._say(f"{spec_id}: merged and cleaned up by somebody else")
            elif isinstance(error, ClewError | OSError):
                self._say(f"{spec_id}: not merged: {error}")
                self._outcomes[spec_id] = UNMERGED
                if self._order.policy.stops:
                    self._stopping = self._stopping or f"{spec_id} was not merged: {error}"
            else:
                raise error

    def _was_merged(self, spec_id: str) -> bool:
        entry = self._work.journal.latest_merge(spec_id)
        return entry is not None and entry.status is MergeStatus.MERGED

    def _fill(self) -> bool:
        """Start what there is a slot for; whether something is left that only has to wait."""
        if not self._may_start():
            return False
        choice = self._choice()
        waits = bool(choice.waiting) or bool(self._retry_at)
        for spec_id in choice.startable:
            if len(self._active) >= self._order.slots:
                return True
            if not self._may_start():
                return False
            if time.monotonic() < self._next_start:
                return True
            waits = self._start(spec_id) or waits
        return waits and self._may_start()

    def _may_start(self) -> bool:
        most = self._order.most
        return self._stopping is None and (most is None or self._started < most)

    def _choice(self) -> Choice:
        now = time.time()
        due = [spec_id for spec_id, moment in self._retry_at.items() if moment <= now]
        done = {*self._outcomes, *(set(self._retry_at) - set(due))}
        done |= self._behind_unmerged()
        busy = {run.spec_id for run in self._work.journal.runs(phases=OPEN)} | set(self._merging)
        wanted = Wanted((*due, *self._order.ids), self._order.only, self._order.labels)
        return choose(self._work.store.snapshot(), wanted, done=done, busy=busy)

    def _behind_unmerged(self) -> set[str]:
        """What depends on work that is done but is not yet in what it would start from."""
        lost = {name for name, outcome in self._outcomes.items() if outcome == UNMERGED}
        lost |= set(self._merging)
        if not lost:
            return set()
        found = self._work.store.snapshot()
        graph = found.graph()
        return {head.id for head in found.active if lost & graph.needs(head.id)}

    def _start(self, spec_id: str) -> bool:
        """Start one spec; whether it has to wait for an agent to be free, or for somebody else."""
        try:
            options, mode = self._order.options, self._schedule.mode
            run = start_work(self._work, spec_id, options, mode=mode, seconds=_SLOT_SECONDS)
        except (NoFreeAgent, ClaimLost):
            return True
        except UnmergedDependency as error:
            return self._merge_first(spec_id, error)
        except (ClewError, OSError) as error:
            return self._not_started(spec_id, error)
        self._retry_at.pop(spec_id, None)
        self._active[spec_id] = run.run_id
        self._started += 1
        if self._order.slots > 1:
            seconds, jitter = self._order.stagger
            self._next_start = time.monotonic() + seconds + random.uniform(-jitter, jitter)  # noqa: S311
        self._say(f"{spec_id}: started, attempt {run.attempt}")
        return False

    def _merge_first(self, spec_id: str, error: UnmergedDependency) -> bool:
        """Merge what a spec builds on; whether that can still help."""
        if not self._order.merge or any(self._outcomes.get(m) == UNMERGED for m in error.missing):
            self._outcomes[spec_id] = LEFT
            self._say(f"{spec_id}: not started: {error.message}")
            return False
        for name in error.missing:
            if name not in self._merging:
                self._begin_merge(name)
        return True

    def _not_started(self, spec_id: str, error: ClewError | OSError) -> bool:
        self._retry_at.pop(spec_id, None)
        self._say(f"{spec_id}: not started: {error}")
        if isinstance(error, NoCriteria) and spec_id not in self._order.ids:
            self._outcomes[spec_id] = LEFT  # nobody asked for this one; the others go on
            return False
        if not self._active and not self._outcomes and isinstance(error, ClewError):
            self._ready.fail(error.message, error.hint)
        self._failed(spec_id, str(error))
        return spec_id in self._retry_at

    def _result(self) -> tuple[ScheduleStatus, str]:
        counts = dict.fromkeys((DONE, FAILURE, LEFT, UNMERGED), 0)
        for outcome in self._outcomes.values():
            counts[outcome] += 1
        parts = [f"{number} {word}" for word, number in counts.items() if number]
        note = ", ".join(parts) or "nothing was ready"
        if self._stopping is not None:
            why = "as asked" if self._stopping == ASKED else self._stopping
            note += f"; stopped: {why}"
            if self._active:
                note += f"; {', '.join(self._active)} still at work"
        has_failed = counts[FAILURE] or counts[UNMERGED]
        return (ScheduleStatus.FAILED if has_failed else ScheduleStatus.COMPLETED), note

    def _say(self, text: str) -> None:
        print(f"[{now_text()}] {terminal_text(text)}", flush=True)
