"""Figures, and how they are shown: a table for terminals, Markdown and JSON for the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.measure import Comparison, Summary

SCHEMA_VERSION = 1
HEADINGS = ("figure", "subject", "baseline", "ratio", "n", "goal")
LEGEND = (
    "Times and memory are `median (minimum, interquartile range)`. A ratio is subject / baseline, "
    "taken round by round within one interleaved run: `median (quartiles; of the minima)`. "
    "Below 1 the subject is quicker or smaller. Goals are stated, never enforced."
)


@dataclass(frozen=True)
class Goal:
    """What a figure ought to be at most: its ratio, or the subject's median in its unit."""

    limit: float
    of: str = "ratio"

    def met_by(self, compared: Comparison) -> bool:
        """Whether the figure is within the goal."""
        value = compared.ratio.median if self.of == "ratio" else compared.subject.median
        return value <= self.limit


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
        if self.goal is None:
            return ""
        return "met" if self.goal.met_by(self.compared) else "missed"


@dataclass
class Claim:
    """What one module found out."""

    name: str
    title: str
    sizes: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)


@dataclass
class Report:
    """One run of the runner."""

    machine: dict[str, str]
    quick: bool
    settings: dict[str, dict[str, int]]
    claims: list[Claim]
    date: str
    seconds: float


def as_json(report: Report) -> dict[str, Any]:
    """The whole report as plain data."""
    return {
        "version": SCHEMA_VERSION,
        "date": report.date,
        "seconds": round(report.seconds, 1),
        "quick": report.quick,
        "machine": report.machine,
        "settings": report.settings,
        "claims": [_claim_data(claim) for claim in report.claims],
    }


def _claim_data(claim: Claim) -> dict[str, Any]:
    return {
        "name": claim.name,
        "title": claim.title,
        "sizes": claim.sizes,
        "notes": claim.notes,
        "skipped": claim.skipped,
        "figures": [_figure_data(figure) for figure in claim.figures],
    }


def _figure_data(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "unit": figure.unit,
        "subject": {"name": figure.subject, **_summary_data(figure.compared.subject)},
        "baseline": {"name": figure.baseline, **_summary_data(figure.compared.baseline)},
        "ratio": _summary_data(figure.compared.ratio),
        "ratio_of_minima": figure.compared.ratio_of_minima,
        "goal": None if figure.goal is None else {**asdict(figure.goal), "verdict": figure.verdict},
    }


def _summary_data(summary: Summary) -> dict[str, float]:
    return {**asdict(summary), "iqr": summary.iqr}


def as_markdown(report: Report) -> str:
    """The report as a document."""
    lines = ["# Benchmark results", "", _introduction(report), "", LEGEND, ""]
    lines += ["| machine | |", "|---|---|"]
    lines += [f"| {key} | {value} |" for key, value in report.machine.items()]
    for claim in report.claims:
        lines += ["", f"## {claim.title}", ""]
        lines += [_markdown_row(HEADINGS), "|" + "---|" * len(HEADINGS)]
        lines += [_markdown_row(_cells(figure)) for figure in claim.figures]
        lines += ["", *(f"- {remark}" for remark in remarks(claim))]
    return "\n".join(lines) + "\n"


def _introduction(report: Report) -> str:
    mode = "quick" if report.quick else "full"
    return (
        f"Written by `python -m benchmarks --markdown FILE`, a {mode} run on {report.date} "
        f"that took {report.seconds:.0f} s. `make bench` repeats it on your machine."
    )


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def remarks(claim: Claim) -> list[str]:
    """Notes, sizes and what was skipped, a line each."""
    said = [f"{key}: {value}" for key, value in claim.sizes.items()]
    left_out = [f"{name} was skipped: {reason}" for name, reason in claim.skipped.items()]
    return [*claim.notes, *said, *left_out]


def as_text(report: Report) -> str:
    """The report for a terminal."""
    lines = [f"{key:>12}  {value}" for key, value in report.machine.items()]
    for claim in report.claims:
        lines += ["", claim.title, ""]
        lines += _aligned([HEADINGS, *(_cells(figure) for figure in claim.figures)])
        lines += ["", *(f"  {remark}" for remark in remarks(claim))]
    lines += ["", LEGEND.replace("`", "'"), f"{report.date}, {report.seconds:.0f} s"]
    return "\n".join(lines)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _cells(figure: Figure) -> tuple[str, ...]:
    compared, ratio = figure.compared, figure.compared.ratio
    spread = f"{_number(ratio.q1)}-{_number(ratio.q3)}; {_number(compared.ratio_of_minima)}"
    return (
        figure.name,
        f"{figure.subject}: {_values(compared.subject, figure.unit)}",
        f"{figure.baseline}: {_values(compared.baseline, figure.unit)}",
        f"{_number(ratio.median)} ({spread})",
        str(ratio.n),
        _goal_cell(figure),
    )


def _values(summary: Summary, unit: str) -> str:
    minimum, spread = _number(summary.minimum), _number(summary.iqr)
    return f"{_number(summary.median)} {unit} ({minimum}, {spread})"


def _goal_cell(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    of = "" if figure.goal.of == "ratio" else f" {figure.unit}"
    return f"<= {_number(figure.goal.limit)}{of}: {figure.verdict}"


def _number(value: float) -> str:
    """Two or three digits that matter, never in scientific notation."""
    if abs(value) >= 100:
        return f"{value:.0f}"
    if abs(value) >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3f}"
