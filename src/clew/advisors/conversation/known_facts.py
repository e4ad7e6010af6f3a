"""What is known before anything new is said: the conversation's facts, and what the files say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clew.advisors.conversation.sections import absorbed
from clew.advisors.documents.model import Document, Facts, Item, Section, same_text
from clew.advisors.extract.gaps import gaps
from clew.advisors.extract.repo_facts import from_repository

if TYPE_CHECKING:
    from pathlib import Path

    from clew.advisors.conversation.document_state import DocumentState
    from clew.advisors.conversation.store import Conversation


def known_facts(
    before: Conversation, project: Path | None, documents: tuple[DocumentState, ...]
) -> Facts:
    """What the conversation knows, with what was written into the documents since.

    A new conversation begins with what the project's documents say, and with its repository.
    """
    facts = before.facts
    for one in documents:
        if one.now is not None and (one.by_others or one.now != one.written):
            facts = _caught_up(facts, one, one.now)
    if before.is_new and project is not None:
        facts = facts.merged(from_repository(project))
    return facts


def _caught_up(facts: Facts, state: DocumentState, now: Document) -> Facts:
    """The facts with what people, or another conversation, made of a document."""
    source = f"file:{state.path.name}" if state.path else "file"
    title = facts.title or now.title.partition(": ")[2]
    if not state.by_others:
        facts = absorbed(facts, now, state.written, source)
    elif state.theirs is None:
        facts = _with_questions(absorbed(facts, now, state.mine, source), now)
    else:
        theirs = absorbed(state.theirs, now, state.written, source)
        facts = absorbed(facts, now, state.mine, source).merged(theirs) if facts.items else theirs
    return replace(facts, title=title)


def _with_questions(facts: Facts, document: Document) -> Facts:
    """The facts with the questions of a document, under the ids that they have there."""
    asked = {same_text(one.text): one for one in gaps(facts, document.kind)}
    for item in document.items("Q"):
        if facts.get(item.id) is None:
            known = asked.get(same_text(item.text))
            topic = known.topic if known else f"earlier {item.id}"
            facts = facts.including(item.but(topic=topic))
    return facts


def bearer_of(facts: Facts, title: str) -> Document:
    """A document that says exactly these facts, so that whoever builds on it keeps their ids."""
    said: tuple[Item, ...] = facts.items
    return Document("vision", title, (Section("facts", "Facts", 2, "", said),))
