"""From what somebody typed to one spec's id."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.kit.errors import Invalid, NotFound
from clew.kit.text.display import clipped, shown_text

_MOST_SHOWN = 10
_MOST_COMPARED = 2000
_SEQUENCE_LENGTH = 3


def resolve(partial: str, active: Sequence[str], archived: Sequence[str], today: str) -> str:
    """The id that is meant by its end, by today's sequence number, or by any part of it.

    Archived specs count only where no active one fits. A full id needs no resolving.
    """
    if not partial.strip():
        raise Invalid("Spec ID cannot be empty", "Give a spec's id or a part of it.")
    for ids in (active, archived):
        matches: list[str] = []
        for matches in _matches(partial, ids, today):
            if len(matches) == 1:
                return matches[0]
        if matches:
            raise Invalid(_ambiguous(partial, matches), "Give more of the id.")
    raise NotFound(f"Spec not found: {clipped(shown_text(partial))}", _nearest(partial, active))


def _matches(partial: str, ids: Sequence[str], today: str) -> Iterator[list[str]]:
    """What fits, by one way after the other; the last one takes in all the others."""
    yield [spec_id for spec_id in ids if spec_id.endswith(partial)]
    if len(partial) == _SEQUENCE_LENGTH:
        start = f"{today}-{partial}-"
        yield [spec_id for spec_id in ids if spec_id.startswith(start)]
    yield [spec_id for spec_id in ids if partial in spec_id]


def _ambiguous(partial: str, matches: list[str]) -> str:
    shown = ", ".join(matches[:_MOST_SHOWN])
    more = len(matches) - _MOST_SHOWN
    tail = f" and {more} more" if more > 0 else ""
    return f"Ambiguous spec ID '{clipped(shown_text(partial))}'. Matches: {shown}{tail}"


def _nearest(partial: str, ids: Sequence[str]) -> str | None:
    from difflib import get_close_matches

    near = get_close_matches(partial[:200], ids[-_MOST_COMPARED:], n=3, cutoff=0.6)
    if near:
        return f"Nearest: {', '.join(near)}"
    return "List the specs to see their ids." if ids else None
