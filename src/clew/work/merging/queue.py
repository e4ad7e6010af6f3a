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
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from clew.kit.errors import Cancelled, ClewError, Conflict, NotFound
from clew.kit.locks import LOCK_TIMEOUT, refuse_stopped, try_lock
from clew.kit.repository import is_ancestor
from clew.kit.text.display import clipped
from clew.specs.query.commits import branch_of
from clew.specs.store.config import load_config
from clew.specs.store.store import SpecStore
from clew.work.agents.options import WorkOptions, worktree_settings
from clew.work.journal.journal import open_journal
from clew.work.journal.merges import UNDER_WAY, Entry, MergeQueue, MergeStatus
from clew.work.journal.run_log import log_state
from clew.work.merging.candidate import (
    MergeConflict,
    Sides,
    integrate,
    integration_tree,
    run_checks,
    show_commit,
)
from clew.work.merging.conflicts import (
    complete_again,
    needs_attention,
    open_conflict,
    settle_conflicts,
)
from clew.work.merging.preconditions import check_mergeable
from clew.work.processes.identity import RUN_VARIABLE, stop_processes_of_run
from clew.work.worktrees.ancestry import is_merged
from clew.work.worktrees.main_branch import (
    CheckoutInTheWay,
    MainMoved,
    checkout_of,
    main_branch,
    move_main,
    tip_of,
    touched_files,
)
from clew.work.worktrees.worktrees import remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clew.kit.jsontext import JsonObject
    from clew.specs.store.config import Config
    from clew.work.journal.journal import Journal
    from clew.work.merging.candidate import Candidate
    from clew.work.paths import Places

_LOCK = "merge.lock"
_MOST_TRIES = 20
_LOOK_SECONDS = 0.1
_LEFTOVER_SECONDS = 2.0


