"""History: what ten and a hundred times as many commits cost, in questions and in memory."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice, repeat

import zstandard

from benchmarks.bench import Bench
from benchmarks.history_index import asked, generate
from benchmarks.measure import Comparison, Sample, Series, compare, interleave, summarize
from benchmarks.report import Claim, Figure, Goal
from clew.history.ingest import index_commit
from clew.history.listing import list_repos
from clew.history.lookup import get_commit, get_patch
from clew.history.model import CommitMeta, IndexedCommit, Repo
from clew.history.search import search_commits
from clew.history.store import HistoryStore
from clew.history.touches import find_touches
from clew.kit.sqlite import writing

NAME = "history_growth"
TITLE = "History: growth with the number of commits"
FULL = {"rounds": 5, "commits": 5000, "steps": 3, "questions": 60, "read": 10_000}
QUICK = {"rounds": 2, "commits": 300, "steps": 2, "questions": 10, "read": 300}
NOTES = [
    "Every size is ten times the one before. The commits are made up: a vocabulary of 20,000 words "  # noqa: ISC004
    "as frequent as in a language, a tenth of the paths touched most of the time, one or two "
    "hunks each; they are taken apart and written as a sync does, without git.",
    "A sample is the median of many different questions, asked in this process of a warm index.",
    "Goals are for the second size. Peak memory is that of a process that syncs a repository.",
]
GOALS = {
    "search, one word": 5.0,
    "search, two words": 5.0,
    "search, phrase": 5.0,
    "search, prefix": 5.0,
    "touches": 5.0,
    "get_commit": 1.0,
    "get_patch": 2.0,
    "list": None,
}
_TRANSACTION = 4000
_SYLLABLES = [first + second for first in "bdfgklmnprst" for second in "aeiou"]
_SYNC = """
import sys
from pathlib import Path
from clew.history.ingest import sync_repo
from clew.history.repositories import register
from clew.history.store import HistoryStore
store = HistoryStore.create(Path(sys.argv[2]))
sync_repo(store, register(store, Path(sys.argv[1]), name="measured"))
status = Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
print(next((line.split()[1] for line in lines if line.startswith("VmHWM:")), 0))
"""


@dataclass(frozen=True)
class Grown:
    """An index of one size."""

    name: str
    store: HistoryStore
    shas: list[str]


def run(bench: Bench) -> Claim:
    """Build the indexes, ask them in turns, then read two repositories."""
    sizes = [bench["commits"] * 10**step for step in range(bench["steps"])]
    grown = [_grow(bench, size) for size in sizes]
    variants: dict[str, Callable[[], Sample]] = {
        f"{question} of {index.name}": partial(asked, ask, bench["questions"])
        for index in grown
        for question, ask in _questions(index).items()
    }
    series = interleave(variants, bench["rounds"], say=bench.say)
    figures = [figure for name in GOALS for figure in _figures(name, grown, series)]
    told = {
        f"index of {index.name}": f"{index.store.path.stat().st_size / 1e6:.1f} MB"
        for index in grown
    }
    memory = _memory(bench)
    skipped = {} if memory else {"peak memory": "the system does not tell it"}
    return Claim(NAME, TITLE, told, NOTES, skipped, figures + memory)


def _questions(index: Grown) -> dict[str, Callable[[], object]]:
    """Each question, with other words every time it is asked."""
    dice = random.Random(11)
    store = index.store

    def word() -> str:
        return _word(dice.randrange(20, 400))

    def subject() -> str:
        return str(get_commit(store, "grown", dice.choice(index.shas))["subject"])

    return {
        "search, one word": lambda: search_commits(store, word()),
        "search, two words": lambda: search_commits(store, f"{word()} {word()}"),
        "search, phrase": lambda: search_commits(store, f'"{" ".join(subject().split()[:3])}"'),
        "search, prefix": lambda: search_commits(store, f"{word()[:4]}*"),
        "touches": lambda: find_touches(store, f"module{dice.randrange(200)}/"),
        "get_commit": lambda: get_commit(store, "grown", dice.choice(index.shas)),
        "get_patch": lambda: get_patch(store, "grown", dice.choice(index.shas)),
        "list": lambda: list_repos(store),
    }


def _figures(question: str, grown: list[Grown], series: dict[str, Series]) -> Iterator[Figure]:
    for step, index in enumerate(grown[1:], start=1):
        compared = compare(
            series[f"{question} of {index.name}"], series[f"{question} of {grown[0].name}"], "ms"
        )
        limit = GOALS[question] if step == 1 else None
        goal = None if limit is None else Goal(limit, "ms")
        yield Figure(question, index.name, grown[0].name, "ms", compared, goal)


def _memory(bench: Bench) -> list[Figure]:
    """The peak of two syncs, the second of four times as many commits."""
    peaks = []
    for times in (1, 4):
        commits = bench["read"] * times
        bench.say(f"reading {commits} commits")
        repository = generate(bench.home / f"read-{times}", commits)
        words = [sys.executable, "-c", _SYNC, str(repository), f"{repository}.sqlite3"]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE)
        peaks.append((f"sync of {commits:,} commits", int(done.stdout) / 1024))
    (small, low), (large, high) = peaks
    if not low:
        return []
    compared = Comparison(summarize([high]), summarize([low]), summarize([high / low]), high / low)
    return [Figure("peak memory", large, small, "MiB", compared, Goal(1.5))]


def _grow(bench: Bench, size: int) -> Grown:
    name = f"{size:,} commits"
    bench.say(f"building an index of {name}")
    store = HistoryStore.create(bench.home / f"grown-{size}" / "db")
    store.connection.execute("PRAGMA synchronous=OFF")
    repo = store.add_repo(Repo(0, "grown", str(bench.home)))
    made = _commits(size)
    shas: list[str] = []
    while part := list(islice(made, _TRANSACTION)):
        shas += [commit.meta.sha for commit in part]
        with writing(store.connection):
            store.write_commits(repo.repo_id, part)
    store.close()
    return Grown(name, HistoryStore.read(bench.home / f"grown-{size}" / "db"), shas)


def _commits(size: int) -> Iterator[IndexedCommit]:
    """Made-up commits, the oldest first; the same for every run."""
    dice = random.Random(size)
    words = [_word(rank) for rank in range(20_000)]
    weights = _added_up(1 / (rank + 10) for rank in range(len(words)))
    compressor = zstandard.ZstdCompressor(level=3)
    parent = ""
    for number in range(size):
        drawn = iter(dice.choices(words, cum_weights=weights, k=120))
        meta = CommitMeta(
            sha=f"{dice.getrandbits(160):040x}",
            parents=(parent,) if parent else (),
            author_name=f"Author {number % 97}",
            author_email=f"author{number % 97}@example.com",
            author_time=1_300_000_000 + number * 800,
            author_zone="+0000",
            committer_name="Committer",
            committer_email="committer@example.com",
            commit_time=1_300_000_000 + number * 800,
            subject=" ".join(islice(drawn, 6)),
            body=" ".join(islice(drawn, 18)) if number % 3 == 0 else None,
        )
        yield index_commit(meta, _diff(dice, drawn, size), (), compressor)
        parent = meta.sha


def _diff(dice: random.Random, words: Iterator[str], size: int) -> bytes:
    """Raw lines and patch of one or two files, as git prints them."""
    many = max(size // 20, 50)
    numbers = {dice.randrange(many if dice.random() < 0.3 else many // 10) for _ in range(2)}
    paths = [f"src/module{number % 200}/part{number % 17}/file{number}.py" for number in numbers]
    raw = "".join(f":100644 100644 1111111 2222222 M\t{path}\n" for path in paths)
    return (raw + "\n" + "".join(_section(path, words) for path in paths)).encode()


def _section(path: str, words: Iterator[str]) -> str:
    lines = [
        sign + " ".join(islice(words, 6))
        for sign in (*repeat(" ", 3), *repeat("-", 1), *repeat("+", 2), *repeat(" ", 2))
    ]
    head = (
        f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n--- a/{path}\n+++ b/{path}"
    )
    return "\n".join((head, f"@@ -1,6 +1,7 @@ def {next(words, 'part')}():", *lines, ""))


def _word(rank: int) -> str:
    """A made-up word; about six of them share four letters."""
    count = len(_SYLLABLES)
    parts = (rank % count, rank // count % count, rank // count**2)
    return "".join(_SYLLABLES[part] for part in parts)


def _added_up(values: Iterator[float]) -> list[float]:
    total, sums = 0.0, []
    for value in values:
        total += value
        sums.append(total)
    return sums
