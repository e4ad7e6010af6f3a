"""Growth: what ten and a hundred times as many specs and commands cost, in time and memory."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle

from benchmarks.bench import Bench
from benchmarks.command_search import grown, read_queries
from benchmarks.measure import Comparison, Sample, Series, compare, interleave, summarize
from benchmarks.report import Claim, Figure, Goal
from benchmarks.specs_store import generate
from clew.commands.ranking import CommandIndex
from clew.kit.call import Call
from clew.specs.store import SpecStore

NAME = "growth"
TITLE = "Growth: listing and choosing specs, finding commands"
FULL = {"rounds": 5, "items": 100, "steps": 3, "questions": 40}
QUICK = {"rounds": 2, "items": 100, "steps": 2, "questions": 10}
NOTES = [
    "Every size is ten times the one before; each is compared with the smallest. Proportional "  # noqa: ISC004
    "growth would be a ratio of 10, then 100.",
    "Lists, ready specs and searches are asked in this process, with everything in memory, as a "  # noqa: ISC004
    "server has it. A search has other words every time.",
    "After a change, one spec was written just before the question.",
    "Peak memory is that of a process that lists all specs, or builds and searches all commands.",
]
_PEAKS = {
    "specs": """
from clew.specs.store import SpecStore
store = SpecStore(Path(sys.argv[1]))
assert store.heads() and store.graph().ready() is not None
""",
    "commands": """
from benchmarks.command_search import grown
from clew.commands.ranking import CommandIndex
assert CommandIndex(grown(int(sys.argv[1]))).search("create an issue", limit=3)
""",
}
_PEAK = """
import sys
from pathlib import Path
{work}
status = Path("/proc/self/status")
lines = status.read_text().splitlines() if status.exists() else []
print(next((line.split()[1] for line in lines if line.startswith("VmHWM:")), 0))
"""


def run(bench: Bench) -> Claim:
    """Make the sizes, ask each in turns, then start a process of each for its memory."""
    sizes = [bench["items"] * 10**step for step in range(bench["steps"])]
    variants: dict[str, Callable[[], Sample]] = {}
    for size in sizes:
        bench.say(f"making {size} specs and commands")
        root = generate(bench.home / f"specs-{size}", size)
        for question, ask in _questions(SpecStore(root), size).items():
            variants[f"{question} of {size}"] = partial(_asked, ask, bench["questions"])
    series = interleave(variants, bench["rounds"], say=bench.say)
    names = dict.fromkeys(name.rpartition(" of ")[0] for name in variants)
    figures = [figure for name in names for figure in _figures(name, sizes, series)]
    memory = [figure for kind in _PEAKS for figure in _memory(bench, kind, sizes)]
    skipped = {} if memory else {"peak memory": "the system does not tell it"}
    return Claim(NAME, TITLE, {}, NOTES, skipped, figures + memory)


def _questions(store: SpecStore, size: int) -> dict[str, Callable[[], object]]:
    from clew.specs.tools import ready, spec_list

    call = Call(settings={"project": str(store.project)})
    file = store.project / store.heads()[0].path
    index = CommandIndex(grown(size))
    queries = read_queries()
    random.Random(3).shuffle(queries)
    words = cycle(queries)

    def list_after_a_change() -> object:
        with file.open("a", encoding="utf-8") as stream:
            stream.write("\nOne more line.\n")
        return store.heads()

    return {
        "list, 50 specs": lambda: spec_list({"limit": 50}, call),
        "ready, 50 specs": lambda: ready({"limit": 50}, call),
        "all specs after a change": list_after_a_change,
        "search commands": lambda: next(words).ask(index),
    }


def _asked(ask: Callable[[], object], times: int) -> Sample:
    """The median of many, in milliseconds."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - begun) * 1000)
    return {"ms": sorted(taken)[len(taken) // 2]}


def _figures(question: str, sizes: list[int], series: dict[str, Series]) -> Iterator[Figure]:
    first = series[f"{question} of {sizes[0]}"]
    for size in sizes[1:]:
        compared = compare(series[f"{question} of {size}"], first, "ms")
        goal = Goal(size / sizes[0])
        yield Figure(question, f"{size:,}", f"{sizes[0]:,}", "ms", compared, goal)


def _memory(bench: Bench, kind: str, sizes: list[int]) -> Iterator[Figure]:
    """The peak of a process of each size against that of the smallest."""
    peaks = []
    for size in sizes:
        bench.say(f"memory of {size} {kind}")
        subject = str(bench.home / f"specs-{size}") if kind == "specs" else str(size)
        words = [sys.executable, "-c", _PEAK.format(work=_PEAKS[kind]), subject]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE)
        peaks.append(int(done.stdout) / 1024)
    for size, peak in zip(sizes[1:], peaks[1:], strict=True):
        if peaks[0]:
            ratio = peak / peaks[0]
            compared = Comparison(
                summarize([peak]), summarize([peaks[0]]), summarize([ratio]), ratio
            )
            yield Figure(f"peak memory, {kind}", f"{size:,}", f"{sizes[0]:,}", "MiB", compared)
