"""Token budgets: what an answer costs, and which statements fit.

A token is counted as four characters. Neither the text of an answer nor its data as JSON is ever
longer than its budget.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clew.history.lookup import reason_of
from clew.kit import jsontext
from clew.kit.errors import Invalid
from clew.kit.text.display import clipped, shown_text
from clew.thread.model import Pack, Statement

CHARACTERS = 4
SMALLEST = 200
LARGEST = 100_000
_LONGEST_TITLE = 200
_SHORTEST_PART = 80
_CUT = " […]"
_MOVED = re.compile(r"\(then \S.*:\d+\)$|^not committed yet|^this clone is shallow")
_SHORT_REASON, _SHORT_STATEMENT = 320, 160
# How many statements a short answer has of each section, beside line, commit and message.
_SHORT_SECTIONS = {
    "request": 1, "session": 1, "tried before": 1, "merged": 1, "spec": 2, "decision": 2,
    "vision": 2, "rejected": 2, "earlier": 2, "later": 2,
}  # fmt: skip


def tokens_of(text: str) -> int:
    """How many tokens a text counts as."""
    return -(-len(text) // CHARACTERS)


def checked_budget(budget: int) -> int:
    """The budget, if an answer can be given within it."""
    if not SMALLEST <= budget <= LARGEST:
        raise Invalid(
            f"The budget must be between {SMALLEST} and {LARGEST} tokens, not {budget}",
            "A token is counted as four characters.",
        )
    return budget


def fitted(
    title: str,
    statements: Sequence[Statement],
    budget: int,
    more: dict[str, Any] | None = None,
) -> Pack:
    """The statements that fit, the important ones first; sections in the order they were given."""
    most = checked_budget(budget) * CHARACTERS
    grouped = _grouped([replace(one, text=shown_text(one.text)) for one in statements])
    whole = Pack(
        shown_text(clipped(title, _LONGEST_TITLE)),
        budget,
        (),
        _section_counts(grouped),
        _if_small(more, most),
    )
    room = _Room(most, whole)
    kept: dict[int, Statement] = {}
    for number, one in sorted(enumerate(grouped), key=lambda pair: (pair[1].priority, pair[0])):
        fitting = room.take(one)
        if fitting is not None:
            kept[number] = fitting
    missing = [one for number, one in enumerate(grouped) if number not in kept]
    shown = tuple(kept[number] for number in sorted(kept))
    return replace(whole, statements=shown, left_out=_section_counts(missing))


def _if_small(more: dict[str, Any] | None, most: int) -> dict[str, Any]:
    """What comes beside the statements, as long as that leaves room for them."""
    given = more or {}
    return given if len(jsontext.dumps(given)) <= most // 3 else {}


def pack_text(pack: Pack) -> str:
    """The answer for people and models."""
    lines = [pack.title]
    section = ""
    for one in pack.statements:
        if one.section != section:
            section = one.section
            lines.append(_heading(section))
        lines.append(_line(one))
    if pack.left_out:
        lines.append(_closing(pack))
    return "\n".join(lines)


def short_lines(pack: dict[str, Any]) -> list[str]:
    """What is asked for of lines and no more: their commit, its reason, and what it was done for."""
    lines: list[str] = []
    told: Counter[str] = Counter()
    for one in pack["statements"]:
        section, text = one["section"], one["text"]
        told[section] += 1
        if section == "line" and told[section] == 1 and not _MOVED.search(text):
            continue  # whoever asks knows the line
        if section == "message":
            lines.append(reason_of(text, _SHORT_REASON))
        elif section in ("line", "commit"):
            lines.append(text)
        elif told[section] <= _SHORT_SECTIONS.get(section, 0) and not text.startswith("No spec "):
            lines.append(f"{section}: {clipped(' '.join(text.split()), _SHORT_STATEMENT)}")
    return lines


def is_of_lines(pack: dict[str, Any]) -> bool:
    """Whether an answer is about lines and tells of one commit."""
    sections = {one["section"] for one in pack["statements"]}
    return {"line", "commit"} <= sections and not pack.get("full")


def pack_data(pack: Pack) -> dict[str, Any]:
    """The answer for programs."""
    return {
        "title": pack.title,
        "budget": pack.budget,
        "tokens": tokens_of(pack_text(pack)),
        "statements": [one.as_data() for one in pack.statements],
        "left_out": pack.left_out,
        **pack.more,
    }


class _Room:
    """How much room is left, in the text and in the data."""

    def __init__(self, most: int, whole: Pack) -> None:
        data = {**pack_data(whole), "tokens": most}
        self._text = most - len(pack_text(whole)) - 1
        self._data = most - len(jsontext.dumps(data))
        self._sections: set[str] = set()

    def take(self, one: Statement) -> Statement | None:
        """The statement, cut where it must and may be; None if there is no room for it."""
        if not self._fits(one) and one.can_shrink:
            one = self._shrunk(one)
        if not self._fits(one):
            return None
        text, data = self._cost(one)
        self._text -= text
        self._data -= data
        self._sections.add(one.section)
        return one

    def _fits(self, one: Statement) -> bool:
        text, data = self._cost(one)
        return text <= self._text and data <= self._data

    def _cost(self, one: Statement) -> tuple[int, int]:
        heading = 0 if one.section in self._sections else len(_heading(one.section)) + 1
        return heading + len(_line(one)) + 1, len(jsontext.dumps(one.as_data())) + 2

    def _shrunk(self, one: Statement) -> Statement:
        """The longest beginning that fits, if it is worth it."""
        low, high = 0, len(one.text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._fits(_cut(one, middle)) else (low, middle - 1)
        return _cut(one, low) if low >= _SHORTEST_PART else one


def _cut(one: Statement, length: int) -> Statement:
    return replace(one, text=one.text[:length].rstrip() + _CUT)


def _grouped(statements: Sequence[Statement]) -> list[Statement]:
    order = list(dict.fromkeys(one.section for one in statements))
    return sorted(statements, key=lambda one: order.index(one.section))


def _section_counts(statements: Sequence[Statement]) -> dict[str, int]:
    return dict(Counter(one.section for one in statements))


def _heading(section: str) -> str:
    return f"\n{section.capitalize()}"


def _line(one: Statement) -> str:
    return f"- {one.text.replace(chr(10), chr(10) + '  ')} [{one.source}]"


def _closing(pack: Pack) -> str:
    counts = ", ".join(f"{section} {count}" for section, count in pack.left_out.items())
    return f"\nLeft out to stay within {pack.budget} tokens: {counts}"
