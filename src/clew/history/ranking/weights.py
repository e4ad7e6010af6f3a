"""The learned weights: how much each feature counts, by the kind of question.

`benchmarks/finding/learning.py` learns them from public histories and writes the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from clew.history.ranking.features import FEATURES
from clew.kit import jsontext

FILE = Path(__file__).parent / "weights.json"


@cache
def weights(kind: str) -> tuple[float, ...]:
    """The weights of the features for one kind of question, in the order of the features."""
    known = jsontext.loads(FILE.read_text("utf-8"))["weights"][kind]
    return tuple(float(known.get(name, 0.0)) for name in FEATURES)


def weighed(features: Sequence[float], kind: str) -> float:
    """How well a commit answers: the sum of its weighted features."""
    return sum(map(float.__mul__, weights(kind), features))
