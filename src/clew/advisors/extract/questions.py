"""Questions: numbered once and for all, ordered by impact, and turned into facts when answered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from clew.advisors.documents.model import KINDS, Document, Facts, Item, Question, same_text
from clew.advisors.documents.templates import Kind
from clew.advisors.extract.answers import apply_answer
from clew.advisors.extract.gaps import gaps
from clew.advisors.extract.links import completed
from clew.advisors.extract.statements import inline
from clew.kit.errors import NotFound

FIRST: Final = 5
LONGEST_ANSWER: Final = 4_000
_AGREED = re.compile(
    r"(?:yes|y|ok(?:ay)?|default|agreed?|the default|as recommended|ja|standard|はい|既定)[.!]?",
    re.IGNORECASE,
)
_IN_USE: Final = {
    "release": "Features without a stated release belong to release 1",
    "parts": "Everything runs as one application",
    "store": "The data is kept in one place, written by one component",
    "allocation": "Features that name no component are served by the first one",
}


def numbered(facts: Facts, kind: Kind) -> Facts:
    """The facts with every open question under an id of its own, which it keeps for good."""
    facts = completed(facts, kind)
    known = {item.get("topic"): item for item in facts.of("Q")}
    said = {same_text(item.text): item for item in facts.of("Q")}
    for question in gaps(facts, kind):
        old = known.get(question.topic) or said.get(same_text(question.text))
        if old is None:
            facts = facts.including(_item(question, facts.next_id("Q")))
        elif not old.get("answer"):
            facts = facts.replacing(_item(question, old.id))
    return _with_defaults(_with_sources(facts), kind)


def _with_sources(facts: Facts) -> Facts:
    """The part that stands for all others names the question whose default it is."""
    asked = about(facts, "parts")
    for part in facts.components:
        if part.source == "default" and asked:
            facts = facts.replacing(part.but(source=f"default:{asked}"))
    return facts


def open_questions(document: Document, facts: Facts) -> list[Question]:
    """What is still to be answered for a document, the most important first."""
    return open_for(numbered(facts, document.kind), document.kind)


def open_for(facts: Facts, kind: Kind) -> list[Question]:
    """The open questions of a kind of document, under the ids that the facts have for them."""
    known = {item.get("topic"): item for item in facts.of("Q")}
    found = [(one, known.get(one.topic)) for one in gaps(facts, kind)]
    asked = [
        replace(question, id=item.id) for question, item in found if item and not item.get("answer")
    ]
    must = sorted((one for one in asked if one.blocking), key=lambda one: int(one.id[2:]))
    return [*must, *(one for one in asked if not one.blocking)]


def about(facts: Facts, topic: str) -> str:
    """The id of the open question on a topic, or nothing."""
    found = (one for one in facts.of("Q") if one.get("topic") == topic and not one.get("answer"))
    return next((one.id for one in found), "")


def answered(facts: Facts, answers: Mapping[str, str]) -> Facts:
    """The facts with these answers taken in; an answer like `yes` takes the default."""
    for question_id, given in answers.items():
        item = facts.get(question_id)
        if item is None or item.prefix != "Q":
            known = ", ".join(one.id for one in facts.of("Q") if not one.get("answer"))
            raise NotFound(
                f"There is no question {inline(question_id)[:40]}.",
                f"Open questions are: {known}." if known else "No question is open.",
            )
        if not given.strip():
            continue
        agreed = bool(_AGREED.fullmatch(given.strip()))
        text = item.get("default") if agreed else _kept_lines(given[:LONGEST_ANSWER])
        source = f"default:{item.id}" if agreed else f"answer:{item.id}"
        facts = facts.replacing(item.but(answer=text.replace("\n", "; ")))
        facts = apply_answer(facts, item, text, source)
    for kind in KINDS:
        facts = _with_defaults(facts, kind, add=False)
    return facts


def answers_in(document: Document) -> dict[str, str]:
    """What a human wrote as the answer below a question of a document."""
    return {item.id: item.get("answer") for item in document.items("Q") if item.get("answer")}


def as_items(questions: list[Question]) -> tuple[Item, ...]:
    """The questions as a document shows them."""
    return tuple(_item(one, one.id).but(topic="", section="") for one in questions)


def _item(question: Question, item_id: str) -> Item:
    """The question as a fact."""
    attributes = {
        "topic": question.topic,
        "why": question.why,
        "options": " / ".join(question.options),
        "default": question.default,
        "section": question.section,
        "blocking": "yes" if question.blocking else "",
    }
    return Item(item_id, question.text, attributes)


def _with_defaults(facts: Facts, kind: Kind, *, add: bool = True) -> Facts:
    """Defaults that a document rests on are assumptions, as long as their question is open."""
    asked = {one.topic for one in open_for(facts, kind)}
    for topic, text in _IN_USE.items():
        question = next((one.id for one in facts.of("Q") if one.get("topic") == topic), "")
        known = [one for one in facts.assumptions if question and one.get("question") == question]
        still_open = bool(about(facts, topic))
        if topic in asked and question and not known and add:
            source = f"default:{question}"
            attributes = {"state": "unconfirmed", "question": question, "source": source}
            facts = facts.including(Item(facts.next_id("AS"), text, attributes))
        elif known and not still_open:
            facts = facts.without(one.id for one in known)
    return facts


def _kept_lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines() if line.strip())
