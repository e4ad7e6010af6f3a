"""A spec's status follows from its runs: told here, in one place, once for every end of a run.

Whoever finds a run at rest whose spec was not told yet does it: the supervisor at its own end, and
after a crash the next command of any kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, NotFound
from clew.work.journal.run_log import log_state
from clew.work.model import ATTENTION, Phase, now_text

if TYPE_CHECKING:
    from clew.specs.model import Spec
    from clew.specs.store.store import SpecStore
    from clew.work.journal.journal import Journal
    from clew.work.model import Run
    from clew.work.paths import Places

_ACTOR = "work"
_AT_WORK = ("in_progress", "completed")  # an agent that says `completed` is not believed


def settle_ended(places: Places, journal: Journal) -> None:
    """Tell the specs of all runs at rest; doing it again changes nothing."""
    for run in journal.unsettled():
        unblocked = _tell(places, journal, run)
        journal.update(run.run_id, settled_at=now_text())
        if unblocked:
            words = f"this unblocks {', '.join(unblocked)}"
            log_state(places, run.spec_id, run.run_id, words, unblocked=unblocked)


def status_after(run: Run) -> str | None:
    """The status that a spec has after this run; None where the run says nothing about it."""
    if run.phase is Phase.FINISHED:
        return "completed"
    if run.phase is Phase.FAILED and run.failure_class in ATTENTION:
        return "needs_attention"
    if run.phase in (Phase.FAILED, Phase.INTERRUPTED):
        return "failed"
    return None  # paused, held, cancelled: the spec stays as it is


def _tell(places: Places, journal: Journal, run: Run) -> list[str]:
    status = status_after(run)
    if status is None or not (places.chant / "specs").is_dir():
        return []
    from clew.specs.store.store import SpecStore

    store = SpecStore(places.root)
    try:
        if status == "completed":
            return _complete(places, store, journal, run)
        _move(store, journal, run, status, run.failure)
    except NotFound:  # the spec was deleted or archived meanwhile
        pass
    except ClewError as error:
        log_state(places, run.spec_id, run.run_id, f"the spec was not changed: {error.message}")
    return []


def _complete(places: Places, store: SpecStore, journal: Journal, run: Run) -> list[str]:
    from clew.specs.change.finalize import finalize
    from clew.specs.store.config import load_config
    from clew.work.runs.evidence import commits_of

    spec = store.load(run.spec_id)
    if not _is_current(journal, run) or spec.status not in _AT_WORK:
        return []
    commits = [line.split(" ", 1)[0] for line in reversed(commits_of(places, run))]
    config = load_config(places.root)
    try:
        done = finalize(
            store, config, spec.id, actor=_ACTOR, commits=commits, model=run.model, by_agent=True
        )
    except ClewError as error:  # somebody took a tick away, or changed the worktree, meanwhile
        _move(store, journal, run, "needs_attention", error.message)
        return []
    unblocked: list[str] = done["unblocked"]
    return unblocked


def _move(store: SpecStore, journal: Journal, run: Run, status: str, reason: str | None) -> None:
    from clew.specs.change.lifecycle import after_move, check_move, move_fields
    from clew.specs.model import Changes

    def edit(spec: Spec) -> Changes:
        new = "needs_attention" if spec.status == "completed" else status
        # The spec's lock is held here, and a new run takes it only after its claim.
        if spec.status not in _AT_WORK or not _is_current(journal, run):
            return Changes()
        check_move(spec.status, new)
        return Changes(move_fields(spec, new), note=reason)

    before = store.load(run.spec_id)
    after = store.change(run.spec_id, edit, actor=_ACTOR)
    if after.status != before.status:
        after_move(store, after, actor=_ACTOR)


def _is_current(journal: Journal, run: Run) -> bool:
    """Whether this is still the spec's newest run, and its end not told yet."""
    latest = journal.latest(run.spec_id)
    return latest is not None and latest.run_id == run.run_id and latest.settled_at is None
