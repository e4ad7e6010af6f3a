"""Memory: what a serving process needs at most, as the history behind it grows."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement.messages import initialize, request, result_of
from benchmarks.measurement.process import Child
from benchmarks.results.curves import curve_of, one_sample
from benchmarks.results.report import Claim, Goal
from benchmarks.subjects.histories import NAME as REPOSITORY
from benchmarks.subjects.histories import index_of, repository_of
from clew.history.store.sqlite import SqliteHistory

NAME = "memory"
TITLE = "Memory of a server as history grows"
FULL = {"commits": 2000, "steps": 2, "calls": 500}
QUICK = {"commits": 200, "steps": 2, "calls": 50}
NOTES = [
    (
        "A server of the history answers searches, paths, commits and patches, always others; the "
        "figure is the most memory it ever had resident. Every size is ten times the one before."
    ),
    "The memory of a sync is among the curves of ingest_growth.",
]


def run(bench: Bench) -> Claim:
    """A server for each size, asked the same many questions."""
    sizes = [bench["commits"] * 10**step for step in range(bench["steps"])]
    peaks = {size: _served(bench, size) for size in sizes}
    if not all(peaks.values()):
        return Claim(NAME, TITLE, {}, NOTES, {"peak memory": "the system does not tell it"})
    ours = {size: one_sample(peak, "MiB") for size, peak in peaks.items()}
    goals = {size: Goal(1.5) for size in sizes[1:]}
    curve = curve_of("peak memory of a server", "commits", "MiB", ours, goals=goals)
    return Claim(NAME, TITLE, {}, NOTES, curves=[curve])


def _served(bench: Bench, size: int) -> float:
    """The peak of one server, in MiB; 0 where it is not told."""
    database = index_of(bench, repository_of(bench, size))
    bench.say(f"serving {size} commits")
    store = SqliteHistory.read(database)
    shas = [row[0] for row in store.connection.execute("SELECT sha FROM commits")]
    store.close()
    command = [str(Path(sys.executable).with_name("commitmux")), "serve", "--db", str(database)]
    server = Child(command, bench.home)
    server.ask(initialize())
    dice = random.Random(5)
    for number in range(bench["calls"]):
        sha = {"repo": REPOSITORY, "sha": dice.choice(shas)}
        asked = [
            ("commitmux_search", {"query": f"word{dice.randrange(500)}", "limit": 20}),
            ("commitmux_touches", {"path_glob": f"file{dice.randrange(100)}"}),
            ("commitmux_get_commit", sha),
            ("commitmux_get_patch", sha),
        ]
        name, arguments = asked[number % len(asked)]
        params = {"name": name, "arguments": arguments}
        result_of(server.ask(request(number + 1, "tools/call", params)))
    peak = server.peak_memory() / 2**20
    server.wait()
    return peak
