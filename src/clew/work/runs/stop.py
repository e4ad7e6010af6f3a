"""Stopping work: pausing it, taking it over, handing it back, and giving up its spec.

A request goes into the journal, then the supervisor is woken. Whatever is stopped, nothing of it is
lost. A paused spec stays in progress: its branch, its worktree and the uncommitted files in it are
as the agent left them, and the next start goes on with them. A spec that is taken over is held, so
that no agent starts on it until it is released; who takes it over sees what is known, from git,
the journal and the events.
"""

from __future__ import annotations

import re
import signal
import time
from contextlib import suppress
from dataclasses import dataclass

from clew.kit.errors import ClewError, Conflict, NotFound
from clew.kit.jsontext import JsonObject
from clew.kit.paths import ProjectPaths
from clew.kit.text.display import clipped
from clew.specs.change import finalize
from clew.specs.change.lifecycle import ALLOWED, apply_status
from clew.specs.files.criteria import parse_criteria
from clew.specs.model import DONE_STATUSES, Spec
from clew.specs.query.logs import read_log
from clew.specs.store import audit
from clew.work.journal.run_log import read_events
from clew.work.journal.status_files import write_views
from clew.work.model import AT_REST, LEGAL_MOVES, ClaimLost, Phase, Request, Run, lost_claim
from clew.work.paths import worktree_of
from clew.work.processes.daemon import lock_after
from clew.work.processes.identity import send_signal
from clew.work.runs.prepare import ACTOR, start_supervisor
from clew.work.runs.reconcile import current_run, update_spec_statuses
from clew.work.runs.verdict import Work, diffstat_of, work_of
from clew.work.workspace import Workspace

LOG_LINES = 20
_TEST = re.compile(
    r"\b(?:py\.?test|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|unittest)\b"
    r"|\b(?:cargo|go|npm|pnpm|yarn|make|just|mvn|gradle|dotnet|mix|bun)\b[^|;&]*\b(?:test|check)",
    re.IGNORECASE,
)
_NO_WORK = Work((), (), ())
_POLL_SECONDS = 0.05
_NO_PROCESS = "No running process found"
_NOT_WORKED = "Spec not currently being worked"


@dataclass(frozen=True)
class Facts:
    """Everything that helps whoever goes on with a spec."""

    run: Run | None
    spec: Spec
    work: Work
    diffstat: str
    worktree: str | None
    last_tool: str | None
    last_test: JsonObject | None
    checks: tuple[JsonObject, ...]
    log_tail: str

    def as_json(self) -> JsonObject:
        """The documented answer to whoever takes a spec over, and the facts behind it."""
        return {
            "spec_id": self.spec.id,
            "analysis": _analysis(self),
            "log_tail": self.log_tail,
            "suggestion": _suggestion(self),
            "worktree_path": self.worktree,
            "facts": self._by_name(),
        }

    def _by_name(self) -> JsonObject:
        criteria = parse_criteria(self.spec.body)
        run = self.run
        return {
            "status": self.spec.status,
            "run_id": run.run_id if run else None,
            "phase": str(run.phase) if run else None,
            "attempt": run.attempt if run else 0,
            "agent": run.agent if run else None,
            "session_id": run.session_id if run else None,
            "branch": run.branch if run else None,
            "base_commit": run.base_commit if run else None,
            "snapshot": run.snapshot if run else None,
            "commits": list(self.work.commits),
            "diffstat": self.diffstat,
            "dirty_files": list(self.work.dirty),
            "criteria": {
                "total": criteria.total,
                "checked": criteria.checked,
                "open": [item.text for item in criteria.open_items],
            },
            "checks": list(self.checks),
            "last_tool": self.last_tool,
            "last_test": self.last_test,
            "elapsed_seconds": run.elapsed_seconds() if run else None,
            "cost_usd": run.cost_usd if run else None,
            "failure": run.failure if run else None,
        }


