"""What a question costs the database, by the number of commits: processor time of its backend."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.subjects.commits import REPOSITORY, word
from clew.history.lookup import get_commit
from clew.history.questions.file_history import find_touches
from clew.history.search.search import search_commits
from clew.team.history.store import PostgresHistory

Question = Callable[[PostgresHistory, random.Random], object]


def _some(dice: random.Random) -> str:
    return word(dice.randrange(20, 400))


def _subject(store: PostgresHistory, dice: random.Random) -> str:
    row = store.database.row(
        "SELECT subject FROM commit_rows WHERE id > %s ORDER BY id LIMIT 1",
        ((1 << 32) + dice.randrange(9_000),),
    )
    assert row is not None
    return str(row[0])


def _sha(store: PostgresHistory, dice: random.Random) -> str:
    row = store.database.row(
        "SELECT encode(sha, 'hex') FROM commit_rows WHERE id > %s ORDER BY id LIMIT 1",
        ((1 << 32) + dice.randrange(9_000),),
    )
    assert row is not None
    return str(row[0])


QUESTIONS: dict[str, Question] = {
    "one word": lambda store, dice: search_commits(store, _some(dice)),
    "two words": lambda store, dice: search_commits(store, f"{_some(dice)} {_some(dice)}"),
    "phrase": lambda store, dice: search_commits(
        store, f'"{" ".join(_subject(store, dice).split()[:3])}"'
    ),
    "prefix": lambda store, dice: search_commits(store, f"{_some(dice)[:4]}*"),
    "touches": lambda store, dice: find_touches(store, f"module{dice.randrange(200)}/"),
    "get_commit": lambda store, dice: get_commit(store, REPOSITORY, _sha(store, dice)),
}


def processor_ms(pid: int) -> float:
    """The processor time that a process of this machine has used, in milliseconds."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


def measure(addresses: dict[int, str], rounds: int) -> dict[str, dict[int, tuple[float, float]]]:
    """Median and slowest tenth of each question's time in the database, sizes in turns."""
    stores = {size: PostgresHistory.read(address) for size, address in addresses.items()}
    taken: dict[str, dict[int, list[float]]] = {
        name: {size: [] for size in stores} for name in QUESTIONS
    }
    for store in stores.values():
        store.database.run("SET max_parallel_workers_per_gather = 0")  # all of it in one process
    for number in range(rounds + 2):
        for name, ask in QUESTIONS.items():
            for size, store in stores.items():
                pid = store.database.connection.info.backend_pid
                before = processor_ms(pid)
                with store.snapshot():  # as every tool asks
                    ask(store, random.Random(f"{name} {number}"))
                if number >= 2:  # the first ones warm it up
                    taken[name][size].append(processor_ms(pid) - before)
    for store in stores.values():
        with closing(store):
            pass
    return {
        name: {
            size: (statistics.median(times), statistics.quantiles(times, n=10)[-1])
            for size, times in by_size.items()
        }
        for name, by_size in taken.items()
    }
