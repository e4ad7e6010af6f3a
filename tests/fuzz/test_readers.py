"""Every reader of foreign text, with bent seeds and plain bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.fuzz.corpus import inputs
from tests.fuzz.targets import COSTLY, TARGETS
from tests.support.proof import amount


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.__name__)
def test_reader(target, record_property):
    examples = amount(150, 10_000) // (5 if target in COSTLY else 1)

    @settings(max_examples=examples, database=None, derandomize=True)
    @given(inputs(TARGETS[target]))
    def run(data):
        target(data)

    run()
    record_property("inputs", examples)
