"""Interleaved sampling and the statistics over it.

Every figure is a ratio between a subject and a baseline that were measured in turns, in one
loop: whatever else the machine does meanwhile slows both.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

Sample = dict[str, float]
Series = dict[int, Sample]


@dataclass(frozen=True)
class Summary:
    """What is said about a list of values."""

    n: int
    median: float
    minimum: float
    q1: float
    q3: float

    @property
    def iqr(self) -> float:
        """The spread: the width of the middle half."""
        return self.q3 - self.q1


@dataclass(frozen=True)
class Comparison:
    """A subject against a baseline, both measured in the same rounds."""

    subject: Summary
    baseline: Summary
    ratio: Summary
    ratio_of_minima: float


def percentile(values: Sequence[float], percent: float) -> float:
    """The value below which this share of the values lies, interpolated between neighbours."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def summarize(values: Sequence[float]) -> Summary:
    """Count, median, minimum and quartiles."""
    return Summary(
        n=len(values),
        median=percentile(values, 50),
        minimum=min(values),
        q1=percentile(values, 25),
        q3=percentile(values, 75),
    )


def compare(
    subject: Series, baseline: Series, metric: str, baseline_metric: str | None = None
) -> Comparison:
    """Compare one metric over the rounds in which both were measured, round by round."""
    rounds = sorted(subject.keys() & baseline.keys())
    ours = [subject[number][metric] for number in rounds]
    theirs = [baseline[number][baseline_metric or metric] for number in rounds]
    return Comparison(
        subject=summarize(ours),
        baseline=summarize(theirs),
        ratio=summarize([a / b for a, b in zip(ours, theirs, strict=True)]),
        ratio_of_minima=min(ours) / min(theirs),
    )


def in_turns(names: Sequence[str], rounds: int) -> Iterator[tuple[int, list[str]]]:
    """Each round's number and names; who comes first moves on every round."""
    for number in range(rounds):
        first = number % len(names)
        yield number, [*names[first:], *names[:first]]


def interleave(
    variants: Mapping[str, Callable[[], Sample]],
    rounds: int,
    *,
    every: Mapping[str, int] | None = None,
    say: Callable[[str], None] | None = None,
) -> dict[str, Series]:
    """Take one sample of every variant per round; costly variants join every so many rounds."""
    series: dict[str, Series] = {name: {} for name in variants}
    for number, names in in_turns(list(variants), rounds):
        if say is not None:
            say(f"round {number + 1} of {rounds}")
        for name in names:
            if number % (every or {}).get(name, 1) == 0:
                series[name][number] = variants[name]()
    return series


def timed(work: Callable[[], object]) -> Sample:
    """Milliseconds that something takes, and those of them that this process was running."""
    used = time.process_time()
    begun = time.perf_counter()
    work()
    taken = time.perf_counter() - begun
    return {"ms": taken * 1000, "cpu": (time.process_time() - used) * 1000}


def asked(ask: Callable[[], object], times: int) -> Sample:
    """Ask so many times; the medians of many, in milliseconds."""
    return median_of(timed(ask) for _ in range(times))


def asked_about(ask: Callable[[str], object], text: Callable[[], str], times: int) -> Sample:
    """The same about other texts every time, which are made before."""
    texts = [text() for _ in range(times)]
    return median_of(timed(partial(ask, one)) for one in texts)


def median_of(samples: Iterable[Sample]) -> Sample:
    """One sample of many: the median of each of their metrics."""
    taken = list(samples)
    return {name: percentile([one[name] for one in taken], 50) for name in taken[0]}


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector out of a timed stretch."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
