"""What a turn says back: what was taken, refused and left out, what is asked, and the next call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from clew.advisors.conversation.turn import TurnResult
from clew.advisors.documents.document import render
from clew.advisors.drafts.briefing import RULES, briefing, next_call
from clew.advisors.drafts.draft import shown_refusals
from clew.advisors.extract.questions import FIRST
from clew.kit.jsontext import dumps
from clew.kit.text.display import clipped

MOST_SHOWN: Final = 10
_LONGEST: Final = 110


def turn_text(result: TurnResult, tool: str, *, show: bool = False) -> str:
    """The answer: short once somebody has read the text; before that, what is to be read.

    The document itself is in its file. Notes that are in no file, and what was asked for by
    `show`, are in the answer.
    """
    parts = []
    if show or (result.unread and not result.main.path):
        parts += [document_text(result), "---"]
    parts.append(footer(result))
    if result.unread:
        parts.append(
            briefing(result.facts, result.main.kind, tool, result.conversation.id, _name(result))
        )
    elif not result.ready:
        parts.append(f"Next call, with only what changes: `{tool}` `{_next(result)}`")
    return "\n\n".join(parts) + "\n"


def document_text(result: TurnResult) -> str:
    """The document, and the new records that are in no file."""
    records = [f"---\n\n{one.text.rstrip()}" for one in result.records if not one.path]
    return "\n\n".join([render(replace(result.document, metadata={})).rstrip(), *records])


def _name(result: TurnResult) -> str:
    return result.document.title.partition(": ")[2]


def _next(result: TurnResult) -> str:
    call = next_call(result.main.kind, result.conversation.id, _name(result))
    call["draft"] = {"statements": ["..."]} if result.refused or result.coverage.gaps else None
    if result.questions:
        call["answers"] = {result.questions[0].id: "..."}
    return dumps({key: value for key, value in call.items() if value is not None})


def footer(result: TurnResult) -> str:
    """Where the documents are, what the judge says, what is asked."""
    main = result.main
    place = f"{main.path} ({main.action})" if main.path else f"{main.action}, not in a file"
    skipped = f" Skipped: {'; '.join(result.skipped)}." if result.skipped else ""
    lines = [
        f"- {main.title}: {place}",
        *(
            f"- Decision: {one.title}" + (f" ({one.path})" if one.path else "")
            for one in result.records
        ),
        f"- Conversation: {result.conversation.id} (version {result.version})",
        f"- Written by: {result.writer}.{skipped}",
        *_judged(result),
        *(f"- Note: {note}." for note in result.notes),
    ]
    asked = result.questions
    if asked:
        lines.append(f"- Open questions: {len(asked)}, the first ones are")
    for one in asked[:FIRST]:
        more = [f"one of {', '.join(one.options)}"] if one.options else []
        more += [f"default: {one.default}"] if one.default else []
        must = "must be answered: " if one.blocking else ""
        lines.append(f"  - {one.id} {must}{one.text}" + (f" ({'; '.join(more)})" if more else ""))
    return "\n".join(lines)


def _judged(result: TurnResult) -> Iterator[str]:
    if result.ids:
        yield f"- Taken: {', '.join(f'{ref}={item}' for ref, item in result.ids.items())}"
    if result.refused:
        yield f"- Refused: {len(result.refused)}"
        yield from (f"  {line}" for line in shown_refusals(result.refused, MOST_SHOWN))
    if result.unread:
        left = len(result.facts.of("NP"))
        yield f"- Notes, unread: {left} sentences are not placed; checks: {_counts(result)}"
        return
    gaps = result.coverage.gaps
    missing = f"{len(gaps)} passage{' is' if len(gaps) == 1 else 's are'} not"
    covered = f"{result.coverage.percent} % of the source is cited"
    yield f"- Coverage: {covered}; {missing}:" if gaps else f"- Coverage: {covered}"
    yield from (
        f"  - line {one.line}: “{clipped(one.text, _LONGEST)}”" for one in gaps[:MOST_SHOWN]
    )
    if result.facts.of("SA"):
        yield f"- Set aside as saying nothing: {len(result.facts.of('SA'))} passages"
    yield f"- Checks: {'ready' if result.ready else 'not ready'} ({_counts(result)})"
    found = [one for one in result.findings if one.severity != "info"]
    yield from (
        f"  - {one.rule} {clipped(one.message, _LONGEST)}. {one.fix}" for one in found[:MOST_SHOWN]
    )


def _counts(result: TurnResult) -> str:
    return ", ".join(_counted(result, one) for one in ("error", "warning"))


def _counted(result: TurnResult, severity: str) -> str:
    number = _count(result, severity)
    return f"{number} {severity}{'' if number == 1 else 's'}"


def _count(result: TurnResult, severity: str) -> int:
    return sum(one.severity == severity for one in result.findings)


def turn_data(result: TurnResult, tool: str, *, show: bool = False) -> dict[str, Any]:
    """The result as programs read it."""
    conversation_id = result.conversation.id
    return {
        "output": turn_text(result, tool, show=show),
        "conversation_id": conversation_id,
        "version": result.version,
        "documents": [one.as_json() for one in (result.main, *result.records)],
        "ids": result.ids,
        "refused": [one.as_json() for one in result.refused[:MOST_SHOWN]],
        "coverage": {
            "percent": result.coverage.percent,
            "gaps": len(result.coverage.gaps),
            "uncited": [one.as_json() for one in result.coverage.gaps[:MOST_SHOWN]],
        },
        "questions": [one.as_json() for one in result.questions[:FIRST]],
        "questions_open": len(result.questions),
        "checks": {
            "ready": result.ready,
            "read": not result.unread,
            "errors": _count(result, "error"),
            "warnings": _count(result, "warning"),
            "findings": [one.as_json() for one in result.findings[:MOST_SHOWN]],
        },
        "writer": result.writer,
        "authors": result.authors,
        "skipped": list(result.skipped),
        "notes": list(result.notes),
        "brief": {
            "how": f"Call {tool} again with conversation_id {conversation_id} and `draft` or `answers`.",
            "rules": list(RULES),
            "next": next_call(result.main.kind, conversation_id, _name(result)),
        },
    }
