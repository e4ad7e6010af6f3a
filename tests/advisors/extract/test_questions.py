"""Questions keep their numbers, and answers become facts with their source."""

from __future__ import annotations

import pytest

from clew.advisors.builder.builder import brief, build_architecture, build_vision
from clew.advisors.checks.document import check_document, is_ready
from clew.advisors.documents.document import parse, render
from clew.advisors.documents.model import Facts
from clew.advisors.extract.facts import from_text
from clew.advisors.extract.questions import (
    FIRST,
    answered,
    answers_in,
    numbered,
    open_for,
    open_questions,
)
from clew.kit.errors import NotFound

ONE = "An AI-powered task management system"


def asked(facts, kind="vision"):
    return {one.topic: one for one in open_for(facts, kind)}


def test_what_must_be_answered_comes_first_with_a_recommendation():
    facts = numbered(from_text(ONE), "vision")
    document = build_vision(facts, title="X")
    found = open_questions(document, facts)
    assert [one.topic for one in found[:3]] == ["users", "features", "objectives"]
    assert all(one.blocking for one in found[:3])
    assert not any(one.blocking for one in found[3:])
    assert all(one.default and one.why for one in found)
    assert len(found) > FIRST
    assert [one.id for one in found] == [f"Q-{n}" for n in range(1, len(found) + 1)]


def test_numbers_stay_when_other_questions_are_answered():
    facts = numbered(from_text(ONE), "vision")
    before = asked(facts)
    later = numbered(answered(facts, {before["users"].id: "Students: plan their week"}), "vision")
    after = asked(later)
    assert "users" not in after
    for topic, question in after.items():
        if topic in before:
            assert question.id == before[topic].id
    assert later.stakeholders[0].text == "Students"
    assert later.stakeholders[0].source == f"answer:{before['users'].id}"


def test_an_answer_makes_only_the_sections_that_depend_on_it_differ():
    facts = numbered(from_text(ONE), "vision")
    old = build_vision(facts, title="X")
    number = asked(facts)["exclusions"].id
    new = build_vision(answered(facts, {number: "Billing\nTime sheets"}), title="X")
    changed = [s.key for s in new.sections if old.section(s.key) != s]
    assert changed == ["preamble", "exclusions", "questions"]
    assert [item.text for item in new.items("EX")] == ["Billing", "Time sheets"]


def test_defaults_all_the_way_make_a_document_ready():
    facts = numbered(from_text(ONE), "vision")
    for _ in range(5):
        found = open_for(facts, "vision")
        facts = numbered(answered(facts, {one.id: "yes" for one in found}), "vision")
    document = build_vision(facts, title="X", metadata={"status": "draft", "updated": "2026-01-01"})
    assert open_for(facts, "vision") == []
    assert is_ready(check_document(document), [])
    assert any(item.source.startswith("default:") for item in document.items())
    architecture_facts = numbered(facts, "architecture")
    for _ in range(5):
        found = open_for(architecture_facts, "architecture")
        architecture_facts = numbered(
            answered(architecture_facts, {one.id: "yes" for one in found}), "architecture"
        )
    made, records = build_architecture(architecture_facts, title="X", vision=document)
    assert open_for(architecture_facts, "architecture") == []
    assert is_ready(check_document(made, context=(document, *(one.document for one in records))))


def test_a_contradiction_is_settled_by_its_answer():
    facts = numbered(from_text("The budget is 10 EUR. The budget is 20 EUR."), "vision")
    number = next(one.id for one in open_for(facts, "vision") if one.topic.startswith("conflict"))
    for answer, kept in (
        ("CO-1", ["CO-1"]),
        ("yes", ["CO-2"]),
        ("both, for two years", ["CO-1", "CO-2"]),
    ):
        settled = numbered(answered(facts, {number: answer}), "vision")
        assert [item.id for item in settled.constraints] == kept
        assert not any(one.topic.startswith("conflict") for one in open_for(settled, "vision"))


