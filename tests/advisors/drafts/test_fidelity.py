"""Whether a statement says what its quote says."""

from __future__ import annotations

import pytest

from clew.advisors.documents.model import Facts
from clew.advisors.drafts.draft import take_draft
from clew.advisors.drafts.source import Source

TEXT = """\
We do not replay backend traffic of any kind. Staging keeps the data for 90 minutes.
It's slow, and coaches never see the button.

It does not:
- provide medical advice
- diagnose conditions

Receptionists rely on memory. Das Portal ersetzt das Archiv nicht. 音声の品質は高くありません。
"""


def refusal(quote: str, text: str, kind: str = "background") -> str:
    """Why the judge refuses a statement, or nothing."""
    facts = Facts("", (), Source().adding("vision", TEXT).texts)
    entry = {"ref": "S", "kind": kind, "text": text, "quote": quote}
    taken = take_draft(facts, "vision", {"statements": [entry]}, "caller")
    return taken.refused[0].reason if taken.refused else ""


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("We do not replay backend traffic of any kind.", "Backend traffic is not replayed"),
        ("Staging keeps the data for 90 minutes.", "Data is kept for 90 minutes in staging"),
        ("It's slow", "Staging is slow"),
        ("coaches never see the button", "No coach sees the button"),
        ("Receptionists rely on memory.", "Receptionists rely on memory"),
        ("Das Portal ersetzt das Archiv nicht.", "Das Archiv wird nicht ersetzt"),
        ("音声の品質は高くありません。", "音声の品質が高くない"),
    ],
)
def test_a_statement_may_use_its_quote_freely(quote, text):
    assert not refusal(quote, text)


@pytest.mark.parametrize(
    ("quote", "text", "reason"),
    [
        (
            "We do not replay backend traffic of any kind.",
            "We replay backend traffic",
            "says “not”",
        ),
        ("We do ... replay backend traffic", "We replay backend traffic", "says “not”"),
        ("replay backend traffic", "We replay backend traffic", "leaves out “not”"),
        (
            "Staging keeps the data for 90 minutes.",
            "Staging keeps the data for 90 hours",
            "“hours”",
        ),
        ("Staging keeps the data for 90 minutes.", "Staging keeps the data for 9 minutes", "9 is"),
        ("Staging keeps the data for 90 minutes.", "Staging does not keep the data", "“not”"),
        ("Receptionists rely on memory.", "Coaches rely on memory", "“coaches”"),
        ("Receptionists rely on memory.", "Auditors rely on memory", "“auditors”"),
        ("provide medical advice", "It provides medical advice", "leaves out “not”"),
        ("Das Portal ersetzt das Archiv nicht.", "Das Portal ersetzt das Archiv", "“nicht”"),
        ("音声の品質は高くありません。", "音声の品質は高い", "“ません”"),
    ],
)
def test_an_invention_that_looks_alike_is_refused(quote, text, reason):
    assert reason in refusal(quote, text)


def test_what_is_excluded_needs_no_negation():
    assert not refusal("provide medical advice", "Medical advice", "exclusion")
    assert refusal("Receptionists rely on memory.", "No receptionists", "exclusion")
