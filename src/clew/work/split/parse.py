"""A model's division of a spec, read: JSON as it was asked for, or Markdown as a fallback."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.kit import jsontext
from clew.kit.errors import Invalid
from clew.work.split.plan import Demand, Member

if TYPE_CHECKING:
    from typing import Any

    from clew.work.split.plan import Piece

SCHEMA = {
    "type": "object",
    "required": ["members"],
    "properties": {
        "members": {
            "type": "array",
            "minItems": 2,
            "items": {
                "type": "object",
                "required": ["title", "acceptance_criteria", "covers"],
                "properties": {
                    "title": {"type": "string"},
                    "description": {"type": "string"},
                    "acceptance_criteria": {"type": "array", "items": {"type": "string"}},
                    "covers": {"type": "array", "items": {"type": "integer", "minimum": 1}},
                    "target_files": {"type": "array", "items": {"type": "string"}},
                    "depends_on": {"type": "array", "items": {"type": "integer", "minimum": 1}},
                },
            },
        }
    },
}
_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n```", re.DOTALL)
_MEMBER = re.compile(r"^## Member (\d{1,4})[:.]?[ \t]*(.*)$", re.MULTILINE)
_HEADING = re.compile(r"^###[ \t]+(.*?)[ \t]*$", re.MULTILINE)
_BOX = re.compile(r"^[ \t]*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?(.+?)[ \t]*$", re.MULTILINE)
_BOLD = re.compile(r"^\*\*([A-Za-z ]+):\*\*[ \t]*(.*)$", re.MULTILINE)
_NUMBER = re.compile(r"[Mm]ember (\d{1,4})")
_WORD = re.compile(r"[a-z0-9]+")
_ALIKE = 0.75


def read_answer(texts: list[str], piece: Piece) -> list[Member]:
    """The members in the first of these texts that has some."""
    for text in texts:
        for candidate in _candidates(text):
            try:
                value = jsontext.loads(candidate)
            except jsontext.JsonError:
                continue
            listed = value.get("members") if isinstance(value, dict) else value
            if isinstance(listed, list) and listed and all(isinstance(m, dict) for m in listed):
                return [_from_json(entry) for entry in listed]
    for text in texts:
        members = _from_text(text, piece)
        if members:
            return members
    raise Invalid("The answer has no members in it", "It must be one JSON object.")


def _candidates(text: str) -> list[str]:
    found = [text.strip(), *(block.strip() for block in _FENCE.findall(text))]
    for opening, closing in (("{", "}"), ("[", "]")):
        start, end = text.find(opening), text.rfind(closing)
        found += [text[start : end + 1]] if 0 <= start < end else []
    return found


def _from_json(entry: dict[str, Any]) -> Member:
    return Member(
        " ".join(str(entry.get("title") or "").split()),
        str(entry.get("description") or "").strip(),
        tuple(Demand(" ".join(text.split())) for text in _texts(entry.get("acceptance_criteria"))),
        tuple(dict.fromkeys(_texts(entry.get("target_files")))),
        tuple(sorted(set(_numbers(entry.get("covers"))))),
        tuple(sorted(set(_numbers(entry.get("depends_on"))))),
    )


def _texts(value: object) -> list[str]:
    return (
        [item.strip() for item in value if isinstance(item, str) and item.strip()]
        if isinstance(value, list)
        else []
    )


def _numbers(value: object) -> list[int]:
    found = []
    for item in value if isinstance(value, list) else []:
        if isinstance(item, int) and not isinstance(item, bool):
            found.append(item)
        elif isinstance(item, str) and (said := re.search(r"\d{1,4}", item)):
            found.append(int(said.group()))
    return found


def _from_text(text: str, piece: Piece) -> list[Member]:
    """`## Member N: title`, prose, `### Acceptance Criteria`, files and dependencies in bold."""
    marks = list(_MEMBER.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    numbers = [int(mark.group(1)) for mark in marks]
    if not marks or numbers != list(range(1, len(marks) + 1)):
        return []
    return [
        _section(mark.group(2).strip(), text[mark.end() : end], piece)
        for mark, end in zip(marks, ends, strict=True)
    ]


def _section(title: str, text: str, piece: Piece) -> Member:
    parts = _HEADING.split(text)
    headed = {name.lower(): body for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    bold = {name.lower(): (rest, end) for name, rest, end in _bolds(text)}
    own = _BOLD.split(headed.get("acceptance criteria", ""))[0]
    criteria = tuple(Demand(" ".join(item.split())) for item in _BOX.findall(own))
    files = _listed(text, bold.get("affected files"))
    said = headed.get("requires") or (bold.get("dependencies") or ("", 0))[0]
    depends = tuple(sorted({int(number) for number in _NUMBER.findall(said)}))
    description = _BOLD.split(parts[0])[0].strip()
    return Member(title, description, criteria, files, _covered(criteria, piece), depends)


def _bolds(text: str) -> list[tuple[str, str, int]]:
    return [(found.group(1), found.group(2), found.end()) for found in _BOLD.finditer(text)]


def _listed(text: str, place: tuple[str, int] | None) -> tuple[str, ...]:
    """The bullets right below a line in bold."""
    found: list[str] = []
    for line in text[place[1] :].splitlines() if place else []:
        bullet = _BOX.match(line)
        if bullet:
            found.append(bullet.group(1).strip("` "))
        elif line.strip():
            break
    return tuple(dict.fromkeys(found))


def _covered(criteria: tuple[Demand, ...], piece: Piece) -> tuple[int, ...]:
    """The criteria of the whole that these are about, told by their words."""
    mine = [set(_WORD.findall(demand.text.lower())) for demand in criteria]
    found = []
    for number, demand in enumerate(piece.criteria, start=1):
        words = set(_WORD.findall(demand.text.lower()))
        if words and any(len(words & own) / len(words) >= _ALIKE for own in mine):
            found.append(number)
    return tuple(found)
