"""What a run found, and how it is shown: tables for terminals, Markdown and JSON for the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.results.curves import Curve, curve_data, table
from benchmarks.results.figures import HEADINGS, Figure, Goal, cells, figure_data

__all__ = ["Claim", "Curve", "Figure", "Goal", "Report", "as_json", "as_markdown", "as_text"]

SCHEMA_VERSION = 2
LEGEND = (
    "Times and memory are `median (minimum, interquartile range)`. A ratio is subject / baseline, "
    "taken round by round within one interleaved run: `median (quartiles; of the minima)`. "
    "Below 1 the subject is quicker or smaller. Goals are stated, never enforced."
)
CURVES = (
    "A curve asks the same question at growing sizes: `per item` is the median divided by the "
    "size, `of the smallest` its ratio to the first row; where another way of answering was "
    "measured at the same size, the ratio to that stands beside it."
)
SHARED = "What several claims need is made once, in the time of the first that needs it."


@dataclass
class Claim:
    """What one module found out; the runner sets the seconds."""

    name: str
    title: str
    sizes: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    figures: list[Figure] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    seconds: float = 0.0


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
        "seconds": round(claim.seconds, 1),
        "sizes": claim.sizes,
        "notes": claim.notes,
        "skipped": claim.skipped,
        "figures": [figure_data(figure) for figure in claim.figures],
        "curves": [curve_data(curve) for curve in claim.curves],
    }


def as_markdown(report: Report) -> str:
    """The report as a document."""
    lines = ["# Benchmark results", "", _introduction(report), "", LEGEND, "", CURVES, ""]
    lines += _markdown_table([("machine", ""), *report.machine.items()])
    lines += ["", *_markdown_table(_shares(report)), "", SHARED]
    for claim in report.claims:
        lines += ["", f"## {claim.title}", ""]
        if claim.figures:
            lines += [*_markdown_table([HEADINGS, *map(cells, claim.figures)]), ""]
        for curve in claim.curves:
            lines += [f"### {curve.name}", "", *_markdown_table(table(curve)), ""]
        lines += [f"- {remark}" for remark in remarks(claim)]
    return "\n".join(lines) + "\n"


def _introduction(report: Report) -> str:
    mode = "quick" if report.quick else "full"
    return (
        f"Written by `python -m benchmarks --markdown FILE`, a {mode} run on {report.date} "
        f"that took {report.seconds:.0f} s. `make bench` repeats it on your machine."
    )


def _shares(report: Report) -> list[tuple[str, str]]:
    """What each claim took of the run."""
    return [("claim", "seconds"), *((one.name, f"{one.seconds:.1f}") for one in report.claims)]


def _markdown_table(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def remarks(claim: Claim) -> list[str]:
    """Notes, sizes and what was skipped, a line each."""
    said = [f"{key}: {value}" for key, value in claim.sizes.items()]
    left_out = [f"{name} was skipped: {reason}" for name, reason in claim.skipped.items()]
    return [*claim.notes, *said, *left_out]


def as_text(report: Report) -> str:
    """The report for a terminal."""
    lines = [f"{key:>12}  {value}" for key, value in report.machine.items()]
    for claim in report.claims:
        lines += ["", f"{claim.title} ({claim.seconds:.1f} s)", ""]
        if claim.figures:
            lines += [*_aligned([HEADINGS, *map(cells, claim.figures)]), ""]
        for curve in claim.curves:
            lines += [curve.name, *(f"  {line}" for line in _aligned(table(curve))), ""]
        lines += [f"  {remark}" for remark in remarks(claim)]
    lines += ["", *_aligned(_shares(report)), SHARED]
    legends = [LEGEND] if not any(claim.curves for claim in report.claims) else [LEGEND, CURVES]
    lines += ["", *(legend.replace("`", "'") for legend in legends)]
    return "\n".join([*lines, f"{report.date}, {report.seconds:.0f} s"])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
