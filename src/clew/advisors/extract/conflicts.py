"""Statements that contradict each other. None is resolved silently: each becomes a question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import Final, NamedTuple

from clew.advisors.documents.model import Item, same_text
from clew.advisors.extract.measures import AMOUNT, DATE, NEGATION, NUMBER, amounts_in
from clew.advisors.extract.similarity import contained, tokens
from clew.advisors.extract.statements import plain

MOST_COMPARED = 200
MOST_FOUND = 20
_MEASURED: Final = frozenset({"BO", "SM", "FE", "CO", "QG", "AS", "BG", "DP", "PB", "NP"})
_TODAY: Final = frozenset({"PB", "BG"})  # how it is does not contradict how it should be
_WANTED: Final = frozenset({"BO", "SM", "QG"})
_CLOSE: Final = 0.6
_SAME: Final = 0.75


class Conflict(NamedTuple):
    """Two statements that cannot both hold, and why."""

    first: Item
    second: Item
    reason: str

    @property
    def topic(self) -> str:
        """The name under which it is asked about."""
        return f"conflict {self.first.id} {self.second.id}"


class _Claim(NamedTuple):
    """A statement as it is compared: what it measures, what it is about, dates and amounts."""

    kind: str
    text: str
    measure: str
    subject: frozenset[str]
    dates: frozenset[str]
    amounts: dict[str, set[str]]


def conflicts(items: Iterable[Item]) -> list[Conflict]:
    """The contradictions among items, in order, each pair once; the first twenty are enough."""
    compared = [one for one in items if one.prefix in {*_MEASURED, "EX"}][:MOST_COMPARED]
    claims = []
    for one in compared:
        said = " ".join(filter(None, [one.text, one.get("target"), one.get("deadline")]))
        measure = same_text(one.get("measure")) if one.get("measure") else ""
        claims.append(_claim(one.prefix, plain(said), measure))
    found = []
    for first, second in combinations(range(len(compared)), 2):
        reason = _reason(claims[first], claims[second])
        if reason and compared[second].id not in compared[first].references("holds with"):
            found.append(Conflict(compared[first], compared[second], reason))
        if len(found) == MOST_FOUND:
            break
    return found


@lru_cache(maxsize=4096)
def _claim(kind: str, text: str, measure: str) -> _Claim:
    without = AMOUNT.sub(" ", DATE.sub(" ", text))
    subject = tokens(NUMBER.sub(" ", without))
    return _Claim(kind, text, measure, subject, frozenset(DATE.findall(text)), amounts_in(text))


def _reason(one: _Claim, other: _Claim) -> str:
    shared = len(one.subject & other.subject)
    same = contained(one.subject, other.subject)
    if {one.kind, other.kind} == {"FE", "EX"}:
        close = same >= _SAME and (shared > 1 or same == 1.0)
        return "a feature and an exclusion" if close else ""
    kinds = {one.kind, other.kind}
    if "EX" in kinds or (kinds & _TODAY and kinds & _WANTED):
        return ""
    if one.measure and other.measure:
        return next(_differences(one, other), "") if one.measure == other.measure else ""
    if same >= _CLOSE and (shared > 1 or same == 1.0):
        denied = one.kind == other.kind == "CO" and same >= _SAME
        return next(_differences(one, other), _denial(one, other) if denied else "")
    return ""


def _differences(one: _Claim, other: _Claim) -> Iterator[str]:
    """Two amounts of one unit, or two dates; a part of what the other says is no difference."""
    for unit in one.amounts.keys() & other.amounts.keys():
        first, second = one.amounts[unit], other.amounts[unit]
        if not (first <= second or second <= first):
            yield "two numbers for the same"
    if one.dates and other.dates and not one.dates & other.dates:
        yield "two dates for the same"


def _denial(one: _Claim, other: _Claim) -> str:
    denied = bool(NEGATION.search(one.text)) != bool(NEGATION.search(other.text))
    return "one asks for what the other forbids" if denied else ""
