"""Files that other programs read: views of the journal, never the truth.

Writing one may fail (a full disk, a read-only tree) without harm to the run.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from clew.kit import jsontext
from clew.kit.files import write_atomic
from clew.work.model import OPEN, Phase, now_text, second_text
from clew.work.paths import STATUS_FILE, worktree_of

if TYPE_CHECKING:
    from pathlib import Path

    from clew.kit.jsontext import JsonObject
    from clew.work.model import Run
    from clew.work.paths import Places

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


def write_views(places: Places, run: Run) -> None:
    """Bring the files of a run up to date."""
    with suppress(OSError):
        if run.process_id is not None:
            write_process(places, process_view(run))
    worktree = worktree_of(run)
    if worktree is not None:
        with suppress(OSError):
            write_atomic(worktree / STATUS_FILE, jsontext.pretty(agent_status_view(run)) + "\n")


def write_process(places: Places, view: JsonObject) -> None:
    """Write one process record."""
    write_atomic(places.processes / f"{view['process_id']}.json", jsontext.pretty(view) + "\n")


def read_agent_status(worktree: Path) -> JsonObject | None:
    """What a worktree's status file says, if there is a sound one."""
    try:
        value = jsontext.loads_bytes((worktree / STATUS_FILE).read_bytes())
    except (OSError, jsontext.JsonError):
        return None
    return value if isinstance(value, dict) else None


def write_watch_pid(places: Places) -> None:
    """Say that this process is the watch."""
    write_atomic(places.watch_pid, f"{os.getpid()}\n")


def read_watch_pid(places: Places) -> int | None:
    """The pid that the watch left; whether it lives is for its lock to say."""
    try:
        return int(places.watch_pid.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def remove_watch_pid(places: Places) -> None:
    """The watch ends."""
    places.watch_pid.unlink(missing_ok=True)
