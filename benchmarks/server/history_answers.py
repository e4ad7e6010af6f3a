"""History: what each question costs a warm server, in processor time, beside its goal."""

from __future__ import annotations

import random
import re
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.measurement.sampling import percentile
from benchmarks.results.report import Claim
from benchmarks.subjects.histories import repository_of, with_vectors
from clew.history.questions.contains import contains
from clew.history.questions.file_history import find_touches
from clew.history.questions.hotspots import hotspots
from clew.history.questions.owners import owners
from clew.history.questions.pickaxe import find_changes
from clew.history.questions.similar import similar
from clew.history.search.filters import Filters
from clew.history.search.search import SearchRequest, page_of_commits, search_commits
from clew.history.semantic.search import search_semantic
from clew.history.store.base import COUNTED
from clew.history.store.sqlite import SqliteHistory
from clew.kit.errors import ClewError
from clew.kit.text.diff import file_diffs
from clew.kit.text.tokens import WORD, telling_words

NAME = "history_answers"
TITLE = "History: the processor time of each question in a warm server"
FULL = {"commits": 20_000, "questions": 40}
QUICK = {"commits": 300, "questions": 3}
NOTES = [
    "Median and 90th percentile of the processor time of one call, with that of processes it starts.",
    "Every question is another one, made of a commit chosen by chance; the index is open and warm.",
    "hotspots without a filter are kept while the index stays as it is; the first answer is not counted.",
    "--repository DIR asks a real history; without it a generated one of few words answers.",
]
# The goal in milliseconds at 50,000 commits.
GOALS = {
    "search, phrase": 5,
    "search, three words": 5,
    "search, path filter": 5,
    "find, author": 8,
    "touches": 5,
    "hybrid": 15,
    "find": 10,
    "similar": 30,
    "owners of a directory": 30,
    "owners of a top directory": 30,
    "hotspots": 50,
    "hotspots of a year": 50,
    "pickaxe, word": 50,
    "pickaxe, pattern": 300,
    "contains": 30,
}
_SIZEABLE = 5
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{5,30}")
_YEAR = 365 * 86400


@dataclass(frozen=True)
class _Sampled:
    """A commit to make a question of."""

    repo: str
    sha: str
    subject: str
    author: str
    date: int
    path: str
    line: str


def run(bench: Bench) -> Claim:
    """Ask the repository that was named, or a generated one."""
    repository = bench.workshop.repository or repository_of(bench, bench["commits"])
    store, _ = with_vectors(bench, repository)
    return Claim(NAME, TITLE, measured(store, bench["questions"], bench.say), NOTES)


def measured(store: SqliteHistory, count: int, say: Callable[[str], None]) -> dict[str, str]:
    """What each question takes of an index, as lines of a report."""
    commits = sum(store.commit_count(repo.repo_id) for repo in store.repos())
    told = {"commits": f"{commits:,}"}
    for name, goal in GOALS.items():
        say(name)
        spent = [_spent(ask) for ask in list(asks(store, name, count))[1:]]
        if spent:
            half, most = percentile(spent, 50), percentile(spent, 90)
            verdict = "met" if half <= goal else "missed"
            told[name] = f"{half:.1f} ms, p90 {most:.1f} (goal {goal}: {verdict})"
    return told


def asks(store: SqliteHistory, name: str, count: int) -> Iterator[Callable[[], object]]:
    """Questions of one kind, each another; the first one is asked to warm up."""
    dice = random.Random(f"3 {name}")
    found = 0
    for one in _sampled(store, dice):
        ask = _ask(store, name, one, dice)
        if ask is not None:
            if found == 0:
                ask()
            yield ask
            found += 1
        if found > count:
            return


def _ask(
    store: SqliteHistory, name: str, one: _Sampled, dice: random.Random
) -> Callable[[], object] | None:
    """A question about a commit; None if the commit makes none."""
    words = telling_words(one.subject, 99, shortest=3)
    row = WORD.findall(one.subject)
    names = _NAME.findall(one.line)
    directory = one.path.rpartition("/")[0]
    if len(words) < _SIZEABLE or len(row) < _SIZEABLE or not names or not directory:
        return None
    three = " ".join(dice.sample(words, 3))
    text = dice.choice(names)
    kinds: dict[str, Callable[[], object]] = {
        "search, phrase": lambda: search_commits(store, f'"{" ".join(row[1:4])}"'),
        "search, three words": lambda: search_commits(store, three),
        "search, path filter": lambda: search_commits(store, words[-1], paths=[f"{directory}/"]),
        "find, author": lambda: page_of_commits(
            store, SearchRequest(words[-1], Filters(author=one.author))
        ),
        "touches": lambda: find_touches(store, one.path),
        "hybrid": lambda: search_semantic(store, one.subject),
        "find": lambda: page_of_commits(store, SearchRequest(three), max_chars=20_000),
        "similar": lambda: similar(store, repo=one.repo, sha=one.sha),
        "owners of a directory": lambda: owners(store, one.repo, directory),
        "owners of a top directory": lambda: owners(store, one.repo, directory.split("/")[0]),
        "hotspots": lambda: hotspots(store),
        "hotspots of a year": lambda: hotspots(store, since=one.date, until=one.date + _YEAR),
        "pickaxe, word": lambda: find_changes(store, text),
        "pickaxe, pattern": lambda: find_changes(store, rf"\b{text}\w*\s*[(=.]", regex=True),
        "contains": lambda: contains(store, one.repo, one.sha),
    }
    return kinds[name]


def _sampled(store: SqliteHistory, dice: random.Random) -> Iterator[_Sampled]:
    """Commits by chance, with a path and a changed line of each."""
    names = {repo.repo_id: repo.name for repo in store.repos()}
    numbers = [
        row[0]
        for row in store.connection.execute(
            f"SELECT id FROM commit_rows c WHERE {COUNTED} AND patch_id IS NOT NULL"
        )
    ]
    for number in dice.sample(numbers, len(numbers)):
        record = store.commits([number])[number]
        patch = store.patch(number, 200_000)
        parts = list(file_diffs((patch or b"").decode("utf-8", "replace")))
        lines = [line for part in parts for _, line in (*part.added, *part.removed)]
        if lines and parts[0].path:
            yield _Sampled(
                names[number >> 32], record.sha, record.subject, record.author, record.date,
                parts[0].path, dice.choice(lines),
            )  # fmt: skip


def _spent(ask: Callable[[], object]) -> float:
    """Milliseconds of the processor that a call takes, here and in what it starts."""
    begun = time.process_time() + _children()
    try:
        ask()
    except ClewError as error:
        raise RuntimeError(str(error)) from error
    return (time.process_time() + _children() - begun) * 1000


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
