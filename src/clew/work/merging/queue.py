"""The merge queue: one branch after the other into the main branch, each on the newest of it.

A branch is put together with the main branch, the project's checks run on exactly the commit that
the main branch would move to, and then it moves, if it still is where it was; else all of it is
done again. One process merges at a time. Every step is in the journal before the next one begins:
whoever is killed leaves the main branch at the old commit or at the new one.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from clew.kit.errors import Cancelled, ClewError, Conflict, NotFound
from clew.kit.jsontext import JsonObject
from clew.kit.locks import LOCK_TIMEOUT, refuse_stopped, try_lock
from clew.kit.repository import is_ancestor
from clew.kit.text.display import clipped
from clew.specs.query.commits import branch_of
from clew.specs.store.config import Config
from clew.specs.store.consent import Consent, NeedsApproval
from clew.work.agents.options import WorkOptions, worktree_settings
from clew.work.journal.run_log import log_state
from clew.work.merging.candidate import (
    Candidate,
    MergeConflict,
    Sides,
    failed_check,
    integrate,
    integration_tree,
    show_commit,
)
from clew.work.merging.conflicts import (
    changed_by,
    close_resolved_conflicts,
    complete_again,
    needs_attention,
    open_conflict,
)
from clew.work.merging.preconditions import check_mergeable
from clew.work.model import ACTIVE_MERGES, Merge, MergeStatus
from clew.work.processes.identity import RUN_VARIABLE, stop_processes_of_run
from clew.work.workspace import Workspace
from clew.work.worktrees.main_branch import (
    CheckoutInTheWay,
    MainMoved,
    checkout_of,
    main_branch,
    move_main,
    tip_of,
    touched_files,
)
from clew.work.worktrees.worktrees import is_merged, remove

_LOCK = "merge.lock"
_MOST_TRIES = 20
_LOOK_SECONDS = 0.1
_LEFTOVER_SECONDS = 2.0


@dataclass(frozen=True)
class MergeResult:
    """How one branch fared."""

    spec_id: str
    branch: str
    status: str
    commit: str | None = None
    note: str | None = None
    hint: str | None = None
    files: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    conflict_spec: str | None = None

    @property
    def is_merged(self) -> bool:
        """Whether the branch's work is in the main branch."""
        return self.status == MergeStatus.MERGED

    def as_json(self) -> JsonObject:
        """The result for programs."""
        return {**asdict(self), "files": list(self.files), "left_out": list(self.left_out)}


