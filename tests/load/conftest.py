"""The times, for the end of a run."""

from __future__ import annotations


def pytest_terminal_summary(terminalreporter):
    """What was measured."""
    for report in terminalreporter.stats.get("passed", []):
        for key, value in report.user_properties:
            if key == "load":
                terminalreporter.write_line(value)
