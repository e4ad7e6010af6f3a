"""A project's documents gathered: out of its files and, where they are not saved, a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from clew.advisors.actions.refine import Sources
from clew.advisors.conversation.store import checked_id, opened_store
from clew.advisors.documents import files as saving
from clew.advisors.documents.adr import AdrDirectory, read_directory, reference
from clew.advisors.documents.document import parse
from clew.kit.errors import NotFound

if TYPE_CHECKING:
    from pathlib import Path

    from clew.advisors.documents.model import Document
    from clew.advisors.documents.templates import Kind


class Gathered(NamedTuple):
    """The documents of a project; paths are empty for what is in no file."""

    vision: Document | None
    architecture: Document | None
    vision_path: str
    architecture_path: str
    records: AdrDirectory | None

    @property
    def documents(self) -> list[Document]:
        """All of them."""
        main = [one for one in (self.vision, self.architecture) if one is not None]
        return [*main, *(one.document for one in (self.records.files if self.records else ()))]


def gather(project: Path | None, conversation_id: str = "") -> Gathered:
    """The documents in the project's files; a conversation's where there is no file."""
    stored: dict[str, str] = {}
    if conversation_id.strip():
        with opened_store() as store:
            found = store.existing(checked_id(conversation_id.strip()))
        stored = {name: one.text for name, one in found.documents.items()}
    vision, vision_path = _one(project, "vision", stored)
    architecture, architecture_path = _one(project, "architecture", stored)
    records = read_directory(saving.records_directory(project)) if project else None
    return Gathered(vision, architecture, vision_path, architecture_path, records)


def _one(project: Path | None, kind: Kind, stored: dict[str, str]) -> tuple[Document | None, str]:
    if project is not None:
        place = saving.place_of(project, kind)
        for path in (saving.beside(place), place):
            text = saving.read_text(path)
            if text is not None:
                return parse(text, kind), saving.shown(project, path)
    text = stored.get(kind)
    return (parse(text, kind), "") if text is not None else (None, "")


def sources_of(project: Path, conversation_id: str = "") -> Sources:
    """What specs are made from; without a vision there are none."""
    found = gather(project, conversation_id)
    if found.vision is None:
        raise NotFound(
            "There is no vision to make specs of",
            "Write one first: `clew advise vision`, or the tool vision_agent.",
        )
    files = found.records.files if found.records else ()
    decisions = {reference(one.number): saving.shown(project, one.path) for one in files}
    return Sources(
        found.vision, found.architecture, found.vision_path, found.architecture_path, decisions
    )
