"""The Vision & Scope document, section by section, out of what is known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from clew.advisors.documents.model import NOT_KNOWN, Item, Section, same_text, template_of
from clew.advisors.extract import patterns as cues
from clew.advisors.extract.questions import FIRST, about, as_items, open_for
from clew.advisors.extract.statements import inline

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from clew.advisors.documents.model import Facts, Kind, Question

DIMENSIONS: Final = ("Features", "Quality", "Schedule", "Cost", "Staff")
UNDECIDED: Final = "not decided"
UNTITLED: Final = "Untitled project"
_STAFF = re.compile(
    r"\bteam of\b|\b(?:developers?|engineers?|people) (?:are|is) available\b|\b\w+ developers?\b",
    re.IGNORECASE,
)
_COST = re.compile(r"\bbudget\b|\bcosts?\b|[$€£]|\bEUR\b|\bUSD\b|予算|万円", re.IGNORECASE)
_SCHEDULE = re.compile(
    r"\bdeadline\b|\blaunch\b|\bno later than\b|\bspätestens\b|期限|までに", re.IGNORECASE
)
_SHOWN: Final = {
    "BO": ("baseline", "target", "source"),
    "AS": ("state", "question", "said", "source"),
}


def sections(facts: Facts, name: str) -> tuple[Section, ...]:
    """The sections of the document, from facts whose questions have their numbers."""
    asked = open_for(facts, "vision")
    made = [
        _section("business", ""),
        _prose(facts, "background", "BG", ""),
        _prose(facts, "problem", "PB", "problem"),
        _items(facts, "objectives", "BO", "objectives"),
        _items(facts, "metrics", "SM", "objectives"),
        _section("vision", statement(facts, name)),
        _risks(facts, "vision"),
        _section("assumptions", "" if facts.assumptions else "None.", _shown(facts.assumptions)),
        _section("scope", ""),
        _features(facts),
        _items(facts, "exclusions", "EX", "exclusions"),
        _section("context", ""),
        _items(facts, "stakeholders", "ST", "users"),
        _items(facts, "constraints", "CO", "constraints"),
        _priorities_section(facts),
        _prose(facts, "deployment", "DP", ""),
        questions_section("vision", asked),
        set_aside(facts, "vision"),
    ]
    return tuple(one for one in made if one)


def lead(asked: list[Question], sources: str) -> str:
    """The lines below the title: how far the document is, and how to read its sources."""
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
    return f"> {state}\n>\n> {sources}"


SOURCES: Final = (
    "Each statement names its source: `text:3` is line 3 of the description, `answer:Q-2` an answer, "
    "`file:README.md:5` a line of a file, `from BO-1` follows from another statement, and `default:Q-2` is "
    "what holds until somebody answers."
)


def statement(facts: Facts, name: str) -> str:
    """The vision in keyword form, with what is known; each gap names its question."""
    about_product = next((one for one in facts.of("BG") if one.get("category")), None)
    users = [one.text for one in facts.stakeholders if one.get("role") == "primary user"]
    need = next(iter(facts.of("PB")), None)
    goal = next(iter(facts.objectives), None)
    benefit = about_product.get("benefit") if about_product else ""
    lines = {
        "For:": ", ".join(users[:6]) or _gap(facts, "users"),
        "whose problem is:": f"{need.text} _({need.source})_" if need else _gap(facts, "problem"),
        _subject(name, about_product): _category(about_product) or f"{NOT_KNOWN}.",
        "that should:": benefit
        or (f"{goal.text} _({goal.id})_" if goal else _gap(facts, "objectives")),
        "unlike:": about_product.get("unlike") if about_product else "",
    }
    return "\n".join(f"- **{label}** {text}" for label, text in lines.items() if text)


def _subject(name: str, about_product: Item | None) -> str:
    category = about_product.get("category") if about_product else ""
    return "it is:" if same_text(name) in map(same_text, (UNTITLED, category)) else f"{name} is:"


def _category(about_product: Item | None) -> str:
    if not about_product:
        return ""
    return f"{about_product.get('category')} _({about_product.source})_"


def questions_section(kind: Kind, asked: list[Question]) -> Section:
    """The open questions, the most important first."""
    if not asked:
        return _section("questions", "None.", kind=kind)
    text = "Write the answer below a question as `- Answer: ...`, or give it to the advisor; `yes` takes the default."
    if len(asked) > FIRST:
        text += f" The first {FIRST} matter most."
    return _section("questions", text, as_items(asked), kind=kind)


def set_aside(facts: Facts, kind: Kind, *, shown: Container[str] = ()) -> Section | None:
    """Text that speaks to the reader's tools; shown as a quotation once, never followed."""
    found = tuple(one for one in facts.of("SA") if one.id not in shown)
    if not found:
        return None
    text = "This text speaks to a reader's tools, not about the project. It is kept here as a quotation and was not followed."
    return _section("set-aside", text, _shown(found), kind=kind)


