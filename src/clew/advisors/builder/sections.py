"""What all built documents share: the lead, prose of statements, gaps, open questions, risks."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Final

from clew.advisors.documents.model import NOT_KNOWN, Facts, Item, Section, templated
from clew.advisors.documents.templates import TEMPLATES, Kind
from clew.advisors.extract.questions import FIRST, about, as_items, open_for
from clew.advisors.extract.statements import inline

_SOURCES: Final = (
    "Each statement names its source: `text:3` is line 3 of the description, `answer:Q-2` an answer, "
    "`file:README.md:5` a line of a file, `from BO-1` follows from another statement, and `default:Q-2` is "
    "what holds until somebody answers."
)
_ASKED: Final = "Write the answer below a question as `- Answer: ...`, or give it to the advisor; `yes` takes the default."
_SET_ASIDE: Final = "This text speaks to a reader's tools, not about the project. It is kept here as a quotation and was not followed."
_NUMBERS: Final = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
)  # fmt: skip


def assembled(
    kind: Kind,
    facts: Facts,
    texts: Mapping[str, str],
    items: Mapping[str, tuple[Item, ...]],
    *,
    shown: Container[str] = (),
) -> tuple[Section, ...]:
    """The sections of a document in order; its texts stand where there are no items."""
    asked = open_for(facts, kind)
    aside = tuple(one for one in facts.of("SA") if one.id not in shown)
    more = f" The first {FIRST} matter most." if len(asked) > FIRST else ""
    texts = {**texts, "questions": "None.", "set-aside": ""}
    items = {**items, "questions": as_items(asked), "set-aside": aside}
    leads = {"questions": f"{_ASKED}{more}", "set-aside": _SET_ASIDE}
    return tuple(
        templated(kind, key, leads.get(key, ""), items[key])
        if items.get(key)
        else templated(kind, key, texts.get(key, ""))
        for key, template in TEMPLATES[kind].items()
        if items.get(key) or texts.get(key) or template.required
    )


def lead(facts: Facts, kind: Kind) -> str:
    """The lines below the title: how far the document is, and how to read its sources."""
    asked = open_for(facts, kind)
    blocking = [one.id for one in asked if one.blocking]
    if blocking:
        named = f"[{', '.join(blocking[:FIRST])}](#open-questions)"
        count = _count(len(blocking), "question").capitalize()
        more = " first" if len(blocking) > FIRST else ""
        state = f"**Draft.** {count} must be answered before work can start ({named}{more})"
        rest = len(asked) - len(blocking)
        state += f"; {_count(rest, 'more')} can wait." if rest else "."
    elif asked:
        state = f"**Draft.** Nothing is in the way; {_count(len(asked), 'question')} can still be [answered](#open-questions)."
    else:
        state = "**Complete.** No question is open."
    return f"> {state}\n>\n> {_SOURCES}"


def _count(number: int, noun: str) -> str:
    shown = _NUMBERS[number] if number < len(_NUMBERS) else str(number)
    return f"{shown} {noun}" if number == 1 or noun == "more" else f"{shown} {noun}s"


def gap_text(facts: Facts, topic: str) -> str:
    """The text of a section about which nothing is known."""
    asked = about(facts, topic) if topic else ""
    return f"{NOT_KNOWN}: {asked} asks." if asked else f"{inline(NOT_KNOWN)}."


def prose_of(items: Iterable[Item]) -> str:
    """Statements as paragraphs, one for each source."""
    paragraphs: dict[str, list[str]] = {}
    for item in items:
        ended = item.text.endswith((".", "!", "?", "。", "…", ":", ")"))
        paragraphs.setdefault(item.source, []).append(item.text if ended else f"{item.text}.")
    return "\n\n".join(f"{' '.join(texts)} _({source})_" for source, texts in paragraphs.items())


def owned_risks(facts: Facts) -> tuple[Item, ...]:
    """The risks as a document shows them; without an owner they are `unassigned`."""
    return tuple(
        replace(one, attributes={**one.attributes, "owner": one.get("owner") or "unassigned"})
        for one in facts.risks
    )
