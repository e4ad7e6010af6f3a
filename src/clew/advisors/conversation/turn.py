"""One turn of a conversation: what is known, what was said, and the documents that follow."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from clew.advisors.builder import builder
from clew.advisors.builder.vision import UNTITLED
from clew.advisors.checks.document import check_document, is_ready
from clew.advisors.conversation.document_state import state_of
from clew.advisors.conversation.draft import RECORDS, Drafter, TurnDraft, existing_records
from clew.advisors.conversation.known_facts import known_facts
from clew.advisors.conversation.model_sections import ModelText, write_sections
from clew.advisors.conversation.sections import BUILDER, CALLER
from clew.advisors.conversation.store import (
    Conversation,
    ConversationStore,
    StoredDocument,
    Turn,
    checked_id,
    new_id,
    opened_store,
)
from clew.advisors.documents import files
from clew.advisors.documents.adr import read_directory, styled
from clew.advisors.documents.document import render
from clew.advisors.extract import questions
from clew.advisors.extract.facts import from_text
from clew.kit.errors import Conflict, Invalid
from clew.kit.jsontext import dumps
from clew.kit.locks import locked
from clew.kit.times import today
from clew.models.language import load_language_model, seconds_allowed

if TYPE_CHECKING:
    from pathlib import Path

    from clew.advisors.documents.model import Brief, Document, Finding, Question
    from clew.advisors.documents.templates import Kind
    from clew.kit.call import Call

LONGEST_TEXT = 200_000
_ATTEMPTS = 20


@dataclass(frozen=True)
class TurnRequest:
    """What a caller wants of an advisor."""

    tool: str
    kind: Kind
    text: str
    name: str = ""
    conversation_id: str = ""
    answers: dict[str, str] = field(default_factory=dict)
    sections: dict[str, str] = field(default_factory=dict)
    project: str | None = None
    save: bool = True
    use_model: bool = True

    def as_json(self) -> dict[str, Any]:
        """What the conversation remembers of it."""
        given = {
            "name": self.name,
            "text": self.text,
            "answers": self.answers,
            "sections": list(self.sections),
        }
        return {key: value for key, value in given.items() if value}


@dataclass(frozen=True)
class Written:
    """One document that a turn made: where it is, and what happened to it."""

    name: str
    kind: Kind
    title: str
    text: str
    path: str
    action: str  # created, updated, unchanged

    def as_json(self) -> dict[str, str | None]:
        """The document without its text, as a result lists it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "title": self.title,
            "path": self.path or None,
            "action": self.action,
        }


@dataclass(frozen=True)
class TurnResult:
    """What a turn gives back."""

    conversation: Conversation
    version: int
    document: Document
    main: Written
    records: tuple[Written, ...]
    questions: tuple[Question, ...]
    findings: tuple[Finding, ...]
    ready: bool
    writer: str
    authors: dict[str, str]
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    brief: Brief


def take_turn(asked: TurnRequest, call: Call) -> TurnResult:
    """Work out a turn, write it upon the last version, and save its documents."""
    if len(asked.text) > LONGEST_TEXT:
        raise Invalid(
            f"The text has {len(asked.text)} characters; at most {LONGEST_TEXT} are read",
            "Send the most important part, then more with the same conversation_id.",
        )
    project = files.project_of(call.settings, asked.project) if asked.save else None
    conversation_id = checked_id(asked.conversation_id.strip()) or new_id()
    with opened_store() as store:
        text = _model_text(store, conversation_id, asked, project, call)
        for _ in range(_ATTEMPTS):
            call.check()
            with locked(files.lock_file(project, conversation_id)):
                before = store.load(conversation_id)
                made = _made(store, before, asked, project, text)
                said = _settled(before, asked, project, made, text)
                if store.save(before, _turn(asked, project, made, said)) is None:
                    continue
                _save_files(project, made, said)
                return said
    raise Conflict("The conversation is changed all the time by others", "Try again.")


def _model_text(
    store: ConversationStore,
    conversation_id: str,
    asked: TurnRequest,
    project: Path | None,
    call: Call,
) -> ModelText | None:
    """What a configured model writes for this turn; asked before anything is locked."""
    if not asked.use_model:
        return None
    until = time.monotonic() + seconds_allowed()
    model = load_language_model()
    if model is None:
        return None
    made = _made(store, store.load(conversation_id), asked, project, None)
    return write_sections(
        model,
        made.document,
        builder.brief(made.document, made.facts),
        protected=made.of_people,
        context=made.context,
        until=until,
        call=call,
    )


def _made(
    store: ConversationStore,
    before: Conversation,
    asked: TurnRequest,
    project: Path | None,
    text: ModelText | None,
) -> TurnDraft:
    """The turn worked out upon what stands now; quick, and done again when others were quicker."""
    state = state_of(store, before, asked.kind, project)
    vision = state if asked.kind == "vision" else state_of(store, before, "vision", project)
    both = (vision,) if vision is state else (vision, state)
    facts = known_facts(before, project, both)
    source = "text" if before.is_new else f"turn{before.version + 1}"
    facts = facts.merged(from_text(asked.text, source))
    if asked.answers:
        facts = questions.answered(questions.numbered(facts, asked.kind), asked.answers)
    known = "" if facts.title == UNTITLED else facts.title
    title = asked.name.strip() or known or builder.title_of(asked.text)
    place = files.records_place(project) if project else "adr"
    desk = Drafter(asked.kind, title, vision.now, existing_records(before, project), place)
    made = desk.begun(replace(facts, title=title), state)
    made = desk.with_sections(made, asked.sections, CALLER)
    if text is not None:
        made = desk.with_sections(made, text.sections, text.author)
    return made


