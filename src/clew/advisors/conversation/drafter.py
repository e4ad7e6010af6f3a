"""Where a turn is worked out: facts to a draft, and the draft merged into the present document."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from clew.advisors.builder import builder
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


@dataclass(frozen=True)
class Drafter:
    """Builds one document again and again while its facts change."""

    kind: Kind
    title: str
    vision: Document | None
    records: tuple[AdrFile, ...]
    records_place: str

    def first(self, facts: Facts, state: DocumentState) -> TurnDraft:
        """The first draft of a turn: what the facts say, merged into the present document."""
        draft, facts, records = self._built(facts)
        document = merge.refine(state.now, state.draft, draft) if state.now else draft
        authors = {**state.authors, **dict.fromkeys(state.edited, HUMAN)}
        others = (self.vision,) if self.vision is not None and self.kind != "vision" else ()
        context = (*others, *(one.document for one in self.records))
        return TurnDraft(facts, self.title, state, draft, document, authors, context, records)

    def _built(self, facts: Facts) -> _Built:
        """What the facts give, and the facts with the numbers of their questions."""
        facts = questions.numbered(facts, self.kind)
        if self.kind == "vision":
            return _Built(builder.build_vision(facts, title=self.title), facts, ())
        vision = bearer_of(facts, self.vision.title) if self.vision else None
        draft, records = builder.build_architecture(
            facts,
            title=self.title,
            vision=vision,
            metadata={"updated": today()},
            adrs=self.records,
            adr_directory=self.records_place,
        )
        return _Built(replace(draft, metadata={}), facts, tuple(records))


class _Built(NamedTuple):
    draft: Document
    facts: Facts
    records: tuple[AdrFile, ...]


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
