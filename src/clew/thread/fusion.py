"""Lists of hits made one: by their ranks, since scores of different lists do not compare."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

_Key = TypeVar("_Key", bound="Hashable")
_BASE = 0.3  # what a rank alone is worth
FLATNESS = 10  # how little the first places of a list count for more than the next


def fused(
    lists: Mapping[str, Sequence[_Key]], shares: Mapping[str, float]
) -> list[tuple[_Key, float, tuple[str, ...]]]:
    """Reciprocal rank fusion: key, score from 0 to 1, and the lists that have it."""
    used = {name: shares.get(name, 1.0) for name, found in lists.items() if found}
    whole = sum(used.values()) or 1.0
    scores: dict[_Key, float] = defaultdict(float)
    found_by: dict[_Key, list[str]] = defaultdict(list)
    for name, share in used.items():
        for rank, key in enumerate(lists[name]):
            scores[key] += share / whole * FLATNESS / (FLATNESS + rank)
            found_by[key].append(name)
    order = {key: number for number, key in enumerate(scores)}
    best = sorted(scores, key=lambda key: (-scores[key], order[key]))
    return [(key, scores[key], tuple(found_by[key])) for key in best]


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