@dataclass(frozen=True)
class MergeOptions:
    """How to merge; None leaves it to the configuration."""

    strategy: str | None = None
    delete_branch: bool = False


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

    places: Places
    store: SpecStore
    config: Config
    say: Callable[[str], None] = field(default=lambda _: None)
    stop: Callable[[], bool] = field(default=lambda: False)

    def merge(self, ids: Sequence[str], options: MergeOptions | None = None) -> list[MergeResult]:
        """Queue these specs and merge them, in this order; what cannot be merged is told."""
        options = options or MergeOptions()
        results: list[MergeResult] = []
        with self._alone(), open_journal(self.places) as journal:
            queue = MergeQueue(journal.database)
            self._recover(queue)
            numbers = []
            for spec_id in ids:
                try:
                    numbers.append(self._add(journal, queue, spec_id, options).number)
                except ClewError as error:
                    gone = _merged_and_gone(self.places, self.store, queue, spec_id)
                    results.append(gone or _refused(self.store, self.config, spec_id, error))
            results += [self._settled(queue, number) for number in numbers]
        return results

    def work_off(self) -> list[MergeResult]:
        """Merge everything that is in the queue."""
        with self._alone(), open_journal(self.places) as journal:
            queue = MergeQueue(journal.database)
            self._recover(queue)
            return [self._settled(queue, entry.number) for entry in queue.open_entries()]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One merge at a time; the wait for another one's end can be broken off."""
        path, said = self.store.paths.make_store() / _LOCK, False
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

    def _add(
        self, journal: Journal, queue: MergeQueue, spec_id: str, options: MergeOptions
    ) -> Entry:
        spec = self.store.load(spec_id)
        check_mergeable(self.places, self.config, journal, spec)
        return queue.add(
            spec.id,
            branch_of(spec, self.config),
            main_branch(self.places.root, self.config),
            strategy=options.strategy or self.config.text("merge", "strategy") or "merge",
            delete_branch=options.delete_branch,
        )

    def _recover(self, queue: MergeQueue) -> None:
        for entry in queue.open_entries(UNDER_WAY):
            recover_entry(self.places, self.store, queue, entry)

    def _settled(self, queue: MergeQueue, number: int) -> MergeResult:
        """Merge one entry, and do what follows from how it went."""
        entry = queue.get(number)
        hint = None
        try:
            if entry.status is not MergeStatus.MERGED:
                entry = self._merged(queue, entry)
        except CheckoutInTheWay as error:
            hint = error.hint
            entry = queue.record(number, MergeStatus.WAITING, note=error.message, files=error.files)
        except MergeConflict as error:
            entry, hint = self._conflicting(queue, queue.get(number), error)
        except _ChecksFailed as error:
            entry, hint = queue.record(number, MergeStatus.FAILED, note=error.message), error.hint
            needs_attention(self.store, entry.spec_id, error.message.splitlines()[0])
        except Cancelled:
            queue.record(number, MergeStatus.QUEUED, note="stopped while it was merged")
            raise
        except ClewError as error:
            entry, hint = queue.record(number, MergeStatus.FAILED, note=error.message), error.hint
        self._tell(entry)
        if entry.status is MergeStatus.MERGED:
            hint = self._after(entry)
        return _result(entry, hint)

    def _merged(self, queue: MergeQueue, entry: Entry) -> Entry:
        for _ in range(_MOST_TRIES):
            if self.stop():
                raise Cancelled
            sides = self._sides(entry)
            if is_merged(self.places.root, sides.tip, sides.onto):
                note = f"{entry.branch} was merged already"
                return queue.record(entry.number, MergeStatus.MERGED, tip=sides.tip, note=note)
            entry = queue.record(
                entry.number, MergeStatus.MERGING, tip=sides.tip, onto=sides.onto, files=(),
                **_known(entry, sides),
            )  # fmt: skip
            entry = self._checked(queue, entry, sides)
            assert entry.candidate is not None
            entry = queue.record(entry.number, MergeStatus.MOVING)
            try:
                move_main(self.places.root, entry.target, sides.onto, str(entry.candidate))
            except MainMoved:
                self.say(f"{entry.target} has moved; {entry.spec_id} is merged again on top of it")
                continue
            return queue.record(entry.number, MergeStatus.MERGED, note=None)
        raise Conflict(f"'{entry.target}' moves all the time", "Try again later.")

    def _sides(self, entry: Entry) -> Sides:
        root = self.places.root
        tip, onto = tip_of(root, entry.branch), tip_of(root, entry.target)
        if tip is None or onto is None:
            gone = entry.branch if tip is None else entry.target
            raise NotFound(f"Branch {gone} is gone", "`git reflog` may know where it was.")
        return Sides(entry.branch, tip, entry.target, onto)

    def _checked(self, queue: MergeQueue, entry: Entry, sides: Sides) -> Entry:
        """The entry with a commit that has passed the checks; one that has already stays."""
        if entry.candidate is not None and entry.is_checked:
            return entry
        settings = worktree_settings(self.config, WorkOptions())
        tree = integration_tree(self.places.root, sides.onto, settings)
        made = integrate(self.places.root, tree, sides, entry.strategy, self._message(entry))
        self._refuse_obstacles(entry, sides, made)
        entry = queue.record(
            entry.number, MergeStatus.MERGING, candidate=made.commit, left_out=made.left_out
        )
        commands = self.config.words("merge", "checks")
        if commands:
            show_commit(tree, made.commit)
            self.say(f"{entry.spec_id}: checking {made.commit[:12]}")
        results = run_checks(
            tree,
            commands,
            seconds=float(self.config.number("merge", "check_seconds") or 900),
            variables={RUN_VARIABLE: merge_id(self.places, entry), "CHANT_SPEC_ID": entry.spec_id},
            stop=self.stop,
        )
        failed = next((result for result in results if not result.passed), None)
        if failed is not None:
            raise _ChecksFailed(
                f"The check failed on top of {entry.target}: {failed.command}\n"
                + clipped(failed.said, 2000),
                f"{entry.target} stays as it was; correct {entry.branch}, then merge again.",
            )
        return queue.record(entry.number, MergeStatus.MERGING, is_checked=1)

    def _refuse_obstacles(self, entry: Entry, sides: Sides, made: Candidate) -> None:
        """What is in the way in a checkout is told before the checks take their time."""
        place = checkout_of(self.places.root, entry.target)
        touched = touched_files(place, sides.onto, made.commit) if place else []
        if place and touched:
            raise CheckoutInTheWay(place, entry.target, touched)

    def _message(self, entry: Entry) -> str:
        title = self.store.load(entry.spec_id).title
        return f"Merge {entry.branch}" + (f": {title}" if title else "")

    def _conflicting(
        self, queue: MergeQueue, entry: Entry, error: MergeConflict
    ) -> tuple[Entry, str]:
        spec = self.store.load(entry.spec_id)
        opened = open_conflict(self.places, self.store, spec, self._sides(entry), error.files)
        needs_attention(self.store, spec.id, f"{error.message} (see {opened})")
        entry = queue.record(
            entry.number,
            MergeStatus.CONFLICT,
            note=error.message,
            files=error.files,
            conflict_spec=opened,
        )
        return entry, f"{error.hint} Resolve it with `clew work {opened}`, or by hand."

    def _after(self, entry: Entry) -> str | None:
        """What follows from a merge: specs set free, the worktree removed if that was asked."""
        for freed in _set_free(self.places, self.store, entry):
            self.say(f"{freed}: its conflict is resolved")
        if not entry.delete_branch:
            return None
        try:
            settings = worktree_settings(self.config, WorkOptions())
            remove(self.places.root, entry.spec_id, (entry.target,), settings=settings)
        except ClewError as error:
            return f"The branch was kept: {error.message}"
        return None

    def _tell(self, entry: Entry) -> None:
        note = f": {entry.note.splitlines()[0]}" if entry.note else ""
        commit = f" as {entry.candidate[:12]}" if entry.candidate and not note else ""
        text = f"merge into {entry.target}: {entry.status}{commit}{note}"
        self.say(f"{entry.spec_id}: {text}")
        log_state(
            self.places, entry.spec_id, merge_id(self.places, entry), text, merge=str(entry.status)
        )


