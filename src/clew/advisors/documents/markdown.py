"""Markdown taken apart into prose and items: the one place that knows how an item is written.

An item is a bullet (`- **BO-1** text _(source: text:3)_`, with `  - Key: value` below it) or a
row of a table whose first column is `Id`. Whatever is not plainly an item stays prose.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from clew.kit.text.markdown import code_lines

PREFIXES: Final = {
    "BO": "objectives",
    "SM": "metrics",
    "FE": "features",
    "EX": "exclusions",
    "ST": "stakeholders",
    "RI": "risks",
    "AS": "assumptions",
    "CO": "constraints",
    "Q": "questions",
    "CP": "components",
    "IN": "integrations",
    "QG": "quality goals",
    "TE": "technologies",
    "PR": "priorities",
    "BG": "background",
    "PB": "problems",
    "DP": "deployment",
    "SA": "set aside",
    "DE": "decisions",
    "SC": "security",
    "NP": "not placed",
}
_ID = rf"(?:{'|'.join(PREFIXES)})-[1-9][0-9]{{0,5}}"
ID: Final = re.compile(_ID)
REFERENCE: Final = re.compile(rf"(?<![\w-]){_ID}(?![\w-])")

_BULLET = re.compile(r"[-*+](?: +|$)")
_INNER_BULLET = re.compile(r"\s+[-*+] +")
_LABELLED = re.compile(rf"\*\*({_ID})\*\*:?(?: +|$)")
_ATTRIBUTE = re.compile(r"([A-Za-z][A-Za-z0-9 -]{0,40}): +(\S.*)")
_TRAILING = re.compile(r"(?:^|(?<= ))_\(((?:(?!_\().)*)\)_$")
_HEADING = re.compile(r"^( {0,3})(#{1,3})(?=[ \t]|$)")
_RULE = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)


class RawItem(NamedTuple):
    """An item as it was written: id (empty when it has none yet), text, attributes."""

    id: str
    text: str
    attributes: dict[str, str]


def visible(text: str) -> str:
    """The text without invisible characters, and with plain line ends."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n")
    return _INVISIBLE.sub("", plain.replace("\u2029", "\n"))


def one_line(text: str) -> str:
    """The text on one line, single blanks between its words."""
    return " ".join(visible(text).split())


def attribute_name(name: str) -> str:
    """The name as it is kept: lower case, letters, digits, blanks and dashes."""
    return re.sub(r"[^a-z0-9 -]", "", one_line(name).lower()).strip(" -")[:41].strip(" -")


def take_trailing(text: str) -> tuple[str, dict[str, str]]:
    """The text without `_(key: value; key: value)_` at its end, and those attributes."""
    found = _TRAILING.search(text)
    if not found:
        return text, {}
    pairs = [_ATTRIBUTE.fullmatch(part.strip()) for part in found[1].split("; ")]
    if not all(pairs):
        return text, {}
    attributes = {attribute_name(pair[1]): pair[2].strip() for pair in pairs if pair}
    if "" in attributes or len(attributes) != len(pairs):
        return text, {}
    return text[: found.start()].rstrip(), attributes


def cells_of(line: str) -> list[str]:
    r"""The cells of a table's row; `\|` is a bar that belongs to the cell."""
    inner = line.strip().removeprefix("|")
    parts = re.split(r"(?<!\\)\|", inner)
    if parts and not parts[-1].strip():
        parts.pop()
    return [part.strip().replace("\\|", "|") for part in parts]


def cell(text: str) -> str:
    """The text as a table's cell."""
    return text.replace("|", "\\|")


def prose(text: str) -> str:
    """Prose that can stand inside a section: no headings of sections, no open code block."""
    plain = visible(text)
    code = code_lines(plain)
    lines = [
        _HEADING.sub(r"\1####", line) if outside else line
        for line, outside in zip(plain.split("\n"), code.outside, strict=True)
    ]
    if code.open_mark:
        lines.append(code.open_mark)
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[filled[0] : filled[-1] + 1]) if filled else ""


