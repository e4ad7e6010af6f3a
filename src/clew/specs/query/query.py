"""The query language of list and search: words that are looked for, and conditions.

    status:in_progress label:auth -label:wip file:src/* "exact phrase" completed:>2026-01-01

All parts must hold; `-` before a part turns it round; `status:pending,failed` is one or the other.
A word or a quoted phrase is looked for in id, title and body. Dates are days, times, ranges
(`2026-01-01..2026-02-01`) or ages (`updated:7d` in the last week, `updated:>7d` longer ago).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import NamedTuple

from clew.kit.errors import Invalid
from clew.kit.times import parse_iso
from clew.specs.files.ids import ancestors_of, date_of
from clew.specs.index.graph import Graph
from clew.specs.model import DONE_STATUSES, GROUP_TYPES, STATUSES, Head

Condition = Callable[[Head, Graph], bool]


_TOKEN = re.compile(r'(-?)(?:([A-Za-z_]+):(?!//))?(?:"([^"]*)"?|(\S+)|(?<=:))')
_DATE = re.compile(r"(>=|<=|>|<|=)?(.+)", re.DOTALL)
_AGE = re.compile(r"(\d{1,6})(h|d|w|mo|y)")
_HOURS = {"h": 1, "d": 24, "w": 168, "mo": 720, "y": 8760}
_MOST_LENGTH = 2000


class Text(NamedTuple):
    """A text that must be there, or must not."""

    words: str
    wanted: bool


class Query(NamedTuple):
    """What somebody asks for."""

    texts: tuple[Text, ...]
    conditions: tuple[Condition, ...]
    archived: bool = False  # whether it asks about archived specs

    def fitting(self, heads: list[Head], graph: Graph) -> list[Head]:
        """The specs for which the conditions hold; their texts are not looked at."""
        for condition in self.conditions:
            heads = [head for head in heads if condition(head, graph)]
        return heads

    @property
    def wanted(self) -> tuple[str, ...]:
        """The texts that must be there, in lower case."""
        return tuple(text.words.lower() for text in self.texts if text.wanted)


def parse_query(text: str, now: datetime | None = None) -> Query:
    """The query that a text stands for."""
    if len(text) > _MOST_LENGTH:
        raise Invalid(f"The query is longer than {_MOST_LENGTH} characters", "Shorten it.")
    texts: list[Text] = []
    conditions: list[Condition] = []
    moment = now or datetime.now(UTC)
    archived = False
    for found in _TOKEN.finditer(text):
        key, phrase, word = found[2], found[3], found[4]
        value = phrase if phrase is not None else word or ""
        wanted = not found[1]
        if key:
            condition = _condition(key.lower(), value, moment)
            conditions.append(condition if wanted else _turned(condition))
            archived = archived or (key.lower(), value.lower(), wanted) == ("is", "archived", True)
        elif value:
            texts.append(Text(value, wanted))
    return Query(tuple(texts), tuple(conditions), archived)


def since_of(text: str, now: datetime | None = None) -> datetime:
    """The moment from which on things count: so long ago (`2h`, `3d`), or a day or time."""
    age = _AGE.fullmatch(text)
    moment = _ago(age, now or datetime.now(UTC)) if age else _moment(text)
    if moment is None:
        raise Invalid(f"Not a time: '{text}'", "Write 2h, 3d, 1w, 2mo or 2026-01-31.")
    return moment


def _condition(key: str, value: str, now: datetime) -> Condition:
    if key in _DATES:
        return _date_condition(_DATES[key], value, now)
    maker = _KEYS.get(key)
    if maker is None:
        from difflib import get_close_matches

        near = get_close_matches(key, KEYS, n=1)
        meant = f"Did you mean {near[0]}:? " if near else f"Known: {', '.join(KEYS)}. "
        raise Invalid(
            f"Unknown search condition '{key}:'",
            f'{meant}To look for the text itself, quote it: "{key}:{value}".',
        )
    values = [part for part in value.split(",") if part]
    if not values:
        raise Invalid(f"The condition '{key}:' needs a value", f"For example: {_EXAMPLES[key]}")
    parts = [maker(part) for part in values]
    return parts[0] if len(parts) == 1 else _any(parts)


def _any(parts: list[Condition]) -> Condition:
    return lambda head, graph: any(part(head, graph) for part in parts)


def _turned(condition: Condition) -> Condition:
    return lambda head, graph: not condition(head, graph)


def _status(value: str) -> Condition:
    status = value.lower().replace("-", "_")
    if status not in STATUSES:
        raise Invalid(f"Invalid status: {value}. Must be one of: {', '.join(STATUSES)}")
    if status in {"ready", "blocked"}:
        return lambda head, graph: _state(head, graph) == status
    return lambda head, _: head.status == status


def _state(head: Head, graph: Graph) -> str:
    return head.status if head.archived else graph.status(head.id)


def _file(value: str) -> Condition:
    if any(mark in value for mark in "*?["):
        return lambda head, _: any(fnmatchcase(name, value) for name in head.target_files)
    return lambda head, _: any(value in name for name in head.target_files)


def _group(value: str) -> Condition:
    return lambda head, _: any(above.endswith(value) for above in ancestors_of(head.id))


def _contains(read: Callable[[Head], Iterable[str]]) -> Callable[[str], Condition]:
    def make(value: str) -> Condition:
        wanted = value.lower()
        return lambda head, _: any(wanted in text.lower() for text in read(head))

    return make


def _equals(read: Callable[[Head], Iterable[str]]) -> Callable[[str], Condition]:
    def make(value: str) -> Condition:
        wanted = value.lower()
        return lambda head, _: wanted in map(str.lower, read(head))

    return make


def _named(key: str, known: dict[str, Condition]) -> Callable[[str], Condition]:
    def make(value: str) -> Condition:
        if value.lower() not in known:
            raise Invalid(f"Unknown '{key}:{value}'", f"Known: {', '.join(known)}.")
        return known[value.lower()]

    return make


_IS: dict[str, Condition] = {
    "ready": lambda head, graph: _state(head, graph) == "ready",
    "blocked": lambda head, graph: _state(head, graph) == "blocked",
    "open": lambda head, _: not head.archived and head.status not in DONE_STATUSES,
    "done": lambda head, _: head.archived or head.status in DONE_STATUSES,
    "archived": lambda head, _: head.archived,
    "member": lambda head, _: bool(ancestors_of(head.id)),
    "group": lambda head, graph: head.type in GROUP_TYPES or bool(graph.members(head.id)),
    "approved": lambda head, _: head.approval_status == "approved",
    "verified": lambda head, _: 0 < head.criteria_total == head.criteria_checked,
}
_HAS: dict[str, Condition] = {
    "criteria": lambda head, _: head.criteria_total > 0,
    "unchecked": lambda head, _: head.criteria_checked < head.criteria_total,
    "dependencies": lambda head, _: bool(head.depends_on),
    "dependents": lambda head, graph: bool(graph.dependents(head.id)),
    "members": lambda head, graph: bool(graph.members(head.id)),
    "labels": lambda head, _: bool(head.labels),
    "files": lambda head, _: bool(head.target_files),
    "title": lambda head, _: bool(head.title),
    "model": lambda head, _: bool(head.model),
    "branch": lambda head, _: bool(head.branch),
    "prompt": lambda head, _: bool(head.prompt),
    "approval": lambda head, _: head.approval_required or bool(head.approval_status),
}
_KEYS: dict[str, Callable[[str], Condition]] = {
    "status": _status,
    "type": _equals(lambda head: (head.type,)),
    "label": _equals(lambda head: head.labels),
    "id": _contains(lambda head: (head.id,)),
    "title": _contains(lambda head: (head.title or "",)),
    "depends": _contains(lambda head: head.depends_on or ()),
    "file": _file,
    "group": _group,
    "model": _contains(lambda head: (head.model or "",)),
    "prompt": _equals(lambda head: (head.prompt or "",)),
    "branch": _contains(lambda head: (head.branch or "",)),
    "approval": _equals(lambda head: (head.approval_status or "",)),
    "is": _named("is", _IS),
    "has": _named("has", _HAS),
}
_EXAMPLES = {
    "status": "status:in_progress", "type": "type:code", "label": "label:auth", "id": "id:001",
    "title": "title:login", "depends": "depends:2026-01-22-001-x7m", "file": "file:src/*",
    "group": "group:2026-01-22-001-x7m", "model": "model:opus", "prompt": "prompt:standard",
    "branch": "branch:chant/", "approval": "approval:pending", "is": "is:ready",
    "has": "has:criteria",
}  # fmt: skip


def _completed(head: Head) -> datetime | None:
    return _moment(head.completed_at) if head.completed_at else None


def _updated(head: Head) -> datetime | None:
    return datetime.fromtimestamp(head.mtime_ns / 1e9, UTC)


def _created(head: Head) -> datetime | None:
    day = date_of(head.id)
    return _moment(day) if day else None


_DATES: dict[str, Callable[[Head], datetime | None]] = {
    "completed": _completed,
    "updated": _updated,
    "created": _created,
}
KEYS = (*_KEYS, *_DATES)


def _date_condition(
    read: Callable[[Head], datetime | None], value: str, now: datetime
) -> Condition:
    first, end = _span(value, now)

    def condition(head: Head, graph: Graph) -> bool:
        moment = read(head)
        return moment is not None and first <= moment < end

    return condition


def _span(value: str, now: datetime) -> tuple[datetime, datetime]:
    """The time that is meant: from the first moment up to, but without, the second."""
    always, never = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    low, dots, high = value.partition("..")
    if dots:
        first = _day(low, value)[0] if low not in {"", "*"} else always
        return first, _day(high, value)[1] if high not in {"", "*"} else never
    found = _DATE.fullmatch(value)
    if found is None:
        raise _not_a_date(value)
    sign, text = found[1] or "=", found[2]
    age = _AGE.fullmatch(text)
    if age:
        ago = _ago(age, now)
        return (always, ago) if sign in {">", ">="} else (ago, never)
    first, end = _day(text, value)
    spans = {">": (end, never), ">=": (first, never), "<": (always, first), "<=": (always, end)}
    return spans.get(sign, (first, end))


def _ago(age: re.Match[str], now: datetime) -> datetime:
    try:
        return now - timedelta(hours=int(age[1]) * _HOURS[age[2]])
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _day(text: str, value: str) -> tuple[datetime, datetime]:
    """A day from its beginning to its end, or one moment."""
    moment = _moment(text)
    if moment is None:
        raise _not_a_date(value)
    length = timedelta(days=1) if len(text) == 10 else timedelta(seconds=1)
    try:
        return moment, moment + length
    except OverflowError:
        raise _not_a_date(value) from None


def _moment(text: str) -> datetime | None:
    try:
        return parse_iso(text)
    except ValueError:
        return None


def _not_a_date(value: str) -> Invalid:
    return Invalid(
        f"Not a date: '{value}'", "Write 2026-01-31, >2026-01-31, 2026-01-01..2026-02-01 or 7d."
    )
