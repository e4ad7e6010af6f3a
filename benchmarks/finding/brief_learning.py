"""Learns which files a brief names: `python -m benchmarks.finding.brief_learning DIR... [--write]`.

Each directory is a clone as `brief_files.py` takes it; none of them may be one that is tested on. Changes of the past
are asked with the project as it was, and weights are learned by which the signs of the candidates tell those
that were touched. How good that is, is shown for each project by weights that were learned from the others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.rooms.brief_files import THEN, asked, measured, opened, tasks
from clew.kit.git import run_git
from clew.thread.brief.brief import similar_changes
from clew.thread.brief.likely import FEATURES, FILE, Likely, chosen, features, weighed
from clew.thread.brief.tree import Tree

_STEPS, _RATE, _DECAY, _START = 250, 0.05, 10.0, -3.0
_LEAST_SPREAD = 0.1  # what few files have is not made larger than it is


class Example(NamedTuple):
    """A task's candidates as features, which of them were touched, and all that were."""

    project: str
    paths: list[str]
    features: Any
    is_needed: Any
    needed: frozenset[str]


def examples(root: Path, newest: int, count: int) -> Iterator[Example]:
    """The candidates of past changes of a project."""
    tip = run_git("rev-parse", "HEAD", cwd=root).decode().strip()
    shas = run_git("rev-list", "--no-merges", "--topo-order", "-n", str(newest), tip, cwd=root)
    with tempfile.TemporaryDirectory(prefix="clew-learning-") as directory:
        subject = opened(root, directory, shas.decode().split()[-1])
        try:
            for task in asked(subject, tasks(subject, tip, THEN, newest, count), THEN):
                rooms = subject.rooms()
                tree = Tree(rooms.repo())
                signs = weighed(tree, task.text, similar_changes(rooms, task.text))
                paths = sorted(signs)
                is_needed = np.array([path in task.files for path in paths])
                listed = [features(signs[path]) for path in paths]
                rows = np.array(listed, np.float32).reshape(len(paths), len(FEATURES))
                yield Example(root.name, paths, rows, is_needed, task.files)
        finally:
            subject.store.close()
            subject.git("update-ref", "--no-deref", "HEAD", tip)


class Weights(NamedTuple):
    """What was learned: log-odds, as a bias and a weight of each feature."""

    bias: float
    weights: Any

    def probability(self, features: Any) -> Any:
        """How probable each row is."""
        return 1 / (1 + np.exp(-(features @ self.weights + self.bias)))


def learn(found: Sequence[Example]) -> Weights:
    """Logistic regression by gradient descent; a task of many files counts less for each."""
    features = np.concatenate([one.features for one in found]).astype(np.float32)
    wanted = np.concatenate([one.is_needed for one in found]).astype(np.float32)
    shares = [np.full(len(one.paths), 1 / np.sqrt(len(one.needed))) for one in found]
    counts = np.concatenate(shares).astype(np.float32)
    middle, spread = features.mean(0), np.maximum(features.std(0), _LEAST_SPREAD)
    rows = np.column_stack([(features - middle) / spread, np.ones(len(features), np.float32)])
    weights = np.append(np.zeros(len(FEATURES)), _START)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    decay = np.append(np.full(len(FEATURES), _DECAY), 0.0)
    for step in range(1, _STEPS + 1):
        expected = 1 / (1 + np.exp(-(rows @ weights.astype(np.float32))))
        slope = rows.T @ ((expected - wanted) * counts / counts.mean()) + decay * weights
        mean = 0.9 * mean + 0.1 * slope / len(rows)
        square = 0.99 * square + 0.01 * (slope / len(rows)) ** 2
        size = _RATE * (1 - 0.9 * step / _STEPS)
        weights -= size * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
    scaled = weights[:-1] / spread
    return Weights(float(weights[-1] - scaled @ middle), scaled)


def shown(weights: Weights, found: Sequence[Example]) -> str:
    """Precision and recall on some tasks."""
    named = []
    for one in found:
        scores = weights.probability(one.features)
        order = np.argsort(-scores)
        scored = [Likely(one.paths[at], float(scores[at]), {}) for at in order]
        named.append((frozenset(file.path for file in chosen(scored)), one.needed))
    return measured(named)


def main() -> int:
    """Ask, learn, and show or write what was learned."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--newest", type=int, default=600, help="commits to take changes from")
    parser.add_argument("--tasks", type=int, default=40, help="of each project")
    parser.add_argument("--write", action="store_true", help="replace the packaged weights")
    options = parser.parse_args()
    found = [
        example
        for root in options.repositories
        for example in examples(root, options.newest, options.tasks)
    ]
    for project in dict.fromkeys(one.project for one in found):
        others = learn([one for one in found if one.project != project])
        print(f"{project}: {shown(others, [one for one in found if one.project == project])}")
    made = learn(found)
    if options.write:
        weights = {
            name: round(float(one), 3) for name, one in zip(FEATURES, made.weights, strict=True)
        }
        FILE.write_text(
            json.dumps({"bias": round(made.bias, 3), "weights": weights}, indent=1) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
