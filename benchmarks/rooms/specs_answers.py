"""Specs: a first answer, a search that finds everything, and drift, each against the plain way."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement.sampling import Sample, asked, compare, interleave, timed
from benchmarks.results.report import Claim, Figure, Goal
from benchmarks.rooms.specs_store import STAT_ALL, STAT_EACH, in_a_process
from benchmarks.subjects.home import own_home
from benchmarks.subjects.projects import specs_of
from clew.kit.answer import Answer
from clew.kit.call import Call
from clew.protocol.kernel.exchange import wire_bytes
from clew.protocol.kernel.methods import tool_result
from clew.specs.check.drift import find_drift
from clew.specs.store.store import SpecStore, open_store
from clew.specs.tools import search

NAME = "specs_answers"
TITLE = "Specs: first answer, a search that finds all, drift"
FULL = {"rounds": 7, "specs": 10_000, "questions": 20, "drift": 872}
QUICK = {"rounds": 3, "specs": 1000, "questions": 5, "drift": 50}
FIRST, FOUND, ANEW = "first list of a server", "search that finds all", "its JSON made anew"
DRIFT, EACH = "drift", "a git for each spec"
COMMITS = 20
NOTES = [
    f"`{FIRST}` has the imports in it, and runs in a process of its own.",
    f"`{FOUND}` is the handler and the bytes of its answer; `{ANEW}` only writes the same data.",
    f"`{EACH}` is `git ls-tree` of the last commit of every completed spec.",
]
_FIRST_LIST = """
import sys, time
from clew.kit.call import Call
from clew.specs.tools import spec_list
begun = time.perf_counter()
spec_list({}, Call(settings={"project": sys.argv[1]}))
print((time.perf_counter() - begun) * 1000)
"""


def run(bench: Bench) -> Claim:
    """Measure each beside its plain way, in turns."""
    with own_home(bench.home / "answers-home"):
        specs = specs_of(bench, bench["specs"])
        variants = {**_answers(bench, specs), **_drift(bench)}
        series = interleave(variants, bench["rounds"], say=bench.say)

    def against(title: str, baseline: str, limit: float) -> Figure:
        compared = compare(series[title], series[baseline], "ms")
        return Figure("time", title, baseline, "ms", compared, Goal(limit, "ms"))

    figures = [against(FIRST, STAT_ALL, 150), against(FOUND, ANEW, 5), against(DRIFT, EACH, 500)]
    sizes = {"specs": str(bench["specs"]), "completed specs": str(bench["drift"])}
    return Claim(NAME, TITLE, sizes, NOTES, {}, figures)


def _answers(bench: Bench, root: Path) -> dict[str, Callable[[], Sample]]:
    SpecStore(root).heads()
    time.sleep(0.2)
    call = Call(settings={"project": str(root)})
    for _ in range(3):  # the last one is answered by a store that watches
        open_store(call.settings).snapshot()
    everything = {"query": "words"}
    data = search(everything, call).data
    return {
        STAT_ALL: partial(in_a_process, STAT_EACH, root),
        FIRST: partial(in_a_process, _FIRST_LIST, root),
        FOUND: partial(asked, lambda: _bytes(search(everything, call)), bench["questions"]),
        ANEW: partial(asked, lambda: _bytes(Answer.indented(data)), bench["questions"]),
    }


def _bytes(answer: Answer) -> bytes:
    return wire_bytes({"jsonrpc": "2.0", "id": 1, "result": tool_result(answer)})


def _drift(bench: Bench) -> dict[str, Callable[[], Sample]]:
    root, commits = _history(bench.home / "drift", bench["drift"])
    store = SpecStore(root)
    store.heads()
    return {
        DRIFT: lambda: timed(lambda: find_drift(store)),
        EACH: lambda: timed(lambda: [_git(root, "ls-tree", "-r", "-z", c) for c in commits]),
    }


def _history(root: Path, count: int) -> tuple[Path, list[str]]:
    """A repository with completed specs that name files and commits; the commit of each."""
    (root / ".chant" / "specs").mkdir(parents=True)
    _git(root, "init", "--quiet")
    _git(root, "config", "user.name", "Bench")
    _git(root, "config", "user.email", "bench@example.com")
    (root / ".gitignore").write_text(".chant/\n")
    made = []
    for number in range(COMMITS):
        for file in range(number, 200, 3):
            (root / f"file{file}.txt").write_text(f"{number}\n" * 50)
        _git(root, "add", "-A")
        _git(root, "commit", "--quiet", "-m", f"commit {number}")
        made.append(_git(root, "rev-parse", "HEAD").decode().strip())
    commits = [made[number % COMMITS] for number in range(count)]
    for number, commit in enumerate(commits):
        files = ", ".join(f"file{(number + more) % 200}.txt" for more in range(3))
        fields = f"status: completed\ncommits: ['{commit}']\ntarget_files: [{files}]"
        path = root / ".chant" / "specs" / f"2026-01-01-{number:03}-abc.md"
        path.write_text(f"---\ntype: code\n{fields}\n---\n# Done {number}\n\nSome words.\n")
    return root, commits


def _git(root: Path, *words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True).stdout
