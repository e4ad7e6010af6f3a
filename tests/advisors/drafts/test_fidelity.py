"""Whether a statement says what its quote says."""

from __future__ import annotations

import pytest

from clew.advisors.documents.model import Facts
from clew.advisors.drafts.draft import Taken, take_draft
from clew.advisors.drafts.source import Source

TEXT = """\
We do not replay backend traffic of any kind. Staging keeps the data for 90 minutes.
It's slow, and coaches never see the button.

It does not:
- provide medical advice
- diagnose conditions

Receptionists rely on memory. Das Portal ersetzt das Archiv nicht. 音声の品質は高くありません。
"""


def judged(quote: str, text: str, kind: str = "background") -> Taken:
    """What the judge makes of a statement."""
    facts = Facts("", (), Source().adding("vision", TEXT).texts)
    entry = {"ref": "S", "kind": kind, "text": text, "quote": quote}
    return take_draft(facts, "vision", {"statements": [entry]}, "caller")


def refusal(quote: str, text: str, kind: str = "background") -> str:
    """Why the judge refuses a statement, or nothing."""
    taken = judged(quote, text, kind)
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
        ("coaches never see the button", "The button cannot be seen by coaches"),
    ],
)
def test_a_statement_may_use_its_quote_freely(quote, text):
    taken = judged(quote, text)
    assert not taken.refused
    assert not taken.reworded


@pytest.mark.parametrize(
    ("quote", "text", "word"),
    [
        ("Staging keeps the data for 90 minutes.", "Staging keeps data for 90 hours", "“hours”"),
        ("Receptionists rely on memory.", "Coaches rely on memory", "“coaches” (line 2)"),
        ("Receptionists rely on memory.", "Auditors rely on memory", "“auditors”"),
        ("音声の品質は高くありません。", "映像の品質は高くない", "“映像”"),
    ],
)
def test_the_quote_stands_in_place_of_words_that_are_not_there(quote, text, word):
    taken = judged(quote, text)

    assert not taken.refused
    assert taken.reworded[0].reason.startswith(word)
    assert taken.facts.items[0].text == quote


def test_a_name_is_right_or_refused():
    assert "“auditors”" in refusal("coaches never see the button", "Auditors", "stakeholder")
    assert not judged("coaches never see the button", "Coaches", "stakeholder").refused


def test_headings_and_other_spellings_of_a_word_are_known():
    text = (
        "# Hotline\n\n## Anrufer\n\nFragen koennen gestellt werden, nur zu \uff11\uff10 Themen.\n"
    )
    facts = Facts("", (), Source().adding("vision", text).texts)
    said = "Anrufer können der Hotline Fragen stellen, zu 10 Themen"
    entry = {
        "ref": "S",
        "kind": "feature",
        "text": said,
        "quote": "Fragen koennen gestellt werden, nur zu 10 Themen",
    }
    taken = take_draft(facts, "vision", {"statements": [entry]}, "caller")

    assert not taken.refused
    assert not taken.reworded


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
        ("Staging keeps the data for 90 minutes.", "Staging keeps the data for 9 minutes", "9 is"),
        ("Staging keeps the data for 90 minutes.", "Staging does not keep the data", "“not”"),
        ("Receptionists rely on memory.", "Coaches and auditors meet", "“coaches”"),
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
