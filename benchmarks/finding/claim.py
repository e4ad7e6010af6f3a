"""Finding commits: four tests made of a history, every door compared, and what each feature gives."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from statistics import median

from benchmarks.bench import Bench
from benchmarks.finding.questions import TESTS, Asked, History, questions
from benchmarks.finding.systems import SYSTEMS, places
from benchmarks.results.report import Claim
from benchmarks.subjects.histories import with_vectors
from clew.history.ranking.features import FEATURES
from clew.history.ranking.question import Question
from clew.history.ranking.ranking import Ranker
from clew.history.ranking.weights import weights
from clew.history.search.filters import between
from clew.history.semantic.nearest import by_meaning
from clew.history.store.sqlite import SqliteHistory

NAME = "finding"
TITLE = "Finding commits: paraphrases, four words, regressions and identifiers"
FULL = {"questions": 100, "resamples": 1000}
QUICK = {"questions": 5, "resamples": 50}
NOTES = [
    (
        "R@1 / R@10: how often a wanted commit comes first, or among the first ten; with the 95 %"
        " interval of R@10 by resampling questions."
    ),
    (
        "paraphrase: titles of merged pull requests and release notes, against the commits they are"
        " about, where at most half of the words are those of a subject."
    ),
    "four words: of a body or of changed lines. identifier: a name, the commit that first added it.",
    "regression: the message of a fix without what names the cause, asked as of its day.",
    "without a feature: R@10 of the ranking when its weights are 0.",
]
GROUPS = {
    "text scores": ("score", "score_rank", "message_score", "message_rank"),
    "meaning": ("meaning", "meaning_rank"),
    "shares of words": ("subject", "body", "message", "anywhere", "all_words", "all_in_message"),
    "paths": ("paths",),
    "phrases": ("phrase", "phrase_in_message", "pairs"),
    "focus of the subject": ("focus",),
    "sizes": ("size", "length", "revert"),
    "names": ("name_in_message", "name_added", "name_first"),
    "recency": ("recent",),
}


def run(bench: Bench) -> Claim:
    """Ask the repository that was named; a generated one has no questions."""
    if bench.workshop.repository is None:
        why = "it needs a real history: --repository DIR"
        return Claim(NAME, TITLE, notes=NOTES, skipped={NAME: why})
    store, _ = with_vectors(bench, bench.workshop.repository)
    history = History(store)
    sizes = {"commits": f"{len(history.counted):,}"}
    skipped = {}
    for test in TESTS:
        bench.say(f"{test}: questions")
        asked = questions(history, test, bench["questions"])
        if not asked:
            skipped[test] = "the history has no such questions"
            continue
        for name in SYSTEMS:
            bench.say(f"{test}: {name}")
            sizes[f"{test} ({len(asked)}), {name}"] = _line(bench, store, name, asked)
        bench.say(f"{test}: without each feature")
        sizes[f"{test}, without"] = _ablation(store, asked)
    return Claim(NAME, TITLE, sizes, NOTES, skipped)


def _line(bench: Bench, store: SqliteHistory, name: str, asked: Sequence[Asked]) -> str:
    found, spent = [], []
    for one in asked:
        begun = time.process_time()
        found.append(places(SYSTEMS[name], store, one))
        spent.append(time.process_time() - begun)
    hits = [place is not None for place in found]
    low, high = interval(hits, bench["resamples"])
    first = sum(place == 0 for place in found) / len(found)
    ten = sum(hits) / len(hits)
    return f"{first:.2f} / {ten:.2f} [{low:.2f}, {high:.2f}], {median(spent) * 1e3:.0f} ms CPU"


def interval(hits: Sequence[bool], resamples: int) -> tuple[float, float]:
    """Between what the share of hits lies in 95 % of resampled questions."""
    dice = random.Random(5)
    means = sorted(sum(dice.choices(hits, k=len(hits))) / len(hits) for _ in range(resamples))
    return means[int(0.025 * resamples)], means[min(int(0.975 * resamples), resamples - 1)]


def _ablation(store: SqliteHistory, asked: Sequence[Asked]) -> str:
    """R@10 with all features, and without each group of them."""
    hits = dict.fromkeys(("nothing", *GROUPS), 0)
    for one in asked:
        question = Question.read(one.text)
        wanted = between(store, store.repos(), None, one.until)
        rows = Ranker(store, wanted, by_meaning).measured(question)
        kept = [(commit.id, row) for commit, row in rows if commit.id not in one.excluded]
        for name in hits:
            unused = GROUPS.get(name, ())
            counted = [
                0.0 if feature in unused else weight
                for feature, weight in zip(FEATURES, weights(question.kind), strict=True)
            ]
            scored = sorted(
                ((-sum(map(float.__mul__, counted, row)), -number) for number, row in kept)
            )
            hits[name] += any(-number in one.wanted for _, number in scored[:10])
    return ", ".join(f"{name} {count / len(asked):.2f}" for name, count in hits.items())
