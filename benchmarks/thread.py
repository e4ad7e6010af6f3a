"""The thread: `why` against the blame it needs, recall and brief at size, and whether they find.

`python -m benchmarks.thread DIR...` prints the retrieval table for any git directories.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.history_growth import _grow
from benchmarks.history_index import asked
from benchmarks.history_index import generate as generate_repository
from benchmarks.measure import Sample, compare, interleave
from benchmarks.report import Claim, Figure, Goal
from benchmarks.retrieval import Pair, _found, _query, related
from benchmarks.specs_store import generate as generate_specs
from clew.history.ingest import sync_repo
from clew.history.lookup import changed_files
from clew.history.repositories import register
from clew.history.store import HistoryStore
from clew.kit.git import run_git
from clew.models.embedding import packaged_embedder
from clew.thread.brief import brief
from clew.thread.commitsearch import Search
from clew.thread.recall import Asked, recall
from clew.thread.rooms import open_rooms
from clew.thread.why import why

NAME = "thread"
TITLE = "Thread: why against git blame, recall and brief at size, and what they find"
FULL = {
    "rounds": 5,
    "lines": 12,
    "commits": 10_000,
    "index": 50_000,
    "specs": 10_000,
    "questions": 60,
    "queries": 150,
}
QUICK = {
    "rounds": 2,
    "lines": 4,
    "commits": 1000,
    "index": 2000,
    "specs": 300,
    "questions": 10,
    "queries": 20,
}
NOTES = [
    "why and git blame ask about the same lines, warm; blame runs with the options that why uses.",
    "recall and brief run in this process on a warm index of made-up commits, with vectors.",
    "Retrieval needs a real history (--repository DIR): a query is a later commit's message.",
    "Recall@5 / @10 is the share of the earlier commits that it names among the first answers.",
    "The weights were chosen on django, clap and modelcontextprotocol: measure on other histories.",
]
BLAME = "git blame -w -M -C -C"
_SHOWN = {"words": "plain FTS", "semantic": "plain vectors", "hybrid": "both, fused"}
_OURS = ("recall", "brief")


def run(bench: Bench) -> Claim:
    """Measure all three."""
    packaged_embedder()  # before numpy is imported: it keeps that to one thread, as in a server
    with _own_place(bench.home / "thread"):
        figures = _why_figures(bench)
        figures += _size_figures(bench)
        sizes = {"index": f"{bench['index']} commits, {bench['specs']} specs"}
        skipped = {}
        if bench.workshop.repository is None:
            skipped["retrieval"] = "it needs a real history: --repository DIR"
        else:
            store = _indexed([bench.workshop.repository], bench.home / "thread" / "real")
            sizes |= retrieval_table(store, bench["queries"])
    return Claim(NAME, TITLE, sizes, NOTES, skipped, figures)


@contextmanager
def _own_place(place: Path) -> Iterator[None]:
    """A home and an index of its own while this runs."""
    place.mkdir(parents=True, exist_ok=True)
    names = {"CLEW_HOME": str(place / "home"), "COMMITMUX_DB": str(place / "index" / "db.sqlite3")}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _why_figures(bench: Bench) -> list[Figure]:
    root = generate_repository(bench.home / "thread" / "repository", bench["commits"])
    run_git("reset", "-q", "--hard", "main", cwd=root)
    bench.say("indexing the repository")
    _indexed([root], Path(os.environ["COMMITMUX_DB"]).parent)
    places = _some_lines(root, bench["lines"])
    settings = {"project": str(root)}
    why(open_rooms(settings), places[0])
    variants: dict[str, Callable[[], Sample]] = {
        BLAME: partial(_median, [partial(_blame, root, place) for place in places]),
        "why": partial(_median, [partial(_why, settings, place) for place in places]),
    }
    series = interleave(variants, bench["rounds"], say=bench.say)
    compared = compare(series["why"], series[BLAME], "ms")
    return [Figure("why, one line", "why", BLAME, "ms", compared, Goal(1.3))]


def _some_lines(root: Path, count: int) -> list[str]:
    dice = random.Random(5)
    names = run_git("ls-files", cwd=root).decode().split()
    chosen = (dice.choice(names) for _ in range(count))
    return [
        f"{name}:{1 + dice.randrange(len((root / name).read_text().splitlines()))}"
        for name in chosen
    ]


def _blame(root: Path, place: str) -> None:
    path, _, line = place.rpartition(":")
    words = [*BLAME.split(), "--porcelain", "-L", f"{line},{line}", "HEAD", "--", path]
    subprocess.run(words, cwd=root, stdout=subprocess.DEVNULL, check=True)


def _why(settings: dict[str, str], place: str) -> None:
    why(open_rooms(settings), place)


def _median(works: list[Callable[[], None]]) -> Sample:
    taken = []
    for work in works:
        begun = time.perf_counter()
        work()
        taken.append((time.perf_counter() - begun) * 1000)
    return {"ms": sorted(taken)[len(taken) // 2]}


def _size_figures(bench: Bench) -> list[Figure]:
    """Recall and brief of a project with many commits and specs."""
    from clew.history.vectors import embed_commits

    root = bench.home / "thread" / "project"
    bench.say("writing specs")
    generate_specs(root, bench["specs"])
    run_git("init", "-q", cwd=root)
    grown = _grow(bench, bench["index"])
    writer = HistoryStore.open(grown.store.path)
    writer.update_repo(replace(writer.repos()[0], local_path=str(root.resolve())))
    bench.say("making vectors")
    embed_commits(writer, packaged_embedder(), writer.repos())
    writer.close()
    os.environ["COMMITMUX_DB"] = str(grown.store.path)
    rooms = open_rooms({"project": str(root)})
    recall(rooms, Asked("some words about what to do"))
    dice = random.Random(3)
    subjects = [
        row[0]
        for row in grown.store.connection.execute("SELECT subject FROM commit_rows LIMIT 5000")
    ]
    ids = [head.id for head in rooms.specs.heads()] if rooms.specs else []
    questions: dict[str, Callable[[], object]] = {
        "one query": lambda: grown.store.connection.execute("SELECT 1").fetchone(),
        "recall": lambda: recall(rooms, Asked(dice.choice(subjects))),
        "brief": lambda: brief(rooms, dice.choice(ids)),
    }
    variants = {name: partial(asked, ask, bench["questions"]) for name, ask in questions.items()}
    series = interleave(variants, bench["rounds"], say=bench.say)
    return [
        Figure(
            "p50, warm",
            name,
            "one query",
            "ms",
            compare(series[name], series["one query"], "ms"),
            Goal(limit, "ms"),
        )
        for name, limit in (("recall", 30.0), ("brief", 100.0))
    ]


def _indexed(repositories: list[Path], place: Path) -> HistoryStore:
    from clew.history.vectors import embed_commits

    shutil.rmtree(place, ignore_errors=True)
    writer = HistoryStore.create(place / "db.sqlite3")
    for number, repository in enumerate(repositories):
        name = f"{number}-{repository.parent.name}" if len(repositories) > 1 else "measured"
        sync_repo(writer, register(writer, repository, name=name))
    writer.close()
    store = HistoryStore.read(place / "db.sqlite3")
    embed_commits(store, packaged_embedder(), store.repos())
    return store


def retrieval_table(store: HistoryStore, queries: int) -> dict[str, str]:
    """Recall@5 / @10 of plain FTS, plain vectors and ours, a line for each kind of relation."""
    dice = random.Random(11)
    table = {}
    for kind, pairs in related(store).items():
        pairs.sort(key=lambda pair: pair[0]["id"])
        chosen = dice.sample(pairs, min(len(pairs), queries))
        for what, with_body in (("subject", False), ("message", True)):
            if chosen:
                title = f"recall@5 / @10, {kind}, by {what} ({len(chosen)} queries)"
                table[title] = ", ".join(_recalls(store, chosen, with_body=with_body))
    return table


def _recalls(store: HistoryStore, pairs: list[Pair], *, with_body: bool) -> Iterator[str]:
    for method in (*_SHOWN, *_OURS):
        sums = [0.0, 0.0]
        for row, wanted in pairs:
            query = _query(row, with_body=with_body)
            found = (
                _ours(store, method, row, query)
                if method in _OURS
                else _found(store, method, query)
            )
            others = [sha for sha in found if sha != row["sha"].hex()]
            for place, many in enumerate((5, 10)):
                sums[place] += len(wanted & set(others[:many])) / len(wanted)
        yield f"{_SHOWN.get(method, method)} {sums[0] / len(pairs):.3f} / {sums[1] / len(pairs):.3f}"


def _ours(store: HistoryStore, method: str, row: sqlite3.Row, query: str) -> list[str]:
    """What recall finds by the words; brief knows the files of the task, too."""
    files = [one["path"] for one in changed_files(store, row["id"])] if method == "brief" else []
    return [one.sha for one in Search(store, store.repos()).related(query, 11, files=files)]


def main(directories: list[str]) -> int:
    """Print the retrieval table for the git directories that are named."""
    if not directories:
        print("usage: python -m benchmarks.thread DIRECTORY...", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="clew-thread-") as place:
        store = _indexed([Path(one).resolve() for one in directories], Path(place))
        for title, line in retrieval_table(store, FULL["queries"]).items():
            print(f"{title}\n    {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
