"""A spec's file taken apart, and edited so that every byte that was not meant stays.

The frontmatter stands between two lines that are nothing but `---`; blank lines and a byte order
mark may come before, lines may end with CRLF. A text that only begins with a rule (no closing line
or no key below it) has no frontmatter. What looks like a damaged one is an error, never a spec
with default values.
"""

from __future__ import annotations

import re
from typing import Any

from clew.kit.errors import Invalid
from clew.specs.files.yaml_text import (
    Place,
    YamlError,
    places_of,
    read_fields,
    written_field,
    written_scalar,
)
from clew.specs.model import FIELD_ORDER, REMOVE

MOST_BYTES = 4 * 1024 * 1024
MOST_FRONTMATTER = 128 * 1024

_OPENING = re.compile(r"\ufeff?(?:[ \t]*\r?\n)*---[ \t]*(?:\r?\n|\Z)")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})(?:[ \r\n]|\Z)", re.MULTILINE)
_KEYLIKE = re.compile(r"^[ \t]*[^\s#][^\n]*:(?:[\s,}]|\Z)", re.MULTILINE)
_KNOWN = re.compile(rf"^(?:{'|'.join(FIELD_ORDER)})[ \t]*:(?:\s|\Z)", re.MULTILINE)
_FLOW = re.compile(r"[^\s:]+:[ ]+\[")
_ITEM = re.compile(r"( *)- ")
_FIELD_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_RANKS = {name: rank for rank, name in enumerate(FIELD_ORDER)}
_LAST_RANK = len(FIELD_ORDER)


class FrontmatterError(Exception):
    """A file whose frontmatter cannot be read; `line` counts from 1."""

    def __init__(self, line: int | None, cause: str) -> None:
        super().__init__(cause)
        self.line = line
        self.cause = cause


class Document:
    """A file's text, its fields, and where its parts begin and end."""

    __slots__ = ("body_start", "fields", "text", "yaml_end", "yaml_start")

    def __init__(self, text: str, yaml_start: int, yaml_end: int, body_start: int) -> None:
        self.text = text
        self.yaml_start = yaml_start
        self.yaml_end = yaml_end
        self.body_start = body_start
        self.fields: dict[str, Any] = {}

    @property
    def has_frontmatter(self) -> bool:
        """Whether there is any, be it empty."""
        return self.yaml_start < self.body_start

    @property
    def yaml(self) -> str:
        """The lines between the marks, with plain line ends."""
        return self.text[self.yaml_start : self.yaml_end].replace("\r\n", "\n")

    @property
    def body(self) -> str:
        """Everything after the closing mark."""
        return self.text[self.body_start :]

    @property
    def line_end(self) -> str:
        """How this file ends its lines."""
        first = self.text.find("\n")
        return "\r\n" if first > 0 and self.text[first - 1] == "\r" else "\n"

    def line_at(self, offset: int) -> int:
        """The number of the line at this offset, from 1."""
        return self.text.count("\n", 0, offset) + 1


def read_document(raw: bytes) -> Document:
    """The file taken apart, with its fields."""
    document = _split(_decode(raw))
    if document.has_frontmatter:
        first_line = document.line_at(document.yaml_start)
        if len(document.yaml) > MOST_FRONTMATTER:
            raise FrontmatterError(first_line, "the frontmatter is longer than 128 KiB")
        try:
            document.fields = read_fields(document.yaml)
        except YamlError as error:
            cause = f"the frontmatter is not valid: {error.cause}"
            raise FrontmatterError(first_line + error.line, cause) from None
    return document


def _decode(raw: bytes) -> str:
    if len(raw) > MOST_BYTES:
        raise FrontmatterError(None, "the file is larger than 4 MiB")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise FrontmatterError(line, "the file is not UTF-8 text") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FrontmatterError(line, "the file holds NUL characters")
    if not text.strip("\ufeff \t\r\n"):
        raise FrontmatterError(1, "the file is empty")
    return text


def _split(text: str) -> Document:
    opening = _OPENING.match(text)
    if opening is None:
        return _without_frontmatter(text)
    start = opening.end()
    closing = _CLOSING.search(text, start)
    end = closing.start() if closing else len(text)
    document = Document(text, start, end, closing.end() if closing else end)
    if conflict := _CONFLICT.search(text, start, end):
        line = document.line_at(conflict.start())
        raise FrontmatterError(line, "a merge conflict is not resolved here")
    if closing is None:
        if _KNOWN.search(text, start):
            line = document.line_at(max(start - 1, 0))
            raise FrontmatterError(line, "the frontmatter has no closing `---` line")
        return _without_frontmatter(text)
    if text[start:end].strip() and not _KEYLIKE.search(text, start, end):
        return _without_frontmatter(text)
    return document


