"""The project of these tests."""

from __future__ import annotations

import pytest

from tests.work.merging.making import Shop


@pytest.fixture
def shop(tmp_path):
    """A project with `main` checked out."""
    made = Shop(tmp_path / "shop")
    with made.work:
        yield made


@pytest.fixture
def shop_beside(tmp_path):
    """A project with another branch than `main` checked out."""
    made = Shop(tmp_path / "shop", on="mine")
    with made.work:
        yield made
