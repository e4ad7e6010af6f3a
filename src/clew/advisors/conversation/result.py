"""What a turn says back: one text for people and models, and the same as data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from clew.advisors.conversation.sections import DERIVED, RULES
from clew.advisors.conversation.turn import TurnResult
from clew.advisors.documents.document import render
from clew.advisors.documents.model import Brief
from clew.advisors.extract.questions import FIRST

MOST_FINDINGS: Final = 30


def turn_text(result: TurnResult) -> str:
    """The document and, below it, where it is and what is next."""
    parts = [render(replace(result.document, metadata={})).rstrip()]
    if not result.main.path:
        parts += [f"---\n\n{one.text.rstrip()}" for one in result.records]
    return "\n\n".join([*parts, "---", footer(result)]) + "\n"


def footer(result: TurnResult) -> str:
    """Where the documents are, who wrote them, what the checks say, what is asked."""
    main = result.main
    place = f"{main.path} ({main.action})" if main.path else f"{main.action}, not in a file"
    skipped = f" Skipped: {'; '.join(result.skipped)}." if result.skipped else ""
    ready = "ready" if result.ready else "not ready"
    counts = f"{_counted(result, 'error')}, {_counted(result, 'warning')}"
    lines = [
        f"{main.title}: {place}",
        *(
            f"Decision: {one.title}" + (f" ({one.path}, {one.action})" if one.path else "")
            for one in result.records
        ),
        f"Conversation: {result.conversation.id} (version {result.version})",
        f"Written by: {result.writer}.{skipped}",
        f"Checks: {ready} ({counts})",
        *(f"Note: {note}." for note in result.notes),
    ]
    asked = result.questions
    if asked:
        lines.append(f"Open questions: {len(asked)}, the first ones are")
    text = "\n".join(f"- {line}" for line in lines)
    for one in asked[:FIRST]:
        default = f" (default: {one.default})" if one.default else ""
        text += f"\n  - {one.id} {one.text}{default}"
    return text


def _counted(result: TurnResult, severity: str) -> str:
    number = _count(result, severity)
    return f"{number} {severity}{'' if number == 1 else 's'}"


def _count(result: TurnResult, severity: str) -> int:
    return sum(one.severity == severity for one in result.findings)


def turn_data(result: TurnResult, tool: str) -> dict[str, Any]:
    """The result as programs read it."""
    conversation_id = result.conversation.id
    return {
        "output": turn_text(result),
        "conversation_id": conversation_id,
        "version": result.version,
        "documents": [one.as_json() for one in (result.main, *result.records)],
        "questions": [one.as_json() for one in result.questions[:FIRST]],
        "questions_open": len(result.questions),
        "checks": {
            "ready": result.ready,
            "errors": _count(result, "error"),
            "warnings": _count(result, "warning"),
            "findings": [one.as_json() for one in result.findings[:MOST_FINDINGS]],
        },
        "writer": result.writer,
        "authors": result.authors,
        "skipped": list(result.skipped),
        "notes": list(result.notes),
        "brief": brief_data(result.brief, tool, conversation_id),
    }


def brief_data(brief: Brief, tool: str, conversation_id: str) -> dict[str, Any]:
    """The brief as a result carries it; the known text is the document itself."""
    return {
        "how": (
            f"Call {tool} again with conversation_id {conversation_id} and `answers` "
            '({"Q-1": "..."}) or `sections` ({"objectives": "Markdown"}).'
        ),
        "rules": list(RULES),
        "sections": [
            {"key": one.key, "heading": one.heading, "gaps": [*one.gaps], "rules": [*one.rules]}
            for one in brief.sections
            if one.key not in DERIVED and (one.gaps or one.rules)
        ],
    }
