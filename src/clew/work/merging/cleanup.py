"""Removing worktrees and branches whose work has arrived, and nothing else.

Only what has an ownership record is ever looked at. What is dirty, unmerged or at work is refused
with the reason; with force it goes, but what would be lost is kept under refs of ours first.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, NotFound
from clew.work.agents.options import WorkOptions, worktree_settings
from clew.work.journal.journal import open_journal
from clew.work.journal.merges import MergeQueue, MergeStatus
from clew.work.worktrees.ancestry import is_merged
from clew.work.worktrees.main_branch import main_branch, tip_of
from clew.work.worktrees.worktrees import dirty_files, owners, remove

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.kit.jsontext import JsonObject
    from clew.specs.store.config import Config
    from clew.work.journal.journal import Journal
    from clew.work.paths import Places
    from clew.work.worktrees.worktrees import Owner

REMOVED, WOULD_REMOVE, REFUSED = "removed", "would remove", "refused"


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
    places: Places,
    config: Config,
    ids: Sequence[str] = (),
    *,
    force: bool = False,
    dry_run: bool = False,
) -> list[Cleaned]:
    """Remove the worktrees of these specs, or of all whose work has arrived."""
    found = owners(places.root)
    missing = set(ids) - {owner.spec_id for owner in found}
    if missing:
        raise NotFound(
            f"No worktree of these specs was made here: {', '.join(sorted(missing))}",
            "`clew cleanup --dry-run` lists what there is.",
        )
    wanted = [owner for owner in found if not ids or owner.spec_id in ids]
    with open_journal(places) as journal:
        return [_cleaned(places, config, journal, o, force=force, dry_run=dry_run) for o in wanted]


def _cleaned(
    places: Places,
    config: Config,
    journal: Journal,
    owner: Owner,
    *,
    force: bool,
    dry_run: bool,
) -> Cleaned:
    spec_id, path, branch = owner.spec_id, owner.path, owner.branch
    run = journal.open_run(spec_id)
    if run is not None:
        note = f"run {run.run_id} is {run.phase}"
        return Cleaned(spec_id, path, branch, REFUSED, note)
    target = main_branch(places.root, config)
    refs = (target, "HEAD")
    # By our own record: a branch rebased with spec files left out has no twin in git.
    recorded = _is_recorded(journal, places, owner)
    try:
        if dry_run:
            return _looked_at(places, owner, refs, force=force, recorded=recorded)
        settings = worktree_settings(config, WorkOptions())
        if recorded and not force:
            _refuse_dirty(owner)
        kept = remove(places.root, spec_id, refs, settings=settings, force=force or recorded)
    except ClewError as error:
        hint = f" {error.hint}" if error.hint else ""
        return Cleaned(spec_id, path, branch, REFUSED, f"{error.message}.{hint}")
    return Cleaned(spec_id, path, branch, REMOVED, kept=tuple(kept))


def _looked_at(
    places: Places, owner: Owner, refs: tuple[str, ...], *, force: bool, recorded: bool
) -> Cleaned:
    is_gone = tip_of(places.root, owner.branch) is None
    merged = is_gone or recorded or any(is_merged(places.root, owner.branch, r) for r in refs)
    note = "" if merged else f"not in {' or '.join(refs)}"
    changed = _dirty(owner)
    note = f"uncommitted: {', '.join(changed[:5])}" if changed else note
    deed = WOULD_REMOVE if force or not note else REFUSED
    return Cleaned(owner.spec_id, owner.path, owner.branch, deed, note)


def _is_recorded(journal: Journal, places: Places, owner: Owner) -> bool:
    entry = MergeQueue(journal.database).latest(owner.spec_id)
    tip = tip_of(places.root, owner.branch)
    return entry is not None and entry.status is MergeStatus.MERGED and entry.tip == tip


def _refuse_dirty(owner: Owner) -> None:
    changed = _dirty(owner)
    if changed:
        raise ClewError(f"Uncommitted changes: {', '.join(changed[:5])}", "Commit them first.")


def _dirty(owner: Owner) -> list[str]:
    place = Path(owner.path)
    return dirty_files(place) if (place / ".git").is_file() else []
