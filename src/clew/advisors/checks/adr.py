"""Rules about decision records: D1 to D11."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.advisors.checks.architecture import cycle_in
from clew.advisors.documents.adr import (
    MOVES,
    STATUSES,
    date_of,
    plain_title,
    reference,
    seal_in,
    seal_of,
    status_of,
    superseded_by,
    supersedes,
)
from clew.advisors.documents.model import Finding, same_text
from clew.advisors.extract.similarity import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.advisors.documents.adr import AdrDirectory
    from clew.advisors.documents.model import Document

_CHOSEN = re.compile(
    r"chosen option:?\s*[\"“'`*]*(.+?)[\"”'`*]*\s*(?:,|because|$)", re.IGNORECASE | re.MULTILINE
)
_BECAUSE = re.compile(r"\bbecause\b|\bsince\b|\bdue to\b|\bweil\b|ため", re.IGNORECASE)
_BAD = re.compile(
    r"\bbad\b|\bnegative\b|\bcosts?\b|\bdrawback|\bharder\b|\bbut\b|\bhowever\b|\brisk\b|\bNachteil|\bmust\b",
    re.IGNORECASE,
)
_OPTION = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.+)$", re.MULTILINE)


def check_record(
    document: Document, context: Sequence[Document], name: str = ""
) -> Iterator[Finding]:
    """The rules of one record; an earlier version of it in the context shows illegal moves."""
    place = name or plain_title(document)
    status = status_of(document)
    if status not in STATUSES:
        shown = f"“{status}” is no status" if status else "there is no status"
        yield Finding("D1", "error", place, shown, f"One of: {', '.join(STATUSES)}.")
    earlier = next(
        (
            one
            for one in context
            if one.kind == "adr" and same_text(one.title) == same_text(document.title)
        ),
        None,
    )
    if earlier and status != status_of(earlier) and status not in MOVES.get(status_of(earlier), ()):
        yield Finding(
            "D2", "error", place, f"{status_of(earlier)} cannot become {status}", "Write a new record instead."
        )  # fmt: skip
    yield from _options(document, place)
    yield from _outcome(document, place)
    if not date_of(document):
        yield Finding("D7", "warning", place, "no date", "Add “date: 2026-12-31”.")
    seal = seal_in(document)
    if seal and status in {"accepted", "superseded", "deprecated"} and seal != seal_of(document):
        yield Finding(
            "D8", "error", place, "it was changed after it was accepted", "Take the change back, and supersede it by a new record."
        )  # fmt: skip


def _text(document: Document, key: str) -> str:
    section = document.section(key)
    return f"{section.text}\n{section.after}" if section else ""


def _options(document: Document, place: str) -> Iterator[Finding]:
    if document.section("options") is None:
        if document.section("status") is None:
            yield Finding(
                "D4", "warning", place, "no options are considered", "Add “## Considered Options”."
            )
        return
    options = _OPTION.findall(_text(document, "options"))
    if len(options) < 2:
        yield Finding(
            "D4", "error", place, "fewer than two options", "Name what else was considered."
        )
    chosen = _CHOSEN.search(_text(document, "decision"))
    if not chosen:
        yield Finding(
            "D4",
            "warning",
            place,
            "no option is chosen",
            "Write: Chosen option: “...”, because ...",
        )
    elif not any(tokens(chosen[1]) & tokens(one) for one in options):
        yield Finding(
            "D4",
            "error",
            place,
            f"“{chosen[1]}” is not among the options",
            "Choose one of them, or add it.",
        )


def _outcome(document: Document, place: str) -> Iterator[Finding]:
    decision, follows = _text(document, "decision"), _text(document, "consequences")
    if not _BECAUSE.search(f"{decision} {_text(document, 'context')}"):
        yield Finding("D5", "warning", place, "no reason is given", "Write: ..., because ...")
    if not _BAD.search(f"{decision} {follows}"):
        yield Finding(
            "D5", "warning", place, "no negative consequence is named", "Say what it costs."
        )
    for driver in _OPTION.findall(_text(document, "drivers")):
        words = tokens(driver)
        if words and not words & tokens(f"{decision} {follows}"):
            yield Finding(
                "D9",
                "warning",
                place,
                f"the outcome does not speak of “{driver[:60]}”",
                "Say how it is met.",
            )
    if document.section("confirmation") is None and document.section("status") is None:
        yield Finding(
            "D11", "info", place, "nothing says how it is checked", "Add “### Confirmation”."
        )


def check_directory(directory: AdrDirectory, index: str | None = None) -> list[Finding]:
    """The rules over all records of a directory, each record included."""
    found = [
        Finding("D6", "error", one.partition(":")[0], f"cannot be read: {one}", "Correct the file.")
        for one in directory.unreadable
    ]
    for one in directory.files:
        found += check_record(one.document, (), one.path.name)
    found += [*_numbers(directory), *_supersessions(directory)]
    if index is not None:
        found += [
            Finding(
                "D10",
                "warning",
                "index",
                f"{one.path.name} is not listed",
                "Have the index written anew.",
            )
            for one in directory.files
            if one.path.name not in index
        ]
    return found


def _numbers(directory: AdrDirectory) -> Iterator[Finding]:
    seen: dict[int, str] = {}
    expected = 0
    for one in directory.files:
        name = one.path.name
        if one.number in seen:
            yield Finding(
                "D6",
                "error",
                name,
                f"number {one.number} is also {seen[one.number]}",
                "Give it the next number.",
            )
        seen[one.number] = name
        titled = re.match(r"(?:ADR[- ]?)?0*(\d+)[.: ]", one.document.title, re.IGNORECASE)
        if titled and int(titled[1]) != one.number:
            yield Finding(
                "D6", "error", name, f"the title says {titled[1]}", f"Write {one.number}."
            )
        if expected and one.number > expected + 1:
            yield Finding(
                "D6",
                "info",
                name,
                f"no record has number {expected + 1}",
                "Numbers are not used again; leave it.",
            )
        expected = one.number


def _supersessions(directory: AdrDirectory) -> Iterator[Finding]:
    records = {one.number: one for one in directory.files}
    for number, one in records.items():
        for other in superseded_by(one.document):
            if other not in records:
                yield Finding(
                    "D3",
                    "error",
                    one.path.name,
                    f"{reference(other)} does not exist",
                    "Correct the link.",
                )
            elif number not in supersedes(records[other].document):
                yield Finding(
                    "D3", "error", records[other].path.name, f"it does not say that it supersedes {reference(number)}",
                    f"Add “Supersedes {reference(number)}.”",
                )  # fmt: skip
        for other in supersedes(one.document):
            if other in records and number not in superseded_by(records[other].document):
                yield Finding(
                    "D3", "error", records[other].path.name, f"its status does not say: superseded by {reference(number)}",
                    "Change its status.",
                )  # fmt: skip
    graph = {str(n): [str(o) for o in superseded_by(one.document)] for n, one in records.items()}
    circle = cycle_in(graph)
    if circle:
        yield Finding(
            "D3",
            "error",
            records[int(circle[0])].path.name,
            f"a circle: {' → '.join(circle)}",
            "One must be last.",
        )
