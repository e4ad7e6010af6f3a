"""What other programs see of the journal: records of processes, and files with them.

They are views, never the truth. Writing a file may fail (a full disk, a read-only tree) without harm to the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import Invalid
from clew.kit.files import regular_bytes, write_atomic
from clew.kit.jsontext import JsonObject
from clew.kit.paths import ProjectPaths
from clew.work.journal.interface import Journal
from clew.work.model import OPEN, Phase, Run, Schedule, now_text, second_text
from clew.work.paths import STATUS_FILE, worktree_of

_RECENT = 50
_AGENT_STATUS = {
    Phase.FINISHED: "done",
    Phase.AGENT_EXITED: "done",
    Phase.CHECKED: "done",
    Phase.MERGED: "done",
    Phase.FAILED: "failed",
    Phase.INTERRUPTED: "failed",
    Phase.CANCELLED: "failed",
    Phase.PAUSED: "unknown",  # nobody works, and it is neither done nor failed
    Phase.HELD: "unknown",
}


def process_view(run: Run) -> JsonObject:
    """A run as the documented process record; `phase` tells more than the three states do."""
    return {
        "process_id": run.process_id or run.run_id,
        "spec_id": run.spec_id,
        "pid": run.owner.pid if run.owner else 0,
        "status": process_status(run),
        "started_at": second_text(run.started_at or run.created_at),
        "completed_at": second_text(run.ended_at) if run.ended_at else None,
        "mode": run.mode,
        "phase": str(run.phase),
        "run_id": run.run_id,
    }


def schedule_view(schedule: Schedule) -> JsonObject:
    """A schedule as the documented process record."""
    return {
        "process_id": schedule.process_id or schedule.schedule_id,
        "spec_id": schedule.spec_id,
        "pid": schedule.pid or 0,
        "status": schedule.status,
        "started_at": second_text(schedule.created_at),
        "completed_at": second_text(schedule.ended_at) if schedule.ended_at else None,
        "mode": schedule.mode,
        "note": schedule.note,
    }


def list_processes(
    journal: Journal | None,
    others: Iterable[JsonObject] = (),
    *,
    process_id: str | None = None,
    include_completed: bool = False,
) -> JsonObject:
    """The documented list: what runs now and, if asked for, what ended, the newest first."""
    views = list(others)
    if journal is not None:
        views += [_with_failure(run) for run in journal.runs()]
        views += [schedule_view(schedule) for schedule in journal.schedules()]
    if process_id:
        views = [view for view in views if process_id in str(view["process_id"])]
    views.sort(key=lambda view: str(view["started_at"]), reverse=True)
    counts = {"running": 0, "completed": 0, "failed": 0}
    for view in views:
        counts[view["status"]] += 1
    listed = [view for view in views if view["status"] == "running"]
    if include_completed:
        listed += [view for view in views if view["status"] != "running"][:_RECENT]
    return {"processes": listed, "summary": counts}


def _with_failure(run: Run) -> JsonObject:
    return {**process_view(run), **({"failure": run.failure} if run.failure else {})}


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
        "tokens": _tokens(run),
        "exit_code": run.exit_code,
        "elapsed_seconds": run.elapsed_seconds(),
        "failure_class": run.failure_class,
        "failure": run.failure,
        "retry_at": run.retry_at,
        "criteria": len(run.plan.criteria),
    }


def _tokens(run: Run) -> JsonObject | None:
    if run.input_tokens is None:
        return None
    return {"input": run.input_tokens, "output": run.output_tokens or 0}


def process_status(run: Run) -> str:
    """running, completed or failed; a run that was paused or taken over did what it was asked."""
    if run.phase in OPEN and run.phase is not Phase.HELD:
        return "running"
    stopped_as_asked = (Phase.FINISHED, Phase.PAUSED, Phase.HELD)
    return "completed" if run.phase in stopped_as_asked else "failed"


def agent_status_view(run: Run, commits: list[str] | None = None) -> JsonObject:
    """A run as the documented status of an agent in its worktree."""
    view: JsonObject = {
        "spec_id": run.spec_id,
        "status": _AGENT_STATUS.get(run.phase, "working"),
        "updated_at": second_text(now_text()),
    }
    if view["status"] == "done" and run.failure_class:
        view["status"] = "failed"
    if run.failure:
        view["error"] = run.failure
    if commits:
        view["commits"] = commits
    return view


def write_views(paths: ProjectPaths, run: Run) -> None:
    """Bring the files of a run up to date."""
    with suppress(OSError):
        if run.process_id is not None:
            write_process(paths, process_view(run))
    worktree = worktree_of(run)
    if worktree is not None:
        with suppress(OSError, Invalid):  # an agent may have put a link there
            write_atomic(worktree / STATUS_FILE, jsontext.pretty(agent_status_view(run)) + "\n")


def write_process(paths: ProjectPaths, view: JsonObject) -> None:
    """Write one process record."""
    write_atomic(paths.processes / f"{view['process_id']}.json", jsontext.pretty(view) + "\n")


def read_agent_status(worktree: Path) -> JsonObject | None:
    """What a worktree's status file says, if there is a sound one."""
    try:
        value = jsontext.loads_bytes(regular_bytes(worktree / STATUS_FILE))
    except (OSError, jsontext.JsonError):
        return None
    return value if isinstance(value, dict) else None
