"""Stopping work: pausing it, taking it over, handing it back, and giving up its spec.

A request goes into the journal, then the supervisor is woken. Whatever is stopped, nothing of it is
lost. A paused spec stays in progress: its branch, its worktree and the uncommitted files in it are
as the agent left them, and the next start goes on with them. A spec that is taken over is held, so
that no agent starts on it until it is released.
"""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, Conflict, NotFound
from clew.specs.change import finalize
from clew.specs.change.lifecycle import ALLOWED, apply_status
from clew.work.journal.status_files import write_views
from clew.work.model import AT_REST, LEGAL_MOVES, Phase, Request
from clew.work.processes.daemon import lock_after
from clew.work.processes.identity import send_signal
from clew.work.runs.handover import Facts, analysis_text, gather, suggestion_text
from clew.work.runs.prepare import ACTOR, start_supervisor
from clew.work.runs.reconcile import current_run, update_spec_statuses

if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject
    from clew.specs.model import Spec
    from clew.work.model import Run
    from clew.work.workspace import Workspace

_POLL_SECONDS = 0.05
_NO_PROCESS = "No running process found"
_NOT_WORKED = "Spec not currently being worked"


@dataclass(frozen=True)
class Takeover:
    """A spec in the hands of a person, and what is known about it."""

    spec_id: str
    facts: Facts

    def as_json(self) -> JsonObject:
        """The documented answer, and the facts behind it."""
        return {
            "spec_id": self.spec_id,
            "analysis": analysis_text(self.facts),
            "log_tail": self.facts.log_tail,
            "suggestion": suggestion_text(self.facts),
            "worktree_path": self.facts.worktree,
            "facts": self.facts.as_json(),
        }


def stop_run(work: Workspace, spec_id: str, request: Request, seconds: float = 30) -> Run:
    """Have the spec's run paused, held or cancelled, and wait until it is.

    A run whose supervisor died in the meantime is repaired first, the way that was asked for.
    """
    run = work.journal.open_run(spec_id)
    if run is None or run.phase is Phase.HELD:
        raise NotFound(_NO_PROCESS, f"`clew runs {spec_id}` shows what was.")
    work.journal.ask(run.run_id, request)
    deadline = time.monotonic() + seconds
    woken = None
    while run.phase not in AT_REST:
        if run.owner is not None and run.owner != woken and run.process_id is not None:
            send_signal(run.owner, signal.SIGTERM)
            woken = run.owner
        if time.monotonic() > deadline:
            raise ClewError(
                f"Run {run.run_id} did not stop within {seconds:g} s",
                "It has been asked to and will; look again with `clew runs`.",
            )
        time.sleep(_POLL_SECONDS)
        run = current_run(work, run.run_id)
    update_spec_statuses(work)
    return run


def pause(work: Workspace, spec_id: str) -> Run:
    """Stop the agent of a spec; everything stays for the next start."""
    spec = work.store.load(spec_id)
    try:
        return stop_run(work, spec.id, Request.PAUSE)
    except NotFound:
        raise NotFound(f"Failed to pause work for spec '{spec.id}': {_NO_PROCESS}") from None
    except ClewError as error:
        raise ClewError(
            f"Failed to pause work for spec '{spec.id}': {error.message}", error.hint
        ) from error


def take_over(work: Workspace, spec_id: str, *, force: bool = False) -> Takeover:
    """Stop the agent of a spec, hold the spec, and say what is known."""
    spec = work.store.load(spec_id)
    run = _hold(work, spec, force=force)
    if run is not None and run.phase is Phase.HELD and "in_progress" in ALLOWED[spec.status]:
        apply_status(work.store, spec.id, "in_progress", actor=ACTOR, reason="taken over")
    return Takeover(spec.id, gather(work, work.store.load(spec.id), run))


def release(work: Workspace, spec_id: str) -> Run:
    """Hand a spec back: it is paused then, and the next start goes on with the work."""
    held = _held_run(work, work.store.load(spec_id))
    run = work.journal.move(held.run_id, Phase.PAUSED)
    write_views(work.paths, run)
    update_spec_statuses(work)
    return run


def release_finished(work: Workspace, spec_id: str) -> Run:
    """Hand a spec back as done: it is checked and completed as if an agent had ended."""
    run = _held_run(work, work.store.load(spec_id))
    lock = lock_after(work.paths.run_lock(run.run_id))
    if lock is None:
        raise Conflict(f"Run {run.run_id} is being looked at by another command", "Try again.")
    work.journal.move(
        run.run_id,
        Phase.AGENT_EXITED,
        note="finished by hand",
        failure_class=None,
        failure=None,
        request=None,
        finishings=0,
    )
    start_supervisor(work.paths, run, lock)
    return work.journal.get(run.run_id)


def cancel_spec(work: Workspace, spec_id: str, *, actor: str) -> Spec:
    """Cancel a spec, then end the work on it; branch and worktree stay."""
    spec = finalize.cancel(work.store, spec_id, actor=actor)
    _end_work(work, spec.id)
    return spec


def reset_spec(work: Workspace, spec_id: str, *, actor: str) -> Spec:
    """Put a spec back to pending, the work on it ended first; branch and worktree stay."""
    spec = work.store.load(spec_id)
    finalize.check_resettable(spec)
    _end_work(work, spec.id)
    return finalize.reset(work.store, spec.id, actor=actor)


def delete_spec(work: Workspace, spec_id: str, *, actor: str) -> None:
    """Delete a spec, the work on it ended first."""
    spec = work.store.load(spec_id)
    _end_work(work, spec.id)
    work.store.delete(spec.id, actor=actor)


def _end_work(work: Workspace, spec_id: str) -> None:
    if work.paths.journal.exists():
        with suppress(NotFound):  # nobody works on it, or a person holds it
            stop_run(work, spec_id, Request.CANCEL)


def _hold(work: Workspace, spec: Spec, *, force: bool) -> Run | None:
    latest = work.journal.latest(spec.id)
    if latest is not None and latest.is_open and latest.phase is not Phase.HELD:
        return stop_run(work, spec.id, Request.HOLD)
    if not force:
        raise NotFound(f"Failed to take over spec '{spec.id}': {_NOT_WORKED}")
    if latest is not None and Phase.HELD in LEGAL_MOVES[latest.phase]:
        latest = work.journal.move(latest.run_id, Phase.HELD, note="taken over")
        write_views(work.paths, latest)
    return latest


def _held_run(work: Workspace, spec: Spec) -> Run:
    run = work.journal.open_run(spec.id)
    if run is None or run.phase is not Phase.HELD:
        raise NotFound(
            f"Spec '{spec.id}' has not been taken over", f"Take it over: `clew takeover {spec.id}`."
        )
    return run
