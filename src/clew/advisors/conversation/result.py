"""What a turn says back: what was taken, refused and left out, what is asked, and the next call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from clew.advisors.conversation.turn import TurnResult
from clew.advisors.documents.document import render
from clew.advisors.documents.model import Finding
from clew.advisors.drafts.briefing import briefing, next_call
from clew.advisors.drafts.draft import shown_refusals
from clew.advisors.extract.questions import FIRST
from clew.kit.jsontext import dumps
from clew.kit.text.display import clipped

MOST_SHOWN: Final = 10
# Findings that an open question on a topic asks about: they are not told twice.
_ASKED: Final = {
    "V1": "BO.target", "V2": "SM.measured by", "V3": "measures", "V4": "exclusions", "V5": "users",
    "V6": "RI.mitigation", "V8": "FE.release", "V12": "FE.objective", "A1": "allocation", "A5": "IN.on failure",
    "A9": "security",
}  # fmt: skip
_QUESTIONED: Final = frozenset({"V13"})  # a question that must be answered is asked as such
_LONGEST: Final = 110
_AFTER: Final = {
    "vision": "the vision is ready. Go on with `architecture_agent`, or with `refine_agent` for specs.",
    "architecture": "the architecture is ready. Go on with `refine_agent` for specs; the user accepts decisions.",
}


def turn_text(result: TurnResult, tool: str, *, show: bool = False) -> str:
    """The answer: short once somebody has read the text; before that, what is to be read.

    The document itself is in its file. Notes that are in no file, and what was asked for by
    `show`, are in the answer.
    """
    parts = []
    if show or (result.unread and not result.main.path):
        parts += [document_text(result), "---"]
    lines = frozenset(one.line for one in result.gaps) if not result.unread else frozenset()
    to_read = result.unread or (result.told and bool(lines))
    parts.append(footer(result, ask=not to_read))
    if to_read:
        known, kind = result.facts, result.main.kind
        parts.append(briefing(known, kind, tool, result.conversation.id, _name(result), only=lines))
    elif not result.ready:
        todo = "; ".join(_todo(result))
        parts.append(f"Next: {todo}.\n`{tool}` `{_next(result)}`")
    else:
        parts.append(f"Next: {_AFTER[result.main.kind]}")
    return "\n\n".join(parts) + "\n"


def document_text(result: TurnResult) -> str:
    """The document, and the new records that are in no file."""
    records = [f"---\n\n{one.text.rstrip()}" for one in result.records if not one.path]
    return "\n\n".join([render(replace(result.document, metadata={})).rstrip(), *records])


def _name(result: TurnResult) -> str:
    return result.document.title.partition(": ")[2]


def _todo(result: TurnResult) -> Iterator[str]:
    """What stands between this document and being ready, as tasks."""
    if result.refused:
        refs = ", ".join(dict.fromkeys(one.ref for one in result.refused[:MOST_SHOWN]))
        yield f"send {refs} again, mended, under the same ref"
    if result.gaps:
        yield "cite each passage listed above in a statement, or set it aside (kind `aside`)"
    if must := _must(result):
        yield f"ask the user {', '.join(must)}, do not answer for them"
    if any(one.severity == "error" for one in _told(result)):
        yield "mend what the checks call an error"


def _must(result: TurnResult) -> list[str]:
    """The questions that hold the document up: blocking ones, and those that an error asks."""
    wrong = {_ASKED.get(one.rule) for one in result.findings if one.severity == "error"}
    return [one.id for one in result.questions if one.blocking or one.topic in wrong]


def _next(result: TurnResult) -> str:
    call = next_call(result.main.kind, result.conversation.id, _name(result))
    call["draft"] = {"statements": ["..."]} if result.refused or result.gaps else None
    asked = _must(result) or [one.id for one in result.questions[:1]]
    if asked:
        call["answers"] = dict.fromkeys(asked, "...")
    return dumps({key: value for key, value in call.items() if value is not None})


def footer(result: TurnResult, *, ask: bool = True) -> str:
    """Where the documents are, what the judge says, what is asked."""
    main = result.main
    place = f"{main.path} ({main.action})" if main.path else f"{main.action}, not in a file"
    cost = f" ({result.cost})" if result.cost else ""
    skipped = f" Skipped: {'; '.join(result.skipped)}." if result.skipped else ""
    lines = [
        f"- {main.title}: {place}",
        *(
            f"- Decision: {one.title}" + (f" ({one.path})" if one.path else "")
            for one in result.records
        ),
        f"- Conversation: {result.conversation.id} (version {result.version})",
        f"- Written by: {result.writer}{cost}.{skipped}",
        *_judged(result),
        *(f"- Note: {note}." for note in result.notes),
    ]
    asked = result.questions if ask else ()
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
    if result.reworded:
        shown = "; ".join(f"{one.ref} {one.reason}" for one in result.reworded[:MOST_SHOWN])
        more = len(result.reworded) - MOST_SHOWN
        shown += f"; and {more} more" if more > 0 else ""
        yield f"- The quote is the text, for words that are not there (add the line that has them, or use its words): {shown}"
    if result.unread:
        left = len(result.facts.of("NP"))
        yield f"- Notes, unread: {left} sentences are not placed; checks: {_counts(result)}"
        return
    gaps = result.gaps
    missing = f"{len(gaps)} passage{' is' if len(gaps) == 1 else 's are'} not"
    covered = f"{result.coverage.percent} % of the source is cited"
    yield f"- Coverage: {covered}; {missing}:" if gaps else f"- Coverage: {covered}"
    yield from (
        f"  - line {one.line}: “{clipped(one.text, _LONGEST)}”" for one in gaps[:MOST_SHOWN]
    )
    if result.facts.of("SA"):
        yield f"- Set aside as saying nothing: {len(result.facts.of('SA'))} passages"
    yield f"- Checks: {'ready' if result.ready else 'not ready'} ({_counts(result)})"
    yield from (
        f"  - {one.rule} {one.severity}: {clipped(one.message, _LONGEST)}. {one.fix}"
        for one in _told(result)[:MOST_SHOWN]
    )


def _told(result: TurnResult) -> list[Finding]:
    """The findings that are told: no remarks, and none that an open question asks about."""
    topics = {one.topic for one in result.questions}
    return [
        one
        for one in result.findings
        if one.severity != "info"
        and one.rule not in _QUESTIONED
        and _ASKED.get(one.rule, "") not in topics
    ]


def _count(result: TurnResult, severity: str) -> int:
    return sum(one.severity == severity for one in result.findings)


def _counts(result: TurnResult) -> str:
    counts = {word: _count(result, word) for word in ("error", "warning")}
    return ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for word, n in counts.items())


def turn_data(result: TurnResult, tool: str, *, show: bool = False) -> dict[str, Any]:
    """The result as programs read it."""
    conversation_id = result.conversation.id
    return {
        "output": turn_text(result, tool, show=show),
        "conversation_id": conversation_id,
        "version": result.version,
        "documents": [one.as_json() for one in (result.main, *result.records)],
        "ids": result.ids,
        "refused": [one._asdict() for one in result.refused[:MOST_SHOWN]],
        "reworded": [one._asdict() for one in result.reworded[:MOST_SHOWN]],
        "coverage": {
            "percent": result.coverage.percent,
            "gaps": len(result.coverage.gaps),
            "uncited": [one._asdict() for one in result.gaps[:MOST_SHOWN]],
        },
        "questions": [one.as_json() for one in result.questions[:FIRST]],
        "questions_open": len(result.questions),
        "checks": {
            "ready": result.ready,
            "read": not result.unread,
            "errors": _count(result, "error"),
            "warnings": _count(result, "warning"),
            "findings": [one.as_json() for one in _told(result)[:MOST_SHOWN]],
        },
        "writer": result.writer,
        "authors": result.authors,
        "skipped": list(result.skipped),
        "cost": result.cost,
        "notes": list(result.notes),
        "brief": {
            "how": f"Call {tool} again with conversation_id {conversation_id} and `draft` or `answers`.",
            "next": next_call(result.main.kind, conversation_id, _name(result)),
        },
    }
