"""The project of these tests; whatever watches it at the end is ended."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

import pytest

from clew.work.journal.status_files import read_watch_pid
from clew.work.scheduling.watch_control import is_watched
from tests.work.merging.making import Shop


@pytest.fixture
def shop(tmp_path):
    """A project that is looked at often."""
    made = Shop(tmp_path / "shop")
    made.configure("watch:", "  poll_interval_ms: 100")
    yield made
    pid = read_watch_pid(made.places)
    if pid and is_watched(made.places):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