def _gather(work: Workspace, spec: Spec, run: Run | None) -> Facts:
    """The facts about a spec and its latest run; what cannot be found out is left out."""
    paths = work.paths
    events = read_events(paths.events_file(spec.id), run.run_id) if run else []
    worktree = worktree_of(run) if run else None
    return Facts(
        run,
        spec,
        *_work(paths, run),
        str(worktree) if worktree else None,
        _last_tool(events),
        _last_test(events),
        tuple(vars(check) for check in work.journal.checks(run.run_id)) if run else (),
        _log_tail(paths, spec.id),
    )


def _analysis(facts: Facts) -> str:
    """The facts in a few sentences."""
    run, work = facts.run, facts.work
    criteria = parse_criteria(facts.spec.body)
    if run is None:
        lines = [f"No agent has worked on this spec yet; it is {facts.spec.status}."]
    else:
        cost = f", ${run.cost_usd:.2f}" if run.cost_usd is not None else ""
        spent = f"{run.elapsed_seconds() or 0:.0f} s{cost}"
        lines = [f"Agent {run.agent}, attempt {run.attempt}, worked for {spent}."]
    if criteria.total:
        lines.append(f"{criteria.checked}/{criteria.total} acceptance criteria are checked.")
    summary = facts.diffstat.splitlines()[-1].strip() if facts.diffstat else "nothing changed"
    lines.append(f"{len(work.commits)} commits on the branch ({summary}).")
    if work.dirty:
        lines.append(f"Uncommitted: {_listed(work.dirty)}.")
    if facts.last_tool:
        lines.append(f"Last tool: {clipped(facts.last_tool, 160)}")
    if facts.last_test:
        how = "passed" if facts.last_test["ok"] else "FAILED"
        lines.append(f"Last test run {how}: {clipped(str(facts.last_test['command']), 120)}")
    if run is not None and run.failure:
        lines.append(f"It ended with: {clipped(run.failure, 300)}")
    return "\n".join(lines)


def _suggestion(facts: Facts) -> str:
    """What to do next, with the commands for it."""
    criteria = parse_criteria(facts.spec.body)
    lines = []
    if facts.last_test and not facts.last_test["ok"]:
        lines.append("Look at the failing tests first.")
    if facts.work.dirty:
        lines.append("Commit or drop the uncommitted changes.")
    if criteria.unchecked:
        texts = tuple(item.text for item in criteria.open_items)
        lines.append(f"Complete the remaining acceptance criteria: {_listed(texts)}.")
    if facts.worktree:
        lines.append(f"Continue there: cd {facts.worktree}")
    spec_id = facts.spec.id
    if facts.run is not None and facts.run.phase is Phase.HELD:
        lines.append(
            f"Then hand it back: `chant release {spec_id} --continue` lets the agent go on from "
            f"your commits, `chant release {spec_id} --finish` checks and completes the spec."
        )
    elif facts.spec.status not in DONE_STATUSES:
        lines.append(f"Nobody holds it: `chant work {spec_id}` has an agent work on it.")
    return "\n".join(lines)


def _work(paths: ProjectPaths, run: Run | None) -> tuple[Work, str]:
    try:
        return (work_of(paths, run), diffstat_of(paths, run)) if run else (_NO_WORK, "")
    except ClewError:  # the branch is gone
        return _NO_WORK, ""


def _last_tool(events: list[JsonObject]) -> str | None:
    tools = [str(event.get("text")) for event in events if event.get("type") == "tool"]
    return tools[-1] if tools else None


def _last_test(events: list[JsonObject]) -> JsonObject | None:
    """The last tool call that looks like running tests, and how it went."""
    found, command = None, None
    for event in events:
        if event.get("type") == "tool":
            text = str(event.get("text"))
            command = text if _TEST.search(text) else None
        elif event.get("type") == "result" and command and not event.get("final"):
            said = clipped(str(event.get("text", "")), 600)
            found = {"command": command, "ok": event.get("ok") is not False, "output": said}
            command = None
    return found


def _log_tail(paths: ProjectPaths, spec_id: str) -> str:
    try:
        return read_log(paths.log_file(spec_id), spec_id, lines=LOG_LINES).content.rstrip("\n")
    except ClewError:
        return ""


