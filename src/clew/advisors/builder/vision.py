"""The Vision & Scope document, section by section, out of what is known."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from clew.advisors.builder.sections import assembled, gap_text, owned_risks, prose_of
from clew.advisors.documents.model import NOT_KNOWN, Facts, Item, Section, same_text
from clew.advisors.extract import patterns
from clew.advisors.extract.questions import about

DIMENSIONS: Final = ("Features", "Quality", "Schedule", "Cost", "Staff")
UNDECIDED: Final = "not decided"
UNTITLED: Final = "Untitled project"
_LIMITS: Final = {
    "Schedule": re.compile(
        r"\bdeadline\b|\blaunch\b|\bno later than\b|\bspätestens\b|期限|までに", re.IGNORECASE
    ),
    "Cost": re.compile(r"\bbudget\b|\bcosts?\b|[$€£]|\bEUR\b|\bUSD\b|予算|万円", re.IGNORECASE),
    "Staff": re.compile(
        r"\bteam of\b|\b(?:developers?|engineers?|people) (?:are|is) available\b|\b\w+ developers?\b",
        re.IGNORECASE,
    ),
}
_SHOWN: Final = frozenset({"baseline", "target", "state", "question", "said", "source"})
# What a section says when nobody has said anything about it: the question on this topic.
_TOPICS: Final = {
    "background": "",
    "problem": "problem",
    "objectives": "objectives",
    "metrics": "objectives",
    "risks": "risks",
    "features": "features",
    "exclusions": "exclusions",
    "stakeholders": "users",
    "constraints": "constraints",
    "priorities": "priorities",
}


def sections(facts: Facts, name: str) -> tuple[Section, ...]:
    """The sections of the document, from facts whose questions have their numbers."""
    texts = {
        **{key: gap_text(facts, topic) for key, topic in _TOPICS.items()},
        "vision": statement(facts, name),
        "assumptions": "None.",
        "deployment": prose_of(facts.of("DP")),
    }
    for key, prefix in (("background", "BG"), ("problem", "PB")):
        texts[key] = prose_of(facts.of(prefix)) or texts[key]
    items = {
        "objectives": _shown(facts.objectives),
        "metrics": facts.metrics,
        "risks": owned_risks(facts),
        "assumptions": _shown(facts.assumptions),
        "features": _features(facts),
        "exclusions": facts.exclusions,
        "stakeholders": facts.stakeholders,
        "constraints": facts.constraints,
        "priorities": _priorities(facts),
    }
    return assembled("vision", facts, texts, items)


def statement(facts: Facts, name: str) -> str:
    """The vision in keyword form, with what is known; each gap names its question."""
    about_product = next((one for one in facts.of("BG") if one.get("category")), None)
    users = [one.text for one in facts.stakeholders if one.get("role") == "primary user"]
    need = next(iter(facts.of("PB")), None)
    goal = next(iter(facts.objectives), None)
    benefit = about_product.get("benefit") if about_product else ""
    lines = {
        "For:": ", ".join(users[:6]) or gap_text(facts, "users"),
        "whose problem is:": f"{need.text} _({need.source})_"
        if need
        else gap_text(facts, "problem"),
        _subject(name, about_product): _category(about_product) or f"{NOT_KNOWN}.",
        "that should:": benefit
        or (f"{goal.text} _({goal.id})_" if goal else gap_text(facts, "objectives")),
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


def _shown(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The items with the attributes that a reader needs."""
    return tuple(
        replace(one, attributes={name: one.get(name) for name in one.attributes if name in _SHOWN})
        for one in items
    )


def _features(facts: Facts) -> tuple[Item, ...]:
    assumed = about(facts, "release")
    items = [
        one if one.get("release") else one.but(release="1 (assumed)" if assumed else "1")
        for one in facts.features
    ]
    return tuple(sorted(items, key=lambda one: one.get("release") == "later"))


def _priorities(facts: Facts) -> tuple[Item, ...]:
    """The five dimensions: what is fixed by a constraint, what gives way; none if all are open."""
    decided = {one.text: one.attributes for one in facts.of("PR")}
    asked = about(facts, "priorities")
    undecided = {"kind": UNDECIDED, "reason": f"{asked} asks" if asked else ""}
    found = [decided.get(name) or _fixed(facts, name) or undecided for name in DIMENSIONS]
    if all(one.get("kind") == UNDECIDED for one in found):
        return ()
    return tuple(
        Item(f"PR-{number}", name, attributes)
        for number, (name, attributes) in enumerate(zip(DIMENSIONS, found, strict=True), 1)
    )


def _fixed(facts: Facts, name: str) -> dict[str, str]:
    for item in (*facts.constraints, *facts.of("BG")) if name in _LIMITS else ():
        dated = name != "Schedule" or patterns.DATE.search(item.text)
        if _LIMITS[name].search(item.text) and dated:
            reason = item.id if item.prefix == "CO" else item.text
            return {"kind": "constraint", "reason": reason, "source": item.source}
    return {}
