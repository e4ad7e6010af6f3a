"""Why: the story of a line against `git blame` of it, as the history grows."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement.sampling import Sample, interleave, median_of, timed
from benchmarks.results.curves import curve_of
from benchmarks.results.report import Claim, Goal
from benchmarks.subjects.histories import index_of, repository_of
from benchmarks.subjects.home import own_home
from clew.kit.git import run_git
from clew.thread.rooms import open_rooms
from clew.thread.why.why import why

NAME = "why_growth"
TITLE = "Why: one line against git blame, as the history grows"
FULL = {"rounds": 5, "lines": 12, "commits": 200, "steps": 3}
QUICK = {"rounds": 2, "lines": 4, "commits": 200, "steps": 2}
BLAME = "git blame -w -M -C -C"
NOTES = [
    "Every size is ten times the one before; the repositories are generated and indexed.",
    (
        f"why and `{BLAME}` are asked about the same lines, warm, in turns; blame has the options "
        "that why gives it, and is the one git process that why waits for."
    ),
]


def run(bench: Bench) -> Claim:
    """Ask both about the same lines of each size."""
    sizes = [bench["commits"] * 10**step for step in range(bench["steps"])]
    with own_home(bench.home / "why-home"):
        variants: dict[str, Callable[[], Sample]] = {}
        for size in sizes:
            variants |= _variants(bench, size)
        for variant in variants.values():
            variant()
        series = interleave(variants, bench["rounds"], say=bench.say)
    curve = curve_of(
        "why, one line",
        "commits",
        "ms",
        {size: series[f"why {size}"] for size in sizes},
        goals=dict.fromkeys(sizes[1:], Goal(1.3, of="beside")),
        baseline=BLAME,
        theirs={size: series[f"blame {size}"] for size in sizes},
    )
    return Claim(NAME, TITLE, {"lines": str(bench["lines"])}, NOTES, curves=[curve])


def _variants(bench: Bench, size: int) -> dict[str, Callable[[], Sample]]:
    root = repository_of(bench, size)
    run_git("reset", "-q", "--hard", "main", cwd=root)
    settings = {"project": str(root), "db": str(index_of(bench, root))}
    places = some_lines(root, bench["lines"])
    return {
        f"blame {size}": partial(_each, partial(_blame, root), places),
        f"why {size}": partial(_each, partial(_why, settings), places),
    }


def some_lines(root: Path, count: int) -> list[str]:
    """Lines of the repository's files, as `path:line`; the same every time."""
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


def _each(ask: Callable[[str], None], places: list[str]) -> Sample:
    return median_of(timed(partial(ask, place)) for place in places)