def _without_frontmatter(text: str) -> Document:
    start = 1 if text.startswith("\ufeff") else 0
    content = len(text) - len(text[start:].lstrip())
    document = Document(text, start, start, start)
    if _KNOWN.match(text, content):
        raise FrontmatterError(
            document.line_at(content), "the frontmatter has no opening `---` line"
        )
    if _CONFLICT.match(text, content):
        raise FrontmatterError(document.line_at(content), "a merge conflict is not resolved here")
    return document


def edit_document(document: Document, changes: dict[str, Any], body: str | None = None) -> bytes:
    """The file's new bytes; proven by reading them back that nothing else is different."""
    wanted = {key: _normal(key, value) for key, value in changes.items()}
    yaml = _edit_fields(document, wanted)
    new_body = document.body if body is None else body
    if document.has_frontmatter:
        opening = document.text[: document.yaml_start]
        closing = document.text[document.yaml_end : document.body_start]
        if new_body and not closing.endswith("\n"):
            closing += document.line_end
    else:
        opening = document.text[: document.yaml_start]
        if yaml:
            opening += f"---{document.line_end}"
        closing = f"---{document.line_end}" if yaml else ""
    new = (opening + yaml + closing + new_body).encode("utf-8")
    _prove(document, wanted, new_body, new)
    return new


def _normal(key: str, value: Any) -> Any:
    """The value as a reader will give it back; None stands for a field that goes."""
    if not _FIELD_NAME.fullmatch(key):
        raise Invalid(f"Not a usable field name: {key!r}", "Use letters, digits, `_` and `-`.")
    return None if value is REMOVE else _as_text(value)


def _as_text(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_as_text(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _as_text(part) for key, part in value.items()}
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    raise Invalid(f"A field cannot hold a {type(value).__name__}", "Use texts, lists and maps.")


def _prove(document: Document, wanted: dict[str, Any], body: str, new: bytes) -> None:
    try:
        after = read_document(new)
    except FrontmatterError as error:
        raise _unsafe(error.cause) from None
    kept = [(k, v) for k, v in document.fields.items() if k not in wanted]
    if [(k, v) for k, v in after.fields.items() if k not in wanted] != kept or after.body != body:
        raise _unsafe("other parts of the file would change")
    if any(after.fields.get(key) != value for key, value in wanted.items()):
        raise _unsafe("the new value would read differently")


def _unsafe(cause: str) -> Invalid:
    return Invalid(f"This frontmatter cannot be changed safely: {cause}", "Edit the file by hand.")


def _edit_fields(document: Document, wanted: dict[str, Any]) -> str:
    """The lines between the marks after the changes."""
    text = document.text[document.yaml_start : document.yaml_end]
    old = document.fields
    changed = {k: v for k, v in wanted.items() if old.get(k) != v or (v is None and k in old)}
    if not changed:
        return text
    places = places_of(document.yaml) if document.has_frontmatter else {}
    if places is None:
        raise _unsafe("its keys do not stand one below the other")
    lines = [f"{line}\n" for line in text.split("\n")[:-1]]
    splices: list[tuple[int, int, int, int, list[str]]] = []
    for number, (key, value) in enumerate(changed.items()):
        place = places.get(key)
        if place is None and value is not None:
            start = end = _insertion(key, places)
            new = [line + document.line_end for line in written_field(key, value)]
        elif place is not None:
            start, end = place.start, place.end
            new = [] if value is None else _replaced(document, key, value, place, lines)
        else:
            continue
        splices.append((start, end, _RANKS.get(key, _LAST_RANK), number, new))
    for start, end, _, _, new in sorted(splices, reverse=True):
        lines[start:end] = new
    return "".join(lines)


def _insertion(key: str, places: dict[str, Place]) -> int:
    """The line before which a new key goes: in the documented order, unknown ones at the end."""
    if not places:
        return 0
    rank = _RANKS.get(key, _LAST_RANK)
    before = [(r, p.end) for k, p in places.items() if (r := _RANKS.get(k, _LAST_RANK)) < rank]
    if key not in _RANKS:
        return max(place.end for place in places.values())
    return max(before)[1] if before else min(place.start for place in places.values())


def _replaced(
    document: Document, key: str, value: Any, place: Place, lines: list[str]
) -> list[str]:
    """The new lines of a key that is there; its comment, style and indentation stay."""
    own = lines[place.start : place.end]
    old = document.fields[key]
    if isinstance(value, str) and place.value is not None:
        start, end = place.value
        return [own[0][:start] + written_scalar(value) + own[0][end:], *own[1:]]
    flow = isinstance(value, list) and _FLOW.match(own[0]) is not None
    item = next((found for line in own if (found := _ITEM.match(line))), None)
    indent = item.group(1) if item else ""
    new = [
        f"{line}{document.line_end}" for line in written_field(key, value, flow=flow, indent=indent)
    ]
    if item and isinstance(old, list) and isinstance(value, list) and value[: len(old)] == old:
        return own + new[1 + len(old) :]
    return new
