"""What the deterministic writer makes of very different descriptions, byte by byte."""

from __future__ import annotations

import pytest

from clew.advisors.checks.document import check_document, check_text
from clew.advisors.documents.document import parse, render
from clew.advisors.extract.statements import inline, statements
from tests.advisors.golden_documents import GOLDEN, NAMES, description_of, documents_of


@pytest.mark.parametrize("name", NAMES)
def test_documents_are_the_golden_ones(name):
    made = documents_of(description_of(name))
    there = {
        str(path.relative_to(GOLDEN / name)): path.read_text(encoding="utf-8")
        for path in (GOLDEN / name).rglob("*")
        if path.is_file() and path.name != "description.txt"
    }
    assert made == there, "python -m tests.advisors.golden_documents writes them anew"


@pytest.mark.parametrize("name", NAMES)
def test_golden_documents_survive_being_read_and_have_sound_structure(name):
    for file, text in documents_of(description_of(name)).items():
        if file.endswith(".md"):
            kind = "adr" if file.startswith("adr/") else file.removesuffix(".md")
            assert render(parse(text, kind)) == text
            broken = [one for one in check_text(text, kind) if one.severity == "error"]
            assert {one.rule for one in broken} <= {"V1", "V5", "V13", "V14", "A1", "A2", "A11"}, (
                broken
            )


@pytest.mark.parametrize("name", NAMES)
def test_notes_say_that_they_are_unread_and_decide_nothing(name):
    made = documents_of(description_of(name))
    assert "> **Notes, unread.**" in made["vision.md"]
    assert "> **Notes, unread.**" in made["architecture.md"]
    assert not [file for file in made if file.startswith("adr/")]
    assert not [line for line in made["vision.md"].split("\n") if "default:Q-" in line]


@pytest.mark.parametrize("name", [one for one in NAMES if one != "hostile"])
def test_no_sentence_of_the_description_is_lost(name):
    description = description_of(name)
    made = documents_of(description)
    for one in statements(description):
        words = inline(one.text).rstrip(".。")
        assert words.replace("|", "\\|") in made["vision.md"] + made["architecture.md"], one


def test_hostile_text_stays_text():
    made = documents_of(description_of("hostile"))
    document = parse(made["vision.md"], "vision")
    assert document.metadata["status"] == "notes"
    assert all(not item.get("answer") for item in document.items("Q"))
    quoted = " ".join(item.text for item in document.items() if item.text.startswith("`"))
    assert "rm -rf" in quoted
    assert "system prompt" in quoted
    for text in (made["vision.md"], made["architecture.md"]):
        outside = "".join(text.replace("\\`", "").split("`")[::2])
        assert "<script" not in outside
        assert "](javascript:" not in outside
        assert "\u202e" not in text
        assert "\u200b" not in text


def test_a_contradiction_is_a_finding_and_a_question_and_no_choice():
    made = documents_of(description_of("contradictory"))
    assert "20,000 EUR" in made["vision.md"]
    assert "80,000 EUR" in made["vision.md"]
    document = parse(made["vision.md"], "vision")
    asked = [item for item in document.items("Q") if "contradict" in item.text]
    assert asked
    assert all(item.get("blocking") == "yes" for item in asked)
    assert "V14" in {one.rule for one in check_document(document) if one.severity == "error"}