@dataclass
class Merger:
    """Merges the branches of one project."""

    work: Workspace
    config: Config
    say: Callable[[str], None] = field(default=lambda _: None)
    stop: Callable[[], bool] = field(default=lambda: False)

    def merge(
        self, ids: Sequence[str], *, strategy: str | None = None, delete_branch: bool = False
    ) -> list[MergeResult]:
        """Queue these specs and merge them, in this order; what cannot be merged is reported.

        Without a strategy, the configured one is used.
        """
        strategy = strategy or self.config.text("merge", "strategy") or "merge"
        results: list[MergeResult] = []
        with self._alone():
            recover_entries(self.work)
            numbers = []
            for spec_id in ids:
                try:
                    numbers.append(self._add(spec_id, strategy, delete_branch).number)
                except ClewError as error:
                    results.append(self._merged_before(spec_id) or self._refused(spec_id, error))
            results += [self._merge_entry(number) for number in numbers]
        self._tell_history(results)
        return results

    def work_off(self) -> list[MergeResult]:
        """Merge everything that is in the queue."""
        with self._alone():
            recover_entries(self.work)
            results = [self._merge_entry(entry.number) for entry in self.work.journal.merges()]
        self._tell_history(results)
        return results

    def _tell_history(self, results: Sequence[MergeResult]) -> None:
        """Bring the index along, if it has this repository; a question would do it otherwise."""
        if any(result.is_merged for result in results):
            from clew.history.upkeep import keep_current

            keep_current({"project": str(self.work.root)}, adds=False)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One merge at a time; the wait for another one's end can be broken off."""
        path, said = self.work.store.paths.make_store() / _LOCK, False
        began = time.monotonic()
        while (lock := try_lock(path)) is None:
            if not said:
                self.say("waiting for another merge to end")
                said = True
            if self.stop():
                raise Cancelled
            if (waited := time.monotonic() - began) >= LOCK_TIMEOUT:
                refuse_stopped(path, waited)
            time.sleep(_LOOK_SECONDS)
        try:
            yield
        finally:
            lock.release()

    def _add(self, spec_id: str, strategy: str, delete_branch: bool) -> Merge:  # noqa: FBT001
        spec = self.work.store.load(spec_id)
        check_mergeable(self.work, self.config, spec, working=True)
        return self.work.journal.queue_merge(
            spec.id,
            branch_of(spec, self.config),
            main_branch(self.work.root, self.config),
            strategy=strategy,
            delete_branch=delete_branch,
        )

    def _merge_entry(self, number: int) -> MergeResult:
        """Merge one entry, and do what follows from how it went."""
        journal = self.work.journal
        entry, hint = journal.merge(number), None
        try:
            if entry.status is not MergeStatus.MERGED:
                entry = self._merged(entry)
        except (CheckoutInTheWay, NeedsApproval) as error:
            hint = error.hint
            files = error.files if isinstance(error, CheckoutInTheWay) else ()
            note = error.message if files else error.full_text()
            entry = journal.update_merge(number, MergeStatus.WAITING, note=note, files=files)
        except MergeConflict as error:
            entry, hint = self._conflicting(journal.merge(number), error)
        except _ChecksFailed as error:
            entry, hint = (
                journal.update_merge(number, MergeStatus.FAILED, note=error.message),
                error.hint,
            )
            needs_attention(self.work.store, entry.spec_id, error.message.splitlines()[0])
        except Cancelled:
            journal.update_merge(number, MergeStatus.QUEUED, note="stopped while it was merged")
            raise
        except ClewError as error:
            entry, hint = (
                journal.update_merge(number, MergeStatus.FAILED, note=error.message),
                error.hint,
            )
        self._tell(entry)
        if entry.status is MergeStatus.MERGED:
            hint = self._after(entry)
        return _result(entry, hint)

    def _merged(self, entry: Merge) -> Merge:
        journal = self.work.journal
        for _ in range(_MOST_TRIES):
            if self.stop():
                raise Cancelled
            sides = self._sides(entry)
            if is_merged(self.work.root, sides.tip, sides.onto):
                note = f"{entry.branch} was merged already"
                return journal.update_merge(
                    entry.number, MergeStatus.MERGED, tip=sides.tip, note=note
                )
            entry = journal.update_merge(
                entry.number, MergeStatus.MERGING, tip=sides.tip, onto=sides.onto, files=(),
                **_known(entry, sides),
            )  # fmt: skip
            entry = self._checked(entry, sides)
            assert entry.candidate is not None
            entry = journal.update_merge(entry.number, MergeStatus.MOVING)
            try:
                move_main(self.work.root, entry.target, sides.onto, str(entry.candidate))
            except MainMoved:
                self.say(f"{entry.target} has moved; {entry.spec_id} is merged again on top of it")
                continue
            return journal.update_merge(entry.number, MergeStatus.MERGED, note=None)
        raise Conflict(f"'{entry.target}' keeps moving", "Try again later.")

    def _sides(self, entry: Merge) -> Sides:
        root = self.work.root
        tip, onto = tip_of(root, entry.branch), tip_of(root, entry.target)
        if tip is None or onto is None:
            gone = entry.branch if tip is None else entry.target
            raise NotFound(f"Branch {gone} is gone", "`git reflog` may know where it was.")
        return Sides(entry.branch, tip, entry.target, onto)

    def _checked(self, entry: Merge, sides: Sides) -> Merge:
        """The entry with a commit that has passed the checks; one that has already stays."""
        if entry.candidate is not None and entry.is_checked:
            return entry
        journal, root = self.work.journal, self.work.root
        settings = worktree_settings(self.config, WorkOptions())
        commands = self.config.words("merge", "checks")
        missing = Consent(root).missing((*settings.setup, *commands))
        if missing:
            raise NeedsApproval(root, missing)
        tree = integration_tree(root, sides.onto, settings)
        made = integrate(root, tree, sides, entry.strategy, self._message(entry))
        self._refuse_obstacles(entry, sides, made)
        entry = journal.update_merge(
            entry.number, MergeStatus.MERGING, candidate=made.commit, left_out=made.left_out
        )
        if commands:
            show_commit(tree, made.commit)
            self.say(f"{entry.spec_id}: checking {made.commit[:12]}")
        seconds = float(self.config.number("merge", "check_seconds") or 900)
        variables = {RUN_VARIABLE: merge_id(root, entry), "CHANT_SPEC_ID": entry.spec_id}
        for command in commands:
            self._log(entry, f"check before the merge: {command} ({Consent(root).to(command)})")
            said = failed_check(tree, command, seconds=seconds, variables=variables, stop=self.stop)
            if said is not None:
                raise _ChecksFailed(
                    f"The check failed on top of {entry.target}: {command}\n{clipped(said, 2000)}",
                    f"{entry.target} stays as it was; correct {entry.branch}, then merge again.",
                )
        return journal.update_merge(entry.number, MergeStatus.MERGING, is_checked=1)

    def _refuse_obstacles(self, entry: Merge, sides: Sides, made: Candidate) -> None:
        """Refuse what is in the way in a checkout before the checks take their time."""
        place = checkout_of(self.work.root, entry.target)
        touched = touched_files(place, sides.onto, made.commit) if place else []
        if place and touched:
            raise CheckoutInTheWay(place, entry.target, touched)

    def _message(self, entry: Merge) -> str:
        title = self.work.store.load(entry.spec_id).title
        return f"Merge {entry.branch}" + (f": {title}" if title else "")

    def _conflicting(self, entry: Merge, error: MergeConflict) -> tuple[Merge, str]:
        spec, store = self.work.store.load(entry.spec_id), self.work.store
        sides = self._sides(entry)
        opened = open_conflict(self.work.paths, store, spec, sides, error.files)
        others = changed_by(self.work.root, sides, error.files)
        met = f" (changed there by {', '.join(others)})" if others else ""
        needs_attention(store, spec.id, f"{error.message}{met} (see {opened})")
        entry = self.work.journal.update_merge(
            entry.number,
            MergeStatus.CONFLICT,
            note=f"{error.message}{met}",
            files=error.files,
            conflict_spec=opened,
        )
        return entry, f"{error.hint} Resolve it with `clew work {opened}`, or by hand."

    def _after(self, entry: Merge) -> str | None:
        """What follows from a merge: specs set free, the worktree removed if that was asked."""
        for freed in _set_free(self.work, entry):
            self.say(f"{freed}: its conflict is resolved")
        if not entry.delete_branch:
            return None
        try:
            settings = worktree_settings(self.config, WorkOptions())
            remove(self.work.root, entry.spec_id, (entry.target,), settings=settings)
        except ClewError as error:
            return f"The branch was kept: {error.message}"
        return None

    def _tell(self, entry: Merge) -> None:
        note = f": {entry.note.splitlines()[0]}" if entry.note else ""
        commit = f" as {entry.candidate[:12]}" if entry.candidate and not note else ""
        text = f"merge into {entry.target}: {entry.status}{commit}{note}"
        self.say(f"{entry.spec_id}: {text}")
        self._log(entry, text, merge=str(entry.status))

    def _log(self, entry: Merge, text: str, **known: str) -> None:
        name = merge_id(self.work.root, entry)
        log_state(self.work.paths, entry.spec_id, name, text, **known)

    def _merged_before(self, spec_id: str) -> MergeResult | None:
        """The result of an earlier merge whose branch has been cleaned up since."""
        store, is_known = self.work.store, spec_id in self.work.store.snapshot().by_id
        entry = self.work.journal.latest_merge(store.resolve(spec_id)) if is_known else None
        if entry is None or entry.status is not MergeStatus.MERGED:
            return None
        return _result(entry, None) if tip_of(self.work.root, entry.branch) is None else None

    def _refused(self, spec_id: str, error: ClewError) -> MergeResult:
        try:
            spec = self.work.store.load(spec_id)
            spec_id, branch = spec.id, branch_of(spec, self.config)
        except ClewError:
            branch = ""
        return MergeResult(spec_id, branch, "refused", note=error.message, hint=error.hint)


