"""Specs put away, but not while their work is on a branch that nobody has merged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from clew.kit.errors import ClewError, Conflict
from clew.specs.change.finalize import archive
from clew.specs.model import Spec
from clew.specs.query.commits import branch_of
from clew.work.merging.preconditions import was_merged
from clew.work.workspace import Workspace
from clew.work.worktrees.main_branch import branch_tips, main_branch
from clew.work.worktrees.worktrees import is_merged


def archive_spec(
    work: Workspace,
    spec_id: str,
    *,
    actor: str,
    force: bool = False,
    allow_cancelled: bool = False,
    tips: Mapping[str, str] | None = None,
) -> Path:
    """Move a completed spec to the archive; where it now is. `force` leaves unmerged work behind.

    `tips` are all branches with their commits, for those who archive many.
    """
    spec = work.store.load(spec_id)
    if not force and spec.status == "completed":
        _refuse_unmerged(work, spec, branch_tips(work.root) if tips is None else tips)
    return archive(work.store, spec.id, actor=actor, allow_cancelled=allow_cancelled)


def _refuse_unmerged(work: Workspace, spec: Spec, tips: Mapping[str, str]) -> None:
    config = work.config()
    branch = branch_of(spec, config)
    tip = tips.get(branch)
    if tip is None:
        return
    try:
        target = main_branch(work.root, config)
    except ClewError:  # nothing that it could be merged into
        return
    entry = work.journal.latest_merge(spec.id) if work.paths.journal.exists() else None
    if not is_merged(work.root, tip, target) and not was_merged(entry, tip):
        raise Conflict(
            f"Cannot archive spec '{spec.id}': feature branch '{branch}' has not been merged to "
            f"{target}",
            f"Merge it first: `chant merge {spec.id}`. Or archive it all the same: "
            f"`chant archive {spec.id} --force`.",
        )
