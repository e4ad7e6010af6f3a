"""Documents as Markdown: one renderer and one parser, and what one writes the other reads."""

from __future__ import annotations

import re
from dataclasses import replace

from clew.advisors.documents.markdown import REFERENCE, cell, visible
from clew.advisors.documents.model import Document, Item, Section, card
from clew.advisors.documents.templates import TEMPLATES, Items, Kind
from clew.kit.errors import Invalid
from clew.kit.jsontext import JsonError, dumps, loads
from clew.kit.text.markdown import code_lines

LARGEST_TEXT = 2_000_000
HEADING = re.compile(r" {0,3}(#{1,3})(?:[ \t]+(.*))?$")
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,60}):(?:[ \t]+(.*))?")
_PLAIN_VALUE = re.compile(r"[\w./()\[\]<>=~+,@$%&*-](?:[\w ./()\[\]<>=~+,;@$%&*'-]|:(?! ))*")


def render(document: Document) -> str:
    """The document as Markdown, ending with one line end."""
    parts = [_front_matter(document)] if document.metadata else []
    if document.title:
        parts.append(f"# {document.title}")
    for section in document.sections:
        if section.heading:
            parts.append(f"{'#' * section.level} {section.heading}")
        parts += [part for part in _body(document.kind, section) if part]
    text = "\n\n".join(parts) + "\n"
    return f"---\n---\n\n{text}" if not document.metadata and text.startswith("---") else text


def render_body(kind: Kind, section: Section) -> str:
    """The text below a section's heading."""
    return "\n\n".join(part for part in _body(kind, section) if part)


def parse(text: str, kind: Kind) -> Document:
    """The document in a Markdown text; unknown parts are kept unchanged."""
    if len(text) > LARGEST_TEXT:
        raise Invalid(
            f"The document has {len(text)} characters; at most {LARGEST_TEXT} are read.",
            "Split it into several documents.",
        )
    lines = visible(text).split("\n")
    metadata, lines = _take_front_matter(lines)
    title, sections = "", list[Section]()
    level, heading, body = 0, "", list[str]()
    for line, outside in zip(lines, code_lines("\n".join(lines)).outside, strict=True):
        found = HEADING.match(line) if outside else None
        if not found:
            body.append(line)
            continue
        words = _heading_words(found[2] or "")
        if len(found[1]) == 1 and not title and not sections and not heading and words:
            title = words
            continue
        sections.append(Section("", heading, level, "\n".join(body)))
        level, heading, body = len(found[1]), words or "Untitled", []
    sections.append(Section("", heading, level, "\n".join(body)))
    return Document(kind, title, tuple(sections), metadata)


def with_ids(document: Document) -> Document:
    """The document with an id for every item that has none, free in the document and before."""
    numbers: dict[str, int] = {}
    for item in document.items():
        numbers[item.prefix] = max(numbers.get(item.prefix, 0), item.number)
    for found in REFERENCE.findall(" ".join(item.text for item in document.items("Q"))):
        prefix, _, number = found.partition("-")
        numbers[prefix] = max(numbers.get(prefix, 0), int(number))
    for section in document.sections:
        prefix = _items_of(document.kind, section).prefix
        if not prefix or all(item.id for item in section.items):
            continue
        items = []
        for item in section.items:
            if not item.id:
                numbers[prefix] = numbers.get(prefix, 0) + 1
            items.append(item if item.id else replace(item, id=f"{prefix}-{numbers[prefix]}"))
        document = document.with_section(replace(section, items=tuple(items)))
    return document


def _heading_words(text: str) -> str:
    return re.sub(r"(?:^|[ \t]+)#+[ \t]*$", "", text.strip()).strip()


def _body(kind: Kind, section: Section) -> list[str]:
    template = _items_of(kind, section)
    if section.items and template.layout == "table":
        items = _table(section.items, template)
    else:
        items = "\n".join(_bullet(item) for item in section.items)
    return [section.text, items, section.after]


def _items_of(kind: Kind, section: Section) -> Items:
    template = TEMPLATES[kind].get(section.key)
    return template.items if template else Items()


def _table(items: tuple[Item, ...], template: Items) -> str:
    used = list(
        dict.fromkeys([*template.columns, *(key for item in items for key in item.attributes)])
    )
    header = ["Id", template.noun, *(name.capitalize() for name in used)]
    rows = [[item.id, item.text, *(item.get(name) for name in used)] for item in items]
    lines = [header, ["---"] * len(header), *([cell(one) for one in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _bullet(item: Item) -> str:
    first, *below = card(item)
    hard = any(mark in value for value in item.attributes.values() for mark in ("; ", "_(", ")_"))
    if hard or not below:
        return "\n".join([first, *below])
    pairs = "; ".join(f"{key}: {value}" for key, value in item.attributes.items())
    return f"{first} _({pairs})_"


def _front_matter(document: Document) -> str:
    lines = ["---"]
    for key, value in document.metadata.items():
        scalar = value if _PLAIN_VALUE.fullmatch(value) else dumps(value)
        lines.append(f"{key}:{value}" if value.startswith("\n") else f"{key}: {scalar}")
    return "\n".join([*lines, "---"])


def _take_front_matter(lines: list[str]) -> tuple[dict[str, str], list[str]]:
    if not lines or lines[0].rstrip() != "---":
        return {}, lines
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        return {}, lines
    metadata: dict[str, str] = {}
    key = ""
    for line in lines[1:end]:
        found = _KEY.fullmatch(line.rstrip())
        if found:
            key = found[1]
            metadata[key] = _unquoted(found[2] or "")
        elif key and line.strip():
            metadata[key] += "\n" + line.rstrip()
        elif line.strip() and not line.startswith("#"):  # MADR's own template begins with a comment
            return {}, lines
    if not metadata and any(line.startswith("#") for line in lines[1:end]):
        return {}, lines
    return metadata, lines[end + 1 :] or [""]


def _unquoted(text: str) -> str:
    value = text.strip()
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(loads(value))
        except JsonError:
            return value
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value