def split_body(body: str) -> tuple[str, list[RawItem], str]:
    """The prose before the items of a section's body, the items, and the prose after them."""
    lines = body.split("\n")
    outside = code_lines(body).outside
    before: list[str] = []
    after: list[str] = []
    items: list[RawItem] = []
    position = 0
    while position < len(lines):
        found = _items_at(lines, outside, position)
        end = found[1] if found else position + 1
        if found and found[0]:
            items += found[0]
        else:
            (after if items else before).extend(lines[position:end])
        position = end
    return prose("\n".join(before)), items, prose("\n".join(after))


def _items_at(
    lines: list[str], outside: list[bool], start: int
) -> tuple[list[RawItem], int] | None:
    line = lines[start]
    if outside[start] and _BULLET.match(line):
        return _list_at(lines, start, _end_of_list(lines, outside, start))
    if outside[start] and line.lstrip().startswith("|") and start + 1 < len(lines):
        return _table_at(lines, start)
    return None


def _table_at(lines: list[str], start: int) -> tuple[list[RawItem], int] | None:
    header = [attribute_name(name) for name in cells_of(lines[start])]
    if len(header) < 2 or header[0] != "id" or not _RULE.fullmatch(lines[start + 1].strip()):
        return None
    end = start + 2
    rows: list[RawItem] = []
    while end < len(lines) and lines[end].lstrip().startswith("|"):
        row = cells_of(lines[end])
        row += [""] * (len(header) - len(row))
        label = row[0].strip("*")
        if label and not ID.fullmatch(label):
            return None
        pairs = zip(header[2:], row[2:], strict=False)
        rows.append(RawItem(label, row[1], {key: value for key, value in pairs if key and value}))
        end += 1
    return (rows, end) if rows else None


def _list_at(lines: list[str], start: int, end: int) -> tuple[list[RawItem], int]:
    """The items of a list and the line after it; a list without a single id has none."""
    entries: list[list[str]] = []
    for line in lines[start:end]:
        if _BULLET.match(line):
            entries.append([line])
        elif line.strip():
            entries[-1].append(line)
    if not any(_LABELLED.match(_BULLET.sub("", entry[0], count=1)) for entry in entries):
        return [], end
    return [_item_of(entry) for entry in entries], end


def _end_of_list(lines: list[str], outside: list[bool], start: int) -> int:
    end, position = start + 1, start + 1
    while position < len(lines):
        line = lines[position]
        if not line.strip():
            position += 1
            continue
        follows_blank = position > end
        belongs = bool(_BULLET.match(line)) or line.startswith((" ", "\t"))
        starts_another = not outside[position] or line.startswith(("#", "|", ">"))
        if starts_another or (follows_blank and not belongs):
            break
        position += 1
        end = position
    return end


def _item_of(entry: list[str]) -> RawItem:
    first = _BULLET.sub("", entry[0], count=1)
    labelled = _LABELLED.match(first)
    text = [first[labelled.end() :] if labelled else first]
    attributes: dict[str, str] = {}
    notes: list[str] = []
    inner: list[str] = []
    for line in entry[1:]:
        if _INNER_BULLET.match(line):
            inner.append(_INNER_BULLET.sub("", line, count=1))
        elif inner:
            inner[-1] += " " + line.strip()
        else:
            text.append(line.strip())
    for part in map(one_line, inner):
        pair = _ATTRIBUTE.fullmatch(part)
        name = attribute_name(pair[1]) if pair else ""
        if pair and name and name not in attributes:
            attributes[name] = pair[2]
        elif part:
            notes.append(part)
    if notes:
        attributes["note"] = " / ".join([*filter(None, [attributes.get("note")]), *notes])
    return RawItem(labelled[1] if labelled else "", " ".join(text), attributes)
