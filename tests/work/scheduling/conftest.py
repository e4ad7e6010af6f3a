"""The project of these tests; whatever watches it at the end is ended."""

from __future__ import annotations

import pytest

from clew.work.scheduling.watch import is_watched, stop_watch
from tests.work.merging.making import Shop


@pytest.fixture
def shop(tmp_path):
    """A project that is looked at often."""
    made = Shop(tmp_path / "shop")
    made.configure("watch:", "  poll_interval_ms: 100")
    with made.work:
        yield made
    if is_watched(made.paths):
        stop_watch(made.paths, 120)
