"""A workshop for one test."""

import pytest
from benchmarks.bench import Bench, Workshop


@pytest.fixture
def bench_of(tmp_path, monkeypatch):
    """Makes the view of a claim with these settings; all share one workshop."""
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    with Workshop(tmp_path, lambda _: None) as workshop:
        yield lambda **settings: Bench(workshop, settings)
