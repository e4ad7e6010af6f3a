"""Where a turn is worked out: facts to a draft, and the draft merged into the present document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from clew.advisors.builder.builder import build_architecture, build_vision
from clew.advisors.conversation.document_state import DocumentState, bearer_of
from clew.advisors.conversation.store import Conversation
from clew.advisors.documents import files, merge
from clew.advisors.documents.adr import AdrFile, read_directory
from clew.advisors.documents.document import parse
from clew.advisors.documents.model import Document, Facts
from clew.advisors.documents.templates import Kind
from clew.advisors.drafts.draft import HUMAN
from clew.advisors.extract import questions
from clew.kit.times import today

RECORDS = "adr/"


@dataclass(frozen=True)
class TurnDraft:
    """A turn that is worked out and not yet written.

    `authors` tells for each section's key who wrote it, where that was not the builder.
    """

    facts: Facts
    title: str
    state: DocumentState
    draft: Document
    document: Document
    authors: dict[str, str]
    context: tuple[Document, ...]
    records: tuple[AdrFile, ...]  # the new ones


def draft_of(
    kind: Kind,
    facts: Facts,
    title: str,
    state: DocumentState,
    vision: Document | None,
    before: Conversation,
    project: Path | None,
) -> TurnDraft:
    """What the facts say, merged into the present document."""
    facts = questions.numbered(facts, kind)
    known, new = existing_records(before, project), list[AdrFile]()
    if kind == "vision":
        draft = build_vision(facts, title=title)
    else:
        draft, new = build_architecture(
            facts,
            title=title,
            vision=bearer_of(facts, vision.title) if vision else None,
            metadata={"updated": today()},
            adrs=known,
            adr_directory=files.records_place(project) if project else "adr",
        )
        draft = replace(draft, metadata={})
    document = merge.refine(state.now, state.draft, draft) if state.now else draft
    authors = {**state.authors, **dict.fromkeys(state.edited, HUMAN)}
    others = (vision,) if vision is not None and kind != "vision" else ()
    context = (*others, *(one.document for one in known))
    return TurnDraft(facts, title, state, draft, document, authors, context, tuple(new))


def existing_records(before: Conversation, project: Path | None) -> tuple[AdrFile, ...]:
    """The decision records that there are: the project's, or the conversation's own."""
    if project is not None:
        return read_directory(files.records_directory(project)).files
    found = []
    for name, stored in sorted(before.documents.items()):
        if name.startswith(RECORDS):
            path = Path(name.removeprefix(RECORDS))
            number = int(path.name.partition("-")[0])
            found.append(AdrFile(path, number, parse(stored.text, "adr"), "madr"))
    return tuple(found)
