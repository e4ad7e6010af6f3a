"""Rules about a Vision & Scope document: V1 to V14."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from clew.advisors.checks.structure import Needed, check_needed, where
from clew.advisors.documents.model import Document, Finding, Item, same_text
from clew.advisors.extract.conflicts import conflicts
from clew.advisors.extract.measures import AMOUNT, VAGUE
from clew.advisors.extract.questions import measurable
from clew.advisors.extract.statements import plain

_BASELINE = re.compile(r"\bfrom\b|\bvon\b|から|\bbaseline\b|\btoday\b", re.IGNORECASE)
_STATES: Final = frozenset({"confirmed", "unconfirmed", "refuted"})
_NEAR = 60
RISK: Final = ("probability", "impact", "mitigation", "owner")
RISK_FIX: Final = "Fill in the table; “unassigned” is an owner, too."
_NEEDED: Final = (
    Needed("SM", "V2", "metrics", "warning", "Fill in the table.", ("target", "measured by", "deadline", "objective")),
    Needed("ST", "V5", "stakeholders", "warning", "Say what is in it for them.", ("interest",)),
    Needed("RI", "V6", "risks", "warning", RISK_FIX, RISK),
    Needed("FE", "V8", "features", "warning", "Write 1 or later.", ("release",)),
)  # fmt: skip


def check_vision(document: Document) -> Iterator[Finding]:
    """The rules of a vision on one document."""
    yield from _objectives(document)
    yield from _scope(document)
    yield from _people(document)
    yield from check_needed(document, _NEEDED)
    yield from _assumptions(document)
    yield from _priorities(document)
    yield from _wording(document)
    yield from check_questions(document)
    yield from check_conflicts(document, "V14")


def _objectives(document: Document) -> Iterator[Finding]:
    measured = {one for metric in document.items("SM") for one in metric.references("objective")}
    objectives = document.items("BO")
    hopeless = not any(measurable(item) for item in objectives)
    for item in objectives:
        place = where(document, "objectives", item.id)
        text = f"{item.text} {item.get('target')}"
        if not measurable(item):
            found = place.error if hopeless and not item.get("target") else place.warning
            said = f"{item.id} has neither a number nor a date"
            yield found("V1", said, "Say by how much and by when.")
        elif not AMOUNT.search(text) and not _BASELINE.search(text):
            said = f"{item.id} has no unit and no baseline"
            yield place.warning("V1", said, "Say from what to what.")
        if item.id not in measured:
            fix = "Add a metric that names it as its objective."
            yield place.warning("V3", f"{item.id} has no metric", fix)


def _scope(document: Document) -> Iterator[Finding]:
    exclusions, objectives = document.items("EX"), document.items("BO")
    if not exclusions:
        place = where(document, "exclusions")
        yield place.warning("V4", "nothing is excluded", "Say what it will not do.")
    features = {same_text(plain(one.text)): one.id for one in document.items("FE")}
    for item in exclusions:
        if twin := features.get(same_text(plain(item.text))):
            place = where(document, "exclusions", item.id)
            yield place.error("V4", f"{item.id} excludes what {twin} promises", "Keep one of them.")
    for item in document.items("FE"):
        if objectives and not item.references("objective"):
            place, fix = where(document, "features", item.id), "Name the objective it serves."
            yield place.warning("V12", f"{item.id} serves no objective", fix)


def _people(document: Document) -> Iterator[Finding]:
    if not any("primary" in one.get("role") for one in document.items("ST")):
        place = where(document, "stakeholders")
        yield place.error("V5", "nobody is a primary user", "Say who uses it first.")


def _assumptions(document: Document) -> Iterator[Finding]:
    for item in document.items("AS"):
        if item.get("state") not in _STATES:
            place = where(document, "assumptions", item.id)
            said = f"{item.id} does not say whether it is confirmed"
            yield place.warning("V7", said, "Add “state: unconfirmed”.")


def _priorities(document: Document) -> Iterator[Finding]:
    kinds = [one.get("kind").casefold() for one in document.items("PR")]
    if len(kinds) >= 5 and set(kinds) == {"driver"}:
        place = where(document, "priorities")
        yield place.error("V10", "everything is a driver, so nothing is", "Say what gives way.")


def _wording(document: Document) -> Iterator[Finding]:
    for item in document.items():
        found = vague_word(item) if item.prefix in {"BO", "SM", "FE", "CO", "QG"} else ""
        if found:
            said = f"“{found}” says nothing without a number"
            fix = "Say how much, how many, or how quick."
            yield where(document, "", item.id).warning("V11", said, fix)


def vague_word(item: Item) -> str:
    """A word that promises something, with no number near it."""
    text = plain(item.text)
    for found in VAGUE.finditer(text):
        near = text[max(found.start() - _NEAR, 0) : found.end() + _NEAR]
        if not any(c.isdigit() for c in near):
            return found[0]
    return ""


def check_questions(document: Document) -> Iterator[Finding]:
    """A question that must be answered and is not makes the document not ready."""
    for item in document.items("Q"):
        if item.get("blocking") == "yes" and not item.get("answer"):
            default = item.get("default")
            fix = f"Answer it; recommended: {default}." if default else "Answer it."
            place = where(document, "questions", item.id)
            yield place.error("V13", f"{item.id} must be answered: {item.text}", fix)


def check_conflicts(document: Document, rule: str) -> Iterator[Finding]:
    """Two statements that cannot both hold."""
    for one in conflicts(document.items()):
        names = " and ".join(dict.fromkeys((one.first.id, one.second.id)))
        verb = "contradict each other" if one.first.id != one.second.id else "contradicts itself"
        place = where(document, "", one.first.id)
        yield place.error(rule, f"{names} {verb}: {one.reason}", "Keep what holds.")
