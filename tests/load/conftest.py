"""The times, for the end of a run."""

from __future__ import annotations

from tests.support.proof import recorded


def pytest_terminal_summary(terminalreporter):
    """What was measured."""
    for report in recorded(terminalreporter):
        for key, value in report.user_properties:
            if key == "load":
                terminalreporter.write_line(value)
