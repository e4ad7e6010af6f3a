"""Rules about a Vision & Scope document: V1 to V14."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from clew.advisors.checks.structure import where
from clew.advisors.documents.model import NOT_KNOWN, Finding, same_text
from clew.advisors.extract import patterns as cues
from clew.advisors.extract.conflicts import conflicts
from clew.advisors.extract.gaps import measurable
from clew.advisors.extract.lexicon import technologies_in
from clew.advisors.extract.statements import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.advisors.documents.model import Document, Item

_BASELINE = re.compile(r"\bfrom\b|\bvon\b|から|\bbaseline\b|\btoday\b", re.IGNORECASE)
_STATES: Final = frozenset({"confirmed", "unconfirmed", "refuted"})
_NEAR = 60
_PARTS_OF_STATEMENT: Final = {
    "audience": re.compile(r"\bfor\b", re.IGNORECASE),
    "need": re.compile(
        r"\*\*(?:whose problem is:?|who)\b.*?\*\*|\bwho\b|\bneed|\bproblem", re.IGNORECASE
    ),
    "category": re.compile(r"(?<!problem )\bis(?:\b an?\b|:?\*\*)", re.IGNORECASE),
    "benefit": re.compile(r"\*\*that\b.*?\*\*|\bthat\b|\bso that\b", re.IGNORECASE),
}


def check_vision(document: Document) -> Iterator[Finding]:
    """The rules of a vision on one document."""
    yield from _objectives(document)
    yield from _metrics(document)
    yield from _scope(document)
    yield from _people(document)
    yield from check_risks(document, "V6")
    yield from _assumptions(document)
    yield from _statement(document)
    yield from _priorities(document)
    yield from _wording(document)
    yield from check_questions(document, "V13")
    yield from check_conflicts(document, "V14")


def _objectives(document: Document) -> Iterator[Finding]:
    measured = {one for metric in document.items("SM") for one in metric.references("objective")}
    objectives = document.items("BO")
    hopeless = not any(measurable(item) for item in objectives)
    for item in objectives:
        place = where(document, "objectives", item.id)
        text = f"{item.text} {item.get('target')}"
        if not measurable(item):
            yield Finding(
                "V1",
                "error" if hopeless and not item.get("target") else "warning",
                place,
                f"{item.id} has neither a number nor a date",
                "Say by how much and by when.",
            )
        elif not cues.AMOUNT.search(text) and not _BASELINE.search(text):
            yield Finding(
                "V1",
                "warning",
                place,
                f"{item.id} has no unit and no baseline",
                "Say from what to what.",
            )
        if item.id not in measured:
            yield Finding(
                "V3",
                "warning",
                place,
                f"{item.id} has no metric",
                "Add a metric that names it as its objective.",
            )


def _metrics(document: Document) -> Iterator[Finding]:
    for item in document.items("SM"):
        missing = [
            one for one in ("target", "measured by", "deadline", "objective") if not item.get(one)
        ]
        if missing:
            yield Finding(
                "V2", "warning", where(document, "metrics", item.id), f"{item.id} lacks: {', '.join(missing)}",
                "Fill in the table.",
            )  # fmt: skip


def _scope(document: Document) -> Iterator[Finding]:
    if not document.items("EX"):
        yield Finding(
            "V4",
            "warning",
            where(document, "exclusions"),
            "nothing is excluded",
            "Say what it will not do.",
        )
    features = {same_text(plain(one.text)): one.id for one in document.items("FE")}
    for item in document.items("EX"):
        twin = features.get(same_text(plain(item.text)))
        if twin:
            place = where(document, "exclusions", item.id)
            yield Finding(
                "V4",
                "error",
                place,
                f"{item.id} excludes what {twin} promises",
                "Keep one of them.",
            )
    for item in document.items("FE"):
        if not item.get("release"):
            place = where(document, "features", item.id)
            yield Finding(
                "V8", "warning", place, f"{item.id} belongs to no release", "Write 1 or later."
            )


def _people(document: Document) -> Iterator[Finding]:
    people = document.items("ST")
    if not any("primary" in one.get("role") for one in people):
        yield Finding(
            "V5",
            "error",
            where(document, "stakeholders"),
            "nobody is a primary user",
            "Say who uses it first.",
        )
    for item in people:
        if not item.get("interest"):
            place = where(document, "stakeholders", item.id)
            yield Finding(
                "V5", "warning", place, f"{item.id} has no interest", "Say what is in it for them."
            )


def check_risks(document: Document, rule: str) -> Iterator[Finding]:
    """Each risk has a probability, an impact, a mitigation and an owner."""
    for item in document.items("RI"):
        missing = [
            one for one in ("probability", "impact", "mitigation", "owner") if not item.get(one)
        ]
        if missing:
            yield Finding(
                rule, "warning", where(document, "risks", item.id), f"{item.id} lacks: {', '.join(missing)}",
                "Fill in the table; “unassigned” is an owner, too.",
            )  # fmt: skip


def _assumptions(document: Document) -> Iterator[Finding]:
    for item in document.items("AS"):
        if item.get("state") not in _STATES:
            place = where(document, "assumptions", item.id)
            yield Finding(
                "V7",
                "warning",
                place,
                f"{item.id} does not say whether it is confirmed",
                "Add “state: unconfirmed”.",
            )


def _statement(document: Document) -> Iterator[Finding]:
    section = document.section("vision")
    if section is None:
        return
    text = f"{section.text} {section.after}"
    known = "\n".join(line for line in text.split("\n") if NOT_KNOWN not in line)
    for name, pattern in _PARTS_OF_STATEMENT.items():
        if not pattern.search(known):
            yield Finding(
                "V9",
                "warning",
                where(document, "vision"),
                f"the statement names no {name}",
                "Add it.",
            )


def _priorities(document: Document) -> Iterator[Finding]:
    kinds = [one.get("kind").casefold() for one in document.items("PR")]
    if len(kinds) >= 5 and set(kinds) == {"driver"}:
        yield Finding(
            "V10", "error", where(document, "priorities"), "everything is a driver, so nothing is", "Say what gives way."
        )  # fmt: skip


def _wording(document: Document) -> Iterator[Finding]:
    for item in document.items():
        if item.prefix in {"BO", "SM", "FE", "CO", "QG"}:
            found = vague_word(item)
            if found:
                yield Finding(
                    "V11", "warning", where(document, "", item.id), f"“{found}” says nothing without a number",
                    "Say how much, how many, or how quick.",
                )  # fmt: skip
    section = document.section("problem")
    named = technologies_in(section.text) if section else []
    if named:
        yield Finding(
            "V12", "warning", where(document, "problem"), f"{named[0].name} is a solution, not a problem",
            "Move it to the constraints.",
        )  # fmt: skip


def vague_word(item: Item) -> str:
    """A word that promises something, with no number near it."""
    text = plain(item.text)
    for found in cues.VAGUE.finditer(text):
        near = text[max(found.start() - _NEAR, 0) : found.end() + _NEAR]
        if not any(c.isdigit() for c in near):
            return found[0]
    return ""


def check_questions(document: Document, rule: str) -> Iterator[Finding]:
    """A question that must be answered and is not makes the document not ready."""
    for item in document.items("Q"):
        if item.get("blocking") == "yes" and not item.get("answer"):
            yield Finding(
                rule, "error", where(document, "questions", item.id), f"{item.id} must be answered: {item.text}",
                f"Answer it; recommended: {item.get('default')}." if item.get("default") else "Answer it.",
            )  # fmt: skip


def check_conflicts(document: Document, rule: str) -> Iterator[Finding]:
    """Two statements that cannot both hold."""
    for one in conflicts(document.items()):
        names = " and ".join(dict.fromkeys((one.first.id, one.second.id)))
        verb = "contradict each other" if one.first.id != one.second.id else "contradicts itself"
        yield Finding(
            rule, "error", where(document, "", one.first.id), f"{names} {verb}: {one.reason}", "Keep what holds."
        )  # fmt: skip
