"""Specs that are given up or put back: the agent that works on one is stopped with it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from clew.kit.errors import NotFound
from clew.specs.change import finalize as endings
from clew.work.journal.journal import read_journal
from clew.work.model import Request
from clew.work.paths import Places
from clew.work.runs.stop import stop_run

if TYPE_CHECKING:
    from clew.specs.model import Spec
    from clew.specs.store.store import SpecStore


def cancel_spec(store: SpecStore, spec_id: str, *, actor: str) -> Spec:
    """Cancel a spec, then end the work on it; branch and worktree stay."""
    spec = endings.cancel(store, spec_id, actor=actor)
    _end_work(store, spec.id)
    return spec


def reset_spec(store: SpecStore, spec_id: str, *, actor: str) -> Spec:
    """Put a spec back to pending, the work on it ended first; branch and worktree stay."""
    spec = store.load(spec_id)
    endings.check_resettable(spec)
    _end_work(store, spec.id)
    return endings.reset(store, spec.id, actor=actor)


def delete_spec(store: SpecStore, spec_id: str, *, actor: str) -> None:
    """Delete a spec, the work on it ended first."""
    spec = store.load(spec_id)
    _end_work(store, spec.id)
    store.delete(spec.id, actor=actor)


def _end_work(store: SpecStore, spec_id: str) -> None:
    places = Places(store.project)
    with read_journal(places) as journal:
        is_open = journal is not None and journal.open_run(spec_id) is not None
    if is_open:
        with suppress(NotFound):  # it ended by itself meanwhile, or a person holds it
            stop_run(places, spec_id, Request.CANCEL)
