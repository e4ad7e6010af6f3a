"""Why a spec is where it is, what was kept of the work on it, and the one next step."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from clew.kit.errors import ClewError
from clew.kit.jsontext import JsonObject
from clew.kit.paths import ProjectPaths
from clew.work.journal.interface import Journal
from clew.work.journal.sqlite import read_journal
from clew.work.model import FailureClass, Merge, MergeStatus, Phase, Run
from clew.work.paths import worktree_of

_STOPPED = ("in_progress", "paused", "failed", "needs_attention")
_FIRST: dict[str, str] = {
    FailureClass.AUTH: "Log the agent in, then let it go on",
    FailureClass.PROGRAM: "Make the agent's program available, then let it go on",
    FailureClass.SETUP: "Correct the setup command, then let it go on",
    FailureClass.WALL_TIME: "Let it go on, or allow more time in `work.wall_minutes`",
}
_GO_ON = "Let the agent go on"


@dataclass(frozen=True)
class Reason:
    """Why, what was kept, and what to do, for people; the step names a command in backticks."""

    why: str
    kept: str | None
    next_step: str

    def as_json(self) -> JsonObject:
        """The same for programs."""
        return asdict(self)

    def text(self) -> str:
        """All of it, a line each."""
        kept = f"\nKept: {self.kept}" if self.kept else ""
        return f"{self.why}{kept}\nNext: {self.next_step}"


def explain(paths: ProjectPaths, spec_id: str, status: str) -> Reason | None:
    """Why a spec of this status waits for somebody; None where nothing is to be said."""
    try:
        with read_journal(paths) as journal:
            return reason_of(journal, spec_id, status) if journal is not None else None
    except ClewError:  # a journal that cannot be read is reported by what needs it
        return None


def reason_of(journal: Journal, spec_id: str, status: str) -> Reason | None:
    """The same, from a journal that is open."""
    run, merge = journal.latest(spec_id), journal.latest_merge(spec_id)
    if status == "completed":
        waits = merge is not None and merge.status is MergeStatus.WAITING
        return _of_merge(merge, run) if merge is not None and waits else None
    if status not in _STOPPED:
        return None
    if merge is not None and status == "needs_attention" and _came_last(merge, run):
        return _of_merge(merge, run)
    return _of_run(run) if run is not None else None


def _came_last(merge: Merge, run: Run | None) -> bool:
    is_stuck = merge.status in (MergeStatus.CONFLICT, MergeStatus.FAILED)
    return is_stuck and (run is None or run.ended_at is None or merge.updated_at >= run.ended_at)


def _of_merge(merge: Merge, run: Run | None) -> Reason:
    why = merge.note or f"{merge.branch} was not merged into {merge.target}"
    if merge.status is MergeStatus.CONFLICT and merge.conflict_spec:
        step = f"Have the conflict resolved: `chant work {merge.conflict_spec}`."
    elif merge.status is MergeStatus.WAITING:
        step = f"Commit or move these files, then `chant merge {merge.spec_id}`."
    else:
        step = f"Correct {merge.branch}, then `chant merge {merge.spec_id}`."
    return Reason(f"Not merged: {why}", _kept(run) or f"branch {merge.branch}", step)


def _of_run(run: Run) -> Reason | None:
    name = run.spec_id
    if run.phase is Phase.HELD:
        step = f"Hand it back when it is done: `chant release {name} --finish`."
        return Reason(f"A person has it (taken over from run {run.run_id})", _kept(run), step)
    if run.is_open:
        step = f"Wait for it; `chant logs {name}` shows what it does."
        return Reason(f"An agent is at work (run {run.run_id}, {run.phase})", None, step)
    if run.phase is Phase.PAUSED:
        return Reason("The work is paused", _kept(run), f"{_GO_ON}: `chant resume {name}`.")
    if run.phase is Phase.CANCELLED or not run.failure:
        return None
    first = _FIRST.get(run.failure_class or "", _GO_ON)
    when = f" from {run.retry_at[:19]}Z on" if run.retry_at else ""
    return Reason(run.failure, _kept(run), f"{first}{when}: `chant resume {name}`.")


def _kept(run: Run | None) -> str | None:
    """Where the work of a run is."""
    if run is None or not run.branch:
        return None
    worktree = worktree_of(run)
    parts = [f"branch {run.branch}"]
    if worktree is not None:
        parts.append(f"worktree {worktree}")
    if run.snapshot:
        parts.append(f"uncommitted work also in commit {run.snapshot[:12]}")
    return ", ".join(parts)
