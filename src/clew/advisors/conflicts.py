"""Statements that contradict each other. Nobody chooses silently: each becomes a question."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from clew.advisors import cues
from clew.advisors.statements import plain
from clew.advisors.wording import contained, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from clew.advisors.model import Item

MOST_COMPARED = 300
_KINDS: Final = frozenset({"BO", "SM", "FE", "EX", "CO", "AS", "BG", "DP", "PB"})
_CLOSE: Final = 0.75
_NEGATION = re.compile(
    r"\b(?:no|not|never|without|kein\w*|nicht|ohne)\b|n['\u2019]t\b|ない|ません|なし", re.IGNORECASE
)
_UNIT = re.compile(r"[\d.,\s]+")


def _opposites(one: str, other: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(one, re.IGNORECASE), re.compile(other, re.IGNORECASE)


_OPPOSITES: Final = {
    "offline and online only": _opposites(
        r"\boffline\b|オフライン", r"\bonly in the cloud\b|\bcloud[- ]only\b|\balways online\b|クラウドのみ"
    ),
    "free and paid": _opposites(
        r"\bfree (?:of charge|for everyone|to use|for all)\b|\bkostenlos\b|無料",
        r"\bsubscriptions?\b|\bpaid plan|\bpay(?:s)? (?:a|an|per)\b|\bkostenpflichtig\b|有料|月額",
    ),
    "open source and closed": _opposites(
        r"\bopen[- ]source[d]?\b", r"\bproprietary\b|\bclosed[- ]source\b|\bsource code (?:stays|is) secret\b"
    ),
    "own machines and a cloud": _opposites(
        r"\bon[- ]premises?\b|\bown (?:servers|data cent(?:er|re))\b|オンプレミス",
        r"\b(?:hosted|runs?|stored) (?:only )?in the cloud\b|\bcloud[- ]only\b|\bcloud-hosted\b",
    ),
    "one user and many": _opposites(
        r"\bsingle[- ]user\b|\bone user only\b", r"\bmulti[- ]user\b|\bmany users at once\b|\bconcurrent users\b"
    ),
}  # fmt: skip


class Conflict(NamedTuple):
    """Two statements that cannot both hold, and why; both may be in one sentence."""

    first: Item
    second: Item
    reason: str

    @property
    def topic(self) -> str:
        """The name under which it is asked about."""
        return f"conflict {self.first.id} {self.second.id}"


def conflicts(items: Iterable[Item]) -> list[Conflict]:
    """The contradictions among items, in order, each pair once."""
    compared = [item for item in items if item.prefix in _KINDS][:MOST_COMPARED]
    found: dict[tuple[str, str], Conflict] = {}
    for one in [*_opposed(compared), *_compared(compared)]:
        found.setdefault((one.first.id, one.second.id), one)
    return list(found.values())


def _opposed(items: list[Item]) -> Iterator[Conflict]:
    for name, (one, other) in _OPPOSITES.items():
        first = next((item for item in items if one.search(item.text)), None)
        second = next((item for item in items if other.search(item.text)), None)
        if first and second:
            pair = sorted((first, second), key=items.index)
            yield Conflict(pair[0], pair[1], name)


def _compared(items: list[Item]) -> Iterator[Conflict]:
    texts = {item.id: plain(item.text) for item in items}
    subjects = {item_id: _subject(text) for item_id, text in texts.items()}
    for first, second in combinations(items, 2):
        same = contained(subjects[first.id], subjects[second.id])
        if same < _CLOSE:
            continue
        kinds = {first.prefix, second.prefix}
        if kinds == {"FE", "EX"}:
            if len(subjects[first.id] & subjects[second.id]) > 1 or same == 1.0:
                yield Conflict(first, second, "a feature and an exclusion")
        elif first.prefix == second.prefix:
            reason = _differs(texts[first.id], texts[second.id])
            reason = reason or _denies(texts, subjects, first, second)
            if reason:
                yield Conflict(first, second, reason)


@lru_cache(maxsize=4096)
def _subject(text: str) -> frozenset[str]:
    without = cues.DATE.sub(" ", cues.AMOUNT.sub(" ", text))
    return tokens(cues.NUMBER.sub(" ", without))


def _differs(one: str, other: str) -> str:
    """Two amounts of one unit, or two dates, for the same thing."""
    dates, other_dates = set(cues.DATE.findall(one)), set(cues.DATE.findall(other))
    if dates and other_dates and not dates & other_dates:
        return "two dates for the same"
    amounts, other_amounts = _amounts(one), _amounts(other)
    for unit in amounts.keys() & other_amounts.keys():
        if amounts[unit] != other_amounts[unit]:
            return "two numbers for the same"
    return ""


def _amounts(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for amount in cues.AMOUNT.findall(cues.DATE.sub(" ", text)):
        unit = _UNIT.sub("", amount).casefold()
        found.setdefault(unit, set()).add("".join(cues.NUMBER.findall(amount)))
    return found


def _denies(
    texts: dict[str, str], subjects: dict[str, frozenset[str]], first: Item, second: Item
) -> str:
    shared = subjects[first.id] & subjects[second.id]
    if first.prefix != "CO" or len(shared) < 2:
        return ""
    denied = [bool(_NEGATION.search(texts[item.id])) for item in (first, second)]
    return "one asks for what the other forbids" if denied[0] != denied[1] else ""
