"""The count of inputs, for the end of a full run."""

from __future__ import annotations

from tests.support.proof import counted


def pytest_terminal_summary(terminalreporter):
    """How many inputs were read."""
    found = counted(terminalreporter, "inputs")
    for name, count in sorted(found.items()):
        terminalreporter.write_line(f"{count:8} inputs: {name}")
