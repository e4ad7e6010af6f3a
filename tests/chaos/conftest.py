"""What the cases share: dice that fall the same every time, and the count of faults."""

from __future__ import annotations

import random
from collections import defaultdict
from contextlib import suppress

import psutil
import pytest

from tests.chaos.matrix import lines
from tests.support.faults import mounts_below, processes_in
from tests.support.proof import counted, leave_to_full, recorded
from tests.support.waiting import wait_until
from tests.work.merging.making import Shop


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


@pytest.fixture(autouse=True)
def shops_are_closed():
    """No case leaves a journal open."""
    yield
    while Shop.opened:
        Shop.opened.pop().__exit__()


@pytest.fixture(autouse=True)
def nothing_is_left(private_home, tmp_path):
    """No case leaves a process or a mounted disk to the others, whether it passes or fails."""
    yield
    try:
        wait_until(lambda: not processes_in(private_home))
    finally:
        for process in processes_in(private_home):
            with suppress(psutil.NoSuchProcess):
                process.kill()
    assert mounts_below(tmp_path) == []


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
    """How many faults each part survived, and how the pairs of part and fault fared."""
    found = counted(terminalreporter, "faults")
    if not found:
        return
    terminalreporter.section("faults survived")
    for name, count in sorted(found.items()):
        terminalreporter.write_line(f"{count:6}  {name}")
    cases = len(recorded(terminalreporter))
    terminalreporter.write_line(f"{sum(found.values()):6}  in all, in {cases} cases")
    terminalreporter.section("cases of each fault")
    for line in lines(_outcomes(terminalreporter)):
        terminalreporter.write_line(line)


def _outcomes(reporter):
    """Parameters and outcome of the cases that ran, by module and test."""
    found = defaultdict(list)
    for outcome in ("passed", "failed", "skipped", "error"):
        for report in reporter.stats.get(outcome, ()):
            path, _, case = report.nodeid.partition("::")
            name, _, parameters = case.partition("[")
            place = path.rpartition("/")[2].removesuffix(".py"), name
            found[place].append((parameters, "failed" if outcome == "error" else outcome))
    return found
