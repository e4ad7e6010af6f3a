"""Learns what makes a commit the cause of a bug: `python -m benchmarks.agents.learning DIRECTORY [--write]`.

The directory is one of a trial: its questions of the kind `cause`, their answers, and the index
under `home`. Nothing that is tested on may be in it. The weights are chosen so that the right
commit comes before the other candidates, by gradient descent on the likelihood.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.agents.strategy import Asked
from clew.history.questions.report import fits_of_report
from clew.history.search.likelihood import FILE
from clew.history.search.suspects import FEATURES
from clew.history.store.sqlite import SqliteHistory

_STEPS, _RATE, _DECAY = 300, 0.1, 0.01
PRIORS = {
    "code": 1.5
}  # who changes only tests or documents is seldom to blame, and seldom asked for
Example = tuple[Any, Any]  # the features of the candidates, and which of them is right


def learn(examples: Sequence[Example]) -> dict[str, float]:
    """The weight of each feature."""
    features = np.concatenate([rows for rows, _ in examples])
    right = np.concatenate([marks for _, marks in examples])
    sizes = [len(marks) for _, marks in examples]
    starts = np.cumsum([0, *sizes[:-1]])
    of = np.repeat(np.arange(len(sizes)), sizes)
    weights = np.zeros(len(FEATURES))
    mean, spread = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        scores = features @ weights
        odds = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
        odds /= np.add.reduceat(odds, starts)[of]
        slope = (odds - right) @ features / len(sizes) + _DECAY * weights
        mean = 0.9 * mean + 0.1 * slope
        spread = 0.999 * spread + 0.001 * slope**2
        rate = _RATE / (1 - 0.9**step)
        weights -= rate * mean / (np.sqrt(spread / (1 - 0.999**step)) + 1e-8)
    return {
        name: PRIORS.get(name, round(float(weights[at]), 3)) for at, name in enumerate(FEATURES)
    }


def examples_of(directory: Path) -> tuple[list[Example], int]:
    """The questions whose answer is a candidate, and how many there are."""
    gold = {one["id"]: one["right"][0] for one in _read(directory / "gold.jsonl")}
    asked = [one for one in _read(directory / "questions.jsonl") if one["kind"] == "cause"]
    found: list[Example] = []
    with SqliteHistory.read(directory / "home" / ".commitmux" / "db.sqlite3") as store:
        for one in asked:
            report = Asked("cause", one["question"]).report
            fits = fits_of_report(store, store.find_repo(one["repo"]), report)[1]
            records = store.commits(fits)
            marks = np.array([records[key].sha == gold[one["id"]] for key in fits], float)
            if marks.any():
                found.append((np.array([fit.features for fit in fits.values()]), marks))
    return found, len(asked)


def _read(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def main() -> int:
    """Learn, and show or write what was learned."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the packaged weights")
    options = parser.parse_args()
    examples, asked = examples_of(options.directory)
    learned = {"found": round(len(examples) / asked, 2), "weights": learn(examples)}
    text = json.dumps({"cause": learned}, indent=1) + "\n"
    if options.write:
        FILE.write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
