"""Every promise of SECURITY.md names the tests that prove it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
ROWS = [
    line
    for line in TEXT.splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| Who |", "| What |"))
]


def test_the_tables_are_found():
    assert len(ROWS) > 25
    assert TEXT.count("| Proved by |") == 2


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:40])
def test_each_row_names_tests_that_exist(row):
    proof = row.rstrip("| ").rpartition("|")[2]
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", proof)
    assert named, "no test is named"
    for file, test in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert re.search(rf"^def {test or 'test_'}", text, re.MULTILINE), (file, test)


def test_the_number_of_vectors_is_the_real_one():
    from tests.security.vectors import VECTORS

    assert f"{len(VECTORS)} vectors" in TEXT
