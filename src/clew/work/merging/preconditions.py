"""Which branches could be merged, and which worktrees could go: what is in the way of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from clew.kit.errors import ClewError, Conflict, NotFound
from clew.kit.git import run_git
from clew.kit.jsontext import JsonObject
from clew.specs.files.ids import sort_key
from clew.specs.model import GROUP_TYPES, Spec
from clew.specs.query.commits import branch_of
from clew.specs.store.config import Config
from clew.specs.store.consent import Consent, NeedsApproval
from clew.work.agents.options import WorkOptions, worktree_settings
from clew.work.merging.candidate import conflicting_files
from clew.work.model import Merge, MergeStatus, Phase
from clew.work.workspace import Workspace
from clew.work.worktrees.main_branch import branch_tips, main_branch, tip_of
from clew.work.worktrees.worktrees import Owner, dirty_files, is_merged, owners, remove

REMOVED, WOULD_REMOVE, REFUSED = "removed", "would remove", "refused"


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


def check_mergeable(work: Workspace, config: Config, spec: Spec, *, working: bool = False) -> None:
    """Refuse a branch that is not whole: an agent at work, uncommitted changes, no approval."""
    branch = branch_of(spec, config)
    run = work.journal.open_run(spec.id)
    if run is not None:
        how = "has been taken over" if run.phase is Phase.HELD else "is being worked on"
        raise Conflict(f"Spec '{spec.id}' {how} (run {run.run_id})", "Merge it when it is done.")
    if spec.head.approval_required and spec.head.approval_status != "approved":
        raise Conflict(
            f"Spec '{spec.id}' is not approved ({spec.head.approval_status or 'pending'})",
            f"Approve it first: `chant approve {spec.id}`.",
        )
    if tip_of(work.root, branch) is None:
        raise NotFound(f"Spec '{spec.id}' has no branch {branch}", "There is nothing to merge.")
    place = next((Path(o.path) for o in owners(work.root) if o.branch == branch), None)
    is_there = place is not None and (place / ".git").is_file()
    changed = dirty_files(place, working=working) if place and is_there else []
    if changed:
        raise Conflict(
            f"The worktree of '{spec.id}' has uncommitted changes: {', '.join(changed[:5])}",
            f"Commit or discard them in {place}.",
        )


def branches(work: Workspace, config: Config) -> list[Branch]:
    """Every spec's branch that there is, in the order in which they would be merged."""
    target, tips = main_branch(work.root, config), branch_tips(work.root)
    heads = [head for head in work.store.heads(archived=True) if head.type not in GROUP_TYPES]
    there = [head for head in heads if (head.branch or _named(config, head.id)) in tips]
    specs = [work.store.read(head) for head in there]
    found = [_branch_state(work, config, spec, target) for spec in specs]
    order = {spec.id: (spec.head.completed_at or "~", sort_key(spec.id)) for spec in specs}
    return sorted(found, key=lambda branch: order[branch.spec_id])


def expanded(work: Workspace, config: Config, ids: list[str]) -> list[str]:
    """The full ids; a group without a branch of its own stands for its members."""
    graph, found = work.store.graph(), list[str]()
    for name in ids:
        spec = work.store.load(name)
        own = tip_of(work.root, branch_of(spec, config)) is not None
        members = [m for m in graph.members(spec.id) if tip_of(work.root, _named(config, m))]
        found += members if spec.type in GROUP_TYPES else []
        found += [spec.id] if own or spec.type not in GROUP_TYPES or not members else []
    return list(dict.fromkeys(found))


def _named(config: Config, spec_id: str) -> str:
    return f"{config.text('defaults', 'branch_prefix') or 'chant/'}{spec_id}"


