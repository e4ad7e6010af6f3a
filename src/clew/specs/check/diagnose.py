"""What is wrong with one spec: its file, log, lock, commits, criteria and status."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from clew.specs.files.criteria import parse_criteria
from clew.specs.index.index import Snapshot
from clew.specs.model import Problem, Spec
from clew.specs.query.commits import branch_of, commits_or_none, worktree_of
from clew.specs.store.config import load_config
from clew.specs.store.store import SpecStore

_REMARKS = {
    "paused": "Paused (work stopped mid-execution)",
    "failed": "Marked as failed",
    "needs_attention": "Marked as needs attention",
    "blocked": "Blocked by unmet dependencies",
    "cancelled": "Marked as cancelled (preserved but excluded from list and work)",
}
_UNTOUCHED = ("pending", "ready", "blocked", "cancelled")


class Check(NamedTuple):
    """One thing that was looked at."""

    name: str
    passed: bool
    details: str


def diagnose_any(store: SpecStore, spec_id: str) -> dict[str, Any]:
    """The diagnosis of the spec that is meant, also if its file cannot be read."""
    found = store.snapshot()
    problem = _problem_of(found.problems, spec_id)
    if problem is not None:
        return _diagnose_problem(problem)
    return _diagnose(store, *store.find(spec_id, found))


def _diagnose(store: SpecStore, spec: Spec, found: Snapshot) -> dict[str, Any]:
    """Every check, the diagnosis, and what to do about it."""
    worktree = worktree_of(store.paths.root, branch_of(spec, load_config(store.paths.root)))
    commits = commits_or_none(store.paths.root, spec.id)
    open_boxes = parse_criteria(spec.body).unchecked
    derived = found.graph().state(spec.id)
    status = "blocked" if derived.status == "blocked" else spec.status
    checks = [
        Check("Spec file", True, "Valid YAML"),
        _log_check(store, spec, status),
        _lock_check(store, spec),
        _commit_check(commits, status),
        _criteria_check(open_boxes, status),
        _consistency(status, has_commit=bool(commits), open_boxes=open_boxes),
    ]
    diagnosis, suggestion = _verdict(spec.id, status, checks, commits, open_boxes)
    return {
        "spec_id": spec.id,
        "status": status,
        "location": f"worktree: {worktree}" if worktree else "main repository",
        "checks": [check._asdict() for check in checks],
        "diagnosis": diagnosis,
        "suggestion": suggestion,
        "blocked_by": [blocker._asdict() for blocker in derived.blocked_by],
    }


def verify(spec: Spec) -> dict[str, Any]:
    """Whether the acceptance criteria are met: the counts, the boxes that are still open."""
    criteria = parse_criteria(spec.body)
    return {
        "spec_id": spec.id,
        "verified": criteria.total > 0 and criteria.unchecked == 0,
        "criteria": {
            "total": criteria.total,
            "checked": criteria.checked,
            "unchecked": criteria.unchecked,
        },
        "unchecked_items": [item.source for item in criteria.open_items],
        "verification_notes": _criteria_notes(criteria.total, criteria.unchecked),
    }


def _criteria_notes(total: int, unchecked: int) -> str:
    if not total:
        return "No acceptance criteria found"
    return f"{unchecked} criteria not yet checked" if unchecked else "All acceptance criteria met"


def _problem_of(problems: Sequence[Problem], partial: str) -> Problem | None:
    """The unreadable file that is meant by this id or the end of one."""
    fitting = [problem for problem in problems if partial and _stem(problem).endswith(partial)]
    return fitting[0] if len(fitting) == 1 else None


def _stem(problem: Problem) -> str:
    return problem.path.rpartition("/")[2].removesuffix(".md")


def _diagnose_problem(problem: Problem) -> dict[str, Any]:
    """The diagnosis of a file that cannot be read as a spec."""
    place = problem.path if problem.line is None else f"{problem.path}:{problem.line}"
    return {
        "spec_id": _stem(problem),
        "status": "unreadable",
        "location": "main repository",
        "checks": [Check("Spec file", False, f"Invalid: {problem.cause}")._asdict()],
        "diagnosis": f"The spec file cannot be read: {problem.cause}",
        "suggestion": f"Edit {place}; nothing else touches the file until it can be read.",
        "blocked_by": [],
    }


def _log_check(store: SpecStore, spec: Spec, status: str) -> Check:
    log = store.paths.log_file(spec.id)
    try:
        found = log.stat()
    except OSError:
        untouched = status in _UNTOUCHED
        return Check("Log file", untouched, "Does not exist" + (" yet" if untouched else ""))
    age = _ago(time.time() - found.st_mtime)
    return Check("Log file", True, f"Exists ({found.st_size} bytes), last modified: {age}")


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        count = int(seconds // size)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def _lock_check(store: SpecStore, spec: Spec) -> Check:
    lock: Path = store.paths.chant / ".locks" / f"{spec.id}.lock"
    present = lock.exists()
    return Check("Lock file", True, "Present (spec may be running)" if present else "Not present")


def _commit_check(commits: list[str] | None, status: str) -> Check:
    if commits is None:
        return Check("Git commit", status in _UNTOUCHED, "Cannot run git log")
    if commits:
        return Check("Git commit", True, f"Found: {commits[-1]}")
    return Check("Git commit", status in _UNTOUCHED, "No matching commit found")


def _criteria_check(open_boxes: int, status: str) -> Check:
    if not open_boxes:
        return Check("Acceptance criteria", True, "All satisfied")
    return Check(
        "Acceptance criteria", status in _UNTOUCHED, f"{open_boxes} unchecked items remaining"
    )


def _consistency(status: str, *, has_commit: bool, open_boxes: int) -> Check:
    name = "Status consistency"
    if status == "in_progress" and has_commit and not open_boxes:
        details = "Status is in_progress but commit exists (should be completed?)"
        return Check(name, False, details)
    if status == "completed" and not has_commit:
        return Check(name, False, "Status is completed but no commit found")
    if status == "completed" and open_boxes:
        return Check(name, False, "Status is completed but acceptance criteria unchecked")
    if status in ("pending", "ready") and has_commit:
        return Check(name, False, f"Status is {status} but commit exists")
    return Check(name, True, _REMARKS.get(status, "Status matches state"))


def _verdict(
    spec_id: str, status: str, checks: list[Check], commits: list[str] | None, open_boxes: int
) -> tuple[str, str | None]:
    failed = [check.name for check in checks if not check.passed]
    if not failed:
        return "All checks passed. Spec appears healthy.", None
    if status == "in_progress" and commits:
        if not open_boxes:
            done = "Spec appears complete but wasn't finalized."
            return done, f"Run `chant finalize {spec_id}` to fix."
        return (
            "Spec has a commit but acceptance criteria not all satisfied.",
            "Complete the unchecked acceptance criteria and re-run the spec.",
        )
    if status == "in_progress":
        return "Spec is in progress but has issues.", f"Check the log: `chant log {spec_id}`"
    return (
        f"Spec has issues: {', '.join(failed)}",
        f"Run `chant log {spec_id}` for details",
    )
