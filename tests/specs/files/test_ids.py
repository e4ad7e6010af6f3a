"""Ids: form, order, families."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.specs.files.ids import (
    ancestors_of,
    base36,
    date_of,
    driver_of,
    is_usable,
    member_numbers,
    new_id,
    sequence_of,
    sort_key,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "000"), (1, "001"), (35, "00z"), (36, "010"), (1000, "0rs"), (46656, "1000")],
)
def test_base36(number, text):
    assert base36(number) == text


def test_a_new_id_has_the_documented_form_and_its_sequence():
    made = new_id("2026-01-22", 36)
    assert made.startswith("2026-01-22-010-")
    assert len(made) == 18
    assert sequence_of(made, "2026-01-22") == 36
    assert sequence_of(made, "2026-01-23") == 0
    assert date_of(made) == "2026-01-22"
    assert date_of("001-plain") is None


ORDER = [
    "2026-01-22-001-x7m",
    "2026-01-22-001-x7m.1",
    "2026-01-22-001-x7m.2",
    "2026-01-22-001-x7m.2.1",
    "2026-01-22-001-x7m.10",
    "2026-01-22-00z-aaa",
    "2026-01-22-010-aaa",
    "2026-01-22-1000-aaa",
    "2026-01-23-001-aaa",
    "a",
    "project-2026-01-22-001-x7m",
    "é",
]


def test_order():
    shuffled = ORDER[:]
    random.Random(1).shuffle(shuffled)
    assert sorted(shuffled, key=sort_key) == ORDER


@given(st.lists(st.text(max_size=20), unique=True))
def test_any_names_have_one_order(names):
    backwards = names[::-1]
    assert sorted(names, key=sort_key) == sorted(backwards, key=sort_key)


@pytest.mark.parametrize(
    ("spec_id", "driver", "ancestors", "numbers"),
    [
        ("a", None, (), ()),
        ("a.1", "a", ("a",), (1,)),
        ("a.2.13", "a", ("a.2", "a"), (2, 13)),
        ("a.b", None, (), ()),
        ("a.1.b", "a", ("a.1", "a"), (1,)),
    ],
)
def test_families(spec_id, driver, ancestors, numbers):
    assert driver_of(spec_id) == driver
    assert ancestors_of(spec_id) == ancestors
    assert member_numbers(spec_id) == numbers


@pytest.mark.parametrize(
    "spec_id", ["", ".", "..", "-x", ".x", "a/b", "a\\b", "a\0", "a\n", "r:a", "x" * 201]
)
def test_unusable(spec_id):
    assert not is_usable(spec_id)


@pytest.mark.parametrize("spec_id", [*ORDER, "with space", "001-comprehensive"])
def test_usable(spec_id):
    assert is_usable(spec_id)
