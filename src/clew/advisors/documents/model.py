"""The types of the advisors: documents, what is known, what is asked, what was found.

Documents are canonical by construction: whatever text a section or an item is made of, it is
brought into the form that survives being written and read. No type here touches a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Final, Literal

from clew.advisors.documents.markdown import (
    ID,
    PREFIXES,
    REFERENCE,
    attribute_name,
    one_line,
    prose,
    split_body,
    take_trailing,
    visible,
)
from clew.advisors.documents.templates import PREAMBLE, TEMPLATES, Kind, key_of

Severity = Literal["error", "warning", "info"]

NOT_KNOWN: Final = "Not known yet"
_METADATA_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}")


@dataclass(frozen=True)
class Item:
    """One statement with an id and attributes; texts are one line of inline Markdown."""

    id: str
    text: str
    attributes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text, trailing = take_trailing(one_line(self.text))
        while trailing and (shorter := take_trailing(text))[1]:
            text, trailing = shorter[0], {**shorter[1], **trailing}
        given = {attribute_name(key): one_line(value) for key, value in self.attributes.items()}
        merged = {key: value for key, value in {**trailing, **given}.items() if key and value}
        object.__setattr__(self, "id", self.id if ID.fullmatch(self.id) else "")
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "attributes", merged)

    @property
    def prefix(self) -> str:
        """The letters of the id."""
        return self.id.partition("-")[0]

    @property
    def number(self) -> int:
        """The number of the id; 0 without one."""
        return int(self.id.rpartition("-")[2] or 0)

    @property
    def source(self) -> str:
        """Where the statement comes from: `text:3`, `answer:Q-2`, `file:README.md`."""
        return self.attributes.get("source", "")

    def get(self, name: str) -> str:
        """An attribute, or nothing."""
        return self.attributes.get(name, "")

    def references(self, name: str) -> tuple[str, ...]:
        """The ids that an attribute names."""
        return tuple(REFERENCE.findall(self.get(name)))

    def with_values(self, *names: str) -> str:
        """The text, and in brackets those of these attributes that it does not have."""
        known = [value for name in names if (value := self.get(name)) and value not in self.text]
        return f"{self.text} ({'; '.join(known)})" if known else self.text

    def but(self, **attributes: str) -> Item:
        """The item with other attributes; `_` stands for a blank, an empty value removes one."""
        changed = {key.replace("_", " "): value for key, value in attributes.items()}
        return replace(self, attributes={**self.attributes, **changed})

    def filled(self, **attributes: str) -> Item:
        """The item with those of these attributes that it lacks."""
        named = {key.replace("_", " "): value for key, value in attributes.items()}
        return replace(self, attributes={**self.attributes, **named, **self.attributes})

    def as_json(self) -> dict[str, Any]:
        """The item as JSON has it."""
        return {"id": self.id, "text": self.text, "attributes": dict(self.attributes)}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Item:
        """The item that `as_json` described."""
        return Item(str(value["id"]), str(value["text"]), dict(value.get("attributes", {})))


@dataclass(frozen=True)
class Section:
    """A part of a document: prose, items, and the prose that follows them."""

    key: str
    heading: str
    level: int = 2
    text: str = ""
    items: tuple[Item, ...] = ()
    after: str = ""

    def __post_init__(self) -> None:
        written = "\n".join(line for item in self.items for line in card(item))
        parts = [prose(self.text), written, prose(self.after)]
        text, raw, after = split_body("\n\n".join(part for part in parts if part))
        items = tuple(Item(*one) for one in raw)
        object.__setattr__(self, "heading", _heading(self.heading))
        object.__setattr__(self, "level", min(max(self.level, 0), 3))
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "after", after)

    @property
    def is_empty(self) -> bool:
        """Whether it has no content."""
        return not (self.text or self.items or self.after)

    def item(self, item_id: str) -> Item | None:
        """One of its items."""
        return next((item for item in self.items if item.id == item_id), None)


@dataclass(frozen=True)
class Document:
    """A document: title, sections in order, and metadata."""

    kind: Kind
    title: str
    sections: tuple[Section, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", _heading(self.title))
        object.__setattr__(self, "metadata", _metadata(self.metadata))
        object.__setattr__(self, "sections", _keyed(self.kind, self.title, self.sections))

    def section(self, key: str) -> Section | None:
        """The section of that key."""
        return next((section for section in self.sections if section.key == key), None)

    def text(self, key: str) -> str:
        """The prose that a section begins with; nothing where there is no such section."""
        section = self.section(key)
        return section.text if section else ""

    def items(self, prefix: str = "") -> tuple[Item, ...]:
        """All its items, or those whose id has the prefix."""
        found = (item for section in self.sections for item in section.items)
        return tuple(item for item in found if not prefix or item.prefix == prefix)

    def item(self, item_id: str) -> Item | None:
        """One item of any section."""
        return next((item for item in self.items() if item.id == item_id), None)

    def with_section(self, section: Section) -> Document:
        """The document with the section of that key replaced, or added at its end."""
        if self.section(section.key) is None:
            return replace(self, sections=(*self.sections, section))
        sections = [section if old.key == section.key else old for old in self.sections]
        return replace(self, sections=tuple(sections))


@dataclass(frozen=True)
class Question:
    """A question about missing information, with a recommended answer."""

    id: str
    text: str
    why: str = ""
    options: tuple[str, ...] = ()
    default: str = ""
    section: str = ""
    blocking: bool = False
    topic: str = ""

    def as_json(self) -> dict[str, Any]:
        """The question as a tool's result has it."""
        told = {key: value for key, value in vars(self).items() if key != "topic"}
        return {**told, "options": list(self.options)}


