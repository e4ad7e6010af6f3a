"""What was learned of public histories: how much each sign of a suspect counts, and how likely it is.

`benchmarks/agents/learning.py` learns it and writes the file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from clew.history.search.suspects import FEATURES, Fit
from clew.kit import jsontext

FILE = Path(__file__).parent / "likelihood.json"


def likely(fits: Mapping[int, Fit]) -> dict[int, float]:
    """How likely each candidate is the cause; the rest is that it is not among them."""
    known = _learned()
    weights = [float(known["weights"][name]) for name in FEATURES]
    scores = {key: sum(map(float.__mul__, weights, fit.features)) for key, fit in fits.items()}
    most = max(scores.values(), default=0.0)
    odds = {key: math.exp(score - most) for key, score in scores.items()}
    whole = sum(odds.values())
    return {key: known["found"] * one / whole for key, one in odds.items()}


@cache
def _learned() -> Any:
    return jsontext.loads(FILE.read_text("utf-8"))["cause"]