def risks(facts: Facts) -> tuple[Item, ...]:
    """The risks as a document shows them."""
    return tuple(
        Item(one.id, one.text, {**one.attributes, "owner": one.get("owner") or "unassigned"})
        for one in facts.risks
    )


def gap_text(facts: Facts, topic: str) -> str:
    """What stands in a section about which nothing is known."""
    return _gap(facts, topic)


def prose_of(items: Iterable[Item]) -> str:
    """Statements as paragraphs, one for each source."""
    paragraphs: dict[str, list[str]] = {}
    for item in items:
        paragraphs.setdefault(item.source, []).append(_sentence(item.text))
    return "\n\n".join(f"{' '.join(texts)} _({source})_" for source, texts in paragraphs.items())


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "。", "…", ":", ")")) else f"{text}."


def _section(
    key: str, text: str, items: tuple[Item, ...] = (), *, kind: Kind = "vision"
) -> Section:
    template = template_of(kind, key)
    assert template is not None
    return Section(key, template.heading, template.level, text, items)


def _prose(facts: Facts, key: str, prefix: str, topic: str) -> Section | None:
    text = prose_of(facts.of(prefix))
    if not text and not topic and key != "background":
        return None
    return _section(key, text or _gap(facts, topic))


def _items(facts: Facts, key: str, prefix: str, topic: str) -> Section:
    items = _shown(facts.of(prefix))
    return _section(key, "" if items else _gap(facts, topic), items)


def _risks(facts: Facts, kind: Kind) -> Section:
    found = risks(facts)
    return _section("risks", "" if found else _gap(facts, "risks"), found, kind=kind)


def _shown(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The items with the attributes that a reader needs."""
    shown = []
    for item in items:
        names = _SHOWN.get(item.prefix)
        kept = {k: v for k, v in item.attributes.items() if names is None or k in names}
        shown.append(Item(item.id, item.text, kept))
    return tuple(shown)


def _features(facts: Facts) -> Section:
    assumed = about(facts, "release")
    items = [
        one if one.get("release") else one.but(release="1 (assumed)" if assumed else "1")
        for one in facts.features
    ]
    ordered = sorted(items, key=lambda one: one.get("release") == "later")
    return _section("features", "" if ordered else _gap(facts, "features"), tuple(ordered))


def _priorities_section(facts: Facts) -> Section:
    found = _priorities(facts)
    if all(one.get("kind") == UNDECIDED for one in found):
        return _section("priorities", _gap(facts, "priorities"))
    return _section("priorities", "", found)


def _priorities(facts: Facts) -> tuple[Item, ...]:
    """The five dimensions: what is fixed by a constraint, what gives way, what nobody decided."""
    decided = {one.text: one for one in facts.of("PR")}
    patterns = {"Schedule": _SCHEDULE, "Cost": _COST, "Staff": _STAFF}
    asked = about(facts, "priorities")
    found = []
    for number, name in enumerate(DIMENSIONS, 1):
        fixed = _fixed(facts, patterns[name], name) if name in patterns else None
        if name in decided:
            attributes = decided[name].attributes
        elif fixed:
            reason = fixed.id if fixed.prefix == "CO" else fixed.text
            attributes = {"kind": "constraint", "reason": reason, "source": fixed.source}
        else:
            attributes = {"kind": UNDECIDED, "reason": f"{asked} asks" if asked else ""}
        found.append(Item(f"PR-{number}", name, attributes))
    return tuple(found)


def _fixed(facts: Facts, pattern: re.Pattern[str], name: str) -> Item | None:
    for item in (*facts.constraints, *facts.of("BG")):
        dated = name != "Schedule" or cues.DATE.search(item.text)
        if pattern.search(item.text) and dated:
            return item
    return None


def _gap(facts: Facts, topic: str) -> str:
    asked = about(facts, topic) if topic else ""
    return f"{NOT_KNOWN}: {asked} asks." if asked else f"{inline(NOT_KNOWN)}."


def _count(number: int, noun: str) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    shown = words[number] if number < len(words) else str(number)
    return f"{shown} {noun}" if number == 1 or noun == "more" else f"{shown} {noun}s"
