"""Growth curves: one question at several sizes, against the smallest and another way to ask it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.measurement.sampling import Comparison, Series, compare
from benchmarks.results.figures import Goal, number, summary_data, values

HEADINGS = ("size", "median (minimum, IQR)", "per item", "of the smallest", "n", "goal")
# What one item costs is told in a unit a thousand times smaller.
_SMALLER = {"s": ("ms", 1000), "ms": ("us", 1000), "us": ("ns", 1000), "MiB": ("KiB", 1024)}


@dataclass(frozen=True)
class Point:
    """One size: against the smallest one, and against the other way at the same size."""

    size: int
    compared: Comparison
    beside: Comparison | None = None
    goal: Goal | None = None


@dataclass(frozen=True)
class Curve:
    """How a question's cost grows with the number of items."""

    name: str
    items: str
    unit: str
    points: Sequence[Point]
    baseline: str = ""


def curve_of(
    name: str,
    items: str,
    unit: str,
    ours: Mapping[int, Series],
    *,
    goals: Mapping[int, Goal] | None = None,
    baseline: str = "",
    theirs: Mapping[int, Series] | None = None,
) -> Curve:
    """Every size against the smallest, and beside the baseline where that was measured."""
    smallest = ours[min(ours)]
    points = []
    for size in sorted(ours):
        other = (theirs or {}).get(size)
        points.append(
            Point(
                size,
                compare(ours[size], smallest, unit),
                None if other is None else compare(ours[size], other, unit),
                (goals or {}).get(size),
            )
        )
    return Curve(name, items, unit, points, baseline)


def one_sample(value: float, unit: str) -> Series:
    """A series of a single round."""
    return {0: {unit: value}}


def table(curve: Curve) -> list[tuple[str, ...]]:
    """The curve's rows, headings first."""
    beside = (curve.baseline, f"ours / {curve.baseline}") if curve.baseline else ()
    return [(*HEADINGS[:4], *beside, *HEADINGS[4:]), *(_row(curve, one) for one in curve.points)]


def _row(curve: Curve, point: Point) -> tuple[str, ...]:
    median = point.compared.subject.median
    unit, factor = _SMALLER[curve.unit]
    told = [
        f"{point.size:,} {curve.items}",
        values(point.compared.subject, curve.unit),
        f"{number(median * factor / point.size)} {unit}",
        number(point.compared.ratio.median),
    ]
    if curve.baseline and point.beside is None:
        told += ["", ""]
    elif point.beside is not None:
        told += [values(point.beside.baseline, curve.unit), number(point.beside.ratio.median)]
    return (*told, str(point.compared.subject.n), _goal(curve, point))


def _goal(curve: Curve, point: Point) -> str:
    """Goals are about the median, the growth, or the baseline beside it."""
    if point.goal is None:
        return ""
    compared = point.beside if point.goal.of == "beside" else point.compared
    assert compared is not None
    return point.goal.told(compared, curve.unit)


def curve_data(curve: Curve) -> dict[str, Any]:
    """The curve as plain data."""
    return {
        "name": curve.name,
        "items": curve.items,
        "unit": curve.unit,
        "baseline": curve.baseline or None,
        "points": [_point_data(curve, point) for point in curve.points],
    }


def _point_data(curve: Curve, point: Point) -> dict[str, Any]:
    median = point.compared.subject.median
    beside = point.beside and {
        **summary_data(point.beside.baseline),
        "ratio": summary_data(point.beside.ratio),
        "ratio_of_minima": point.beside.ratio_of_minima,
    }
    goal = point.goal and {**asdict(point.goal), "told": _goal(curve, point)}
    return {
        "size": point.size,
        **summary_data(point.compared.subject),
        "per_item": median / point.size,
        "of_smallest": summary_data(point.compared.ratio),
        "baseline": beside,
        "goal": goal,
    }
