"""Statements that contradict each other. None is resolved silently: each becomes a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, combinations
from typing import Final, NamedTuple

from clew.advisors.documents.model import Item
from clew.advisors.extract import patterns
from clew.advisors.extract.similarity import contained, tokens
from clew.advisors.extract.statements import plain

MOST_COMPARED = 200
MOST_FOUND = 20
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


_Said = tuple[tuple[str, str], ...]


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
    """The contradictions among items, in order, each pair once; the first twenty are enough."""
    compared = [item for item in items if item.prefix in _KINDS][:MOST_COMPARED]
    pairs = _pairs(tuple((item.id, plain(item.text)) for item in compared))
    return [Conflict(compared[first], compared[second], reason) for first, second, reason in pairs]


@lru_cache(maxsize=32)
def _pairs(said: tuple[tuple[str, str], ...]) -> tuple[tuple[int, int, str], ...]:
    """The contradictions among ids and texts, by their places."""
    found: dict[tuple[int, int], str] = {}
    for first, second, reason in chain(_opposed(said), _compared(said)):
        found.setdefault((first, second), reason)
        if len(found) == MOST_FOUND:
            break
    return tuple((first, second, reason) for (first, second), reason in found.items())


def _opposed(said: _Said) -> Iterator[tuple[int, int, str]]:
    for name, (one, other) in _OPPOSITES.items():
        first = next((at for at, (_, text) in enumerate(said) if one.search(text)), None)
        second = next((at for at, (_, text) in enumerate(said) if other.search(text)), None)
        if first is not None and second is not None:
            yield min(first, second), max(first, second), name


class _Claim(NamedTuple):
    """A statement as it is compared: what it is about, and the dates and amounts in it."""

    kind: str
    text: str
    subject: frozenset[str]
    dates: frozenset[str]
    amounts: dict[str, set[str]]


@lru_cache(maxsize=4096)
def _claim(kind: str, text: str) -> _Claim:
    undated = patterns.DATE.sub(" ", text)
    amounts: dict[str, set[str]] = {}
    for amount in patterns.AMOUNT.findall(undated):
        unit = _UNIT.sub("", amount).casefold()
        amounts.setdefault(unit, set()).add("".join(patterns.NUMBER.findall(amount)))
    without = patterns.DATE.sub(" ", patterns.AMOUNT.sub(" ", text))
    subject = tokens(patterns.NUMBER.sub(" ", without))
    return _Claim(kind, text, subject, frozenset(patterns.DATE.findall(text)), amounts)


def _compared(said: _Said) -> Iterator[tuple[int, int, str]]:
    claims = [_claim(item_id.partition("-")[0], text) for item_id, text in said]
    for first, second in combinations(range(len(said)), 2):
        one, other = claims[first], claims[second]
        same = contained(one.subject, other.subject)
        if same < _CLOSE:
            continue
        shared = len(one.subject & other.subject)
        if {one.kind, other.kind} == {"FE", "EX"}:
            if shared > 1 or same == 1.0:
                yield first, second, "a feature and an exclusion"
        elif one.kind == other.kind:
            reason = _differs(one, other)
            if not reason and one.kind == "CO" and shared > 1:
                reason = _denies(one.text, other.text)
            if reason:
                yield first, second, reason


def _differs(one: _Claim, other: _Claim) -> str:
    """Two amounts of one unit, or two dates, for the same thing."""
    if one.dates and other.dates and not one.dates & other.dates:
        return "two dates for the same"
    units = one.amounts.keys() & other.amounts.keys()
    differ = any(one.amounts[unit] != other.amounts[unit] for unit in units)
    return "two numbers for the same" if differ else ""


def _denies(one: str, other: str) -> str:
    denied = bool(_NEGATION.search(one)) != bool(_NEGATION.search(other))
    return "one asks for what the other forbids" if denied else ""
