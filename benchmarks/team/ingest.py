"""What it costs to write commits into a team's index by one worker and by several at once."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from itertools import islice
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import NamedTuple
from uuid import uuid4

import psycopg

from benchmarks.team.commits import commits
from benchmarks.team.questions import processor_ms
from clew.history.model import Repo
from clew.team.history.store import PostgresHistory

_TRANSACTION = 400
_ROOT = Path(__file__).parents[2]


class Ingest(NamedTuple):
    """Seconds on the clock, and milliseconds of processor for each commit: worker's, database's."""

    seconds: float
    worker: float
    database: float


def ingest(address: str, workers: int, size: int) -> Ingest:
    """So many commits by each of so many workers at once, each into a repository of its own."""
    schema = f"ingest_{uuid4().hex[:8]}"
    sign = "&" if "?" in address else "?"
    own = f"{address}{sign}options=-csearch_path%3D{schema}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
        PostgresHistory.create(own).close()
        started = time.perf_counter()
        words = [sys.executable, "-m", "benchmarks.team.ingest", own, str(size)]
        running = [
            subprocess.Popen([*words, str(number)], cwd=_ROOT, stdout=subprocess.PIPE, text=True)
            for number in range(workers)
        ]
        spent = [one.communicate()[0].split() for one in running]
        seconds = time.perf_counter() - started
        connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())
    worker, database = (sum(float(one[at]) for one in spent) for at in (0, 1))
    every = workers * size
    return Ingest(seconds, worker / every, database / every)


def _write(address: str, size: int, number: int) -> None:
    """Write commits, and print what this process and its server process used, in milliseconds."""
    made = list(islice(commits(size), size))
    with closing(PostgresHistory.open(address)) as store:
        repo = store.add_repo(Repo(0, f"r{number}", ""))
        pid = store.database.connection.info.backend_pid
        before, database = _used(), processor_ms(pid)
        for start in range(0, size, _TRANSACTION):
            with store.locked(repo.repo_id), store.writing():
                store.write_commits(repo.repo_id, made[start : start + _TRANSACTION])
        print(_used() - before, processor_ms(pid) - database)


def _used() -> float:
    used = getrusage(RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1000


if __name__ == "__main__":
    _write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
