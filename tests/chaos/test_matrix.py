"""Every fault is put to every part, or there is a reason why not."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.chaos.matrix import BESIDE, FAULTS, MATRIX, lines


@pytest.mark.parametrize("area", MATRIX)
def test_no_pair_is_missing_and_every_named_test_is_there(area):
    module, pairs = MATRIX[area]
    found = importlib.import_module(f"tests.chaos.{module}")
    assert tuple(pairs) == FAULTS
    for fault, tests in pairs.items():
        if isinstance(tests, str):
            assert tests, fault
        else:
            assert tests, fault
            assert [name for name in tests if not callable(getattr(found, name, None))] == []


def test_every_part_of_the_proof_is_in_the_matrix():
    here = {path.stem for path in Path(__file__).parent.glob("test_*.py")}
    named = {module for module, _ in (*MATRIX.values(), *BESIDE.values())}
    assert here - named == {"test_matrix", "test_soak", "test_spec_index"}


@pytest.mark.parametrize("what", BESIDE)
def test_what_is_beside_the_pairs_is_there(what):
    module, tests = BESIDE[what]
    found = importlib.import_module(f"tests.chaos.{module}")
    assert [name for name in tests if not callable(getattr(found, name, None))] == []


def test_the_summary_tells_of_every_pair():
    shown = list(
        lines(
            {
                ("test_runs", "test_the_clock_jumps"): [("1]", "passed"), ("2]", "failed")],
                ("test_merge_queue", "test_a_fault_at_any_step"): [("error=EIO]", "passed")],
            }
        )
    )
    assert [line.split("  ")[0] for line in shown[1 : 1 + len(MATRIX)]] == list(MATRIX)
    assert shown[3].split()[1:] == [".", ".", ".", ".", ".", "FAILED", ".", "."]
    assert shown[5].split()[2:] == [".", ".", ".", ".", "1", ".", "-", "."]
