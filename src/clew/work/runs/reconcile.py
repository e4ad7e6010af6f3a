"""Orphaned runs, repaired by whoever comes next; and the status of specs, which follows from runs.

Every command may call this: when nothing is open it costs one query. The lock of a run is held from
before its claim to its end, first by its starter, then by its supervisor; the kernel frees it
however they end. A run that is open while its lock is free is orphaned, unless its supervisor is
alive after all and only the file of the lock was deleted. The lock is held during the repair, so
that two commands never do it at once. The status of a spec is set once for every end of a run: by
the supervisor at its own end, and after a crash by the next command of any kind.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.kit.errors import ClewError, NotFound
from clew.kit.locks import HeldLock, try_lock
from clew.kit.paths import ProjectPaths
from clew.specs.model import Spec
from clew.work.journal.run_log import log_state
from clew.work.journal.schedules import end_orphaned_schedules
from clew.work.journal.status_files import write_views
from clew.work.model import (
    ATTENTION,
    FINISHING,
    MOST_FINISHINGS,
    REQUESTED_PHASE,
    RUNNING,
    FailureClass,
    Phase,
    Request,
    Run,
    now_text,
)
from clew.work.paths import worktree_home, worktree_of
from clew.work.processes.identity import (
    FENCE_VARIABLE,
    boot_id,
    is_alive,
    stop_processes_of_run,
)
from clew.work.runs.stray import report_strays
from clew.work.workspace import Workspace
from clew.work.worktrees.worktrees import snapshot_or_reason

_ACTOR = "work"
_AT_WORK = ("in_progress", "completed")  # an agent that says `completed` is not believed
_LEFTOVER_SECONDS = 3.0
_REPAIR_SECONDS = 2 * _LEFTOVER_SECONDS
_LOOK_SECONDS = 0.02


def update_spec_statuses(work: Workspace) -> None:
    """Set the status of the specs of all runs at rest; doing it again changes nothing."""
    for run in work.journal.unreported():
        unblocked = _update_spec(work, run)
        work.journal.update(run.run_id, settled_at=now_text())
        if unblocked:
            words = f"this unblocks {', '.join(unblocked)}"
            log_state(work.paths, run.spec_id, run.run_id, words, unblocked=unblocked)


def status_after(run: Run) -> str | None:
    """The status that a spec has after this run; None where the run says nothing about it."""
    if run.phase is Phase.FINISHED:
        return "completed"
    if run.phase is Phase.FAILED and run.failure_class in ATTENTION:
        return "needs_attention"
    if run.phase in (Phase.FAILED, Phase.INTERRUPTED):
        return "failed"
    return None  # paused, held, cancelled: the spec stays as it is


def _update_spec(work: Workspace, run: Run) -> list[str]:
    """Give the spec its status; the specs that this unblocks."""
    status = status_after(run)
    if status is None or not work.paths.has_specs:
        return []
    try:
        if status == "completed":
            return _complete(work, run)
        _move(work, run, status, run.failure)
    except NotFound:  # the spec was deleted or archived meanwhile
        pass
    except ClewError as error:
        words = f"the spec was not changed: {error.message}"
        log_state(work.paths, run.spec_id, run.run_id, words)
    return []


class _Overtaken(Exception):
    """Somebody changed the spec or began another run meanwhile."""


def _complete(work: Workspace, run: Run) -> list[str]:
    from clew.specs.change.finalize import finalize
    from clew.work.runs.verdict import commits_of

    spec = work.store.load(run.spec_id)
    commits = [line.split(" ", 1)[0] for line in reversed(commits_of(work.paths, run))]
    known: dict[str, Any] = {"commits": commits, "model": run.model}

    def check(spec: Spec) -> None:
        if not _is_current(work, run) or spec.status not in _AT_WORK:
            raise _Overtaken

    try:
        done = finalize(work.store, work.config(), spec.id, actor=_ACTOR, check=check, **known)
    except _Overtaken:
        return []
    except ClewError as error:  # somebody took a tick away, or changed the worktree, meanwhile
        work.journal.update(run.run_id, failure=error.message)
        _move(work, run, "needs_attention", error.message)
        return []
    unblocked: list[str] = done["unblocked"]
    return unblocked


def _move(work: Workspace, run: Run, status: str, reason: str | None) -> None:
    from clew.specs.change.lifecycle import after_move, check_move, move_fields
    from clew.specs.model import Changes

    def edit(spec: Spec) -> Changes:
        new = "needs_attention" if spec.status == "completed" else status
        # The spec's lock is held here, and a new run takes it only after its claim.
        if spec.status not in _AT_WORK or not _is_current(work, run):
            return Changes()
        check_move(spec.status, new)
        return Changes(move_fields(spec, new), note=reason)

    before = work.store.load(run.spec_id)
    after = work.store.change(run.spec_id, edit, actor=_ACTOR)
    if after.status != before.status:
        after_move(work.store, after, actor=_ACTOR)


def _is_current(work: Workspace, run: Run) -> bool:
    """Whether this is still the spec's newest run, and its spec has not followed it yet."""
    latest = work.journal.latest(run.spec_id)
    return latest is not None and latest.run_id == run.run_id and latest.settled_at is None


@dataclass(frozen=True)
class Reconciled:
    """What was done about one orphaned run."""

    run: Run
    note: str


