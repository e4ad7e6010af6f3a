"""What all tests of history share."""

from __future__ import annotations

import pytest

from tests.history import index


@pytest.fixture(autouse=True)
def indexes_are_closed():
    """Close the indexes that a test has made; those of wider fixtures were made before it."""
    before = len(index.opened)
    yield
    for store in index.opened[before:]:
        store.close()
    del index.opened[before:]
