"""What an advisor says back: one text for people and models, and the same as data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from clew.advisors.conversation.brief import brief_data
from clew.advisors.documents.document import render
from clew.advisors.extract.questions import FIRST

if TYPE_CHECKING:
    from clew.advisors.actions.refine import Refined
    from clew.advisors.actions.review import Review
    from clew.advisors.conversation.turn import Said
    from clew.advisors.documents.model import Finding, Question

MOST_FINDINGS: Final = 30
_WORST: Final = {"error": 0, "warning": 1, "info": 2}


def said_text(said: Said) -> str:
    """The document and, below it, where it is and what is next."""
    parts = [render(replace(said.document, metadata={})).rstrip()]
    if not said.main.path:
        parts += [f"---\n\n{one.text.rstrip()}" for one in said.records]
    return "\n\n".join([*parts, "---", footer(said)]) + "\n"


def footer(said: Said) -> str:
    """Where the documents are, who wrote them, what the checks say, what is asked."""
    lines = [_place(said)]
    lines += [
        f"Decision: {one.title}" + (f" ({one.path}, {one.action})" if one.path else "")
        for one in said.records
    ]
    lines.append(f"Conversation: {said.conversation.id} (version {said.version})")
    skipped = f" Skipped: {'; '.join(said.skipped)}." if said.skipped else ""
    lines.append(f"Written by: {said.writer}.{skipped}")
    lines.append(f"Checks: {checks_line(said.findings, ready=said.ready)}")
    lines += [f"Note: {note}." for note in said.notes]
    lines += _question_lines(said.questions)
    return "\n".join(f"- {line}" if not line.startswith(" ") else line for line in lines)


def _place(said: Said) -> str:
    if not said.main.path:
        return f"{said.main.title}: {said.main.action}, not in a file"
    return f"{said.main.title}: {said.main.path} ({said.main.action})"


def checks_line(findings: tuple[Finding, ...], *, ready: bool) -> str:
    """The verdict and the counts."""
    errors = sum(one.severity == "error" for one in findings)
    warnings = sum(one.severity == "warning" for one in findings)
    words = "ready" if ready else "not ready"
    return f"{words} ({_counted(errors, 'error')}, {_counted(warnings, 'warning')})"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _question_lines(asked: tuple[Question, ...]) -> list[str]:
    if not asked:
        return []
    lines = [f"Open questions: {len(asked)}, the first ones are"]
    for one in asked[:FIRST]:
        default = f" (if unsaid: {one.default})" if one.default else ""
        lines.append(f"  - {one.id} {one.text}{default}")
    return lines


def ordered(findings: tuple[Finding, ...]) -> list[Finding]:
    """The findings, the worst first."""
    return sorted(findings, key=lambda one: _WORST[one.severity])


def said_data(said: Said, tool: str) -> dict[str, Any]:
    """The result as programs read it."""
    conversation_id = said.conversation.id
    listed = ordered(said.findings)
    return {
        "output": said_text(said),
        "conversation_id": conversation_id,
        "version": said.version,
        "documents": [one.as_json() for one in (said.main, *said.records)],
        "questions": [one.as_json() for one in said.questions[:FIRST]],
        "questions_open": len(said.questions),
        "checks": {
            "ready": said.ready,
            "errors": sum(one.severity == "error" for one in listed),
            "warnings": sum(one.severity == "warning" for one in listed),
            "findings": [one.as_json() for one in listed[:MOST_FINDINGS]],
        },
        "writer": said.writer,
        "authors": said.authors,
        "skipped": list(said.skipped),
        "notes": list(said.notes),
        "brief": brief_data(said.brief, tool, conversation_id),
    }


def refined_text(done: list[Refined]) -> str:
    """The specs, one line each."""
    if not done:
        return "The vision has no features yet, so there is nothing to make specs of."
    lines = [
        f"- {one.spec_id} {one.action}: {one.title} ({one.feature})"
        + (f"; {one.note}" if one.note else "")
        for one in done
    ]
    return "\n".join(lines)


def review_text(found: Review) -> str:
    """The verdict, the findings and the criteria."""
    size = f"{len(found.diff.changes)} files, {found.diff.added} added lines"
    skipped = f" Skipped: {'; '.join(found.skipped)}." if found.skipped else ""
    lines = [
        f"# Review of {found.spec_id}: {found.title}",
        "",
        f"Verdict: {found.verdict}. {found.diff.source}: {size}.",
        f"Looked at by: {found.writer}.{skipped}",
        "",
    ]
    lines += [
        f"- {one.severity} {one.rule} {one.location}: {one.message}. {one.fix}"
        for one in ordered(found.findings)
    ] or ["The checks found nothing. Whether it is right they cannot tell."]
    lines += ["", "## Criteria", ""]
    opinions = {one["number"]: one for one in found.opinions}
    for judged in found.criteria:
        one = judged.criterion
        lines.append(f"{one.number}. [{'x' if one.checked else ' '}] {one.text}")
        if judged.places:
            lines.append(f"   - see {', '.join(judged.places)}")
        if one.number in opinions:
            opinion = opinions[one.number]
            lines.append(f"   - model: {opinion['state']}. {opinion['reason']}")
    return "\n".join(lines) + "\n"


def review_data(found: Review) -> dict[str, Any]:
    """The review as programs read it."""
    return {
        "output": review_text(found),
        "spec_id": found.spec_id,
        "verdict": found.verdict,
        "changes": {
            "source": found.diff.source,
            "files": [change.path for change in found.diff.changes],
            "added": found.diff.added,
        },
        "criteria": [one.as_json() for one in found.criteria],
        "findings": [one.as_json() for one in ordered(found.findings)],
        "opinions": list(found.opinions),
        "writer": found.writer,
        "skipped": list(found.skipped),
    }
