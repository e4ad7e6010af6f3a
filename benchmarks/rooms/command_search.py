"""Commands: does search find what people mean, and how long does it take?

Half of the queries is held out by a hash of their text: settings and word lists were only ever
judged by the other half. `python -m benchmarks.rooms.command_search` prints the table of the quality.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement.sampling import (
    Sample,
    Series,
    compare,
    interleave,
    median_of,
    no_collection,
    timed,
)
from benchmarks.results.report import Claim, Figure, Goal
from clew.commands.model import Command
from clew.commands.search.ranking import CommandIndex, Hit

NAME = "command_search"
TITLE = "Commands: finding the right one, and the time of a search"
FULL = {"rounds": 20, "commands": 10_000, "searches": 60}
QUICK = {"rounds": 2, "commands": 10_000, "searches": 30}
DATA = Path(__file__).parents[1] / "data"
ALGORITHMS = {"cosine": "word cosine", "tfidf": "TF-IDF", "bm25": "BM25", "ranked": "ours"}
DEPTH = 10
MEASURE_NOTE = (
    "Quality is MRR (of the first ten) / recall at 3. A pair is an action and a target; the plain "
    "ways get both as one text."
)
ORIGIN_NOTE = (
    "Commands and queries were written for this benchmark before the ranking was. Held out are the "
    "queries with an odd SHA-256. The word lists have the same author as the queries."
)
TIME_NOTE = "A search's time is the median over queries of all kinds, with the index in memory."
NOTES = [MEASURE_NOTE, ORIGIN_NOTE, TIME_NOTE]


@dataclass(frozen=True)
class Query:
    """Something a person may type, and the command that they mean."""

    kind: str
    wanted: tuple[str, ...]
    text: str
    target: str = ""

    @property
    def held_out(self) -> bool:
        """Whether it was kept away from every decision about the ranking."""
        text = f"{self.text}\t{self.target}" if self.target else self.text
        return bool(hashlib.sha256(text.encode()).digest()[0] & 1)

    def ask(self, index: CommandIndex, algorithm: str = "ranked", limit: int = 3) -> list[Hit]:
        """What the search answers."""
        if not self.target:
            return index.search(self.text, limit=limit, algorithm=algorithm)
        return index.search(
            "", limit=limit, algorithm=algorithm, action=self.text, target=self.target
        )


@dataclass(frozen=True)
class Quality:
    """How well one way of searching did on some queries."""

    mrr: float
    recall: float

    def __str__(self) -> str:
        return f"{self.mrr:.2f} / {self.recall:.2f}"


def read_commands() -> list[Command]:
    """The commands that are searched."""
    rows = [line.split("\t") for line in _lines("commands.tsv")]
    return [Command(c1, c2, c3, description) for c1, c2, c3, description in rows]


def read_queries() -> list[Query]:
    """The queries, with the address that each means."""
    rows = [line.split("\t") for line in _lines("queries.tsv")]
    return [Query(kind, tuple(address.split("/")), *texts) for kind, address, *texts in rows]


def _lines(name: str) -> list[str]:
    return (DATA / name).read_text(encoding="utf-8").splitlines()


def judge(index: CommandIndex, queries: Sequence[Query], algorithm: str) -> Quality:
    """Mean reciprocal rank and recall at 3."""
    ranks = []
    for query in queries:
        found = [hit.command.address for hit in query.ask(index, algorithm, DEPTH)]
        ranks.append(found.index(query.wanted) + 1 if query.wanted in found else 0)
    reciprocal = sum(1 / rank for rank in ranks if rank)
    near = sum(1 <= rank <= 3 for rank in ranks)
    return Quality(reciprocal / len(ranks), near / len(ranks))


def quality_rows() -> dict[str, dict[str, Quality]]:
    """Every way of searching, by kind of query, for the seen and the held-out half."""
    index, queries = CommandIndex(read_commands()), read_queries()
    rows = {}
    for held_out in (False, True):
        half = [query for query in queries if query.held_out is held_out]
        for kind in dict.fromkeys(query.kind for query in queries):
            chosen = [query for query in half if query.kind == kind]
            title = f"{kind}, {len(chosen)} {'held out' if held_out else 'seen'}"
            rows[title] = {way: judge(index, chosen, way) for way in ALGORITHMS}
    return rows


def run(bench: Bench) -> Claim:
    """The quality once, and times in turns."""
    sizes = {"commands": str(len(read_commands())), "queries": str(len(read_queries()))}
    for title, row in quality_rows().items():
        sizes[title] = ", ".join(f"{ALGORITHMS[way]} {quality}" for way, quality in row.items())
    variants = _variants(bench)
    for variant in variants.values():
        variant()
    with no_collection():
        series = interleave(variants, bench["rounds"], say=bench.say)
    return Claim(NAME, TITLE, sizes, NOTES, {}, _figures(series))


def _variants(bench: Bench) -> dict[str, Callable[[], Sample]]:
    many = grown(bench["commands"])
    few = many[:50]
    index, small = CommandIndex(many), CommandIndex(few)
    queries = read_queries()
    random.Random(3).shuffle(queries)
    endless = cycle(queries)
    chosen = [next(endless) for _ in range(bench["searches"])]
    return {
        "search, all": partial(_searched, index, chosen, "ranked"),
        "search, 50": partial(_searched, small, chosen, "ranked"),
        "word cosine, all": partial(_searched, index, chosen[:5], "cosine"),
        "build, all": partial(timed, lambda: CommandIndex(many)),
        "build, 50": partial(timed, lambda: CommandIndex(few)),
        "split words, all": partial(timed, lambda: _split(many)),
        "split words, 50": partial(timed, lambda: _split(few)),
    }


def grown(count: int) -> list[Command]:
    """Many commands out of the words of the real ones."""
    real, rng = read_commands(), random.Random(11)
    words = sorted({word for command in real for word in command.description.split()})
    made: dict[tuple[str, str, str], Command] = {c.address: c for c in real[:count]}
    while len(made) < count:
        domain, part = rng.choice(real).c1, rng.choice("abcd")
        address = (f"{domain}-{part}", rng.choice(real).c2, rng.choice(real).c3)
        made[address] = Command(*address, " ".join(rng.choices(words, k=10)))
    return list(made.values())


def _split(commands: Sequence[Command]) -> None:
    for command in commands:
        f"{command.label} {command.description}".lower().split()


def _searched(index: CommandIndex, queries: Sequence[Query], algorithm: str) -> Sample:
    return median_of(timed(partial(query.ask, index, algorithm)) for query in queries)


def _figures(series: dict[str, Series]) -> list[Figure]:
    def against(subject: str, baseline: str, goal: Goal | None = None) -> Figure:
        compared = compare(series[subject], series[baseline], "ms")
        return Figure("time", subject, baseline, "ms", compared, goal)

    return [
        against("search, all", "word cosine, all", Goal(5.0, "ms")),
        against("search, all", "search, 50"),
        against("build, all", "split words, all", Goal(1000.0, "ms")),
        against("build, 50", "split words, 50", Goal(2.0, "ms")),
    ]


def _table(rows: dict[str, dict[str, Quality]]) -> str:
    heads = [f"{'MRR / recall at 3':28}", *(f"{title:>14}" for title in ALGORITHMS.values())]
    lines = ["".join(heads)]
    for title, row in rows.items():
        lines.append("".join([f"{title:28}", *(f"{quality!s:>14}" for quality in row.values())]))
    held_out = sum(query.held_out for query in read_queries())
    total = f"{len(read_commands())} commands, {len(read_queries())} queries, {held_out} held out"
    return "\n".join([*lines, total])


if __name__ == "__main__":
    print(_table(quality_rows()))
