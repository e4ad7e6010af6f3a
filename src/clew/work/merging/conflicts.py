"""Conflicts as specs: one that says which branch, which files and how, and that can be worked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from clew.kit.git import PLAIN_DIFF, guard, run_git
from clew.kit.paths import ProjectPaths
from clew.specs.change.lifecycle import apply_status
from clew.specs.check.lint_rules import description_of
from clew.specs.files.criteria import parse_criteria
from clew.specs.model import CONFLICT, DONE_STATUSES, Changes, Head, Spec
from clew.specs.store.store import SpecStore
from clew.work.agents.prompt import fenced, render
from clew.work.merging.candidate import Sides
from clew.work.worktrees.main_branch import tip_of
from clew.work.worktrees.worktrees import is_merged, path_of

ACTOR = "merge"
_BY_SPEC = re.compile(r"^\S+ chant\(([^)\s]+)\)")
_MOST_NAMED = 10


def open_conflict(
    paths: ProjectPaths, store: SpecStore, spec: Spec, sides: Sides, files: Sequence[str]
) -> str:
    """The spec in which a conflict is resolved: a new one, or the one that is open already."""
    fields: dict[str, Any] = {
        "source_branch": sides.branch,
        "target_branch": sides.target,
        "conflicting_files": list(files),
        "blocked_specs": _blocked(store, spec, files),
        "original_spec": spec.id,
        "target_files": list(files),
    }
    present = open_conflict_of(store, spec.id)
    if present is None:
        given = {"type": CONFLICT, "status": "pending", **fields}
        present = store.create(given, f"{_title(sides)}\n", actor=ACTOR).head

    def edit(current: Spec) -> Changes:
        is_fresh = current.status in ("pending", "blocked", "ready")
        body = _body(paths, current.id, spec, sides, files) if is_fresh else None
        return Changes(fields, body, note=f"{sides.branch} conflicts with {sides.target}")

    return store.change(present.id, edit, actor=ACTOR).id


def open_conflict_of(store: SpecStore, original: str) -> Head | None:
    """The conflict spec that is open for a spec."""
    for head in store.heads():
        is_open = head.type == CONFLICT and head.status not in DONE_STATUSES
        if is_open and store.read(head).text("original_spec") == original:
            return head
    return None


def close_resolved_conflicts(root: Path, store: SpecStore, target: str) -> list[str]:
    """See which conflicts have been resolved by what is merged now; gives the specs set free.

    The spec that could not be merged is completed. A conflict spec whose branch got in another
    way has nothing left to do, and is cancelled.
    """
    freed = []
    for head in store.heads():
        if head.type != CONFLICT or head.status == "cancelled":
            continue
        conflict = store.read(head)
        branch, original = conflict.text("source_branch"), conflict.text("original_spec")
        is_over = head.status == "completed" and not _waits(store, original)
        if is_over or not branch or not original or not _is_in(root, branch, target):
            continue
        if head.status not in ("completed", "in_progress"):
            reason = f"{branch} has been merged in another way"
            apply_status(store, head.id, "cancelled", actor=ACTOR, force=True, reason=reason)
        if complete_again(store, original, f"{branch} is merged into {target}"):
            freed.append(original)
    return freed


def changed_by(root: Path, sides: Sides, files: Sequence[str]) -> list[str]:
    """Who changed these files in the target since the branch began: specs, else commits."""
    spread = (guard(sides.onto), f"^{guard(sides.tip)}")
    wanted = ("log", f"-{_MOST_NAMED}", "--no-merges", "--format=%h %s", *spread, "--", *files)
    lines = run_git(*wanted, cwd=root).decode("utf-8", "replace").splitlines()
    found = [(_BY_SPEC.search(line), line.split(" ", 1)[0]) for line in lines]
    return list(dict.fromkeys(f"spec {spec[1]}" if spec else sha for spec, sha in found))


def needs_attention(store: SpecStore, spec_id: str, reason: str) -> None:
    """A spec whose work is done but cannot get into the main branch waits for somebody."""
    with suppress(_Overtaken):
        check = _only_from("completed")
        apply_status(store, spec_id, "needs_attention", actor=ACTOR, reason=reason, check=check)


def complete_again(store: SpecStore, spec_id: str, reason: str) -> bool:
    """The way back from there; only if its criteria are still met."""
    if not _waits(store, spec_id) or parse_criteria(store.load(spec_id).body).unchecked:
        return False
    check = _only_from("needs_attention")
    try:
        apply_status(
            store, spec_id, "completed", actor=ACTOR, force=True, reason=reason, check=check
        )
    except _Overtaken:
        return False
    return True


class _Overtaken(Exception):
    """Somebody moved the spec meanwhile."""


def _only_from(status: str) -> Callable[[Spec], None]:
    def check(spec: Spec) -> None:
        if spec.status != status:
            raise _Overtaken

    return check


def _waits(store: SpecStore, spec_id: str | None) -> bool:
    head = store.snapshot().by_id.get(spec_id or "")
    return head is not None and not head.archived and head.status == "needs_attention"


def _is_in(root: Path, branch: str, target: str) -> bool:
    return tip_of(root, branch) is not None and is_merged(root, branch, target)


def _blocked(store: SpecStore, spec: Spec, files: Sequence[str]) -> list[str]:
    """The unfinished specs that will meet the same files, or that build on this one."""
    dependents = set(store.graph().dependents(spec.id))
    return [
        head.id
        for head in store.heads()
        if head.id != spec.id
        and head.type != CONFLICT
        and head.status not in DONE_STATUSES
        and (head.id in dependents or set(files) & set(head.target_files))
    ]


def _title(sides: Sides) -> str:
    return f"# Resolve the conflict of {sides.branch} with {sides.target}"


def _body(paths: ProjectPaths, own_id: str, spec: Spec, sides: Sides, files: Sequence[str]) -> str:
    instructions = render(
        "merge-conflict",
        paths,
        {
            "conflict.branch": sides.branch,
            "conflict.target": sides.target,
            "conflict.files": "\n".join(f"- {name}" for name in files),
            "spec.id": own_id,
            "spec.title": spec.title or spec.id,
            "spec.fenced": fenced(description_of(spec.body)),
            "worktree.path": str(path_of(paths.root, own_id)),
        },
    )
    steps = (
        f"Begin with the conflict itself: run `git merge --no-ff {sides.branch}` in the worktree "
        "of this spec.\nIt stops in the files named below. The result of this spec is that merge, "
        "committed."
    )
    boxes = [f"- [ ] Resolved conflicts in `{name}`" for name in files]
    return (
        "\n\n".join(
            (
                _title(sides),
                f"`{sides.branch}` (spec {spec.id}) could not be merged into `{sides.target}`.",
                steps,
                f"## What the branch changes\n\n{_diffstat(paths.root, sides)}",
                f"## Instructions\n\n{_lowered(instructions.strip())}",
                "## Acceptance Criteria\n\n"
                + "\n".join([*boxes, f"- [ ] `{sides.branch}` is merged in this spec's branch"]),
            )
        )
        + "\n"
    )


def _lowered(text: str) -> str:
    """The same text one level of headings deeper; what is fenced stays."""
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = line[: len(line) - len(line.lstrip("`"))]
        if len(mark) >= 3:
            fence = "" if fence and len(mark) >= len(fence) else fence or mark
        lines.append(f"#{line}" if line.startswith("#") and not fence else line)
    return "\n".join(lines)


def _diffstat(root: Path, sides: Sides) -> str:
    spread = f"{guard(sides.onto)}...{guard(sides.tip)}"
    out = run_git("diff", *PLAIN_DIFF, "--stat=80,60,10", spread, "--", cwd=root)
    return "\n".join(f"    {line}" for line in os.fsdecode(out).rstrip().splitlines())
