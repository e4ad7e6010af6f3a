"""Growth: what ten and a hundred times as many specs and commands cost, in time and memory."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement.peak import peak_of
from benchmarks.measurement.sampling import Sample, Series, asked, interleave
from benchmarks.results.curves import Curve, curve_of
from benchmarks.results.report import Claim, Goal
from benchmarks.rooms.command_search import Query, grown, read_queries
from benchmarks.subjects.originals import READ_ALL, list_specs, ready_specs
from benchmarks.subjects.projects import specs_of
from clew.commands.search.ranking import CommandIndex
from clew.kit.call import Call
from clew.specs.store.store import SpecStore

NAME = "growth"
TITLE = "Growth: listing and choosing specs, finding commands"
FULL = {"rounds": 5, "items": 100, "steps": 3, "questions": 40, "slow_questions": 2}
QUICK = {"rounds": 2, "items": 100, "steps": 2, "questions": 10, "slow_questions": 1}
COSINE = "word cosine"
NOTES = [
    "Every size is ten times the one before. Proportional growth would be a ratio of 10, then 100.",
    (
        "Lists, ready specs and searches are asked in this process, with everything in memory, as a "
        "server has it. A search has other words every time."
    ),
    "After a change, one spec was written just before the question.",
    (
        f"`{READ_ALL}` and `{COSINE}` over all commands are the original systems' ways; the first has "
        "our parser, and finds dependencies in a dictionary, which is kinder than the original is."
    ),
    "Peak memory is that of a process that lists all specs, or builds and searches all commands.",
]
LIST, READY, CHANGED = "list, 50 specs", "ready, 50 specs", "all specs after a change"
SEARCH = "search commands"
BASELINES = {LIST: READ_ALL, READY: READ_ALL, CHANGED: READ_ALL, SEARCH: COSINE}
_PEAKS = {
    "specs": (
        "from clew.specs.store.store import SpecStore",
        (
            "store = SpecStore(Path(sys.argv[1]))\n"
            "assert store.heads() and store.graph().ready() is not None"
        ),
    ),
    "commands": (
        (
            "from benchmarks.rooms.command_search import grown\n"
            "from clew.commands.search.ranking import CommandIndex"
        ),
        'assert CommandIndex(grown(int(sys.argv[1]))).search("create an issue", limit=3)',
    ),
}


def run(bench: Bench) -> Claim:
    """Make the sizes, ask each in turns, then start a process of each for its memory."""
    sizes = [bench["items"] * 10**step for step in range(bench["steps"])]
    variants: dict[str, Callable[[], Sample]] = {}
    for size in sizes:
        root = specs_of(bench, size)
        index = CommandIndex(grown(size))
        for question, ask in _ours(root, index).items():
            variants[f"{question} of {size}"] = partial(asked, ask, bench["questions"])
        for question, ask in _theirs(root, index).items():
            many = bench["questions" if question == SEARCH else "slow_questions"]
            variants[f"their {question} of {size}"] = partial(asked, ask, many)
    series = interleave(variants, bench["rounds"], say=bench.say)
    curves = [_curve(question, sizes, series) for question in BASELINES]
    memory = [_memory(bench, kind, sizes) for kind in _PEAKS]
    told = [curve for curve in memory if curve]
    skipped = {} if told else {"peak memory": "the system does not tell it"}
    return Claim(NAME, TITLE, {}, NOTES, skipped, curves=curves + told)


def _ours(root: Path, index: CommandIndex) -> dict[str, Callable[[], object]]:
    from clew.specs.tools import ready, spec_list

    call = Call(settings={"project": str(root)})
    store = SpecStore(root)
    file = root / store.heads()[0].path
    words = _queries()

    def list_after_a_change() -> object:
        with file.open("a", encoding="utf-8") as stream:
            stream.write("\nOne more line.\n")
        return store.heads()

    return {
        LIST: lambda: spec_list({"limit": 50}, call),
        READY: lambda: ready({"limit": 50}, call),
        CHANGED: list_after_a_change,
        SEARCH: lambda: next(words).ask(index),
    }


def _theirs(root: Path, index: CommandIndex) -> dict[str, Callable[[], object]]:
    words = _queries()
    return {
        LIST: lambda: list_specs(root, 50),
        READY: lambda: ready_specs(root, 50),
        CHANGED: lambda: list_specs(root, 50),
        SEARCH: lambda: next(words).ask(index, "cosine"),
    }


def _queries() -> cycle[Query]:
    queries = read_queries()
    random.Random(3).shuffle(queries)
    return cycle(queries)


def _curve(question: str, sizes: list[int], series: dict[str, Series]) -> Curve:
    return curve_of(
        question,
        "commands" if question == SEARCH else "specs",
        "ms",
        {size: series[f"{question} of {size}"] for size in sizes},
        goals={size: Goal(size / sizes[0]) for size in sizes[1:]},
        baseline=BASELINES[question],
        theirs={size: series[f"their {question} of {size}"] for size in sizes},
    )


def _memory(bench: Bench, kind: str, sizes: list[int]) -> Curve | None:
    """The peak of a process of each size; nothing where the system does not tell it."""
    peaks: dict[int, Series] = {}
    for size in sizes:
        bench.say(f"memory of {size} {kind}")
        subject = str(specs_of(bench, size)) if kind == "specs" else str(size)
        peaks[size] = {0: peak_of(*_PEAKS[kind], subject)}
    if not all(peak[0]["MiB"] for peak in peaks.values()):
        return None
    return curve_of(f"peak memory, {kind}", kind, "MiB", peaks)
