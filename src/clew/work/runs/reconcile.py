"""Runs whose owner is gone, put right by whoever comes next.

Every command may call this: when nothing is open it costs one query. A run's lock is held from
before its claim to its end, first by its starter, then by its supervisor; the kernel frees it
however they end. A run that is open while its lock is free is orphaned, unless its supervisor is
alive after all and only the lock's file was deleted. The lock is held while the run is put right,
so that two commands never do it at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError
from clew.kit.locks import try_lock
from clew.work.journal.activity import has_open_runs
from clew.work.journal.journal import Journal, open_journal
from clew.work.journal.run_log import log_state
from clew.work.journal.schedules import settle_schedules
from clew.work.journal.status_files import write_views
from clew.work.model import FINISHING, REQUESTED_PHASE, RUNNING, FailureClass, Phase, Request
from clew.work.paths import worktree_home, worktree_of
from clew.work.processes.identity import boot_id, is_alive, stop_processes_of_run
from clew.work.runs.spec_status import settle_ended
from clew.work.worktrees.snapshots import snapshot_or_reason

if TYPE_CHECKING:
    from pathlib import Path

    from clew.kit.locks import HeldLock
    from clew.work.model import Run
    from clew.work.paths import Places

_LEFTOVER_SECONDS = 3.0


@dataclass(frozen=True)
class Reconciled:
    """What was done about one orphaned run."""

    run: Run
    deed: str


def reconcile(places: Places) -> list[Reconciled]:
    """Put every orphaned run right; doing it again changes nothing."""
    if not has_open_runs(places.root):
        return []
    with open_journal(places) as journal:
        done = [_put_right(places, journal, run) for run in _orphans(journal)]
        settle_ended(places, journal)
        settle_schedules(places, journal)
        _settle_merges(places, journal)
    return [deed for deed in done if deed is not None]


def _settle_merges(places: Places, journal: Journal) -> None:
    from clew.work.merging.queue import settle_merges

    settle_merges(places, journal)


def _orphans(journal: Journal) -> list[Run]:
    return [run for run in journal.runs(phases=(*RUNNING, *FINISHING)) if not _has_supervisor(run)]


def _has_supervisor(run: Run) -> bool:
    return run.process_id is not None and is_alive(run.owner)


def _put_right(places: Places, journal: Journal, run: Run) -> Reconciled | None:
    lock = try_lock(places.run_lock(run.run_id))
    if lock is None:
        return None
    try:
        run = journal.get(run.run_id)
        if run.phase not in (*RUNNING, *FINISHING) or _has_supervisor(run):
            return None
        stop_processes_of_run(run.run_id, _LEFTOVER_SECONDS)
        snapshot = _snapshot(places, run)
        if run.phase in RUNNING:
            after, note = _ending(run)
            known = {} if after is not Phase.INTERRUPTED else _why(run)
            run = _end(places, journal, run, after, note, snapshot=snapshot, **known)
            return Reconciled(run, note)
        if not run.finisher or run.finishings >= _most_finishings():
            return _conclude(places, journal, run)
        return _finish_again(places, journal, run, lock)
    finally:
        lock.release()


def _ending(run: Run) -> tuple[Phase, str]:
    if run.request:
        after = REQUESTED_PHASE[Request(run.request)]
        return after, f"its supervisor was gone; {after} as asked"
    return Phase.INTERRUPTED, _cause(run)


def _cause(run: Run) -> str:
    if run.owner is not None and run.owner.boot != boot_id():
        return "the machine was restarted while it ran"
    return "its supervisor was killed while it ran"


def _why(run: Run) -> dict[str, object]:
    restarted = run.owner is not None and run.owner.boot != boot_id()
    kind = FailureClass.REBOOT if restarted else FailureClass.SUPERVISOR
    return {"failure_class": kind, "failure": f"The run was cut off: {_cause(run)}"}


def _conclude(places: Places, journal: Journal, run: Run) -> Reconciled:
    if run.finisher:
        note = f"finishing was cut off {run.finishings} times"
        known = {"failure_class": FailureClass.FINISHING, "failure": f"The {note}"}
        return Reconciled(_end(places, journal, run, Phase.FAILED, note, **known), note)
    after = Phase.FAILED if run.failure_class else Phase.FINISHED
    note = "its agent had ended"
    return Reconciled(_end(places, journal, run, after, note), note)


def _finish_again(places: Places, journal: Journal, run: Run, lock: HeldLock) -> Reconciled:
    from clew.work.runs.launch import resume_finishing

    try:
        resume_finishing(places, run, lock)
    except (ClewError, OSError) as error:
        note = f"finishing could not be started again: {error}"
        return Reconciled(run, note)
    return Reconciled(journal.get(run.run_id), "finishing was started again")


def _end(
    places: Places, journal: Journal, run: Run, after: Phase, note: str, **known: object
) -> Run:
    ended = journal.move(run.run_id, after, expected=(run.phase,), note=note, **known)
    log_state(places, run.spec_id, run.run_id, f"run {after}: {note}", phase=str(after))
    write_views(places, ended)
    return ended


def _snapshot(places: Places, run: Run) -> str | None:
    worktree = worktree_of(run)
    if worktree is None or not _is_ours(places, worktree):
        return run.snapshot
    commit, reason = snapshot_or_reason(worktree, run.run_id, "when the run was found cut off")
    if reason:
        log_state(places, run.spec_id, run.run_id, reason)
    return commit or run.snapshot


def _is_ours(places: Places, worktree: Path) -> bool:
    try:
        return worktree.parent.resolve() == worktree_home(places.root).resolve()
    except ClewError:
        return False


def _most_finishings() -> int:
    from clew.work.runs.supervisor import MOST_FINISHINGS

    return MOST_FINISHINGS
