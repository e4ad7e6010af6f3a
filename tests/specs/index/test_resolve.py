"""Partial ids."""

from __future__ import annotations

import pytest

from clew.kit.errors import Invalid, NotFound
from clew.specs.index.resolve import resolve

TODAY = "2026-02-02"
ACTIVE = ["2026-01-22-001-x7m", "2026-01-22-002-abc", "2026-02-02-002-x8m", "2026-02-02-002-x8m.1"]
ARCHIVED = ["2025-12-01-003-old", "2025-12-01-004-abc"]


@pytest.mark.parametrize(
    ("partial", "found"),
    [
        ("2026-01-22-001-x7m", "2026-01-22-001-x7m"),
        ("x7m", "2026-01-22-001-x7m"),
        ("2026-02-02-002-x8m", "2026-02-02-002-x8m"),  # the end, though a member has it too
        ("8m.1", "2026-02-02-002-x8m.1"),
        ("001", "2026-01-22-001-x7m"),
        ("22-002", "2026-01-22-002-abc"),
        ("abc", "2026-01-22-002-abc"),  # the archived one does not count
        ("old", "2025-12-01-003-old"),
        ("2025-12-01-004-abc", "2025-12-01-004-abc"),
        ("003", "2025-12-01-003-old"),
    ],
)
def test_found(partial, found):
    assert resolve(partial, ACTIVE, ARCHIVED, TODAY) == found


def test_todays_sequence_number_beats_other_days():
    ids = ["2026-01-22-002-abc", "2026-02-02-002-x8m"]
    assert resolve("002", ids, [], TODAY) == "2026-02-02-002-x8m"
    with pytest.raises(Invalid, match="Ambiguous"):
        resolve("002", ids, [], "2026-03-01")


def test_ambiguous_ids_list_what_they_could_mean():
    with pytest.raises(Invalid) as caught:
        resolve("2026", ACTIVE, [], TODAY)
    assert caught.value.message == f"Ambiguous spec ID '2026'. Matches: {', '.join(ACTIVE)}"
    with pytest.raises(Invalid, match="and 5 more"):
        resolve("a", [f"a{n:02}x" for n in range(15)], [], TODAY)


def test_unknown_ids_name_the_nearest():
    with pytest.raises(NotFound) as caught:
        resolve("2026-01-22-001-x7n", ACTIVE, [], TODAY)
    assert caught.value.message == "Spec not found: 2026-01-22-001-x7n"
    assert caught.value.hint.startswith("Nearest: 2026-01-22-001-x7m")


def test_nothing_is_no_id():
    with pytest.raises(Invalid, match="Spec ID cannot be empty"):
        resolve(" ", ACTIVE, [], TODAY)
