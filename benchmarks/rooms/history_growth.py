"""History: what ten and a hundred times as many commits cost a question, and the original's way."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from benchmarks.bench import Bench
from benchmarks.measurement.sampling import Sample, Series, asked_about, interleave
from benchmarks.results.curves import Curve, curve_of
from benchmarks.results.report import Claim, Goal
from benchmarks.subjects.commits import HOW, REPOSITORY, Grown, grow, word
from benchmarks.subjects.originals import LIKE, NEWEST, SHA_LIKE
from clew.history.lookup import get_commit, get_patch
from clew.history.questions.file_history import find_touches
from clew.history.search.search import search_commits
from clew.history.sync.freshness import list_repos

NAME = "history_growth"
TITLE = "History: growth of questions with the number of commits"
FULL = {"rounds": 5, "commits": 5000, "steps": 3, "questions": 60}
QUICK = {"rounds": 2, "commits": 200, "steps": 2, "questions": 10}
NOTES = [
    f"Every size is ten times the one before. {HOW}",
    "A sample is the median of many different questions, asked in this process of a warm index.",
    "Goals are for the second size.",
    (
        f"`{NEWEST}` searches messages and the first 500 bytes of patches, sorts all that match by "
        "time and fetches the paths of each hit by a query; ours ranks, and searches whole patches. "
        f"`{LIKE}` and `{SHA_LIKE}` are `LIKE '%fragment%'` and `LIKE 'prefix%'`. Both have the "
        "original's tables of the same commits."
    ),
]
# The goal in milliseconds, and the original's way where it has one.
QUESTIONS = {
    "search, one word": (5.0, NEWEST),
    "search, two words": (5.0, NEWEST),
    "search, phrase": (5.0, NEWEST),
    "search, prefix": (5.0, NEWEST),
    "touches": (5.0, LIKE),
    "get_commit": (1.0, SHA_LIKE),
    "get_patch": (2.0, ""),
    "list": (None, ""),
}


def run(bench: Bench) -> Claim:
    """Build the indexes and ask them in turns."""
    sizes = [bench["commits"] * 10**step for step in range(bench["steps"])]
    indexes = [grow(bench, size) for size in sizes]
    variants: dict[str, Callable[[], Sample]] = {}
    for index in indexes:
        for who, asks in (("", _ours(index)), ("their ", _theirs(index))):
            for question, ask in asks.items():
                text = _texts(index)[question]
                variant = partial(asked_about, ask, text, bench["questions"])
                variants[f"{who}{question} of {index.size}"] = variant
    series = interleave(variants, bench["rounds"], say=bench.say)
    told = {
        f"index of {index.size:,} commits": f"{index.store.path.stat().st_size / 1e6:.1f} MB"
        for index in indexes
    }
    curves = [_curve(question, sizes, series) for question in QUESTIONS]
    return Claim(NAME, TITLE, told, NOTES, curves=curves)


def _texts(index: Grown) -> dict[str, Callable[[], str]]:
    """What is asked, with other words every time; the same of ours and of the original's way."""
    dice = random.Random(11)

    def some() -> str:
        return word(dice.randrange(20, 400))

    def subject() -> str:
        return str(get_commit(index.store, REPOSITORY, dice.choice(index.shas))["subject"])

    return {
        "search, one word": some,
        "search, two words": lambda: f"{some()} {some()}",
        "search, phrase": lambda: f'"{" ".join(subject().split()[:3])}"',
        "search, prefix": lambda: f"{some()[:4]}*",
        "touches": lambda: f"module{dice.randrange(200)}/",
        "get_commit": lambda: dice.choice(index.shas),
        "get_patch": lambda: dice.choice(index.shas),
        "list": str,
    }


def _ours(index: Grown) -> dict[str, Callable[[str], object]]:
    store = index.store
    return {
        **{name: partial(search_commits, store) for name in QUESTIONS if name.startswith("search")},
        "touches": partial(find_touches, store),
        "get_commit": partial(get_commit, store, REPOSITORY),
        "get_patch": partial(get_patch, store, REPOSITORY),
        "list": lambda _: list_repos(store),
    }


def _theirs(index: Grown) -> dict[str, Callable[[str], object]]:
    original = index.original
    ways: dict[str, Callable[[str], object]] = {
        NEWEST: original.search,
        LIKE: original.touches,
        SHA_LIKE: original.get_commit,
    }
    return {name: ways[way] for name, (_, way) in QUESTIONS.items() if way}


def _curve(question: str, sizes: list[int], series: dict[str, Series]) -> Curve:
    limit, way = QUESTIONS[question]
    return curve_of(
        question,
        "commits",
        "ms",
        {size: series[f"{question} of {size}"] for size in sizes},
        goals={} if limit is None else {size: Goal(limit, "ms") for size in sizes[1:2]},
        baseline=way,
        theirs={size: series[f"their {question} of {size}"] for size in sizes} if way else {},
    )
