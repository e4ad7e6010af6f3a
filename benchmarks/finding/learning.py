"""Learns the weights of the ranking: `python -m benchmarks.finding.learning DIR... [--write]`.

Each directory is a git repository; none of them may be one that is tested on. Questions of the
four tests are asked, and the weights are chosen so that the wanted commits come before the other
candidates: the likelihood of the wanted ones, by gradient descent. Every kind of question has
weights of its own that stay near common ones. A feature that no question shows keeps its prior.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.finding.questions import TESTS, Asked, History, questions
from benchmarks.subjects.histories import embed, sync
from clew.history.ranking.features import FEATURES
from clew.history.ranking.question import KINDS, Question
from clew.history.ranking.ranking import Ranker
from clew.history.ranking.weights import FILE
from clew.history.search.filters import between
from clew.history.semantic.nearest import by_meaning
from clew.history.store.sqlite import SqliteHistory

PRIORS = {"mention": 3.0, "files": 3.0}
_STEPS, _RATE = 250, 0.15
_COMMON_DECAY, _OWN_DECAY = 0.001, 0.004
_BEST, _OTHERS = 25, 20
_ROUGH = [FEATURES.index(name) for name in ("score", "message_score", "meaning", "anywhere")]


@dataclass(frozen=True)
class Example:
    """A question's candidates as features, and which of them are wanted."""

    test: str
    kind: str
    features: Any
    is_wanted: Any


def examples(store: SqliteHistory, test: str, asked: Iterable[Asked]) -> list[Example]:
    """The candidates of questions as the ranking measures them."""
    return [example(store, test, one) for one in asked]


def example(store: SqliteHistory, test: str, asked: Asked) -> Example:
    """The candidates of one question."""
    question = Question.read(asked.text)
    wanted = between(store, store.repos(), None, asked.until)
    rows = Ranker(store, wanted, by_meaning).measured(question)
    kept = [(commit.id, row) for commit, row in rows if commit.id not in asked.excluded]
    features = np.array([row for _, row in kept], np.float32).reshape(len(kept), len(FEATURES))
    return Example(
        test, question.kind, features, np.array([number in asked.wanted for number, _ in kept])
    )


def learn(found: Sequence[Example]) -> dict[str, dict[str, float]]:
    """The weights by kind of question and feature."""
    dice = np.random.default_rng(1)
    usable = [_thinned(one, dice) for one in found if one.is_wanted.any()]
    counts = Counter(one.test for one in usable)
    features = np.concatenate([one.features for one in usable])
    is_wanted = np.concatenate([one.is_wanted for one in usable])
    of = np.repeat(np.arange(len(usable)), [len(one.is_wanted) for one in usable])
    starts = np.searchsorted(of, np.arange(len(usable)))
    kinds = np.array([KINDS.index(one.kind) for one in usable])[of]
    shares = np.array([1 / counts[one.test] for one in usable])[of] / len(counts)
    weights = np.zeros((1 + len(KINDS), len(FEATURES)))  # common ones, then what kinds add
    mean, spread = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        scores = np.einsum("ij,ij->i", features, (weights[0] + weights[1:])[kinds])
        odds = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
        expected = odds / np.add.reduceat(odds, starts)[of]
        right = odds * is_wanted
        pull = (expected - right / np.add.reduceat(right, starts)[of]) * shares
        slope = np.zeros_like(weights)
        for number in range(len(KINDS)):
            slope[1 + number] = pull[kinds == number] @ features[kinds == number]
        slope[0] = slope[1:].sum(0) + _COMMON_DECAY * weights[0]
        slope[1:] += _OWN_DECAY * weights[1:]
        mean = 0.9 * mean + 0.1 * slope
        spread = 0.999 * spread + 0.001 * slope**2
        step_size = (mean / (1 - 0.9**step)) / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
        weights -= _RATE * step_size
    return {
        kind: {
            name: PRIORS.get(name, round(float(weights[0][at] + weights[1 + number][at]), 3))
            for at, name in enumerate(FEATURES)
        }
        for number, kind in enumerate(KINDS)
    }


def _thinned(one: Example, dice: np.random.Generator) -> Example:
    """The wanted candidates, the likeliest others, and some by chance."""
    rough = one.features[:, _ROUGH].sum(1)
    chosen = {*np.nonzero(one.is_wanted)[0], *np.argsort(-rough)[:_BEST]}
    chosen |= {*dice.permutation(len(rough))[:_OTHERS]}
    kept = sorted(chosen)
    return Example(one.test, one.kind, one.features[kept], one.is_wanted[kept])


def main() -> int:
    """Index the repositories, ask, learn, and show or write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--questions", type=int, default=100, help="of each test and repository")
    parser.add_argument("--write", action="store_true", help="replace the packaged weights")
    options = parser.parse_args()
    found: list[Example] = []
    with tempfile.TemporaryDirectory(prefix="clew-learning-") as scratch:
        for number, repository in enumerate(options.repositories):
            index = Path(scratch) / str(number) / "db.sqlite3"
            sync([repository.resolve()], index)
            embed(index)
            store = SqliteHistory.read(index)
            history = History(store)
            for test in TESTS:
                found += examples(store, test, questions(history, test, options.questions))
            store.close()
    text = json.dumps({"weights": learn(found)}, indent=1) + "\n"
    if options.write:
        FILE.write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
