"""All checks: the same document gives the same findings, each with a rule, a place and a fix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from clew.advisors.checks.adr import check_record
from clew.advisors.checks.architecture import check_architecture
from clew.advisors.checks.structure import check_raw, check_structure
from clew.advisors.checks.vision import check_vision
from clew.advisors.documents.document import parse
from clew.advisors.documents.model import Document, Finding, Question
from clew.advisors.documents.templates import Kind

_ORDER: Final = {"error": 0, "warning": 1, "info": 2}


def check_document(
    document: Document, *, context: Sequence[Document] = (), path: Path | None = None
) -> list[Finding]:
    """The findings of a document, errors first. With its path, links to files are checked too."""
    found = [*check_structure(document, context, path)]
    if document.kind == "vision":
        found += check_vision(document)
    elif document.kind == "architecture":
        found += check_architecture(document, context)
    else:
        found += check_record(document, context)
    return in_order(found)


def check_text(
    text: str, kind: Kind, *, context: Sequence[Document] = (), path: Path | None = None
) -> list[Finding]:
    """The findings of a text, with those that only the raw text shows."""
    return in_order(
        [*check_raw(text, kind), *check_document(parse(text, kind), context=context, path=path)]
    )


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """The findings by severity, otherwise as they were found."""
    return sorted(findings, key=lambda one: _ORDER[one.severity])


def is_ready(findings: Iterable[Finding], questions: Iterable[Question] = ()) -> bool:
    """Whether work can start: no error, and no question that must be answered first."""
    no_error = all(one.severity != "error" for one in findings)
    return no_error and not any(one.blocking for one in questions)
