"""One turn of a conversation: what is known, what was said, and the documents that follow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from clew.advisors.builder.sections import ENOUGH
from clew.advisors.builder.vision import UNTITLED
from clew.advisors.checks.document import check_document, is_ready
from clew.advisors.conversation.document_state import NOTES, known_facts, state_of
from clew.advisors.conversation.drafter import RECORDS, TurnDraft, draft_of
from clew.advisors.conversation.model_draft import ModelDraft, write_draft
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
from clew.advisors.documents.adr import AdrFile, read_directory, styled
from clew.advisors.documents.document import render
from clew.advisors.documents.model import Document, Facts, Finding, Question
from clew.advisors.documents.templates import Kind
from clew.advisors.drafts.draft import Refusal, Taken, coverage_of, is_read, take_draft
from clew.advisors.drafts.source import Coverage, Gap, Source
from clew.advisors.extract import questions
from clew.advisors.extract.notes import notes_of, title_of
from clew.kit.call import Call
from clew.kit.errors import Conflict, Invalid
from clew.kit.jsontext import dumps
from clew.kit.locks import locked
from clew.kit.times import today
from clew.models.language import Clock, load_language_model, seconds_allowed

BUILDER: Final = "builder"
CALLER: Final = "caller"
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
    draft: dict[str, Any] | None = None
    project: str | None = None
    save: bool = True
    use_model: bool = True

    def as_json(self) -> dict[str, Any]:
        """What the conversation remembers of it."""
        return {
            key: vars(self)[key] for key in ("name", "text", "answers", "draft") if vars(self)[key]
        }


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
        shown = {key: value for key, value in vars(self).items() if key != "text"}
        return {**shown, "path": self.path or None}


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
    facts: Facts
    ids: dict[str, str]
    refused: tuple[Refusal, ...]
    reworded: tuple[Refusal, ...]  # whose quote stands in place of their text
    coverage: Coverage
    gaps: tuple[Gap, ...]  # what neither a statement nor a refused one quotes
    told: bool  # a text came without a draft
    cost: str  # what a configured model took

    @property
    def unread(self) -> bool:
        """Whether the document is notes that nobody has read."""
        return not is_read(self.facts, self.main.kind)


def take_turn(request: TurnRequest, call: Call) -> TurnResult:
    """Work out a turn, write it upon the last version, and save its documents."""
    project, conversation_id = _place(request, call)
    with opened_store() as store:
        turn = _Turn(store, request, project)
        turn.ask_model(conversation_id, call)
        for _ in range(_ATTEMPTS):
            call.check()
            with locked(files.lock_file(project, conversation_id)):
                before = store.load(conversation_id)
                draft = turn.drafted(before)
                result = turn.result(before, draft)
                if store.save(before, turn.stored(draft, result)) is not None:
                    _save_files(project, draft, result)
                    return result
    raise Conflict("The conversation keeps being modified by another process", "Try again.")


def preview(request: TurnRequest, call: Call) -> TurnResult:
    """What a turn would give; nothing is written, and no model is asked."""
    project, conversation_id = _place(request, call)
    with opened_store() as store:
        turn, before = _Turn(store, request, project), store.load(conversation_id)
        return turn.result(before, turn.drafted(before))


def _place(request: TurnRequest, call: Call) -> tuple[Path | None, str]:
    if len(request.text) > LONGEST_TEXT:
        raise Invalid(
            f"The text has {len(request.text)} characters; at most {LONGEST_TEXT} are read",
            "Send the most important part, then more with the same conversation_id.",
        )
    project = files.project_of(call.settings, request.project) if request.save else None
    return project, checked_id(request.conversation_id.strip()) or new_id()


class _Turn:
    """A turn being worked out: what was asked, where, and what a model wrote for it."""

    def __init__(
        self, store: ConversationStore, request: TurnRequest, project: Path | None
    ) -> None:
        self._store, self._request, self._project = store, request, project
        self._model: ModelDraft | None = None
        self._taken: Taken | None = None
        self._unasked: list[str] = []

    def ask_model(self, conversation_id: str, call: Call) -> None:
        """Have a configured model read a new text, before anything is locked."""
        request = self._request
        if not request.use_model or request.draft is not None or not request.text.strip():
            return
        clock = Clock(seconds_allowed())
        model = load_language_model()
        if model is not None:
            facts = self.drafted(self._store.load(conversation_id)).facts
            self._model = write_draft(model, facts, request.kind, clock=clock, call=call)

    def drafted(self, before: Conversation) -> TurnDraft:
        """The turn upon the present documents; quick, and done again when others were quicker."""
        request, project = self._request, self._project
        state = vision = state_of(self._store, before, request.kind, project)
        if request.kind != "vision":
            vision = state_of(self._store, before, "vision", project)
        facts = known_facts(before, (vision,) if vision is state else (vision, state))
        facts = self._told(facts)
        known = "" if facts.title == UNTITLED else facts.title
        title = request.name.strip() or known or title_of(request.text) or UNTITLED
        facts = replace(facts, title=title)
        return draft_of(request.kind, facts, title, state, vision.now, before, project)

    def _told(self, facts: Facts) -> Facts:
        """The facts with what this turn says: a text, answers, a draft."""
        request = self._request
        given, text = questions.said_in(request.text, facts)
        before = Source(facts.texts)
        source = before.adding(request.kind, text) if text.strip() else before
        facts = replace(facts, texts=source.texts)
        if source != before and not is_read(facts, request.kind) and request.draft is None:
            notes = notes_of(text.strip("\n"), request.kind, len(before.lines) + 1)
            facts = facts.merged(notes)
        answers = {**given, **request.answers}
        for name, answer in answers.items():  # what was answered can be quoted
            source = source.adding("answer", f"{name}: {' '.join(answer.split())}")
        facts = replace(facts, texts=source.texts)
        draft, author = request.draft, CALLER
        if self._model is not None and self._model.draft:
            draft, author = self._model.draft, self._model.author
        self._taken = take_draft(facts, request.kind, draft, author) if draft is not None else None
        facts = self._taken.facts if self._taken else facts
        known = questions.numbered(facts, request.kind)
        self._unasked = questions.unasked(known, answers, request.kind)
        return questions.answered(known, answers, request.kind) if answers else facts

    def result(self, before: Conversation, draft: TurnDraft) -> TurnResult:
        """The turn with its texts, questions and findings."""
        old, version = draft.state.now, before.version + 1
        document = replace(draft.document, metadata={})
        is_same = old is not None and replace(old, metadata={}) == document
        writer = self._writer(draft)
        if is_same and old is not None:
            document = old
        else:
            document = replace(document, metadata=_metadata(before.id, version, draft, writer))
        text = draft.state.on_disk if is_same and draft.state.on_disk else render(document)
        action = "created" if old is None else "unchanged" if is_same else "updated"
        path, kind = draft.state.path, self._request.kind
        place = files.shown(self._project, path) if self._project and path else ""
        findings = tuple(check_document(document, context=draft.context))
        covered, taken = coverage_of(draft.facts, kind), self._taken
        asked = tuple(questions.open_for(draft.facts, kind, taken.expected if taken else ()))
        refused = taken.refused if taken else ()
        sound = is_read(draft.facts, kind) and covered.percent >= ENOUGH and not refused
        return TurnResult(
            conversation=before,
            version=version,
            document=document,
            main=Written(kind, kind, document.title, text, place, action),
            records=tuple(map(self._record, draft.records)),
            questions=asked,
            findings=findings,
            ready=sound and is_ready(findings, asked),
            writer=writer,
            authors=draft.authors,
            skipped=tuple(self._skipped()),
            notes=tuple(self._notes(before, draft)),
            facts=draft.facts,
            ids=taken.ids if taken else {},
            refused=refused,
            reworded=taken.reworded if taken else (),
            coverage=covered,
            gaps=coverage_of(draft.facts, kind, taken.waiting).gaps if taken else covered.gaps,
            told=bool(self._request.text.strip()) and taken is None,
            cost=self._model.cost if self._model else "",
        )

    def _writer(self, draft: TurnDraft) -> str:
        if self._model is not None and self._model.draft:
            return self._model.author
        return CALLER if is_read(draft.facts, self._request.kind) else BUILDER

    def _skipped(self) -> list[str]:
        model = self._model
        if model is None:
            asked = self._request.use_model and self._request.draft is None and self._request.text
            return ["model: none is configured (CLEW_MODEL)"] if asked else []
        if not model.trouble:
            return []
        left = "its first draft stands" if model.draft else "the notes are unread"
        return [f"degraded: {model.trouble}; {left}"]

    def _notes(self, before: Conversation, draft: TurnDraft) -> Iterator[str]:
        if draft.state.note:
            yield draft.state.note
        if self._unasked:
            yield f"Not asked now, so the answer is kept and changes nothing: {', '.join(self._unasked)}"
        if before.is_new and self._request.conversation_id.strip():
            yield f"Nothing was known under conversation_id {before.id}; it starts here"
        if before.is_new and draft.state.on_disk:
            yield "This conversation continues from the document in the project"
        if self._project is None:
            why = "there is no project" if self._request.save else "saving was turned off"
            yield f"Kept in the conversation only: {why}"

    def _record(self, record: AdrFile) -> Written:
        document, path, name = record.document, "", record.path.name
        if self._project is not None:
            directory = read_directory(files.records_directory(self._project))
            document = styled(document, directory.style, record.number)
            path = files.shown(self._project, directory.path / name)
        title = record.document.title
        return Written(f"{RECORDS}{name}", "adr", title, render(document), path, "created")

    def stored(self, draft: TurnDraft, result: TurnResult) -> Turn:
        """The turn as the store keeps it; a document that did not change is not kept again."""
        place, main = str(self._project) if self._project else "", result.main
        documents = [
            StoredDocument(
                one.name, one.kind, one.title, one.text, one.text, {}, 0, place, one.path
            )
            for one in (main, *result.records)
        ]
        documents[0] = replace(documents[0], draft=render(draft.draft), authors=draft.authors)
        last = result.conversation.documents.get(main.name)
        if last is not None and replace(last, version=0) == documents[0]:
            del documents[0]
        return Turn(
            self._request.tool,
            self._request.as_json(),
            f"{main.title}: {main.action}",
            draft.title,
            place,
            draft.facts,
            tuple(documents),
        )


def _metadata(conversation_id: str, version: int, draft: TurnDraft, writer: str) -> dict[str, str]:
    kind = draft.document.kind
    old = draft.state.now.metadata if draft.state.now else {}
    status = old.get("status", NOTES)
    if status in {NOTES, "draft"}:
        status = "draft" if is_read(draft.facts, kind) else NOTES
    inputs = hashlib.sha256(dumps(draft.facts.as_json()).encode("utf-8", "replace")).hexdigest()
    new = {"status": status, "updated": today(), "version": str(version), "writer": writer}
    return {**old, **new, "conversation": conversation_id, "inputs": inputs[:16]}


def _save_files(project: Path | None, draft: TurnDraft, result: TurnResult) -> None:
    if project is None:
        return
    path = draft.state.path
    if path is not None and result.main.text != draft.state.on_disk:
        files.write_text(project, path, result.main.text)
    for record in result.records:
        files.write_text(project, project / record.path, record.text)
    if result.records:
        files.write_index(project)
