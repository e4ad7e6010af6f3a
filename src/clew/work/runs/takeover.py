"""Pausing work, taking it over, and handing it back. Whatever is stopped, nothing of it is lost.

A paused spec stays in progress: its branch, its worktree and the uncommitted files in it are as the
agent left them, and the next start goes on with them. A spec that is taken over is held, so that no
agent starts on it until it is released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, Conflict, NotFound
from clew.specs.change.lifecycle import ALLOWED, apply_status
from clew.work.journal.journal import open_journal
from clew.work.journal.status_files import write_views
from clew.work.model import LEGAL_MOVES, Phase, Request
from clew.work.processes.daemon import lock_after
from clew.work.runs.handover import Facts, analysis_text, gather, suggestion_text
from clew.work.runs.launch import resume_finishing
from clew.work.runs.prepare import ACTOR
from clew.work.runs.reconcile import reconcile
from clew.work.runs.stop import stop_run

if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject
    from clew.specs.model import Spec
    from clew.specs.store.store import SpecStore
    from clew.work.model import Run
    from clew.work.paths import Places

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


def pause(places: Places, store: SpecStore, spec_id: str) -> Run:
    """Stop the agent of a spec; everything stays for the next start."""
    spec = store.load(spec_id)
    reconcile(places)
    try:
        return stop_run(places, spec.id, Request.PAUSE)
    except NotFound:
        raise NotFound(f"Failed to pause work for spec '{spec.id}': {_NO_PROCESS}") from None
    except ClewError as error:
        raise ClewError(
            f"Failed to pause work for spec '{spec.id}': {error.message}", error.hint
        ) from error


def take_over(places: Places, store: SpecStore, spec_id: str, *, force: bool = False) -> Takeover:
    """Stop the agent of a spec, hold the spec, and tell what is known."""
    spec = store.load(spec_id)
    reconcile(places)
    run = _hold(places, spec, force=force)
    if run is not None and run.phase is Phase.HELD and "in_progress" in ALLOWED[spec.status]:
        apply_status(store, spec.id, "in_progress", actor=ACTOR, reason="taken over")
    return Takeover(spec.id, gather(places, store.load(spec.id), run))


def release(places: Places, store: SpecStore, spec_id: str) -> Run:
    """Hand a spec back: it is paused then, and the next start goes on with the work."""
    spec = store.load(spec_id)
    with open_journal(places) as journal:
        run = journal.move(_held(journal.open_run(spec.id), spec).run_id, Phase.PAUSED)
    write_views(places, run)
    reconcile(places)
    return run


def release_finished(places: Places, store: SpecStore, spec_id: str) -> Run:
    """Hand a spec back as done: it is checked and completed as if an agent had ended."""
    spec = store.load(spec_id)
    with open_journal(places) as journal:
        run = _held(journal.open_run(spec.id), spec)
        lock = lock_after(places.run_lock(run.run_id))
        if lock is None:
            raise Conflict(f"Run {run.run_id} is being looked at by another command", "Try again.")
        journal.move(
            run.run_id,
            Phase.AGENT_EXITED,
            note="finished by hand",
            failure_class=None,
            failure=None,
            request=None,
            finishings=0,
        )
        resume_finishing(places, run, lock)
        return journal.get(run.run_id)


def _hold(places: Places, spec: Spec, *, force: bool) -> Run | None:
    with open_journal(places) as journal:
        latest = journal.latest(spec.id)
        if latest is not None and latest.is_open and latest.phase is not Phase.HELD:
            return stop_run(places, spec.id, Request.HOLD)
        if not force:
            raise NotFound(f"Failed to take over spec '{spec.id}': {_NOT_WORKED}")
        if latest is not None and Phase.HELD in LEGAL_MOVES[latest.phase]:
            latest = journal.move(latest.run_id, Phase.HELD, note="taken over")
            write_views(places, latest)
        return latest


def _held(run: Run | None, spec: Spec) -> Run:
    if run is None or run.phase is not Phase.HELD:
        raise NotFound(
            f"Spec '{spec.id}' has not been taken over", f"Take it over: `clew takeover {spec.id}`."
        )
    return run