class _ChecksFailed(Conflict):
    """The project's checks do not pass on the merged commit."""


def merge_finished(
    places: Places, store: SpecStore, spec_id: str, stop: Callable[[], bool] = lambda: False
) -> MergeResult:
    """Merge one spec's branch; raises with the reason if it does not get into the main branch."""
    merger = Merger(places, store, load_config(places.root), stop=stop)
    (result,) = merger.merge([spec_id])
    if not result.is_merged:
        raise Conflict(result.note or f"{result.branch} was not merged", result.hint)
    return result


def recover_entry(places: Places, store: SpecStore, queue: MergeQueue, entry: Entry) -> Entry:
    """Put right an entry whose merger was killed; the main branch tells how far it came."""
    stop_processes_of_run(merge_id(places, entry), _LEFTOVER_SECONDS)
    onto = tip_of(places.root, entry.target)
    is_in = entry.candidate is not None and onto is not None
    if is_in and is_ancestor(places.root, str(entry.candidate), str(onto)):
        _set_free(places, store, entry)
        return queue.record(entry.number, MergeStatus.MERGED, note=None)
    return queue.record(entry.number, MergeStatus.QUEUED, note="its merger was cut off")


def settle_merges(places: Places, journal: Journal) -> None:
    """Put right what a killed merger left, if none is at work now; asked by every command."""
    queue = MergeQueue(journal.database)
    if not queue.open_entries(UNDER_WAY):
        return
    lock = try_lock(places.store / _LOCK)
    if lock is None:
        return
    try:
        for entry in queue.open_entries(UNDER_WAY):
            recover_entry(places, SpecStore(places.root), queue, entry)
    finally:
        lock.release()


def _set_free(places: Places, store: SpecStore, entry: Entry) -> list[str]:
    """Complete what waited for this merge alone; gives the specs whose conflict is resolved."""
    complete_again(store, entry.spec_id, f"merged into {entry.target}")
    return settle_conflicts(places, store, entry.target)


def merge_id(places: Places, entry: Entry) -> str:
    """The name of a merge in logs and in the environment of its checks; no other project's."""
    digest = hashlib.sha256(os.fsencode(places.root.resolve())).hexdigest()[:10]
    return f"merge-{digest}-{entry.number}-{entry.spec_id}"


def _known(entry: Entry, sides: Sides) -> dict[str, object]:
    """What still holds of an earlier try: a checked commit of exactly these two sides."""
    is_same = (entry.tip, entry.onto) == (sides.tip, sides.onto) and entry.is_checked
    return {} if is_same else {"candidate": None, "is_checked": 0, "left_out": ()}


def _result(entry: Entry, hint: str | None) -> MergeResult:
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


def _merged_and_gone(
    places: Places, store: SpecStore, queue: MergeQueue, spec_id: str
) -> MergeResult | None:
    """The result of an earlier merge whose branch has been cleaned up since."""
    entry = queue.latest(store.resolve(spec_id)) if spec_id in store.snapshot().by_id else None
    if entry is None or entry.status is not MergeStatus.MERGED:
        return None
    return _result(entry, None) if tip_of(places.root, entry.branch) is None else None


def _refused(store: SpecStore, config: Config, spec_id: str, error: ClewError) -> MergeResult:
    try:
        spec = store.load(spec_id)
        spec_id, branch = spec.id, branch_of(spec, config)
    except ClewError:
        branch = ""
    return MergeResult(spec_id, branch, "refused", note=error.message, hint=error.hint)
