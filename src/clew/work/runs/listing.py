"""Which processes are at work, and which were: from the journal, so that history survives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.work.journal.journal import read_journal
from clew.work.journal.schedules import schedule_view, schedules
from clew.work.journal.status_files import process_view
from clew.work.runs.handover import elapsed_seconds
from clew.work.runs.reconcile import reconcile

if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject
    from clew.work.model import Run
    from clew.work.paths import Places

RECENT = 50


def list_processes(
    places: Places, *, process_id: str | None = None, include_completed: bool = False
) -> JsonObject:
    """The documented list: what runs now and, if asked for, what ended, the newest first."""
    reconcile(places)
    with read_journal(places) as journal:
        if journal is None:
            views = []
        else:
            runs = [_view(run) for run in journal.runs(limit=-1)]
            views = runs + [schedule_view(schedule) for schedule in schedules(journal)]
    if process_id:
        views = [view for view in views if process_id in str(view["process_id"])]
    views.sort(key=lambda view: str(view["started_at"]), reverse=True)
    counts = {"running": 0, "completed": 0, "failed": 0}
    for view in views:
        counts[view["status"]] += 1
    shown = [view for view in views if view["status"] == "running"]
    if include_completed:
        shown += [view for view in views if view["status"] != "running"][:RECENT]
    return {"processes": shown, "summary": counts}


def list_runs(places: Places, spec_id: str | None, limit: int) -> list[Run]:
    """The runs of the project or of one spec, the newest first."""
    reconcile(places)
    with read_journal(places) as journal:
        return [] if journal is None else journal.runs(spec_id=spec_id, limit=limit)


def run_data(run: Run) -> JsonObject:
    """One run as programs read it."""
    return {
        **process_view(run),
        "attempt": run.attempt,
        "agent": run.agent,
        "model": run.model,
        "branch": run.branch,
        "worktree": run.worktree,
        "base_commit": run.base_commit,
        "snapshot": run.snapshot,
        "session_id": run.session_id,
        "cost_usd": run.cost_usd,
        "exit_code": run.exit_code,
        "elapsed_seconds": elapsed_seconds(run),
        "failure_class": run.failure_class,
        "failure": run.failure,
        "retry_at": run.retry_at,
    }


def _view(run: Run) -> JsonObject:
    view = process_view(run)
    if run.failure:
        view["failure"] = run.failure
    return view
