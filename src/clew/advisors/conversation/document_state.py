"""How documents stand before a turn, in their files or in the conversation, and what is known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from clew.advisors.conversation.edits import absorbed, edited_sections
from clew.advisors.conversation.store import Conversation, ConversationStore, StoredDocument
from clew.advisors.documents import files
from clew.advisors.documents.document import parse
from clew.advisors.documents.model import Document, Facts, Section, same_text
from clew.advisors.documents.templates import Kind
from clew.advisors.drafts.draft import HUMAN
from clew.advisors.extract.questions import gaps

NOTES = "notes"


@dataclass(frozen=True)
class DocumentState:
    """A document as it is now, and as Clew last wrote it.

    `draft` is what the builder had made of it then, `edited` are the sections that somebody changed
    since, and `mine` is the document as this conversation last saw it. Where another conversation
    wrote it, `theirs` are the facts that it knew, or None if nobody remembers them.
    """

    now: Document | None = None
    written: Document | None = None
    draft: Document | None = None
    authors: dict[str, str] = field(default_factory=dict)
    edited: tuple[str, ...] = ()
    path: Path | None = None
    on_disk: str | None = None
    mine: Document | None = None
    by_others: bool = False
    theirs: Facts | None = None
    note: str = ""


def state_of(
    store: ConversationStore, conversation: Conversation, kind: Kind, project: Path | None
) -> DocumentState:
    """The state of the vision or the architecture; the file takes precedence over the conversation."""
    stored = conversation.documents.get(kind)
    remembered = _remembered(stored, kind)
    if project is None:
        return remembered
    path = files.place_of(project, kind)
    text = files.read_text(path)
    if text is not None and not _is_ours(store, project, path, text, kind):
        taken = files.shown(project, path)
        path = files.beside(path)
        text = files.read_text(path)
        note = f"{taken} was not written by Clew and stays as it is"
        remembered = replace(remembered, note=note)
    if text is None:
        return replace(remembered, path=path)
    if stored is not None and stored.text == text:
        return replace(remembered, path=path, on_disk=text)
    return _read_back(store, conversation, project, remembered, (path, text, kind))


def _remembered(stored: StoredDocument | None, kind: Kind) -> DocumentState:
    if stored is None:
        return DocumentState()
    written = parse(stored.text, kind)
    return DocumentState(written, written, parse(stored.draft, kind), stored.authors, mine=written)


def _is_ours(store: ConversationStore, project: Path, path: Path, text: str, kind: Kind) -> bool:
    if "conversation" in parse(text, kind).metadata:
        return True
    return store.written_to(str(project), files.shown(project, path)) is not None


def _read_back(
    store: ConversationStore,
    conversation: Conversation,
    project: Path,
    remembered: DocumentState,
    file: tuple[Path, str, Kind],
) -> DocumentState:
    """A file that is not as this conversation left it: edited, or written by another one."""
    path, text, kind = file
    now = parse(text, kind)
    owner = now.metadata.get("conversation", "") or conversation.id
    version = now.metadata.get("version", "")
    known = store.version_of_document(owner, kind, int(version) if version.isdigit() else 0)
    if known is None and owner == conversation.id:
        known = conversation.documents.get(kind)
    found = replace(remembered, now=now, path=path, on_disk=text)
    if owner != conversation.id:
        other = store.load(owner)
        if known is None or other.is_new or other.project != str(project):
            known, theirs = None, None
        else:
            theirs = other.facts
        found = replace(found, by_others=True, theirs=theirs)
    if known is None:
        edited = tuple(edited_sections(now, found.mine))
        return replace(found, written=None, draft=None, authors={}, edited=edited)
    written = parse(known.text, kind)
    return replace(
        found,
        written=written,
        draft=parse(known.draft, kind),
        authors=known.authors,
        edited=tuple(edited_sections(now, written)),
    )


def known_facts(before: Conversation, documents: tuple[DocumentState, ...]) -> Facts:
    """What the conversation knows, with what was written into the documents since.

    A new conversation begins with what the project's documents say.
    """
    facts = before.facts
    for one in documents:
        if one.now is not None and (one.by_others or one.now != one.written):
            facts = _caught_up(facts, one, one.now)
    return facts


def _caught_up(facts: Facts, state: DocumentState, now: Document) -> Facts:
    """The facts with what people, or another conversation, made of a document."""
    source = f"file:{state.path.name}" if state.path else "file"
    title = facts.title or now.title.partition(": ")[2]
    if not state.by_others:
        facts = absorbed(facts, now, state.written, source, HUMAN)
    elif state.theirs is None:
        facts = _with_questions(_read_elsewhere(absorbed(facts, now, state.mine, source), now), now)
    else:
        theirs = absorbed(state.theirs, now, state.written, source)
        facts = absorbed(facts, now, state.mine, source).merged(theirs) if facts.items else theirs
    return replace(facts, title=title)


def _read_elsewhere(facts: Facts, document: Document) -> Facts:
    """The facts of a document whose conversation is not here; what was read stays read."""
    is_notes = document.metadata.get("status") == NOTES
    shown = [one for one in facts.items if one.prefix != "Q" and document.item(one.id)]
    return facts.replacing(
        *(
            one.filled(unread=document.kind)
            if is_notes
            else one.filled(ref=one.id, draft=document.kind)
            for one in shown
        )
    )


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
    return Document("vision", title, (Section("facts", "Facts", 2, "", facts.items),))
