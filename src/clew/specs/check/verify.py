"""Whether a spec's acceptance criteria are met, by the boxes in its file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.specs.files.criteria import parse_criteria

if TYPE_CHECKING:
    from clew.specs.model import Spec


def verify(spec: Spec) -> dict[str, Any]:
    """The counts, the boxes that are still open, and the verdict."""
    criteria = parse_criteria(spec.body)
    return {
        "spec_id": spec.id,
        "verified": criteria.total > 0 and criteria.unchecked == 0,
        "criteria": {
            "total": criteria.total,
            "checked": criteria.checked,
            "unchecked": criteria.unchecked,
        },
        "unchecked_items": [item.source for item in criteria.open_items],
        "verification_notes": _notes(criteria.total, criteria.unchecked),
    }


def _notes(total: int, unchecked: int) -> str:
    if not total:
        return "No acceptance criteria found"
    return f"{unchecked} criteria not yet checked" if unchecked else "All acceptance criteria met"
