"""Lists of hits made one: by their ranks, since scores of different lists do not compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_Key = TypeVar("_Key")
_BASE = 0.3  # what a rank alone is worth
FLATNESS = 10  # how little the first places of a list count for more than the next


def interleaved(
    lists: Mapping[str, Sequence[tuple[_Key, float]]], shares: Mapping[str, float]
) -> list[tuple[_Key, float]]:
    """Lists of different kinds as one: by rank, and by how much of the question each hit has."""
    found: list[tuple[float, int, _Key]] = []
    for place, (name, hits) in enumerate(lists.items()):
        for rank, (key, covered) in enumerate(hits):
            part = shares.get(name, 1.0) * FLATNESS / (FLATNESS + rank)
            score = part * (_BASE + (1 - _BASE) * min(1.0, covered))
            found.append((score, -place, key))
    found.sort(key=lambda one: (-one[0], -one[1]))
    return [(key, score) for score, _, key in found]