@dataclass(frozen=True)
class Finding:
    """What a check found: which rule, how bad, where, what, and what to do."""

    rule: str
    severity: Severity
    location: str
    message: str
    fix: str

    def as_json(self) -> dict[str, str]:
        """The finding as JSON has it."""
        return dict(vars(self))


class _OfKind:
    """The facts of one kind as an attribute."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __get__(self, facts: Facts, owner: object = None) -> tuple[Item, ...]:
        return facts.of(self._prefix)


@dataclass(frozen=True)
class Facts:
    """What is known, each statement with an id and its source, and the texts that said it."""

    title: str = ""
    items: tuple[Item, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()  # the kind it was said for, the text

    objectives = _OfKind("BO")
    metrics = _OfKind("SM")
    features = _OfKind("FE")
    exclusions = _OfKind("EX")
    stakeholders = _OfKind("ST")
    constraints = _OfKind("CO")
    assumptions = _OfKind("AS")
    risks = _OfKind("RI")
    technologies = _OfKind("TE")
    integrations = _OfKind("IN")
    quality_goals = _OfKind("QG")
    components = _OfKind("CP")

    @cached_property
    def _by_prefix(self) -> dict[str, tuple[Item, ...]]:
        groups: dict[str, list[Item]] = {}
        for item in self.items:
            groups.setdefault(item.prefix, []).append(item)
        return {prefix: tuple(items) for prefix, items in groups.items()}

    def of(self, prefix: str) -> tuple[Item, ...]:
        """The facts whose ids have the prefix."""
        return self._by_prefix.get(prefix, ())

    def get(self, item_id: str) -> Item | None:
        """One fact."""
        return next((item for item in self.items if item.id == item_id), None)

    def next_id(self, prefix: str) -> str:
        """The id that a new fact of this kind gets."""
        return f"{prefix}-{self._highest(prefix) + 1}"

    def adding(self, prefix: str, text: str, **attributes: str) -> Facts:
        """These facts and one more, unless it is known already."""
        named = {key.replace("_", " "): value for key, value in attributes.items()}
        return self.merged(Facts(items=(Item(f"{prefix}-1", text, named),)))

    def including(self, *items: Item) -> Facts:
        """These facts and more, under the ids that they have."""
        return replace(self, items=(*self.items, *items))

    def replacing(self, *items: Item) -> Facts:
        """These facts with those of the same ids replaced."""
        new = {item.id: item for item in items}
        return replace(self, items=tuple(new.get(old.id, old) for old in self.items))

    def without(self, item_ids: Iterable[str]) -> Facts:
        """These facts without some."""
        gone = set(item_ids)
        return replace(self, items=tuple(item for item in self.items if item.id not in gone))

    def merged(self, other: Facts) -> Facts:
        """Both; what both say is kept once under the id it has here, new facts get free ids."""
        known = {(item.prefix, same_text(item.text)): item for item in self.items}
        numbers = {prefix: self._highest(prefix) for prefix in PREFIXES}
        renamed: dict[str, str] = {}
        added: list[Item] = []
        for item in other.items:
            twin = known.get((item.prefix, same_text(item.text)))
            if twin is None:
                numbers[item.prefix] += 1
                twin = replace(item, id=f"{item.prefix}-{numbers[item.prefix]}")
                added.append(twin)
                known[(item.prefix, same_text(item.text))] = twin
            renamed[item.id] = twin.id
        fuller = _filled(self.items, other.items, renamed)
        items = (*fuller, *(_renamed(item, renamed) for item in added))
        texts = dict.fromkeys((*self.texts, *other.texts))
        return Facts(self.title or other.title, items, tuple(texts))

    def _highest(self, prefix: str) -> int:
        return max((item.number for item in self.of(prefix)), default=0)

    def as_json(self) -> dict[str, Any]:
        """The facts as JSON has them."""
        items = [item.as_json() for item in self.items]
        return {"title": self.title, "items": items, "texts": [list(one) for one in self.texts]}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Facts:
        """The facts that `as_json` described."""
        items = tuple(Item.from_json(item) for item in value.get("items", []))
        texts = tuple((str(kind), str(text)) for kind, text in value.get("texts", ()))
        return Facts(str(value.get("title", "")), items, texts)


@lru_cache(maxsize=8192)
def same_text(text: str) -> str:
    """The text as it is compared: case, punctuation and blanks do not count."""
    kept = "".join(c if c.isalnum() or c in "%+#" else " " for c in text.casefold())
    return " ".join(kept.split()) or text.strip()


def _renamed(item: Item, names: Mapping[str, str]) -> Item:
    def renamed(found: re.Match[str]) -> str:
        return names.get(found[0], found[0])

    changed = {
        key: value if key == "source" else REFERENCE.sub(renamed, value)
        for key, value in item.attributes.items()
    }
    return replace(item, attributes=changed)


def _filled(
    items: tuple[Item, ...], others: tuple[Item, ...], names: Mapping[str, str]
) -> tuple[Item, ...]:
    """The items, with attributes that only the others have."""
    more = {names[other.id]: _renamed(other, names).attributes for other in others}
    return tuple(
        replace(item, attributes={**more.get(item.id, {}), **item.attributes}) for item in items
    )


def card(item: Item) -> list[str]:
    """The lines of the item in the form that every reader of items understands."""
    label = f"**{item.id}** " if item.id else ""
    below = (f"  - {key.capitalize()}: {value}" for key, value in item.attributes.items())
    return [f"- {label}{item.text}".rstrip(), *below]


def templated(kind: Kind, key: str, text: str, items: tuple[Item, ...] = ()) -> Section:
    """A section under the heading that its template has."""
    template = TEMPLATES[kind][key]
    return Section(key, template.heading, template.level, text, items)


def _heading(text: str) -> str:
    """The heading as it is kept: one line, without marks at its end."""
    line = one_line(text)
    while line.endswith("#"):
        line = line.rstrip("#").rstrip()
    return line


def _keyed(kind: Kind, title: str, sections: Iterable[Section]) -> tuple[Section, ...]:
    """The sections with keys that follow from their headings, each key once."""
    found: dict[str, Section] = {}
    for position, section in enumerate(sections):
        if position == 0 and not section.heading:
            if not section.is_empty:
                found[PREAMBLE] = replace(section, key=PREAMBLE, level=0)
            continue
        heading = section.heading or "Untitled"
        key = name = key_of(kind, heading)
        number = 2
        while key in found:
            key = f"{name}-{number}"
            number += 1
        level = max(section.level, 1 if title else 2)
        found[key] = replace(section, key=key, heading=heading, level=level)
    return tuple(found.values())


def _metadata(given: Mapping[str, str]) -> dict[str, str]:
    """Metadata as front matter can hold them: valid names, no empty values."""
    named = {key: _value(text) for key, text in given.items() if _METADATA_NAME.fullmatch(key)}
    return {key: value for key, value in named.items() if value}


def _value(text: str) -> str:
    """One line, or an indented block on the lines below."""
    plain = visible(text).rstrip()
    first, *block = plain.split("\n")
    indented = (line.strip() and line.startswith((" ", "\t", "- ")) for line in block)
    return plain if block and not first and all(indented) else one_line(text)
