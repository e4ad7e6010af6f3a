"""A workshop for one test."""

import pytest
from benchmarks.bench import Bench, Workshop


@pytest.fixture
def bench_of(tmp_path, monkeypatch):
    """Makes the view of a claim with these settings; all share one workshop."""
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    workshop = Workshop(tmp_path, lambda _: None)

    def make(**settings):
        return Bench(workshop, settings)

    return make