def reconcile(work: Workspace) -> list[Reconciled]:
    """Repair every orphaned run, schedule and merge; doing it again changes nothing."""
    if FENCE_VARIABLE in os.environ:  # in there no other process and no other worktree is seen
        return []
    if not work.paths.journal.exists() or not work.journal.is_active():
        return []
    runs = work.journal.runs(phases=(*RUNNING, *FINISHING))
    done = [_repair(work, run) for run in runs if not has_supervisor(run)]
    update_spec_statuses(work)
    end_orphaned_schedules(work.paths, work.journal)
    _recover_merges(work)
    return [repaired for repaired in done if repaired is not None]


def current_run(work: Workspace, run_id: str) -> Run:
    """The run as it is now; one that lost its supervisor is repaired first."""
    run = work.journal.get(run_id)
    if run.settled_at is None and not has_supervisor(run):
        reconcile(work)
        run = work.journal.get(run_id)
    return run


def has_supervisor(run: Run) -> bool:
    """Whether the run's supervisor has said who it is, and lives."""
    return run.process_id is not None and is_alive(run.owner)


def _recover_merges(work: Workspace) -> None:
    from clew.work.merging.queue import recover_merges

    recover_merges(work)


def _repair(work: Workspace, run: Run) -> Reconciled | None:
    lock = _repair_lock(work, run)
    if lock is None:
        return None
    try:
        run = work.journal.get(run.run_id)
        if not _is_under_way(run) or has_supervisor(run):
            return None
        stop_processes_of_run(run.run_id, _LEFTOVER_SECONDS)
        snapshot = _snapshot(work.paths, run)
        if run.phase in RUNNING:
            return _interrupt(work, run, snapshot)
        if not run.finisher or run.finishings >= MOST_FINISHINGS:
            return _conclude(work, run)
        return _finish_again(work, run, lock)
    finally:
        lock.release()


def _repair_lock(work: Workspace, run: Run) -> HeldLock | None:
    """The right to repair a run; another process that repairs it is waited for.

    Else whoever looks at that moment would be told that the run goes on. One whose supervisor has
    not said yet who it is only starts.
    """
    deadline = time.monotonic() + _REPAIR_SECONDS
    path = work.paths.run_lock(run.run_id)
    while (lock := try_lock(path)) is None:
        run = work.journal.get(run.run_id)
        is_orphan = _is_under_way(run) and run.process_id is not None and not has_supervisor(run)
        if not is_orphan or time.monotonic() > deadline:
            break
        time.sleep(_LOOK_SECONDS)
    return lock


def _is_under_way(run: Run) -> bool:
    return run.phase in (*RUNNING, *FINISHING)


def _interrupt(work: Workspace, run: Run, snapshot: str | None) -> Reconciled:
    """End a run whose agent was at work: as it was asked to, else as interrupted."""
    strayed = report_strays(work.paths, run)
    if run.request:
        after = REQUESTED_PHASE[Request(run.request)]
        note = f"its supervisor was gone; {after} as asked"
        return _end(work, run, after, note, snapshot=snapshot)
    if run.owner is not None and run.owner.boot != boot_id():
        kind, note = FailureClass.REBOOT, "the machine was restarted while it ran"
    else:
        kind, note = FailureClass.SUPERVISOR, "its supervisor was killed while it ran"
    said = f"The run was cut off: {note}" + (f"\n{strayed}" if strayed else "")
    known = {"failure_class": kind, "failure": said}
    return _end(work, run, Phase.INTERRUPTED, note, snapshot=snapshot, **known)


def _conclude(work: Workspace, run: Run) -> Reconciled:
    if run.finisher:
        note = f"finishing was cut off {run.finishings} times"
        known = {"failure_class": FailureClass.FINISHING, "failure": f"The {note}"}
        return _end(work, run, Phase.FAILED, note, **known)
    after = Phase.FAILED if run.failure_class else Phase.FINISHED
    return _end(work, run, after, "its agent had ended")


def _finish_again(work: Workspace, run: Run, lock: HeldLock) -> Reconciled:
    from clew.work.runs.prepare import start_supervisor

    try:
        start_supervisor(work.paths, run, lock)
    except (ClewError, OSError) as error:
        return Reconciled(run, f"finishing could not be started again: {error}")
    return Reconciled(work.journal.get(run.run_id), "finishing was started again")


def _end(work: Workspace, run: Run, after: Phase, note: str, **known: object) -> Reconciled:
    ended = work.journal.move(run.run_id, after, expected=(run.phase,), note=note, **known)
    log_state(work.paths, run.spec_id, run.run_id, f"run {after}: {note}", phase=str(after))
    write_views(work.paths, ended)
    return Reconciled(ended, note)


def _snapshot(paths: ProjectPaths, run: Run) -> str | None:
    worktree = worktree_of(run)
    if worktree is None or not _is_own(paths, worktree):
        return run.snapshot
    commit, reason = snapshot_or_reason(worktree, run.run_id, "when the run was found cut off")
    if reason:
        log_state(paths, run.spec_id, run.run_id, reason)
    return commit or run.snapshot


def _is_own(paths: ProjectPaths, worktree: Path) -> bool:
    """Whether Clew made this worktree; a journal may have come with a repository."""
    try:
        return worktree.parent.resolve() == worktree_home(paths.root).resolve()
    except ClewError:
        return False
