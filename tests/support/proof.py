"""How much a proof does: a little among the other tests, all of it when asked for."""

from __future__ import annotations

import os
from collections import Counter

# `make chaos`, `make fuzz` and `make load` set this.
FULL = os.environ.get("PROOF") == "full"


def amount(short, full):
    """How many, how long: of the short version, or of the full one."""
    return full if FULL else short


def recorded(reporter):
    """The reports of finished tests that carry all they recorded."""
    reports = [report for several in reporter.stats.values() for report in several]
    return [report for report in reports if getattr(report, "when", None) == "teardown"]


def counted(reporter, name):
    """The sum of a property over finished tests, by the module of the test."""
    found = Counter()
    for report in recorded(reporter):
        module = report.nodeid.partition("::")[0].rpartition("/")[2]
        for key, value in report.user_properties:
            if key == name:
                found[module.removeprefix("test_").removesuffix(".py").replace("_", " ")] += value
    return found


def leave_to_full(config, items):
    """Take out what is marked `thorough`, unless all of it was asked for."""
    if FULL:
        return
    out = [item for item in items if item.get_closest_marker("thorough")]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in out]
