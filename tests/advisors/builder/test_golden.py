"""What the deterministic writer makes of very different descriptions, byte by byte."""

from __future__ import annotations

import pytest

from clew.advisors.builder.builder import build_vision, title_of
from clew.advisors.checks.document import check_document, check_text, is_ready
from clew.advisors.documents.document import parse, render
from clew.advisors.extract.facts import from_text
from clew.advisors.extract.questions import numbered, open_questions
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
            assert {one.rule for one in broken} <= {"V1", "V5", "V13", "V14", "A11"}, broken


@pytest.mark.parametrize("name", NAMES)
def test_the_lead_promises_what_the_checks_find(name):
    description = description_of(name)
    facts = numbered(from_text(description), "vision")
    document = build_vision(facts, title=title_of(description), metadata={"status": "draft"})
    can_start = is_ready(check_document(document), open_questions(document, facts))
    assert ("Nothing is in the way" in render(document)) == can_start


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
    assert document.metadata["status"] == "draft"
    assert [item.id for item in document.items("BO")] == ["BO-1", "BO-2"]
    assert not document.items("RI")
    assert all(not item.get("answer") for item in document.items("Q"))
    quoted = " ".join(item.text for item in document.items("SA"))
    assert "rm -rf" in quoted
    assert "system prompt" in quoted
    for text in (made["vision.md"], made["architecture.md"]):
        outside = "".join(text.split("`")[::2])
        assert "<script" not in outside
        assert "](javascript:" not in outside
        assert "\u202e" not in text
        assert "\u200b" not in text


def test_a_contradiction_is_a_finding_and_a_question_and_no_choice():
    made = documents_of(description_of("contradictory"))
    assert "20,000 EUR" in made["vision.md"]
    assert "80,000 EUR" in made["vision.md"]
    document = parse(made["vision.md"], "vision")
    asked = [item for item in document.items("Q") if item.get("blocking") == "yes"]
    assert len(asked) == 7
    assert {one.rule for one in check_document(document) if one.severity == "error"} == {
        "V13",
        "V14",
    }
