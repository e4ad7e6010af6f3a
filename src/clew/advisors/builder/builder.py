"""The deterministic writer: documents out of facts, offline, the same every time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from clew.advisors.builder import architecture as architecture_document
from clew.advisors.builder import decisions
from clew.advisors.builder import vision as vision_document
from clew.advisors.builder.sections import lead
from clew.advisors.documents.adr import AdrFile, link_to
from clew.advisors.documents.document import render_body
from clew.advisors.documents.model import Brief, BriefSection, Document, Facts, Section
from clew.advisors.documents.templates import PREAMBLE, TEMPLATES
from clew.advisors.extract.facts import from_document, kind_of
from clew.advisors.extract.lexicon import category_in
from clew.advisors.extract.patterns import INSTRUCTION
from clew.advisors.extract.questions import numbered, open_for
from clew.advisors.extract.statements import Statement, inline, statements

LONGEST_TITLE = 80
_FEW_WORDS = 3
_NAMELESS = frozenset({"BO", "SM", "FE", "CO", "EX", "RI", "AS"})
_SOON = 200
_HEADING = re.compile(r"^\s{0,3}#\s+(\S.*?)\s*#*\s*$", re.MULTILINE)
# A setting such as `status: draft`, or an order to use something.
_NO_NAME = re.compile(r"[\w-]+:\s|(?:use|verwende|nutze)\s", re.IGNORECASE)
_NAMED = re.compile(
    r"^(?:the )?([A-Z][\w.+-]*(?: [A-Z][\w.+-]*){0,3}) (?:is|will be|helps|lets|ist) "
)


def title_of(description: str) -> str:
    """A name for the project out of its description: heading, name, category, or first words.

    A sentence that says what people do, or what is to be reached, names nothing.
    """
    heading = _HEADING.search(description)
    if heading and len(heading[1]) <= LONGEST_TITLE and not INSTRUCTION.search(heading[1]):
        return inline(heading[1])
    read = [one for one in statements(description, _SOON) if not INSTRUCTION.search(one.text)]
    said = next((one.text for one in read if category_in(one.text)), "")
    told = [one.text for one in read if _may_name(one)]
    said = said or next((one for one in told if len(one.split()) > _FEW_WORDS), "".join(told[:1]))
    named = _NAMED.match(said)
    if named and named[1].casefold() not in {"it", "this", "there", "we"}:
        return inline(named[1])
    words = category_in(said) or " ".join(said.split()[:8]).rstrip(".,;:")
    return inline(words[:1].upper() + words[1:LONGEST_TITLE]) or vision_document.UNTITLED


def _may_name(said: Statement) -> bool:
    entry = said.listed or _NO_NAME.match(said.text)
    return not entry and kind_of(said) not in _NAMELESS


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
    known = from_document(vision).merged(facts) if vision else facts
    known = architecture_document.prepared(numbered(known, "architecture"))
    date = (metadata or {}).get("updated", "")
    new = decisions.new_records(known, title, adrs, date=date)
    records = [*adrs, *new]
    found = decisions.numbers(known, records)
    links = {about: link_to(one, adr_directory) for about, one in found.items()}
    listed = [
        f"- {link_to(one, adr_directory)}: {one.title} ({one.status or 'no status'})"
        for one in records
    ]
    parts = architecture_document.sections(known, title, vision, links, listed)
    sections = (Section(PREAMBLE, "", 0, lead(known, "architecture")), *parts)
    name = f"Architecture: {title}"
    return Document("architecture", name, sections, dict(metadata or {})), new


def brief(document: Document, facts: Facts) -> Brief:
    """What a writer needs to know to write the document better."""
    asked = open_for(numbered(facts, document.kind), document.kind)
    found = []
    for section in document.sections:
        template = TEMPLATES[document.kind].get(section.key)
        if template is not None:
            gaps = tuple(f"{one.id}: {one.text}" for one in asked if one.section == section.key)
            known = render_body(document.kind, section)
            rules = (template.rule,) if template.rule else ()
            found.append(BriefSection(section.key, section.heading, known, gaps, rules))
    return Brief(document.kind, tuple(found), facts, tuple(asked))
