"""Contradictions: found where they are, and not where they are not."""

from __future__ import annotations

import pytest

from clew.advisors.documents.model import Item
from clew.advisors.extract.conflicts import conflicts


def items(*said):
    return [
        Item(f"{kind}-{n}", text, more[0] if more else {})
        for n, (kind, text, *more) in enumerate(said, 1)
    ]


@pytest.mark.parametrize(
    "said",
    [
        (("CO", "The budget is 10,000 EUR"), ("CO", "The budget is € 20000")),
        (("CO", "The budget is 10,000 EUR"), ("BG", "The approved budget is 20,000 EUR")),
        (("BO", "The launch is by March 2027"), ("CO", "The launch is in June 2027")),
        (("FE", "Users can export reports"), ("EX", "Exporting reports")),
        (("CO", "There must be no accounts for guests"), ("CO", "Guests must have accounts")),
        (("BO", "Half as many stay away", {"measure": "no-shows", "target": "6%"}),
         ("SM", "Share of guests that come", {"measure": "No-shows", "target": "4%"})),
        (("QG", "Pages answer within 200 ms"), ("CO", "Pages must answer within 2000 ms")),
    ],
)  # fmt: skip
def test_contradictions_are_found(said):
    assert len(conflicts(items(*said))) == 1


@pytest.mark.parametrize(
    "said",
    [
        (("CO", "The budget is 10,000 EUR"), ("CO", "The team has 3 people")),
        (("BO", "Cut calls from 40 to 10 minutes"), ("BO", "Cut no-shows from 12 % to 6 %")),
        (("FE", "Users can export reports"), ("FE", "Users can import contacts")),
        (("FE", "Users can export reports"), ("EX", "Printing")),
        (("QG", "Pages must load in 2 seconds"), ("QG", "The search must answer in 1 second")),
        (("BO", "No-shows go from 12% to 4%", {"measure": "no-shows"}),
         ("SM", "Share of no-shows", {"measure": "no-shows", "target": "4%"})),
        (("BO", "Calls take 5 minutes", {"measure": "calls"}), ("BO", "Calls take 9 minutes at night", {"measure": "calls at night"})),
    ],
)  # fmt: skip
def test_what_goes_together_is_left_alone(said):
    assert conflicts(items(*said)) == []