def _listed(names: tuple[str, ...], most: int = 5) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


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


def take_over(work: Workspace, spec_id: str, *, force: bool = False) -> Facts:
    """Stop the agent of a spec, hold the spec, and say what is known."""
    spec = work.store.load(spec_id)
    run = _hold(work, spec, force=force)
    if run is not None and run.phase is Phase.HELD:
        audit.record(work.paths, spec.id, "taken_over", ACTOR, note=f"from run {run.run_id}")
        if "in_progress" in ALLOWED[spec.status]:
            apply_status(work.store, spec.id, "in_progress", actor=ACTOR, reason="taken over")
    return _gather(work, work.store.load(spec.id), run)


def release(work: Workspace, spec_id: str) -> Run:
    """Hand a spec back: it is paused then, and the next start goes on with the work."""
    held = held_run(work, work.store.load(spec_id))
    run = work.journal.move(held.run_id, Phase.PAUSED)
    audit.record(work.paths, run.spec_id, "released", ACTOR, note="paused")
    write_views(work.paths, run)
    update_spec_statuses(work)
    return run


def release_finished(work: Workspace, spec_id: str) -> Run:
    """Hand a spec back as done: it is checked and completed as if an agent had ended."""
    run = held_run(work, work.store.load(spec_id))
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
    audit.record(work.paths, run.spec_id, "released", ACTOR, note="to be checked and completed")
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

    def check(current: Spec) -> None:
        finalize.check_resettable(current)
        run = work.journal.open_run(spec.id) if work.paths.journal.exists() else None
        if run is not None:
            raise lost_claim(run)

    while True:
        _end_work(work, spec.id)
        try:
            return apply_status(work.store, spec.id, "pending", actor=actor, check=check)
        except ClaimLost:  # somebody began anew just now
            continue


def delete_spec(work: Workspace, spec_id: str, *, actor: str) -> None:
    """Delete a spec, the work on it ended first."""
    spec = work.store.load(spec_id)
    _end_work(work, spec.id)
    work.store.delete(spec.id, actor=actor)


def _end_work(work: Workspace, spec_id: str) -> None:
    """Cancel the run that has the spec, be it an agent's or in a person's hands."""
    run = work.journal.open_run(spec_id) if work.paths.journal.exists() else None
    if run is None:
        return
    with suppress(NotFound):  # it ended by itself
        if run.phase is not Phase.HELD:
            stop_run(work, spec_id, Request.CANCEL)
        else:
            note = "the spec was given up"
            write_views(work.paths, work.journal.move(run.run_id, Phase.CANCELLED, note=note))
            update_spec_statuses(work)


def _hold(work: Workspace, spec: Spec, *, force: bool) -> Run | None:
    latest = work.journal.latest(spec.id)
    if latest is not None and latest.phase is Phase.HELD:
        return latest
    if latest is not None and latest.is_open:
        return stop_run(work, spec.id, Request.HOLD)
    if not force and not (latest is not None and _was_held(work, latest)):
        raise NotFound(f"Failed to take over spec '{spec.id}': {_NOT_WORKED}")
    if latest is not None and Phase.HELD in LEGAL_MOVES[latest.phase]:
        latest = work.journal.move(latest.run_id, Phase.HELD, note="taken over")
        write_views(work.paths, latest)
    return latest


def _was_held(work: Workspace, run: Run) -> bool:
    """Whether a person had this run, who may well want it back: their release came to nothing."""
    moves = work.journal.history(run.run_id)
    return run.phase is Phase.FAILED and any(move.after == Phase.HELD for move in moves)


def held_run(work: Workspace, spec: Spec) -> Run:
    """The run of a spec that a person has; refused where nobody has it."""
    run = work.journal.latest(spec.id)
    if run is not None and run.phase is Phase.HELD:
        return run
    hint = f"No agent has worked on it yet: `chant work {spec.id}`."
    if run is not None:
        force = "" if run.is_open else " --force"
        hint = f"Take it over: `chant takeover {spec.id}{force}`."
    raise NotFound(f"Spec '{spec.id}' has not been taken over", hint)
