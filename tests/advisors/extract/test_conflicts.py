"""Contradictions: found where they are, and not where they are not."""

from __future__ import annotations

import pytest

from clew.advisors.extract.conflicts import conflicts
from clew.advisors.extract.facts import from_text


@pytest.mark.parametrize(
    "text",
    [
        "The budget is 10,000 EUR. The budget is 20,000 EUR.",
        "We launch by March 2027. The launch is in June 2027.",
        "Users can export reports. Exporting reports is out of scope.",
        "There must be no accounts for guests. Guests must have accounts.",
        "The app is free for everyone. Users pay a monthly fee as a subscription.",
        "It must work offline. The data is stored only in the cloud.",
    ],
)
def test_contradictions_are_found(text):
    assert len(conflicts(from_text(text).items)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "The budget is 10,000 EUR. The team has 3 people.",
        "Cut calls from 40 to 10 minutes. Cut no-shows from 12 % to 6 %.",
        "Users can export reports. Users can import contacts.",
        "Users can export reports. Printing is out of scope.",
        "Pages must load in 2 seconds. The search must answer in 1 second.",
    ],
)
def test_what_goes_together_is_left_alone(text):
    assert conflicts(from_text(text).items) == []
