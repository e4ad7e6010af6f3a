"""What the cases share: dice that fall the same every time, and the count of faults."""

from __future__ import annotations

import random

import pytest

from tests.support.proof import counted, leave_to_full


class Faults:
    """Counts the faults that were survived."""

    def __init__(self):
        self.count = 0

    def survived(self):
        """One more."""
        self.count += 1


@pytest.fixture
def faults(record_property):
    """The count of this case."""
    found = Faults()
    yield found
    record_property("faults", found.count)


@pytest.fixture
def dice(request):
    """The same for the same case, whenever it runs."""
    return random.Random(request.node.name)


def pytest_configure(config):
    """The marker of the cases that only the full version has."""
    config.addinivalue_line("markers", "thorough: only in the full version of a proof")


def pytest_collection_modifyitems(config, items):
    """Leave the thorough cases to `make chaos`."""
    leave_to_full(config, items)


def pytest_terminal_summary(terminalreporter):
    """How many faults each part survived."""
    found = counted(terminalreporter, "faults")
    if not found:
        return
    terminalreporter.section("faults survived")
    for name, count in sorted(found.items()):
        terminalreporter.write_line(f"{count:6}  {name}")
    terminalreporter.write_line(f"{sum(found.values()):6}  in all")
