"""What is known about a run when somebody takes over: from git, the journal and the events."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError
from clew.kit.text.display import clipped
from clew.specs.files.criteria import parse_criteria
from clew.specs.query.logs import read_log
from clew.work.journal.run_log import read_events
from clew.work.paths import worktree_of
from clew.work.runs.verdict import Work, diffstat_of, work_of

if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject
    from clew.kit.paths import ProjectPaths
    from clew.specs.model import Spec
    from clew.work.model import Run
    from clew.work.workspace import Workspace

LOG_LINES = 20
_TEST = re.compile(
    r"\b(?:py\.?test|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|unittest)\b"
    r"|\b(?:cargo|go|npm|pnpm|yarn|make|just|mvn|gradle|dotnet|mix|bun)\b[^|;&]*\b(?:test|check)",
    re.IGNORECASE,
)
_NO_WORK = Work((), (), ())


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
        """The facts by name."""
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


def gather(work: Workspace, spec: Spec, run: Run | None) -> Facts:
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


def analysis_text(facts: Facts) -> str:
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


def suggestion_text(facts: Facts) -> str:
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
    lines.append(
        f"Then hand it back: `clew release {spec_id} --continue` lets the agent go on from your "
        f"commits, `clew release {spec_id} --finish` checks and completes the spec."
    )
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