class _ChecksFailed(Conflict):
    """The project's checks do not pass on the merged commit."""


def merge_finished(
    work: Workspace, spec_id: str, stop: Callable[[], bool] = lambda: False
) -> MergeResult:
    """Merge one spec's branch; raises with the reason if it does not get into the main branch."""
    (result,) = Merger(work, work.config(), stop=stop).merge([spec_id])
    if not result.is_merged:
        raise Conflict(result.note or f"{result.branch} was not merged", result.hint)
    return result


def recover_merges(work: Workspace) -> None:
    """Repair what a killed merger left, if none is at work now; called by every command."""
    if not work.journal.merges(ACTIVE_MERGES):
        return
    lock = try_lock(work.paths.store / _LOCK)
    if lock is None:
        return
    try:
        recover_entries(work)
    finally:
        lock.release()


def recover_entries(work: Workspace) -> None:
    """Repair the entries whose merger was killed; the main branch tells how far each came."""
    for entry in work.journal.merges(ACTIVE_MERGES):
        stop_processes_of_run(merge_id(work.root, entry), _LEFTOVER_SECONDS)
        onto = tip_of(work.root, entry.target)
        is_in = entry.candidate is not None and onto is not None
        if is_in and is_ancestor(work.root, str(entry.candidate), str(onto)):
            _set_free(work, entry)
            work.journal.update_merge(entry.number, MergeStatus.MERGED, note=None)
        else:
            note = "its merger was cut off"
            work.journal.update_merge(entry.number, MergeStatus.QUEUED, note=note)


