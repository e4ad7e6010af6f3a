"""Questions keep their numbers, speak the language of the source, and are not asked again."""

from __future__ import annotations

import pytest

from clew.advisors.builder.builder import build_vision
from clew.advisors.checks.document import check_document
from clew.advisors.documents.document import parse, render
from clew.advisors.documents.model import Facts, Item
from clew.advisors.extract.notes import notes_of
from clew.advisors.extract.questions import (
    DECLINED,
    answered,
    answers_in,
    language_of,
    numbered,
    open_for,
    said_in,
)
from clew.kit.errors import Invalid, NotFound

ONE = "An AI-powered task management system"


def asked(facts, kind="vision"):
    return {one.topic: one for one in open_for(facts, kind)}


def facts_of(*said, kind="vision"):
    items = [Item(name, text, more[0] if more else {}) for name, text, *more in said]
    return numbered(Facts("", tuple(items)), kind)


def test_what_must_be_answered_comes_first():
    found = open_for(numbered(notes_of(ONE), "vision"), "vision")
    assert [one.topic for one in found[:3]] == ["users", "features", "objectives"]
    assert [one.blocking for one in found[:4]] == [True, True, True, False]
    assert all(one.why for one in found)
    assert not any(one.default for one in found[:3]), "nothing is made of a default"
    assert [one.id for one in found] == [f"Q-{n}" for n in range(1, len(found) + 1)]


def test_numbers_stay_when_other_questions_are_answered():
    facts = numbered(notes_of(ONE), "vision")
    before = asked(facts)
    given = {before["users"].id: "Students: plan their week"}
    later = numbered(answered(facts, given, "vision"), "vision")
    after = asked(later)
    assert "users" not in after
    for topic, question in after.items():
        if topic in before:
            assert question.id == before[topic].id
    assert later.stakeholders[0].text == "Students"
    assert later.stakeholders[0].source == f"answer:{before['users'].id}"


@pytest.mark.parametrize(
    ("said", "topic", "answer", "check"),
    [
        ((("FE-1", "Pay"),), "FE.release", "none", lambda f: f.features[0].get("release") == "later"),
        ((("FE-1", "Pay"), ("FE-2", "Read")), "FE.release", "only FE-2",
         lambda f: [one.get("release") for one in f.features] == ["later", "1"]),
        ((("BO-1", "Grow by 5 %"), ("FE-1", "Pay")), "FE.objective", "FE-1: BO-1",
         lambda f: f.features[0].get("objective") == "BO-1"),
        ((("BO-1", "Joy"),), "BO.target", "20 % more by 2027", lambda f: f.objectives[0].get("target") == "20 % more by 2027"),
        ((("BO-1", "Grow by 5 %"),), "measures", "the report",
         lambda f: (f.metrics[0].get("measured by"), f.metrics[0].get("objective")) == ("the report", "BO-1")),
        ((("SM-1", "Orders", {"objective": "BO-1"}),), "SM.measured by", "the till", lambda f: f.metrics[0].get("measured by") == "the till"),
        ((("RI-1", "Rain"),), "RI.mitigation", "RI-1: umbrellas", lambda f: f.risks[0].get("mitigation") == "umbrellas"),
        ((("AS-1", "Rain", {"state": "unconfirmed"}),), "AS.state", "Ada says so", lambda f: f.assumptions[0].get("state") == "confirmed"),
        ((("AS-1", "Rain", {"state": "unconfirmed"}),), "AS.state", "no", lambda f: f.assumptions[0].get("state") == "refuted"),
        ((), "priorities", "Schedule", lambda f: f.of("PR")[0].text == "Schedule"),
        ((), "exclusions", "- Billing\n- Time sheets", lambda f: [one.text for one in f.exclusions] == ["Billing", "Time sheets"]),
        ((), "exclusions", "yes", lambda f: f.exclusions == ()),
        ((), "risks", DECLINED, lambda f: f.risks == ()),
    ],
)  # fmt: skip
def test_an_answer_fills_in_what_was_asked_and_is_not_asked_again(said, topic, answer, check):
    facts = facts_of(*said)
    number = asked(facts)[topic].id
    after = numbered(answered(facts, {number: answer}, "vision"), "vision")
    assert check(after)
    assert topic not in asked(after)


