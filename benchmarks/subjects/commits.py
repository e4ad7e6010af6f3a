"""Made-up commits, as many as a size needs, in our index and in the original's tables."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, islice, repeat

import zstandard

from benchmarks.bench import Bench
from benchmarks.subjects.originals import OriginalIndex
from clew.history.model import CommitMeta, IndexedCommit, Repo
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.diffs import index_commit

HOW = (
    "The commits are made up: a vocabulary of 20,000 words as frequent as in a language, a tenth "
    "of the paths touched most of the time, one or two hunks each; they are taken apart and "
    "written as a sync does, without git."
)
REPOSITORY = "grown"
_TRANSACTION = 4000
_SYLLABLES = [first + second for first in "bdfgklmnprst" for second in "aeiou"]


@dataclass(frozen=True)
class Grown:
    """An index of one size, and the original's index of the same commits."""

    size: int
    store: SqliteHistory
    original: OriginalIndex
    shas: list[str]


def grow(bench: Bench, size: int) -> Grown:
    """Both indexes of so many made-up commits, made once in a run."""
    return bench.workshop.once(f"grown {size}", lambda: _grow(bench, size))


def _grow(bench: Bench, size: int) -> Grown:
    bench.say(f"building an index of {size:,} commits")
    place = bench.home / f"grown-{size}"
    store = SqliteHistory.create(place / "db", is_scratch=True)
    original = bench.workshop.keep(OriginalIndex(place / "original"))
    repo = store.add_repo(Repo(0, REPOSITORY, str(bench.home)))
    made = _commits(size)
    shas: list[str] = []
    while part := list(islice(made, _TRANSACTION)):
        shas += [commit.meta.sha for commit in part]
        with store.writing():
            store.write_commits(repo.repo_id, part)
        original.add(part)
    store.close()
    return Grown(size, bench.workshop.keep(SqliteHistory.read(place / "db")), original, shas)


def _commits(size: int) -> Iterator[IndexedCommit]:
    """Made-up commits, the oldest first; the same for every run."""
    dice = random.Random(size)
    words = [word(rank) for rank in range(20_000)]
    weights = word_sums(len(words))
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


def word(rank: int) -> str:
    """A made-up word; about six of them share four letters."""
    count = len(_SYLLABLES)
    parts = (rank % count, rank // count % count, rank // count**2)
    return "".join(_SYLLABLES[part] for part in parts)


def word_sums(count: int) -> list[float]:
    """How often each word and those before it occur: as in a language."""
    return list(accumulate(1 / (rank + 10) for rank in range(count)))