def _settled(
    before: Conversation,
    asked: TurnRequest,
    project: Path | None,
    made: TurnDraft,
    text: ModelText | None,
) -> TurnResult:
    """The turn with its texts, questions and findings."""
    old, version = made.state.now, before.version + 1
    plain = replace(made.document, metadata={})
    is_same = old is not None and replace(old, metadata={}) == plain
    writer = _writer(made, text)
    if is_same and old is not None:
        document = old
    else:
        document = replace(plain, metadata=_metadata(before.id, version, made, writer))
    content = made.state.on_disk if is_same and made.state.on_disk else render(document)
    path = made.state.path
    action = "created" if old is None else "unchanged" if is_same else "updated"
    main = Written(
        asked.kind, asked.kind, document.title, content,
        files.shown(project, path) if project and path else "", action,
    )  # fmt: skip
    findings = tuple(check_document(document, context=made.context))
    open_now = tuple(questions.open_questions(document, made.facts))
    return TurnResult(
        conversation=before,
        version=version,
        document=document,
        main=main,
        records=tuple(_record(one, project) for one in made.records),
        questions=open_now,
        findings=findings,
        ready=is_ready(list(findings), list(open_now)),
        writer=writer,
        authors=made.authors,
        skipped=(*made.skipped, *_skipped(asked, text)),
        notes=_notes(before, asked, project, made),
        brief=builder.brief(document, made.facts),
    )


def _metadata(conversation_id: str, version: int, made: TurnDraft, writer: str) -> dict[str, str]:
    old = made.state.now.metadata if made.state.now else {}
    inputs = hashlib.sha256(dumps(made.facts.as_json()).encode("utf-8", "replace")).hexdigest()
    return {
        "status": "draft",
        **old,
        "updated": today(),
        "version": str(version),
        "writer": writer,
        "conversation": conversation_id,
        "inputs": inputs[:16],
    }


def _writer(made: TurnDraft, text: ModelText | None) -> str:
    if text is not None and text.author in made.authors.values():
        return text.author
    return CALLER if CALLER in made.authors.values() else BUILDER


def _skipped(asked: TurnRequest, text: ModelText | None) -> list[str]:
    if text is None:
        why = "none is configured (CLEW_MODEL)" if asked.use_model else "not wanted"
        return [f"model: {why}"]
    found = [f"{text.author}: {one}; the builder's text stands" for one in text.refused]
    if text.trouble:
        found.insert(0, f"degraded: {text.trouble}; the rest is the builder's text")
    return found


def _notes(
    before: Conversation, asked: TurnRequest, project: Path | None, made: TurnDraft
) -> tuple[str, ...]:
    notes = [made.state.note] if made.state.note else []
    if before.is_new and asked.conversation_id.strip():
        notes.append(f"Nothing was known under conversation_id {before.id}; it begins here")
    if before.is_new and made.state.on_disk:
        notes.append("This conversation goes on from the document in the project")
    if project is None:
        why = "there is no project" if asked.save else "saving was not wanted"
        notes.append(f"Kept in the conversation only: {why}")
    return tuple(notes)


def _record(one: tuple[str, Document], project: Path | None) -> Written:
    name, document = one
    text, path = render(document), ""
    if project is not None:
        directory = read_directory(files.records_directory(project))
        text = render(styled(document, directory.style, int(name.partition("-")[0])))
        path = files.shown(project, directory.path / name)
    return Written(f"{RECORDS}{name}", "adr", document.title, text, path, "created")


def _turn(asked: TurnRequest, project: Path | None, made: TurnDraft, said: TurnResult) -> Turn:
    place = str(project) if project else ""
    main = said.main
    documents = [
        StoredDocument(
            main.name, main.kind, main.title, render(made.draft), main.text, made.authors, 0,
            place, main.path,
        )
    ]  # fmt: skip
    stored = said.conversation.documents.get(main.name)
    if stored is not None and replace(stored, version=0) == documents[0]:
        documents = []
    documents += [
        StoredDocument(one.name, one.kind, one.title, one.text, one.text, {}, 0, place, one.path)
        for one in said.records
    ]
    summary = f"{main.title}: {main.action}"
    return Turn(
        asked.tool, asked.as_json(), summary, made.title, place, made.facts, tuple(documents)
    )


def _save_files(project: Path | None, made: TurnDraft, said: TurnResult) -> None:
    if project is None:
        return
    path = made.state.path
    if path is not None and said.main.text != made.state.on_disk:
        files.write_text(project, path, said.main.text)
    for record in said.records:
        files.write_text(project, project / record.path, record.text)
    if said.records:
        files.write_index(project)
