"""The writer: documents out of facts, offline, the same every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.advisors.builder import architecture as architecture_document
from clew.advisors.builder import decisions
from clew.advisors.builder import vision as vision_document
from clew.advisors.builder.sections import lead
from clew.advisors.documents.adr import AdrFile, link_to
from clew.advisors.documents.model import Document, Facts, Section
from clew.advisors.documents.templates import PREAMBLE
from clew.advisors.extract.questions import numbered


def build_vision(
    facts: Facts, *, title: str, metadata: Mapping[str, str] | None = None
) -> Document:
    """The Vision & Scope document that the facts allow."""
    known = numbered(facts, "vision")
    first = Section(PREAMBLE, "", 0, lead(known, "vision"))
    parts = (first, *vision_document.sections(known, title))
    return Document("vision", f"Vision & Scope: {title}", parts, dict(metadata or {}))


def build_architecture(
    facts: Facts,
    *,
    title: str,
    vision: Document | None = None,
    metadata: Mapping[str, str] | None = None,
    adrs: Sequence[AdrFile] = (),
    adr_directory: str = "adr",
) -> tuple[Document, list[AdrFile]]:
    """The architecture that the facts and a vision allow, and the records that are new in it.

    `adrs` are the records that exist; `adr_directory` is how links in the document reach them.
    """
    said = tuple(item for item in vision.items() if item.id) if vision else ()
    known = numbered(Facts("", said).merged(facts), "architecture")
    date = (metadata or {}).get("updated", "")
    new = decisions.new_records(known, title, adrs, date=date)
    records = [*adrs, *new]
    found = decisions.numbers(known, records)
    links = {about: link_to(one, adr_directory) for about, one in found.items()}
    listed = [f"- {link_to(one, adr_directory)}: {one.title}" for one in records]
    parts = architecture_document.sections(known, title, vision, links, listed)
    sections = (Section(PREAMBLE, "", 0, lead(known, "architecture")), *parts)
    name = f"Architecture: {title}"
    return Document("architecture", name, sections, dict(metadata or {})), new
