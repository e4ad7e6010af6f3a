"""What all built documents share: the lead, prose of statements, gaps, open questions, risks."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from typing import Final

from clew.advisors.documents.model import NOT_KNOWN, Facts, Item, Section, templated
from clew.advisors.documents.templates import TEMPLATES, Kind
from clew.advisors.drafts.draft import coverage_of, is_read
from clew.advisors.drafts.kinds import HIDDEN
from clew.advisors.extract.questions import about, as_items, open_for
from clew.advisors.extract.statements import inline

ENOUGH: Final = 90
_ASKED: Final = "Write the answer below a question as `- Answer: ...`, or give it to the advisor; `yes` takes the default."
_UNPLACED: Final = "Said in the source, and not yet a statement of any kind."


def assembled(
    kind: Kind,
    facts: Facts,
    texts: Mapping[str, str],
    items: Mapping[str, tuple[Item, ...]],
    *,
    shown: Container[str] = (),
) -> tuple[Section, ...]:
    """The sections of a document in order; its texts stand where there are no items."""
    left = tuple(one for one in _left(facts, kind) if one.id not in shown)
    asked = tuple(one.but(why="", options="") for one in as_items(open_for(facts, kind)))
    texts = {**texts, "questions": "None.", "unplaced": ""}
    items = {**items, "questions": asked, "unplaced": left}
    leads = {"questions": _ASKED, "unplaced": _UNPLACED}
    return tuple(
        templated(kind, key, leads.get(key, ""), visible(items[key]))
        if items.get(key)
        else templated(kind, key, texts.get(key, ""))
        for key, template in TEMPLATES[kind].items()
        if items.get(key) or texts.get(key) or template.required
    )


def _left(facts: Facts, kind: Kind) -> tuple[Item, ...]:
    """What is not a statement yet: what the notes did not place, or what no statement cites."""
    if not is_read(facts, kind):
        return facts.of("NP")
    return tuple(
        Item(
            f"NP-{number}", inline(re.sub(r"\*\*|__", "", gap.text)), {"source": f"text:{gap.line}"}
        )
        for number, gap in enumerate(coverage_of(facts, kind).gaps, 1)
    )


def visible(items: Iterable[Item]) -> tuple[Item, ...]:
    """The items with what a reader needs."""
    return tuple(
        replace(one, attributes={k: v for k, v in one.attributes.items() if k not in HIDDEN})
        for one in items
    )


def lead(facts: Facts, kind: Kind) -> str:
    """The lines below the title: how far the document is, and how to read its sources."""
    if not is_read(facts, kind):
        left = len(facts.of("NP"))
        count = f"{left} sentences are" if left != 1 else "one sentence is"
        state = "**Notes, unread.** Sorted by headings and words only"
        return (
            f"> {state}{f'; {count} not placed' if left else ''}. `text:3` is line 3 of the text."
        )
    blocking = [one.id for one in open_for(facts, kind) if one.blocking]
    percent = coverage_of(facts, kind).percent
    state = f"**Draft.** {percent} % of the source is cited"
    state += f"; to be answered first: [{', '.join(blocking)}](#open-questions)" if blocking else ""
    return f"> {state}. `text:3` is line 3 of the source, `answer:Q-2` an answer."


def gap_text(facts: Facts, topic: str) -> str:
    """The text of a section about which nothing is known."""
    asked = about(facts, topic) if topic else ""
    return f"{NOT_KNOWN}: {asked} asks." if asked else f"{NOT_KNOWN}."


def prose_of(items: Iterable[Item]) -> str:
    """Statements as a paragraph, with the source behind those that share one."""
    said: dict[str, list[str]] = {}
    for item in items:
        ended = item.text.endswith((".", "!", "?", "。", "…", ":", ")"))
        said.setdefault(item.source, []).append(item.text if ended else f"{item.text}.")
    return " ".join(f"{' '.join(texts)} _({source})_" for source, texts in said.items())


def owned_risks(facts: Facts) -> tuple[Item, ...]:
    """The risks as a document shows them; without an owner they are `unassigned`."""
    return tuple(one.filled(owner="unassigned") for one in facts.risks)
