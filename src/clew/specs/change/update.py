"""Changing one spec: status, fields, output, and single criteria."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clew.kit.errors import ClewError, Conflict, Invalid
from clew.specs.change.lifecycle import after_move, check_move, move_fields
from clew.specs.files.criteria import (
    add_criterion,
    append_output,
    parse_criteria,
    set_criterion,
    title_of,
)
from clew.specs.model import Changes, Spec
from clew.specs.query.lists import check_status
from clew.specs.store.store import SpecStore

UPDATE_STATUSES = ("pending", "in_progress", "completed", "failed")


def update_spec(
    store: SpecStore,
    spec_id: str,
    *,
    status: str | None = None,
    output: str | None = None,
    replace_body: bool = False,
    fields: dict[str, Any] | None = None,
    expected_version: str | None = None,
    actor: str,
) -> Spec:
    """The spec with these changes, written all together or not at all.

    Output is appended or, if it is to replace the body, put below the title.
    """
    if replace_body and not output:
        raise Invalid("There is no output to replace the body with", "Give the new text as output.")
    if status is not None:
        check_status(status, UPDATE_STATUSES)
    if status is None and not output and not fields:
        raise Invalid("Failed to update spec: No updates specified")
    try:
        return _changed(
            store,
            spec_id,
            status,
            fields or {},
            lambda current: _body_with(current, output, replace=replace_body) if output else None,
            expected_version=expected_version,
            actor=actor,
        )
    except Conflict as error:
        raise Conflict(f"Failed to update spec: {error.message}", error.hint) from error


def _body_with(spec: Spec, output: str, *, replace: bool) -> str:
    if not replace:
        return append_output(spec.body, output)
    text = output if output.endswith("\n") else f"{output}\n"
    return text if title_of(text) or not spec.title else f"# {spec.title}\n\n{text}"


_OWN_WAYS = {
    "status": "Use the argument `status`.",
    "approval": "Approve or reject with `chant approve` and `chant reject`.",
}


def edit_spec(
    store: SpecStore,
    spec_id: str,
    *,
    status: str | None = None,
    fields: dict[str, Any] | None = None,
    body: str | None = None,
    expected_version: str | None = None,
    actor: str,
) -> Spec:
    """The spec with any of its fields set, None removing one, and with a new body."""
    given = dict(fields or {})
    for name in given:
        if name in _OWN_WAYS:
            raise Invalid(f"Field '{name}' is not set directly", _OWN_WAYS[name])
    if status is None and not given and body is None:
        raise Invalid("Failed to update spec: No updates specified")
    return _changed(
        store,
        spec_id,
        status,
        given,
        lambda _current: body,
        expected_version=expected_version,
        actor=actor,
    )


def _changed(
    store: SpecStore,
    spec_id: str,
    status: str | None,
    fields: dict[str, Any],
    body: Callable[[Spec], str | None],
    *,
    expected_version: str | None,
    actor: str,
) -> Spec:
    """One change of status, fields and body, and what it means for the groups around the spec."""
    spec = store.load(spec_id)
    wanted = fields.get("depends_on")
    if isinstance(wanted, list):
        fields = {**fields, "depends_on": checked_dependencies(store, spec, wanted)}

    def edit(current: Spec) -> Changes:
        changed = dict(fields)
        if status is not None:
            check_move(current.status, status)
            changed |= move_fields(current, status)
        return Changes(changed, body(current))

    changed = store.change(spec.id, edit, expected_version=expected_version, actor=actor)
    if changed.status != spec.status:
        after_move(store, changed, actor=actor)
    return changed


def checked_dependencies(store: SpecStore, spec: Spec, names: Sequence[str]) -> list[str]:
    """Dependencies as full ids; unknown ones, the spec itself and cycles are refused."""
    full = list(dict.fromkeys(_dependency(store, name) for name in names))
    graph = store.graph()
    if spec.id in full:
        raise Conflict(f"Circular dependency detected: {spec.id} -> {spec.id}")
    seen, queue = set(full), list(full)
    came_from: dict[str, str] = {}
    while queue:
        name = queue.pop()
        for following in graph.dependencies(name):
            if following == spec.id:
                way = [spec.id, *_way_back(name, came_from), spec.id]
                raise Conflict(f"Circular dependency detected: {' -> '.join(way)}")
            if following not in seen:
                seen.add(following)
                came_from[following] = name
                queue.append(following)
    return full


def _dependency(store: SpecStore, name: str) -> str:
    try:
        return store.load(name).id
    except ClewError as error:
        raise Invalid(f"Unknown dependency '{name}': {error.message}", error.hint) from error


def _way_back(name: str, came_from: dict[str, str]) -> list[str]:
    way = [name]
    while way[-1] in came_from:
        way.append(came_from[way[-1]])
    return way[::-1]


def new_criterion(
    store: SpecStore, spec_id: str, text: str, check: str | None = None, *, actor: str
) -> dict[str, Any]:
    """Add a criterion to a spec, with the command that checks it."""
    spec = store.load(spec_id)

    def edit(current: Spec) -> Changes:
        return Changes(body=add_criterion(current.body, text, check), note="added a criterion")

    changed = store.change(spec.id, edit, actor=actor)
    words = " ".join(text.split())
    items = parse_criteria(changed.body).items
    item = next(item for item in reversed(items) if item.text == words)
    return _criterion_data(changed, item.number)


def check_criterion(
    store: SpecStore,
    spec_id: str,
    number: int,
    *,
    checked: bool = True,
    evidence: str | None = None,
    expected_version: str | None = None,
    actor: str,
) -> dict[str, Any]:
    """Check or uncheck one criterion by its number, with a note of what proves it."""
    spec = store.load(spec_id)

    def edit(current: Spec) -> Changes:
        body = set_criterion(current.body, number, checked=checked, evidence=evidence)
        mark = "checked" if checked else "unchecked"
        return Changes(body=body, note=f"{mark} criterion {number}")

    changed = store.change(spec.id, edit, expected_version=expected_version, actor=actor)
    return _criterion_data(changed, number)


def _criterion_data(spec: Spec, number: int) -> dict[str, Any]:
    criteria = parse_criteria(spec.body)
    item = criteria.items[number - 1]
    return {
        "id": spec.id,
        "number": number,
        "text": item.text,
        "checked": item.checked,
        "check": item.check,
        "evidence": item.evidence,
        "unchecked": criteria.unchecked,
        "version": spec.version,
    }
