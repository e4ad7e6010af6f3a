"""How specs end and begin again: finalize, reset, cancel, archive."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clew.kit.errors import ClewError, Conflict, Invalid
from clew.specs.change.approval import ASKED
from clew.specs.change.lifecycle import after_move, apply_status, check_move, move_fields
from clew.specs.check.baselines import HASHES
from clew.specs.check.drift import hashes_of
from clew.specs.files.criteria import parse_criteria
from clew.specs.index.index import Snapshot
from clew.specs.model import DONE_STATUSES, Changes, Spec
from clew.specs.query.commits import branch_of, commits_of, has_agent_author, is_dirty, worktree_of
from clew.specs.store.config import Config
from clew.specs.store.store import SpecStore

_FINALIZABLE = ("in_progress", "completed", "failed")
_TO_COMPLETE = {
    "pending": "Work on it first: `chant work {}`.",
    "in_progress": "Finalize it first: `chant finalize {}`.",
    "failed": "Finalize it first: `chant finalize {}`.",
    "needs_attention": "See what it needs: `chant show {}`.",
    "cancelled": "Put it back first if it is to be done: `chant update {} --status pending`.",
}
_RESETTABLE = ("failed", "in_progress", "needs_attention", "paused")


def finalize(
    store: SpecStore,
    config: Config,
    spec_id: str,
    *,
    actor: str,
    allow_no_commits: bool = False,
    commits: Sequence[str] | None = None,
    model: str | None = None,
    check: Callable[[Spec], None] | None = None,
) -> dict[str, Any]:
    """Complete a spec: criteria checked, members done, nothing uncommitted, commits recorded.

    An agent's run knows its commits and has looked at the worktree; else they are found by their
    subjects.
    What an agent did waits for approval where the configuration wants that. `check` may refuse the
    spec as it is while its lock is held.
    """
    spec, found = store.find(spec_id)
    _check_finalizable(spec)
    _check_members(found, spec)
    by_agent = commits is not None
    if commits is None:
        _check_worktree(store, branch_of(spec, config))
        commits = _found_commits(store.paths.root, spec, allow_none=allow_no_commits)
    must_be_approved = config.flag("approval", "require_approval_for_agent_work") and (
        by_agent or has_agent_author(store.paths.root, commits)
    )

    def edit(current: Spec) -> Changes:
        if check is not None:
            check(current)
        _check_finalizable(current)
        check_move(current.status, "completed")
        fields = move_fields(current, "completed")
        if must_be_approved and current.status != "completed":
            fields["approval"] = dict(ASKED)
        if model:
            fields["model"] = model
        if commits:
            fields["commits"] = list(dict.fromkeys([*current.words("commits"), *commits]))
        elif hashes := hashes_of(store.paths.root, current):
            fields[HASHES] = hashes  # without a commit, this is what later drift is held against
        return Changes(fields)

    done = store.change(spec.id, edit, actor=actor)
    completed = after_move(store, done, actor=actor)
    after = store.snapshot()
    waiting = [name for name in found.graph().dependents(spec.id) if name in after.by_id]
    return {
        "id": done.id,
        "commits": list(done.words("commits")),
        "unblocked": [name for name in waiting if after.graph().state(name).status == "ready"],
        "completed_groups": completed,
    }


def _check_finalizable(spec: Spec) -> None:
    if spec.status not in _FINALIZABLE:
        raise Conflict(
            f"Spec '{spec.id}' must be in_progress, completed, or failed to finalize. "
            f"Current status: {spec.status}"
        )
    unchecked = parse_criteria(spec.body).unchecked
    if unchecked:
        raise Conflict(
            f"Spec '{spec.id}' has {unchecked} unchecked acceptance criteria. "
            "All criteria must be checked before finalization."
        )


def _check_worktree(store: SpecStore, branch: str) -> None:
    worktree = worktree_of(store.paths.root, branch)
    if worktree and is_dirty(worktree):
        raise Conflict(
            "Failed to finalize spec: Cannot finalize: uncommitted changes in worktree. "
            f"Commit your changes first.\nWorktree: {worktree}"
        )


def _check_members(found: Snapshot, spec: Spec) -> None:
    members = [found.by_id[name] for name in found.graph().members(spec.id)]
    open_members = [h.id for h in members if not h.archived and h.status not in DONE_STATUSES]
    if open_members:
        raise Conflict(
            f"Failed to finalize spec: Cannot complete driver spec '{spec.id}' while "
            f"{len(open_members)} member spec(s) are incomplete: {', '.join(open_members)}"
        )


def _found_commits(project: Path, spec: Spec, *, allow_none: bool) -> list[str]:
    try:
        commits = commits_of(project, spec.id)
    except ClewError as error:
        if allow_none:
            return []
        raise Conflict(
            f"Failed to finalize spec: {error.message}",
            f"Outside a git repository: `chant finalize {spec.id} --allow-no-commits`",
        ) from error
    if not commits and not allow_none and not spec.words("commits"):
        raise Conflict(
            "Failed to finalize spec: No matching commits found",
            f"Commit the work as `chant({spec.id}): ...`, or `chant finalize {spec.id} --allow-no-commits`.",
        )
    return commits


def check_resettable(spec: Spec) -> None:
    """Refuse a spec that has nothing to be reset."""
    if spec.status not in _RESETTABLE:
        raise Conflict(
            f"Failed to reset spec: Spec '{spec.id}' is not in failed or in_progress state "
            f"(current: {spec.status}). Only failed or in_progress specs can be reset."
        )


def cancel(store: SpecStore, spec_id: str, *, actor: str) -> Spec:
    """Cancelled: kept, but out of lists and work."""
    full = store.load(spec_id).id
    return apply_status(store, full, "cancelled", actor=actor, check=_check_cancellable)


def _check_cancellable(spec: Spec) -> None:
    if spec.status == "cancelled":
        raise Conflict(f"Spec '{spec.id}' is already cancelled")


def archive(store: SpecStore, spec_id: str, *, actor: str, allow_cancelled: bool = False) -> Path:
    """Move a completed spec to the archive; where it now is."""
    spec = store.load(spec_id)
    if spec.head.archived:
        raise Invalid(f"Spec '{spec.id}' is archived already", f"It is {spec.head.path}.")
    allowed = DONE_STATUSES if allow_cancelled else frozenset({"completed"})
    if spec.status not in allowed:
        raise Conflict(
            f"Spec '{spec.id}' must be completed to archive (current: {spec.status})",
            _TO_COMPLETE.get(spec.status, _TO_COMPLETE["pending"]).format(spec.id),
        )
    return store.archive(spec.id, actor=actor)


def archivable(store: SpecStore, days: int) -> list[str]:
    """The completed and cancelled specs that have not changed for this number of days."""
    before = time.time_ns() - days * 86400 * 10**9
    return [
        head.id
        for head in store.heads()
        if head.status in DONE_STATUSES and head.mtime_ns <= before
    ]
