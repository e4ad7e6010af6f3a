"""Headings and the keys they stand for; metadata as front matter can hold it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from clew.advisors.documents.markdown import one_line, visible
from clew.advisors.documents.templates import TEMPLATES, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

PREAMBLE: Final = "preamble"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}")
_NUMBERED = re.compile(r"(?:\d+(?:\.\d+)*[.)]?|[IVX]+\.)\s+")
_UNTITLED = "Untitled"


def valid_name(name: str) -> bool:
    """Whether front matter can have a key of this name."""
    return bool(_NAME.fullmatch(name))


def metadata_value(text: str) -> str:
    """The value as front matter keeps it: one line, or an indented block on the lines below."""
    plain = visible(text).rstrip()
    lines = plain.split("\n")
    if len(lines) > 1 and not lines[0] and all(_is_block_line(line) for line in lines[1:]):
        return plain
    return one_line(text)


def _is_block_line(line: str) -> bool:
    return bool(line.strip()) and line.startswith((" ", "\t", "- "))


def plain_heading(heading: str) -> str:
    """The heading without its number, in lower case."""
    return _NUMBERED.sub("", heading, count=1).casefold().strip(" :.")


def slug(text: str) -> str:
    """The text as a name: words joined by dashes, in any script."""
    words = re.findall(r"\w+", text.casefold())
    return "-".join(words)[:60].strip("-_") or "section"


def heading_text(text: str) -> str:
    """The heading as it is kept: one line, without marks at its end."""
    line = one_line(text)
    while line.endswith("#"):
        line = line.rstrip("#").rstrip()
    return line


def key_of(kind: Kind, heading: str) -> str:
    """The key that a heading stands for in this kind of document."""
    if not heading:
        return PREAMBLE
    plain = plain_heading(heading)
    for template in TEMPLATES[kind]:
        if plain == template.heading.casefold() or plain in template.aliases:
            return template.key
    return slug(plain or heading)


def settled(kind: Kind, title: str, sections: Iterable[Any]) -> tuple[Any, ...]:
    """The sections with keys that follow from their headings, each key once."""
    taken: set[str] = set()
    found: list[Any] = []
    for position, section in enumerate(sections):
        if position == 0 and not section.heading:
            if not section.is_empty:
                taken.add(PREAMBLE)
                found.append(replace(section, key=PREAMBLE, level=0))
            continue
        heading = section.heading or _UNTITLED
        key = key_of(kind, heading)
        number = 2
        while key in taken:
            key = f"{key_of(kind, heading)}-{number}"
            number += 1
        taken.add(key)
        level = max(section.level, 1 if title else 2)
        found.append(replace(section, key=key, heading=heading, level=level))
    return tuple(found)