@pytest.mark.parametrize(
    ("topic", "answer", "check"),
    [
        ("parts", "Shop: sells\nOffice: bills", lambda f: [(o.text, o.get("responsibility")) for o in f.components] == [("Shop", "sells"), ("Office", "bills")]),
        ("technology", "COBOL", lambda f: f.technologies[0].text == "COBOL"),
        ("hosting", "On a boat", lambda f: f.of("DP")[0].text == "On a boat"),
        ("quality", "Answers within 2 seconds", lambda f: f.quality_goals[0].text == "Answers within 2 seconds"),
        ("IN.on failure", "try again", lambda f: f.integrations[0].get("on failure") == "try again"),
        ("security", "Keys are in a vault", lambda f: f.of("SC")[0].text == "Keys are in a vault"),
    ],
)  # fmt: skip
def test_architecture_answers_become_facts(topic, answer, check):
    facts = facts_of(("FE-1", "Pay"), ("IN-1", "Stripe"), kind="architecture")
    number = asked(facts, "architecture")[topic].id
    assert check(answered(facts, {number: answer}, "architecture"))


def test_features_are_given_to_components():
    facts = facts_of(("FE-1", "Pay"), ("FE-2", "Read"), ("CP-1", "Shop"), kind="architecture")
    number = asked(facts, "architecture")["allocation"].id
    after = answered(facts, {number: "FE-1: CP-1; FE-2: CP-1"}, "architecture")
    assert after.get("CP-1").get("features") == "FE-1, FE-2"


def test_a_contradiction_is_settled_by_its_answer():
    facts = facts_of(("CO-1", "The budget is 10 EUR"), ("CO-2", "The budget is 20 EUR"))
    question = next(one for one in open_for(facts, "vision") if one.topic.startswith("conflict"))
    assert question.options == ("CO-1", "CO-2", "both")
    for answer, kept in (("CO-1", ["CO-1"]), ("both, for two years", ["CO-1", "CO-2"])):
        settled = numbered(answered(facts, {question.id: answer}, "vision"), "vision")
        assert [item.id for item in settled.constraints] == kept
        assert not any(one.topic.startswith("conflict") for one in open_for(settled, "vision"))
        found = check_document(build_vision(settled, title="X"))
        assert "V14" not in {one.rule for one in found}, "the document itself says that both hold"


def test_an_unknown_question_and_a_default_that_is_none_are_told():
    facts = numbered(notes_of(ONE), "vision")
    with pytest.raises(NotFound, match="Q-99") as raised:
        answered(facts, {"Q-99": "x"}, "vision")
    assert "Q-1" in raised.value.hint
    with pytest.raises(Invalid, match="Q-1 has no default"):
        answered(facts, {"Q-1": "yes"}, "vision")


def test_answers_in_free_text_are_taken_out_of_it():
    facts = numbered(notes_of(ONE), "vision")
    given, rest = said_in("Hello.\nQ-2: rent a bicycle\n- **Q-1** = Students\nQ-77: kept", facts)
    assert given == {"Q-2": "rent a bicycle", "Q-1": "Students"}
    assert rest.split() == ["Hello.", "Q-77:", "kept"]


def test_an_answer_in_the_document_is_found():
    text = render(build_vision(numbered(notes_of(ONE), "vision"), title="X"))
    edited = text.replace("_(blocking: yes)_\n", "_(blocking: yes)_\n  - Answer: My mother\n", 1)
    assert answers_in(parse(edited, "vision")) == {"Q-1": "My mother"}


def test_numbering_twice_changes_nothing_and_survives_json():
    for kind in ("vision", "architecture"):
        facts = numbered(notes_of("A web app. Users can pay with Stripe. Grow by 5 %."), kind)
        assert numbered(facts, kind) == facts
        assert Facts.from_json(facts.as_json()) == facts


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("Guests can reserve a table and the waiters see it.", "en", "What could make this fail?"),
        ("Gäste können einen Tisch reservieren, und die Kellner sehen das.", "de", "Woran könnte es scheitern?"),
        ("利用者は本を予約できる。", "ja", "何が失敗の原因になり得ますか。"),
    ],
)  # fmt: skip
def test_questions_follow_the_language_of_the_source(text, language, words):
    facts = numbered(Facts("", notes_of(text).items, (("vision", text),)), "vision")
    assert language_of(text) == language
    assert words in [one.text for one in open_for(facts, "vision")]
