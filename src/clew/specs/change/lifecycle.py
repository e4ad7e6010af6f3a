"""The one table of status moves, and what a move does to the groups around a spec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from clew.kit.errors import Conflict, Invalid
from clew.kit.times import utc_now
from clew.specs.index.index import Snapshot
from clew.specs.model import DONE_STATUSES, STATUSES, Changes, Spec
from clew.specs.store.store import SpecStore

# Staying is always allowed. Nothing moves to `ready`: that state is derived, never stored.
ALLOWED: Final[dict[str, frozenset[str]]] = {
    "pending": frozenset({"in_progress", "blocked", "cancelled"}),
    "in_progress": frozenset(
        {"pending", "completed", "failed", "needs_attention", "paused", "cancelled"}
    ),
    "paused": frozenset({"pending", "in_progress", "cancelled"}),
    "completed": frozenset({"pending", "needs_attention", "cancelled"}),
    "failed": frozenset({"pending", "in_progress", "completed", "cancelled"}),
    "needs_attention": frozenset({"pending", "in_progress", "cancelled"}),
    "ready": frozenset({"pending", "in_progress", "blocked", "cancelled"}),
    "blocked": frozenset({"pending", "in_progress", "cancelled"}),
    "cancelled": frozenset({"pending"}),
}
_AUTO_MODEL = "auto-completed"
_FRESH = frozenset({"pending", "blocked", "ready"})
_RUNNING = _FRESH | {"in_progress"}


def check_move(old: str, new: str) -> None:
    """Refuse a move that the table does not have, and say which it has."""
    if new not in STATUSES:
        raise Invalid(f"Invalid status: {new}. Must be one of: {', '.join(STATUSES)}")
    if new != old and new not in ALLOWED[old]:
        allowed = ", ".join(status for status in STATUSES if status in ALLOWED[old])
        raise Conflict(
            f"Invalid transition from {old} to {new}", f"Allowed next states of {old}: {allowed}."
        )


def move_fields(spec: Spec, new: str) -> dict[str, Any]:
    """The fields that a move to this status changes; it has been checked."""
    fields: dict[str, Any] = {"status": new}
    if new == "completed" and (spec.status != new or not spec.text("completed_at")):
        fields["completed_at"] = utc_now()
    elif new in _RUNNING and "completed_at" in spec.fields:
        fields["completed_at"] = None
    return fields


def apply_status(
    store: SpecStore,
    spec_id: str,
    new: str,
    *,
    actor: str,
    force: bool = False,
    reason: str | None = None,
    check: Callable[[Spec], None] | None = None,
) -> Spec:
    """Move a spec, and with it the groups that it belongs to; `force` ignores the table.

    `check` may refuse the spec as it is while its lock is held.
    """

    def edit(spec: Spec) -> Changes:
        if check is not None:
            check(spec)
        if not force or new not in STATUSES:
            check_move(spec.status, new)
        return Changes(move_fields(spec, new), note=reason)

    moved = store.change(spec_id, edit, actor=actor)
    after_move(store, moved, actor=actor)
    return moved


def after_move(store: SpecStore, spec: Spec, *, actor: str) -> list[str]:
    """What a member's new status means for its drivers; gives those that are completed by it.

    The first member that starts starts them, the last one that is done completes them, and one
    that fails fails them, until it is tried again.
    """
    completed = []
    for driver in store.graph().drivers_of(spec.id):
        found = store.snapshot()  # a driver that was moved counts for the one above it
        if driver not in found.by_id or found.by_id[driver].archived:
            continue
        if spec.status == "in_progress":
            starting = _FRESH if _has_failed_member(found, driver) else _FRESH | {"failed"}
            _move_driver(store, driver, starting, {"status": "in_progress"}, spec, actor)
        elif spec.status == "failed":
            moving = frozenset(STATUSES) - DONE_STATUSES - {"failed"}
            _move_driver(store, driver, moving, {"status": "failed"}, spec, actor)
        elif spec.status in DONE_STATUSES and _all_done(found, driver):
            fields = {"status": "completed", "completed_at": utc_now(), "model": _AUTO_MODEL}
            if _move_driver(store, driver, _RUNNING, fields, spec, actor):
                completed.append(driver)
    return completed


def _has_failed_member(found: Snapshot, driver: str) -> bool:
    members = [found.by_id[name] for name in found.graph().members(driver)]
    return any(member.status == "failed" for member in members)


def _all_done(found: Snapshot, driver: str) -> bool:
    """Whether every member is done, and not all of them by being cancelled."""
    members = [found.by_id[name] for name in found.graph().members(driver)]
    done = all(member.archived or member.status in DONE_STATUSES for member in members)
    return done and any(member.status == "completed" for member in members)


def _move_driver(
    store: SpecStore,
    driver: str,
    only_from: frozenset[str],
    fields: dict[str, Any],
    member: Spec,
    actor: str,
) -> bool:
    """Move a driver that has one of these statuses; whether that was so."""
    moved = False

    def edit(current: Spec) -> Changes:
        nonlocal moved
        moved = current.status in only_from
        note = f"follows from {member.id}: {member.status}"
        return Changes(fields, note=note) if moved else Changes()

    store.change(driver, edit, actor=actor)
    return moved
