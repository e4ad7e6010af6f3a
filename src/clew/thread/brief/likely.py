"""Which files a task will touch.

First each file by its own signs, then all of them beside the likeliest: the tests that belong to those
and what changes with them. How much it all counts was learned from public histories
(`benchmarks/finding/brief_learning.py`); it is better to name no file than a wrong one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from clew.kit import jsontext
from clew.thread.brief.past import Past, read_past
from clew.thread.brief.signs import Change, Signs, add_kinds, signs_of
from clew.thread.brief.tree import Tree

# Log-odds of a file by itself, fitted by logistic regression: they find those that lead.
_ALONE = {
    "named": 2.698, "defines": 2.406, "has": 0.837, "path": 3.14, "similar": -0.137, "place": 0.82,
    "usual": 1.344, "words": -9.429, "title": 8.264, "root words": 6.71, "root similar": 2.018,
    "test": 0.33, "prose": 0.198,
}  # fmt: skip
_ALONE_BIAS = -5.544
_FLOOR, _CERTAIN, _FLOOR_BESIDE = 0.2, 0.7, 0.35
MOST_FILES = 6
_LEADING = 8
# What is weighed: signs, roots of those that most files have little of, and pairs that count together.
_PLAIN = (
    "named", "defines", "has", "path", "similar", "place", "words", "title", "nearest", "near title",
    "usual", "plain", "name", "scope", "code", "test", "prose", "rate", "tests", "docs", "per commit",
    "path of best", "words of best", "title of best", "nearest of best", "similar of best",
    "plain of best", "has of best", "pair", "along", "along first", "alone", "share", "rank",
    "first", "expected",
)  # fmt: skip
_ROOTS = (
    "similar", "words", "title", "nearest", "near title", "usual", "along", "along first", "plain",
    "path", "has",
)  # fmt: skip
_PAIRS = (
    ("test", "tests"), ("code", "tests"), ("prose", "docs"), ("code", "docs"), ("test", "pair"),
    ("code", "pair"), ("test", "rate"), ("code", "rate"), ("prose", "rate"), ("share", "first"),
    ("code", "name"), ("test", "name"),
)  # fmt: skip
FEATURES = (
    *_PLAIN, *(f"root {one}" for one in _ROOTS), *(f"{one} and {two}" for one, two in _PAIRS),
    "unscoped", "whole scope",
)  # fmt: skip
FILE = Path(__file__).parent / "weights.json"
SURE = 0.5


class Likely(NamedTuple):
    """A file that the task will probably touch, and by which signs."""

    path: str
    score: float
    signs: dict[str, float]


def likely_files(
    tree: Tree, text: str, similar: Sequence[Change], *, targets: Sequence[str] = ()
) -> list[Likely]:
    """The files that a task will probably touch, the likeliest first; none rather than noise.

    `targets` are listed already.
    """
    signs = weighed(tree, text, similar, targets)
    scored = [Likely(path, _together(own), own) for path, own in signs.items()]
    scored.sort(key=lambda one: (-one.score, one.path))
    return chosen(scored)


def chosen(scored: Sequence[Likely]) -> list[Likely]:
    """Those that are worth naming together: beside one that is all but certain, a guess is noise."""
    is_certain = bool(scored) and scored[0].score >= _CERTAIN
    floor = _FLOOR_BESIDE if is_certain else _FLOOR
    return [one for one in scored[:MOST_FILES] if one.score >= floor]


def weighed(tree: Tree, text: str, similar: Sequence[Change], targets: Sequence[str] = ()) -> Signs:
    """What speaks for each file, by itself and beside the others."""
    past = read_past(tree.repo, tree.sizes)
    signs = signs_of(tree, past, text, similar, targets)
    alone = {path: _alone(own) for path, own in signs.items()}
    order = sorted(alone, key=lambda path: (-alone[path], path))
    leading = {path: alone[path] for path in order[:_LEADING]}
    _add_company(tree, past, leading, signs, text)
    for path in signs.keys() - alone.keys():
        alone[path] = _alone(signs[path])
    order = sorted(alone, key=lambda path: (-alone[path], path))
    expected = sum(alone.values())
    for number, path in enumerate(order):
        signs[path] |= {
            "alone": math.log(alone[path] / (1 - alone[path])),
            "share": alone[path] / alone[order[0]],
            "rank": 1 / (1 + number),
            "first": alone[order[0]],
            "expected": expected,
        }
    return signs


def features(signs: Mapping[str, float]) -> list[float]:
    """The numbers that are weighed, as `FEATURES` names them."""
    value = {name: signs.get(name, 0.0) for name in _PLAIN}
    return [
        *(value | {"scope": max(0.0, value["scope"])}).values(),
        *(math.sqrt(value[name]) for name in _ROOTS),
        *(value[one] * value[two] for one, two in _PAIRS),
        float(value["scope"] < 0),
        float(value["scope"] == 1),
    ]


@cache
def _weights() -> tuple[float, ...]:
    known = jsontext.loads(FILE.read_text("utf-8"))
    return (float(known["bias"]), *(float(known["weights"][name]) for name in FEATURES))


def _together(signs: Mapping[str, float]) -> float:
    """How probable a file is by all that speaks for it."""
    return _probability(math.fsum(map(float.__mul__, _weights(), (1.0, *features(signs)))))


def _probability(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def _alone(signs: Mapping[str, float]) -> float:
    """How probable a file is by its own signs."""
    values = {
        **signs,
        "root words": math.sqrt(signs.get("words", 0.0)),
        "root similar": math.sqrt(signs.get("similar", 0.0)),
    }
    total = _ALONE_BIAS + sum(weight * values.get(name, 0.0) for name, weight in _ALONE.items())
    return _probability(total)


def _add_company(
    tree: Tree, past: Past, leading: Mapping[str, float], signs: Signs, text: str
) -> None:
    """Tests that belong to leading files, and what changed with those."""
    whole = sum(leading.values()) or 1.0
    pairs: dict[str, float] = {}
    along: dict[str, float] = defaultdict(float)
    closest: dict[str, float] = {}
    for number, (first, weight) in enumerate(leading.items()):
        for path in tree.counterparts(first):
            pairs[path] = max(weight, pairs.get(path, 0.0))
        for path, share in past.beside(first).items():
            along[path] += share * weight / whole
            if number == 0:
                closest[path] = share
    likely_along = sorted(along, key=lambda path: (-along[path], path))[:_LEADING]
    new = [path for path in dict.fromkeys((*pairs, *likely_along)) if path not in signs]
    add_kinds({path: signs[path] for path in new}, past, text)
    for path, own in signs.items():
        own |= {
            "pair": pairs.get(path, 0.0),
            "along": along.get(path, 0.0),
            "along first": closest.get(path, 0.0),
        }
