"""Figures: a measured ratio, what it ought to be, and how numbers are told."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.measurement.sampling import Comparison, Summary

HEADINGS = ("figure", "subject", "baseline", "ratio", "n", "goal")


@dataclass(frozen=True)
class Goal:
    """What a figure ought to be at most: its ratio, or the subject's median in its unit."""

    limit: float
    of: str = "ratio"

    @property
    def is_of_ratio(self) -> bool:
        """Whether a ratio is limited; on a curve, `beside` is the one to the other way."""
        return self.of in {"ratio", "beside"}

    def met_by(self, compared: Comparison) -> bool:
        """Whether the figure is within the goal."""
        value = compared.ratio.median if self.is_of_ratio else compared.subject.median
        return value <= self.limit

    def verdict(self, compared: Comparison) -> str:
        """Met or missed."""
        return "met" if self.met_by(compared) else "missed"

    def told(self, compared: Comparison, unit: str) -> str:
        """The goal and its verdict, as tables show them."""
        of = "" if self.is_of_ratio else f" {unit}"
        return f"<= {number(self.limit)}{of}: {self.verdict(compared)}"


@dataclass(frozen=True)
class Figure:
    """One measured ratio."""

    name: str
    subject: str
    baseline: str
    unit: str
    compared: Comparison
    goal: Goal | None = None

    @property
    def verdict(self) -> str:
        """Met or missed; empty where no goal is stated."""
        return "" if self.goal is None else self.goal.verdict(self.compared)


def cells(figure: Figure) -> tuple[str, ...]:
    """The figure as a row of a table."""
    compared, ratio = figure.compared, figure.compared.ratio
    spread = f"{number(ratio.q1)}-{number(ratio.q3)}; {number(compared.ratio_of_minima)}"
    return (
        figure.name,
        f"{figure.subject}: {values(compared.subject, figure.unit)}",
        f"{figure.baseline}: {values(compared.baseline, figure.unit)}",
        f"{number(ratio.median)} ({spread})",
        str(ratio.n),
        "" if figure.goal is None else figure.goal.told(compared, figure.unit),
    )


def figure_data(figure: Figure) -> dict[str, Any]:
    """The figure as plain data."""
    return {
        "name": figure.name,
        "unit": figure.unit,
        "subject": {"name": figure.subject, **summary_data(figure.compared.subject)},
        "baseline": {"name": figure.baseline, **summary_data(figure.compared.baseline)},
        "ratio": summary_data(figure.compared.ratio),
        "ratio_of_minima": figure.compared.ratio_of_minima,
        "goal": None if figure.goal is None else {**asdict(figure.goal), "verdict": figure.verdict},
    }


def summary_data(summary: Summary) -> dict[str, float]:
    """A summary as plain data."""
    return {**asdict(summary), "iqr": summary.iqr}


def values(summary: Summary, unit: str) -> str:
    """Median, minimum and spread."""
    minimum, spread = number(summary.minimum), number(summary.iqr)
    return f"{number(summary.median)} {unit} ({minimum}, {spread})"


def number(value: float) -> str:
    """Two or three digits that matter, never in scientific notation."""
    size = abs(value)
    if size >= 100 or not size:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 0.1:
        return f"{value:.2f}"
    return f"{value:.{max(3, 1 - math.floor(math.log10(size)))}f}"
