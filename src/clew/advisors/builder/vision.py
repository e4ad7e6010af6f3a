"""The Vision & Scope document, section by section, out of what is known."""

from __future__ import annotations

from typing import Final

from clew.advisors.builder.sections import assembled, gap_text, owned_risks, prose_of
from clew.advisors.documents.model import Facts, Item, Section

UNTITLED: Final = "Untitled project"
# What a section says when nobody has said anything about it: the question on this topic.
_TOPICS: Final = {
    "background": "", "problem": "problem", "objectives": "objectives", "metrics": "measures",
    "risks": "risks", "features": "features", "exclusions": "exclusions", "stakeholders": "users",
    "constraints": "constraints", "priorities": "priorities",
}  # fmt: skip


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
        "objectives": facts.objectives,
        "metrics": facts.metrics,
        "risks": owned_risks(facts),
        "assumptions": facts.assumptions,
        "features": _features(facts),
        "exclusions": facts.exclusions,
        "stakeholders": facts.stakeholders,
        "constraints": facts.constraints,
        "priorities": facts.of("PR"),
    }
    return assembled("vision", facts, texts, items)


def statement(facts: Facts, name: str) -> str:
    """The vision in keyword form, with what is known; each gap names its question."""
    users = [one.text for one in facts.stakeholders if "primary" in one.get("role")]
    need = next(iter(facts.of("PB")), None)
    goal = next(iter(facts.objectives), None)
    category = next((one.get("category") for one in facts.of("BG") if one.get("category")), "")
    lines = {
        "For:": ", ".join(users[:6]) or gap_text(facts, "users"),
        "whose problem is:": need.text if need else gap_text(facts, "problem"),
        f"{name} is:": category,
        "that should:": f"{goal.text} _({goal.id})_" if goal else gap_text(facts, "objectives"),
    }
    return "\n".join(f"- **{label}** {text}" for label, text in lines.items() if text)


def _features(facts: Facts) -> tuple[Item, ...]:
    """The features as a table shows them, those of later releases last."""
    items = [one.filled(release="1 (assumed)") for one in facts.features]
    return tuple(sorted(items, key=lambda one: one.get("release") == "later"))