def _set_free(work: Workspace, entry: Merge) -> list[str]:
    """Complete what waited for this merge alone; gives the specs whose conflict is resolved."""
    complete_again(work.store, entry.spec_id, f"merged into {entry.target}")
    freed = close_resolved_conflicts(work.root, work.store, entry.target)
    for name in freed:
        stuck = work.journal.latest_merge(name)
        if stuck is not None and stuck.status in (MergeStatus.CONFLICT, MergeStatus.FAILED):
            tip, note = tip_of(work.root, stuck.branch), f"merged with {entry.branch}"
            work.journal.update_merge(stuck.number, MergeStatus.MERGED, tip=tip, note=note)
    return freed


def merge_id(root: Path, entry: Merge) -> str:
    """The name of a merge in logs and in the environment of its checks; no other project's."""
    digest = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:10]
    return f"merge-{digest}-{entry.number}-{entry.spec_id}"


def _known(entry: Merge, sides: Sides) -> dict[str, object]:
    """What still holds of an earlier try: a checked commit of exactly these two sides."""
    is_same = (entry.tip, entry.onto) == (sides.tip, sides.onto) and entry.is_checked
    return {} if is_same else {"candidate": None, "is_checked": 0, "left_out": ()}


def _result(entry: Merge, hint: str | None) -> MergeResult:
    return MergeResult(
        entry.spec_id,
        entry.branch,
        str(entry.status),
        entry.candidate or (entry.tip if entry.status is MergeStatus.MERGED else None),
        entry.note,
        hint,
        entry.files,
        entry.left_out,
        entry.conflict_spec,
    )
