"""The thread: recall and brief at size, the first question of a process, and whether they find.

`python -m benchmarks.rooms.thread DIR...` prints the retrieval table for any git directories.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement.peak import peak_of
from benchmarks.measurement.sampling import Sample, asked, compare, interleave, no_collection
from benchmarks.results.report import Claim, Figure, Goal
from benchmarks.rooms.retrieval import Pair, found_by, query_of, related
from benchmarks.subjects.commits import grow
from benchmarks.subjects.histories import embed, sync, with_vectors
from benchmarks.subjects.home import own_home
from benchmarks.subjects.projects import specs_of
from clew.history.store.sqlite import SqliteHistory
from clew.kit.git import run_git
from clew.models.embedding import packaged_embedder
from clew.thread.brief.brief import brief
from clew.thread.recall.commit_search import Search
from clew.thread.recall.recall import RecallRequest, recall
from clew.thread.rooms import open_rooms

NAME = "thread"
TITLE = "Thread: recall and brief at size, and what they find"
FULL = {"rounds": 7, "commits": 50_000, "specs": 10_000, "questions": 60, "queries": 150}
QUICK = {"rounds": 5, "commits": 2000, "specs": 1000, "questions": 10, "queries": 10}
FIRST, PLAIN = "recall, first of a process", "plain FTS of a subject"
WARM_UP = 5
NOTES = [
    "recall and brief run in this process on a warm index of made-up commits, with vectors.",
    (
        "A sample is the median of so many different questions; some were asked before, unmeasured. "
        f"`{PLAIN}` finds the commits that have any of its words, by BM25, in the same index."
    ),
    "Where processor time is far below the time, the machine had other things to do.",
    (
        f"`{FIRST}` is the first question of a fresh process, its imports included: it loads numpy, "
        "the model and the vectors, and makes sure that every spec is in the text index."
    ),
    "Retrieval needs a real history (--repository DIR): a query is a later commit's message.",
    "Recall@5 / @10 is the share of the earlier commits that it names among the first answers.",
    "The weights were chosen on django, clap and modelcontextprotocol: measure on other histories.",
]
_SHOWN = {"words": "plain FTS", "semantic": "plain vectors", "hybrid": "both, fused"}
_OURS = ("recall", "brief")
_FIRST = """
from clew.thread.recall.recall import RecallRequest, recall
from clew.thread.rooms import open_rooms
assert recall(open_rooms({"project": sys.argv[1], "db": sys.argv[2]}), RecallRequest(sys.argv[3])).hits
"""


def run(bench: Bench) -> Claim:
    """Measure at size, and on a real history if one was named."""
    packaged_embedder()  # before numpy is imported: it keeps that to one thread, as in a server
    with own_home(bench.home / "thread-home"):
        figures = _size_figures(bench)
        sizes = {"index": f"{bench['commits']} commits, {bench['specs']} specs"}
        skipped = {}
        if bench.workshop.repository is None:
            skipped["retrieval"] = "it needs a real history: --repository DIR"
        else:
            bench.say("related commits of a real history")
            store, _ = with_vectors(bench, bench.workshop.repository)
            sizes |= retrieval_table(store, bench["queries"])
    return Claim(NAME, TITLE, sizes, NOTES, skipped, figures)


def _size_figures(bench: Bench) -> list[Figure]:
    """Recall and brief of a project with many commits and specs."""
    root, index = _project(bench)
    rooms = open_rooms({"project": str(root), "db": str(index)})
    history = rooms.history
    assert history is not None
    assert rooms.specs is not None
    messages = history.newest_messages(history.repos()[0].repo_id, 5000, "")
    subjects = [one.subject for one in messages]
    ids = [head.id for head in rooms.specs.heads()]
    dice = random.Random(3)
    questions: dict[str, Callable[[], object]] = {
        PLAIN: lambda: found_by(history, "words", dice.choice(subjects)),
        "recall": lambda: recall(rooms, RecallRequest(dice.choice(subjects))),
        "brief": lambda: brief(rooms, dice.choice(ids)),
    }
    for ask in questions.values():
        asked(ask, WARM_UP)
    variants: dict[str, Callable[[], Sample]] = {
        name: partial(asked, ask, bench["questions"]) for name, ask in questions.items()
    }
    first = (str(root), str(index), subjects[0])
    variants[FIRST] = lambda: peak_of("", _FIRST, *first)
    with no_collection():
        every = {FIRST: max(1, bench["rounds"] // 2)}
        series = interleave(variants, bench["rounds"], every=every, say=bench.say)

    def figure(
        title: str, name: str, baseline: str, goal: Goal | None = None, of: str = "ms"
    ) -> Figure:
        compared = compare(series[name], series[baseline], of)
        return Figure(title, name, baseline, "ms", compared, goal)

    return [
        figure("p50, warm", "recall", PLAIN, Goal(30.0, "ms")),
        figure("p50, warm", "brief", PLAIN, Goal(100.0, "ms")),
        figure("processor time", "recall", PLAIN, of="cpu"),
        figure("processor time", "brief", PLAIN, of="cpu"),
        figure("cold", FIRST, "recall"),
    ]


def _project(bench: Bench) -> tuple[Path, Path]:
    """A repository with specs, and an index with vectors that takes it for its own."""
    root = specs_of(bench, bench["specs"])
    run_git("init", "-q", cwd=root)
    index = grow(bench, bench["commits"]).store.path
    writer = SqliteHistory.open(index)
    writer.update_repo(replace(writer.repos()[0], local_path=str(root.resolve())))
    writer.close()
    bench.say("making vectors")
    embed(index)
    return root, index


def retrieval_table(store: SqliteHistory, queries: int) -> dict[str, str]:
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


def _recalls(store: SqliteHistory, pairs: list[Pair], *, with_body: bool) -> Iterator[str]:
    for method in (*_SHOWN, *_OURS):
        sums = [0.0, 0.0]
        for row, wanted in pairs:
            query = query_of(row, with_body=with_body)
            found = (
                _ours(store, method, row, query)
                if method in _OURS
                else found_by(store, method, query)
            )
            others = [sha for sha in found if sha != row["sha"].hex()]
            for place, many in enumerate((5, 10)):
                sums[place] += len(wanted & set(others[:many])) / len(wanted)
        yield f"{_SHOWN.get(method, method)} {sums[0] / len(pairs):.3f} / {sums[1] / len(pairs):.3f}"


def _ours(store: SqliteHistory, method: str, row: sqlite3.Row, query: str) -> list[str]:
    """What recall finds by the words; brief knows the files of the task, too."""
    touched = store.files([row["id"]])[row["id"]]
    files = [one.path for one in touched] if method == "brief" else []
    return [one.sha for one in Search(store, store.repos()).related(query, 11, files=files)]


def main(directories: list[str]) -> int:
    """Print the retrieval table for the git directories that are named."""
    if not directories:
        print("usage: python -m benchmarks.rooms.thread DIRECTORY...", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="clew-thread-") as place:
        index = Path(place) / "index" / "db.sqlite3"
        sync([Path(one).resolve() for one in directories], index)
        embed(index)
        with SqliteHistory.read(index) as store:
            table = retrieval_table(store, FULL["queries"])
        for title, line in table.items():
            print(f"{title}\n    {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