@pytest.mark.parametrize(
    ("text", "topic", "answer", "check_facts"),
    [
        ("Users can pay.", "release", "none", lambda f: f.features[0].get("release") == "later"),
        ("Users can pay. Users can read.", "release", "only FE-2",
         lambda f: [one.get("release") for one in f.features] == ["later", "1"]),
        ("Grow by 5 %. Users can pay.", "serves", "FE-1: BO-1", lambda f: f.features[0].get("objective") == "BO-1"),
        ("Make people happy.\nOur goal is joy.", "number BO-1", "20 % more by 2027",
         lambda f: f.objectives[0].get("target") == "20 % more by 2027"),
        ("Grow by 5 %.", "measure", "the report", lambda f: f.metrics[0].get("measured by") == "the report"),
        ("There is a risk of rain.", "treatment", "RI-1: high probability, low impact, buy umbrellas",
         lambda f: (f.risks[0].get("probability"), f.risks[0].get("impact"), f.risks[0].get("mitigation"))
         == ("high", "low", "buy umbrellas")),
        ("We assume rain.", "confirm", "Ada says so", lambda f: f.assumptions[0].get("state") == "confirmed"),
        ("Users can pay.", "priorities", "the schedule gives way", lambda f: f.of("PR")[0].text == "Schedule"),
        ("Users can pay.", "constraints", "none", lambda f: f.constraints == ()),
    ],
)  # fmt: skip
def test_vision_answers_become_facts(text, topic, answer, check_facts):
    facts = numbered(from_text(text), "vision")
    number = asked(facts)[topic].id
    assert check_facts(numbered(answered(facts, {number: answer}), "vision"))


@pytest.mark.parametrize(
    ("topic", "answer", "check_facts"),
    [
        (
            "parts",
            "Shop: sells\nOffice: bills",
            lambda f: [one.text for one in f.components][:2] == ["Shop", "Office"],
        ),
        (
            "store",
            "PostgreSQL for five years",
            lambda f: "PostgreSQL" in [one.text for one in f.technologies],
        ),
        ("language", "Rust", lambda f: f.technologies[0].text == "Rust"),
        ("language", "COBOL", lambda f: f.technologies[0].text == "COBOL"),
        ("hosting", "On a boat", lambda f: f.of("DP")[0].text == "On a boat"),
        (
            "quality",
            "Answers within 2 seconds",
            lambda f: f.quality_goals[0].text == "Answers within 2 seconds",
        ),
        (
            "integrations",
            "HTTPS with JSON; try again",
            lambda f: f.integrations[0].get("on failure") == "try again",
        ),
    ],
)
def test_architecture_answers_become_facts(topic, answer, check_facts):
    facts = numbered(from_text("Users can pay with Stripe."), "architecture")
    number = asked(facts, "architecture")[topic].id
    assert check_facts(numbered(answered(facts, {number: answer}), "architecture"))


def test_a_default_part_goes_when_the_parts_are_known():
    facts = numbered(from_text("Users can pay."), "architecture")
    assert [one.text for one in facts.components] == ["Application"]
    assert "Everything runs as one application" in [one.text for one in facts.assumptions]
    number = asked(facts, "architecture")["parts"].id
    facts = numbered(answered(facts, {number: "Shop: sells"}), "architecture")
    assert [one.text for one in facts.components] == ["Shop"]
    assert "Everything runs as one application" not in [one.text for one in facts.assumptions]
    assert facts.components[0].get("features") == "FE-1"


def test_an_unknown_question_is_refused_with_those_that_are_open():
    facts = numbered(from_text(ONE), "vision")
    with pytest.raises(NotFound, match="Q-99") as raised:
        answered(facts, {"Q-99": "x"})
    assert "Q-1" in raised.value.hint


def test_an_answer_in_the_document_is_found():
    facts = numbered(from_text(ONE), "vision")
    text = render(build_vision(facts, title="X"))
    edited = text.replace("- **Q-1** ", "- **Q-1** ").replace(
        "  - Blocking: yes\n", "  - Blocking: yes\n  - Answer: My mother\n", 1
    )
    assert answers_in(parse(edited, "vision")) == {"Q-1": "My mother"}


def test_numbering_twice_changes_nothing_and_survives_json():
    for kind in ("vision", "architecture"):
        facts = numbered(from_text("A web app. Users can pay with Stripe. Grow by 5 %."), kind)
        assert numbered(facts, kind) == facts
        assert Facts.from_json(facts.as_json()) == facts


def test_the_brief_has_rules_and_gaps_for_each_section():
    facts = numbered(from_text(ONE), "vision")
    found = brief(build_vision(facts, title="X"), facts)
    objectives = next(one for one in found.sections if one.key == "objectives")
    assert objectives.rules
    assert objectives.gaps[0].startswith("Q-3: ")
    assert found.questions[0].id == "Q-1"
