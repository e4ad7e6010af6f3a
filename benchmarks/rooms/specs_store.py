"""Specs: the first look of a fresh process, warm looks, and growth with their number."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement.sampling import Sample, Series, asked, compare, interleave, timed
from benchmarks.results.curves import Curve, curve_of
from benchmarks.results.report import Claim, Figure, Goal
from benchmarks.subjects.originals import READ_ALL, list_specs
from benchmarks.subjects.projects import specs_of
from clew.specs.store.store import SpecStore

NAME = "specs_store"
TITLE = "Specs: first look, warm looks, growth"
FULL = {"rounds": 5, "specs": 10_000, "growth": 100_000, "questions": 200}
QUICK = {"rounds": 3, "specs": 1000, "growth": 1000, "questions": 40}
STAT_ALL = "stat() of every file"
STAT_ONE = "stat() of one file"
NOTES = [
    "First looks and their baseline each run in a process of their own, imports not counted.",
    "Warm looks run in one process, without changes between them; their baseline is one stat().",
    (
        f"`{READ_ALL}` is the original's way: every call reads and parses every file, here with our "
        "parser. Our cold build also sorts and links them and writes an index."
    ),
]
_FIRST_LOOK = """
import sys, time
from pathlib import Path
from clew.specs.store.store import SpecStore
begun = time.perf_counter()
assert SpecStore(Path(sys.argv[1])).heads()
print((time.perf_counter() - begun) * 1000)
"""
STAT_EACH = """
import os, sys, time
from pathlib import Path
files = [str(path) for path in (Path(sys.argv[1]) / ".chant" / "specs").iterdir()]
begun = time.perf_counter()
for file in files:
    os.stat(file)
print((time.perf_counter() - begun) * 1000)
"""


def run(bench: Bench) -> Claim:
    """Measure on generated stores."""
    main, large = specs_of(bench, bench["specs"]), specs_of(bench, bench["growth"])
    small = specs_of(bench, bench["growth"] // 10)
    variants = {**_looks(bench, main), **_growth(large, small)}
    every = dict.fromkeys(("cold build, large", "cold build, small"), 2)
    series = interleave(variants, bench["rounds"], every=every, say=bench.say)
    index = main / ".chant" / ".store" / "index.json"
    sizes = {
        "specs": f"{bench['specs']}, for growth {bench['growth']} and a tenth of that",
        "index": f"{index.stat().st_size / 1e6:.1f} MB" if index.exists() else "none",
    }
    curves = _curves(series, bench["growth"])
    return Claim(NAME, TITLE, sizes, NOTES, {}, _figures(series), curves)


def _looks(bench: Bench, root: Path) -> dict[str, Callable[[], Sample]]:
    store = _settled(root)
    file = root / store.heads()[0].path
    middle = store.heads()[bench["specs"] // 2].id
    asks: dict[str, Callable[[], object]] = {
        STAT_ONE: file.stat,
        "all heads": store.heads,
        "ready": lambda: store.graph().ready(),
        "one spec by a part of its id": lambda: store.load(middle[11:]),
    }
    return {
        STAT_ALL: partial(in_a_process, STAT_EACH, root),
        "first look": partial(in_a_process, _FIRST_LOOK, root),
        "cold build": partial(_cold, root),
        READ_ALL: partial(timed, partial(list_specs, root)),
        **{title: partial(asked, ask, bench["questions"]) for title, ask in asks.items()},
        "look after a change": partial(_after_a_change, store, file),
    }


def _growth(large: Path, small: Path) -> dict[str, Callable[[], Sample]]:
    warm_large, warm_small = _settled(large), _settled(small)
    return {
        "cold build, large": partial(_cold, large),
        "cold build, small": partial(_cold, small),
        "all heads, large": partial(asked, warm_large.snapshot, 50),
        "all heads, small": partial(asked, warm_small.snapshot, 50),
    }


def _settled(root: Path) -> SpecStore:
    """A store that has looked twice, so that it watches, and whose index is on disk."""
    SpecStore(root).heads()
    time.sleep(0.2)
    store = SpecStore(root)
    store.heads()
    store.heads()
    return store


def in_a_process(program: str, root: Path) -> Sample:
    """What a program says that it took, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program, str(root)], check=True, capture_output=True, text=True
    )
    return {"ms": float(done.stdout)}


def _cold(root: Path) -> Sample:
    """Reading every file, because there is no index."""
    index = root / ".chant" / ".store" / "index.json"
    kept = index.read_bytes() if index.exists() else b""  # a small store needs none
    index.unlink(missing_ok=True)
    sample = timed(lambda: SpecStore(root).heads())
    if kept:
        index.write_bytes(kept)
    return sample


def _after_a_change(store: SpecStore, file: Path) -> Sample:
    with file.open("a", encoding="utf-8") as stream:
        stream.write("\nOne more line.\n")
    return timed(store.heads)


def _figures(series: dict[str, Series]) -> list[Figure]:
    def against(title: str, baseline: str, goal: Goal | None = None) -> Figure:
        compared = compare(series[title], series[baseline], "ms")
        return Figure("time", title, baseline, "ms", compared, goal)

    warm = ("all heads", "ready", "one spec by a part of its id")
    return [
        against("first look", STAT_ALL, Goal(3.0)),
        against("cold build", STAT_ALL),
        *(against(title, STAT_ONE, Goal(5.0, "ms")) for title in warm),
        against("look after a change", STAT_ONE),
        *(against(title, READ_ALL) for title in ("first look", "cold build", "all heads")),
        against("look after a change", READ_ALL),
    ]


def _curves(series: dict[str, Series], count: int) -> list[Curve]:
    small, large = count // 10, count
    limits = {"cold build": 15.0, "all heads": 2.0}
    return [
        curve_of(
            question,
            "specs",
            "ms",
            {small: series[f"{question}, small"], large: series[f"{question}, large"]},
            goals={large: Goal(limit)},
        )
        for question, limit in limits.items()
    ]
