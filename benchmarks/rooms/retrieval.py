"""Related commits: are those that a later commit names found by its words, by meaning, by both."""

from __future__ import annotations

import random
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable
from functools import partial

from benchmarks.bench import Bench
from benchmarks.measurement.sampling import Sample, compare, interleave, median_of, timed
from benchmarks.results.report import Claim, Figure
from benchmarks.subjects.histories import with_vectors
from clew.history.search.search import search_commits
from clew.history.semantic.search import search_semantic
from clew.history.store.base import COUNTED
from clew.history.store.interface import HistoryStore
from clew.history.store.sqlite import SqliteHistory
from clew.kit.errors import Invalid

NAME = "retrieval"
TITLE = "Related commits: found by words, by meaning, or by both"
FULL = {"rounds": 3, "queries": 400}
QUICK = {"rounds": 2, "queries": 12}
NOTES = [
    "A query is a later commit's subject, alone or with its body, without issues and SHAs.",
    "Wanted are the earlier commits that it names by SHA, or that name the same issue.",
    "Recall is the share of these among the first 5 / the first 10 answers.",
    "search: all words must match. words: any of them, by BM25.",
    "semantic: vectors of the messages. hybrid: the last two, fused by rank.",
]
METHODS = ("search", "words", "semantic", "hybrid")
_ISSUE = re.compile(r"(?<![\w&/])#(\d{1,9})\b")
_SHA = re.compile(r"\b[0-9a-f]{7,40}\b")
_NOISE = re.compile(r"https?://\S+|(?im:^(?:signed-off-by|co-authored-by):.*$)")
_MOST_OF_AN_ISSUE = 4

Pair = tuple[sqlite3.Row, set[str]]


def run(bench: Bench) -> Claim:
    """Measure on the repository that was named; a generated one has no related commits."""
    if bench.workshop.repository is None:
        why = "it needs a real history: --repository DIR"
        return Claim(NAME, TITLE, notes=NOTES, skipped={"retrieval": why})
    store, vectors = with_vectors(bench, bench.workshop.repository)
    sizes = {
        "vectors": f"{vectors.count}, made in {vectors.seconds:.1f} s ({vectors.model})",
        "their file": f"{vectors.size / 1e6:.1f} MB",
    }
    dice = random.Random(11)
    chosen = {
        kind: dice.sample(pairs, min(len(pairs), bench["queries"]))
        for kind, pairs in related(store).items()
    }
    for kind, pairs in chosen.items():
        for what, with_body in (("subject", False), ("subject and body", True)):
            bench.say(f"{kind}, {what}")
            if pairs:
                title = f"recall, {kind}, {what} ({len(pairs)} queries)"
                sizes[title] = _line(_recalls(store, pairs, with_body=with_body))
    return Claim(NAME, TITLE, sizes, NOTES, {}, _times(bench, store, chosen["issue"]))


def related(store: SqliteHistory) -> dict[str, list[Pair]]:
    """Later commits with the earlier ones that they are related to, by kind of relation."""
    rows = store.connection.execute(
        f"SELECT c.id, c.sha, c.subject, c.body FROM commit_rows c WHERE {COUNTED} ORDER BY c.id"
    ).fetchall()
    by_issue = defaultdict(list)
    by_beginning = defaultdict(list)
    for row in rows:
        by_beginning[row["sha"].hex()[:7]].append(row)
        for number in set(_ISSUE.findall(_message(row))):
            by_issue[number].append(row)
    found: dict[str, list[Pair]] = {"issue": [], "named by SHA": [], "reverted": []}
    for group in by_issue.values():
        if 2 <= len(group) <= _MOST_OF_AN_ISSUE:
            found["issue"].append((group[-1], {one["sha"].hex() for one in group[:-1]}))
    for row in rows:
        named = {
            one["sha"].hex()
            for text in _SHA.findall(_message(row))
            for one in by_beginning.get(text[:7], ())
            if one["sha"].hex().startswith(text) and one["id"] < row["id"]
        }
        if named:
            is_revert = "revert" in row["subject"].lower()
            found["reverted" if is_revert else "named by SHA"].append((row, named))
    return found


def _message(row: sqlite3.Row) -> str:
    return f"{row['subject']}\n{row['body'] or ''}"


def query_of(row: sqlite3.Row, *, with_body: bool) -> str:
    """What is asked for a later commit: its words, without what names the wanted ones."""
    text = _message(row) if with_body else row["subject"]
    return _SHA.sub(" ", _ISSUE.sub(" ", _NOISE.sub(" ", text)))


def found_by(store: HistoryStore, method: str, query: str) -> list[str]:
    """The SHAs that one way of searching answers, best first."""
    try:
        if method == "search":
            return [hit["sha"] for hit in search_commits(store, query, limit=11)]
        return [
            hit["sha"] for hit in search_semantic(store, query, mode=method, limit=11)["commits"]
        ]
    except Invalid:  # nothing was left of the message
        return []


def _recalls(
    store: SqliteHistory, pairs: list[Pair], *, with_body: bool
) -> dict[str, tuple[float, float]]:
    recalls = {}
    for method in METHODS:
        sums = [0.0, 0.0]
        for row, wanted in pairs:
            found = found_by(store, method, query_of(row, with_body=with_body))
            others = [sha for sha in found if sha != row["sha"].hex()]
            for place, many in enumerate((5, 10)):
                sums[place] += len(wanted & set(others[:many])) / len(wanted)
        recalls[method] = (sums[0] / len(pairs), sums[1] / len(pairs))
    return recalls


def _line(recalls: dict[str, tuple[float, float]]) -> str:
    return ", ".join(f"{name} {five:.3f} / {ten:.3f}" for name, (five, ten) in recalls.items())


def _times(bench: Bench, store: SqliteHistory, pairs: list[Pair]) -> list[Figure]:
    queries = [query_of(row, with_body=False) for row, _ in pairs[:50]]
    if not queries:
        return []
    variants: dict[str, Callable[[], Sample]] = {
        method: partial(_median, store, method, queries) for method in METHODS
    }
    series = interleave(variants, bench["rounds"], say=bench.say)
    return [
        Figure("time", method, "search", "ms", compare(series[method], series["search"], "ms"))
        for method in METHODS[1:]
    ]


def _median(store: SqliteHistory, method: str, queries: list[str]) -> Sample:
    return median_of(timed(partial(found_by, store, method, query)) for query in queries)
