"""Which branches could be merged, and what is in the way of the others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, Conflict, NotFound
from clew.kit.git import run_git
from clew.specs.files.ids import sort_key
from clew.specs.model import GROUP_TYPES
from clew.specs.query.commits import branch_of
from clew.work.journal.journal import open_journal
from clew.work.journal.merges import Entry, MergeQueue, MergeStatus
from clew.work.merging.candidate import conflicting_files
from clew.work.model import Phase
from clew.work.worktrees.ancestry import is_merged
from clew.work.worktrees.main_branch import branch_tips, main_branch, tip_of
from clew.work.worktrees.worktrees import dirty_files, owners

if TYPE_CHECKING:
    from clew.specs.model import Spec
    from clew.specs.store.config import Config
    from clew.specs.store.store import SpecStore
    from clew.work.journal.journal import Journal
    from clew.work.paths import Places


@dataclass(frozen=True)
class Branch:
    """A spec's branch: ready, conflicts, incomplete, refused, failed or merged, and why."""

    spec_id: str
    branch: str
    state: str
    note: str = ""
    files: tuple[str, ...] = ()
    commits: int = 0
    conflict_spec: str | None = None

    @property
    def is_due(self) -> bool:
        """Whether to merge it without being asked for it by name: what failed once is left."""
        return self.state == "ready" or (self.state == "conflicts" and not self.conflict_spec)


def check_mergeable(places: Places, config: Config, journal: Journal, spec: Spec) -> None:
    """Refuse a branch that is not whole: an agent at work, uncommitted changes, no approval."""
    branch = branch_of(spec, config)
    run = journal.open_run(spec.id)
    if run is not None:
        how = "has been taken over" if run.phase is Phase.HELD else "is being worked on"
        raise Conflict(f"Spec '{spec.id}' {how} (run {run.run_id})", "Merge it when it is done.")
    if spec.head.approval_required and spec.head.approval_status != "approved":
        raise Conflict(
            f"Spec '{spec.id}' is not approved ({spec.head.approval_status or 'pending'})",
            f"Approve it first: `chant approve {spec.id}`.",
        )
    if tip_of(places.root, branch) is None:
        raise NotFound(f"Spec '{spec.id}' has no branch {branch}", "There is nothing to merge.")
    place = next((Path(o.path) for o in owners(places.root) if o.branch == branch), None)
    changed = dirty_files(place) if place and (place / ".git").is_file() else []
    if changed:
        raise Conflict(
            f"The worktree of '{spec.id}' has uncommitted changes: {', '.join(changed[:5])}",
            f"Commit or discard them in {place}.",
        )


def branches(places: Places, store: SpecStore, config: Config) -> list[Branch]:
    """Every spec's branch that there is, in the order in which they would be merged."""
    target = main_branch(places.root, config)
    with open_journal(places) as journal:
        tips = branch_tips(places.root)
        heads = [head for head in store.heads(archived=True) if head.type not in GROUP_TYPES]
        there = [head for head in heads if (head.branch or _named(config, head.id)) in tips]
        specs = [store.read(head) for head in there]
        found = [_looked_at(places, config, journal, spec, target) for spec in specs]
    order = {spec.id: (spec.head.completed_at or "~", sort_key(spec.id)) for spec in specs}
    return sorted(found, key=lambda branch: order[branch.spec_id])


def expanded(store: SpecStore, config: Config, places: Places, ids: list[str]) -> list[str]:
    """The full ids; a group without a branch of its own stands for its members."""
    graph, found = store.graph(), list[str]()
    for name in ids:
        spec = store.load(name)
        own = tip_of(places.root, branch_of(spec, config)) is not None
        members = [m for m in graph.members(spec.id) if tip_of(places.root, _named(config, m))]
        found += members if spec.type in GROUP_TYPES else []
        found += [spec.id] if own or spec.type not in GROUP_TYPES or not members else []
    return list(dict.fromkeys(found))


def _named(config: Config, spec_id: str) -> str:
    return f"{config.text('defaults', 'branch_prefix') or 'chant/'}{spec_id}"


def _looked_at(places: Places, config: Config, journal: Journal, spec: Spec, target: str) -> Branch:
    branch, root = branch_of(spec, config), places.root
    tip, onto = str(tip_of(root, branch)), str(tip_of(root, target))
    entry = MergeQueue(journal.database).latest(spec.id)
    if is_merged(root, tip, onto) or _was_merged(entry, tip):
        return Branch(spec.id, branch, "merged")
    count = int(run_git("rev-list", "--count", tip, f"^{onto}", "--", cwd=root))
    try:
        check_mergeable(places, config, journal, spec)
    except ClewError as error:
        return Branch(spec.id, branch, "refused", error.message, commits=count)
    known = entry if entry is not None and entry.tip == tip else None
    state, note, files = _state(spec, known, tuple(conflicting_files(root, onto, tip)))
    opened = known.conflict_spec if known else None
    return Branch(spec.id, branch, state, note, files, count, opened)


def _state(
    spec: Spec, known: Entry | None, files: tuple[str, ...]
) -> tuple[str, str, tuple[str, ...]]:
    """How a branch stands that may be merged; `known` is how exactly this commit fared before."""
    status = known.status if known else None
    if spec.status != "completed" and status not in (MergeStatus.CONFLICT, MergeStatus.FAILED):
        return "incomplete", f"the spec is {spec.status}", files
    if files:
        return "conflicts", ", ".join(files), files
    if known is not None and status is MergeStatus.FAILED:  # it will not get better by itself
        return "failed", (known.note or "").partition("\n")[0], ()
    return "ready", "", ()


def _was_merged(entry: Entry | None, tip: str) -> bool:
    """By our own record: with spec files left out, a rebased branch has no twin in git."""
    return entry is not None and entry.status is MergeStatus.MERGED and entry.tip == tip
