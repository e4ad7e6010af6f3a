"""Edits of a document that people made in its file: what they changed becomes facts."""

from __future__ import annotations

from typing import Final

from clew.advisors.documents.document import with_ids
from clew.advisors.documents.model import Document, Facts, Item
from clew.advisors.extract import questions

DERIVED: Final = frozenset({"container-diagram", "traceability", "questions", "unplaced"})


def absorbed(
    facts: Facts, edited: Document, before: Document | None, source: str, by: str = ""
) -> Facts:
    """The facts with what an edit of a document says: changed, added and removed statements."""
    known = {item.id: item for item in before.items()} if before else {}
    complete = with_ids(edited)
    for item in complete.items():
        if item.prefix in {"Q", "NP"} or not item.id or known.get(item.id) == item:
            continue
        fact = facts.get(item.id)
        if fact is None:
            facts = facts.including(item.filled(source=source).but(by=by))
        else:
            changed = _changed(fact, item, known.get(item.id))
            facts = facts.replacing(changed.but(by=by or fact.get("by"), unread=""))
    there = {item.id for item in complete.items()}
    gone = [one for one in known if one not in there and not one.startswith("Q-")]
    follows = {f"from {one}" for one in gone}
    gone += [fact.id for fact in facts.items if fact.source in follows]
    return _answered(facts.without(gone), edited)


def _changed(fact: Item, item: Item, before: Item | None) -> Item:
    """A fact with what differs between two forms of its item; what neither shows stays."""
    old = before.attributes if before else {}
    new = {key: value for key, value in item.attributes.items() if old.get(key) != value}
    cleared = dict.fromkeys((key for key in old if key not in item.attributes), "")
    text = item.text if before is None or before.text != item.text else fact.text
    return Item(fact.id, text, {**fact.attributes, **new, **cleared})


def _answered(facts: Facts, edited: Document) -> Facts:
    """The facts with the answers written below questions."""
    given = {}
    for question_id, answer in questions.answers_in(edited).items():
        asked = facts.get(question_id)
        if asked is not None and not asked.get("answer"):
            given[question_id] = answer
    return questions.answered(facts, given, edited.kind) if given else facts


def edited_sections(now: Document, known: Document | None) -> list[str]:
    """The keys of the sections that are not as they were written."""
    if known is None:
        return [section.key for section in now.sections]
    return [
        section.key for section in now.sections
        if section.key not in DERIVED and known.section(section.key) != section
    ]  # fmt: skip