def _branch_state(work: Workspace, config: Config, spec: Spec, target: str) -> Branch:
    branch, root = branch_of(spec, config), work.root
    tip, onto = str(tip_of(root, branch)), str(tip_of(root, target))
    entry = work.journal.latest_merge(spec.id)
    if is_merged(root, tip, onto) or was_merged(entry, tip):
        return Branch(spec.id, branch, "merged")
    count = int(run_git("rev-list", "--count", tip, f"^{onto}", "--", cwd=root))
    try:
        check_mergeable(work, config, spec)
    except ClewError as error:
        return Branch(spec.id, branch, "refused", error.message, commits=count)
    known = entry if entry is not None and entry.tip == tip else None
    state, note, files = _state(spec, known, tuple(conflicting_files(root, onto, tip)))
    opened = known.conflict_spec if known else None
    return Branch(spec.id, branch, state, note, files, count, opened)


def _state(
    spec: Spec, known: Merge | None, files: tuple[str, ...]
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


def was_merged(entry: Merge | None, tip: str | None) -> bool:
    """By the journal: with spec files left out, a rebased branch has no twin in git."""
    return entry is not None and entry.status is MergeStatus.MERGED and entry.tip == tip


@dataclass(frozen=True)
class Cleaned:
    """What became of one worktree."""

    spec_id: str
    path: str
    branch: str
    deed: str
    note: str = ""
    kept: tuple[str, ...] = ()

    def as_json(self) -> JsonObject:
        """The same for programs."""
        return {**asdict(self), "kept": list(self.kept)}


def clean_up(
    work: Workspace,
    config: Config,
    ids: Sequence[str] = (),
    *,
    force: bool = False,
    dry_run: bool = False,
) -> list[Cleaned]:
    """Remove the worktrees of these specs, or of all whose work has arrived."""
    found = owners(work.root)
    missing = set(ids) - {owner.spec_id for owner in found}
    if missing:
        raise NotFound(
            f"No worktree of these specs was made here: {', '.join(sorted(missing))}",
            "`clew cleanup --dry-run` lists what there is.",
        )
    wanted = [owner for owner in found if not ids or owner.spec_id in ids]
    return [_cleaned(work, config, owner, force=force, dry_run=dry_run) for owner in wanted]


def _cleaned(
    work: Workspace, config: Config, owner: Owner, *, force: bool, dry_run: bool
) -> Cleaned:
    def result(deed: str, note: str = "", kept: Sequence[str] = ()) -> Cleaned:
        return Cleaned(owner.spec_id, owner.path, owner.branch, deed, note, tuple(kept))

    run = work.journal.open_run(owner.spec_id)
    if run is not None:
        return result(REFUSED, f"run {run.run_id} is {run.phase}")
    refs = (main_branch(work.root, config), "HEAD")
    # By the journal: a branch rebased with spec files left out has no twin in git.
    entry, tip = work.journal.latest_merge(owner.spec_id), tip_of(work.root, owner.branch)
    recorded = was_merged(entry, tip)
    place = Path(owner.path)
    is_there = (place / ".git").is_file()
    changed = dirty_files(place, working=not dry_run) if is_there else []
    uncommitted = ", ".join(changed[:5])
    try:
        if dry_run:
            merged = tip is None or recorded or any(is_merged(work.root, tip, r) for r in refs)
            note = "" if merged else f"not in {' or '.join(refs)}"
            note = f"uncommitted: {uncommitted}" if changed else note
            return result(WOULD_REMOVE if force or not note else REFUSED, note)
        if recorded and not force and changed:
            return result(REFUSED, f"Uncommitted changes: {uncommitted}. Commit them first.")
        settings = worktree_settings(config, WorkOptions())
        missing = Consent(work.root).missing(settings.teardown)
        if missing and not force:
            raise NeedsApproval(work.root, missing)
        kept = remove(work.root, owner.spec_id, refs, settings=settings, force=force or recorded)
    except ClewError as error:
        hint = f" {error.hint}" if error.hint else ""
        return result(REFUSED, f"{error.message}.{hint}")
    return result(REMOVED, kept=kept)
