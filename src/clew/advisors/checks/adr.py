"""Rules about decision records: D1 to D11."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clew.advisors.checks.architecture import cycle_in
from clew.advisors.checks.structure import Place
from clew.advisors.documents.adr import (
    MOVES,
    STATUSES,
    AdrDirectory,
    date_of,
    plain_title,
    reference,
    seal_in,
    seal_of,
    status_of,
    superseded_by,
    supersedes,
)
from clew.advisors.documents.model import Document, Finding, same_text
from clew.advisors.extract.similarity import tokens

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
    place = Place(name or plain_title(document))
    status = status_of(document)
    if status not in STATUSES:
        said = f"“{status}” is no status" if status else "there is no status"
        yield place.error("D1", said, f"One of: {', '.join(STATUSES)}.")
    for earlier in context:
        if earlier.kind == "adr" and same_text(earlier.title) == same_text(document.title):
            before = status_of(earlier)
            if status != before and status not in MOVES.get(before, ()):
                said = f"{before} cannot become {status}"
                yield place.error("D2", said, "Write a new record instead.")
            break
    yield from _options(document, place)
    yield from _outcome(document, place)
    if not date_of(document):
        yield place.warning("D7", "no date", "Add “date: 2026-12-31”.")
    seal = seal_in(document)
    if seal and status in {"accepted", "superseded", "deprecated"} and seal != seal_of(document):
        fix = "Take the change back, and supersede it by a new record."
        yield place.error("D8", "it was changed after it was accepted", fix)


def _text(document: Document, key: str) -> str:
    section = document.section(key)
    return f"{section.text}\n{section.after}" if section else ""


def _options(document: Document, place: Place) -> Iterator[Finding]:
    if document.section("options") is None:
        if document.section("status") is None:
            fix = "Add “## Considered Options”."
            yield place.warning("D4", "no options are considered", fix)
        return
    options = _OPTION.findall(_text(document, "options"))
    if len(options) < 2:
        yield place.error("D4", "fewer than two options", "Name what else was considered.")
    chosen = _CHOSEN.search(_text(document, "decision"))
    if not chosen:
        fix = "Write: Chosen option: “...”, because ..."
        yield place.warning("D4", "no option is chosen", fix)
    elif not any(tokens(chosen[1]) & tokens(one) for one in options):
        said = f"“{chosen[1]}” is not among the options"
        yield place.error("D4", said, "Choose one of them, or add it.")


def _outcome(document: Document, place: Place) -> Iterator[Finding]:
    decision, follows = _text(document, "decision"), _text(document, "consequences")
    if not _BECAUSE.search(f"{decision} {_text(document, 'context')}"):
        yield place.warning("D5", "no reason is given", "Write: ..., because ...")
    if not _BAD.search(f"{decision} {follows}"):
        yield place.warning("D5", "no negative consequence is named", "Say what it costs.")
    for driver in _OPTION.findall(_text(document, "drivers")):
        words = tokens(driver)
        if words and not words & tokens(f"{decision} {follows}"):
            said = f"the outcome does not speak of “{driver[:60]}”"
            yield place.warning("D9", said, "Say how it is met.")
    if document.section("confirmation") is None and document.section("status") is None:
        yield place.info("D11", "nothing says how it is checked", "Add “### Confirmation”.")


def check_directory(directory: AdrDirectory, index: str | None = None) -> list[Finding]:
    """The rules over all records of a directory, each record included."""
    found = [
        Place(one.partition(":")[0]).error("D6", f"cannot be read: {one}", "Correct the file.")
        for one in directory.unreadable
    ]
    for one in directory.files:
        found += check_record(one.document, (), one.path.name)
    found += [*_numbers(directory), *_supersessions(directory)]
    for one in directory.files:
        if index is not None and one.path.name not in index:
            said = f"{one.path.name} is not listed"
            found.append(Place("index").warning("D10", said, "Have the index written anew."))
    return found


def _numbers(directory: AdrDirectory) -> Iterator[Finding]:
    seen: dict[int, str] = {}
    last = 0
    for one in directory.files:
        place = Place(one.path.name)
        if one.number in seen:
            said = f"number {one.number} is also {seen[one.number]}"
            yield place.error("D6", said, "Give it the next number.")
        seen[one.number] = one.path.name
        titled = re.match(r"(?:ADR[- ]?)?0*(\d+)[.: ]", one.document.title, re.IGNORECASE)
        if titled and int(titled[1]) != one.number:
            yield place.error("D6", f"the title says {titled[1]}", f"Write {one.number}.")
        if last and one.number > last + 1:
            fix = "Numbers are not used again; leave it."
            yield place.info("D6", f"no record has number {last + 1}", fix)
        last = one.number


def _supersessions(directory: AdrDirectory) -> Iterator[Finding]:
    records = {one.number: one for one in directory.files}
    places = {number: Place(one.path.name) for number, one in records.items()}
    after = {number: superseded_by(one.document) for number, one in records.items()}
    before = {number: supersedes(one.document) for number, one in records.items()}
    for number in records:
        name = reference(number)
        for other in after[number]:
            if other not in records:
                said = f"{reference(other)} does not exist"
                yield places[number].error("D3", said, "Correct the link.")
            elif number not in before[other]:
                said = f"it does not say that it supersedes {name}"
                yield places[other].error("D3", said, f"Add “Supersedes {name}.”")
        for other in before[number]:
            if other in records and number not in after[other]:
                said = f"its status does not say: superseded by {name}"
                yield places[other].error("D3", said, "Change its status.")
    if circle := cycle_in({str(number): [*map(str, others)] for number, others in after.items()}):
        said = f"a circle: {' → '.join(circle)}"
        yield places[int(circle[0])].error("D3", said, "One must be last.")
