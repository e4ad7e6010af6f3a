"""The architecture document, section by section, out of what is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from clew.advisors.builder.diagrams import (
    LEGEND,
    container_diagram,
    context_diagram,
    outer,
)
from clew.advisors.builder.sections import assembled, gap_text, owned_risks, prose_of
from clew.advisors.documents.model import Document, Facts, Item, Section


def sections(
    facts: Facts,
    name: str,
    vision: Document | None,
    decisions: Mapping[str, str],
    records: Sequence[str] = (),
) -> tuple[Section, ...]:
    """The sections of the document; decisions are links to records by the id they are about."""
    texts = {
        "context": _context(facts, name, vision),
        "constraints": "None was named.",
        "components": gap_text(facts, "parts"),
        "container-diagram": _containers(facts, name),
        "data-flow": "\n".join(_flow(facts)) or gap_text(facts, "allocation"),
        "technology": gap_text(facts, "technology"),
        "integrations": "None was named.",
        "quality": gap_text(facts, "quality"),
        "security": gap_text(facts, "security"),
        "risks": gap_text(facts, "risks"),
        "assumptions": "None.",
        "decisions": "\n".join(records) or "No decision is recorded yet.",
        "traceability": _traceability(facts, decisions),
    }
    items = {
        "constraints": facts.constraints,
        "components": facts.components,
        "technology": _decided(facts.technologies, decisions),
        "integrations": facts.integrations,
        "quality": _decided(facts.quality_goals, decisions),
        "security": facts.of("SC"),
        "risks": owned_risks(facts),
        "assumptions": facts.assumptions,
    }
    shown = frozenset(item.id for item in vision.items()) if vision else frozenset()
    return assembled("architecture", facts, texts, items, shown=shown)


def _decided(items: Sequence[Item], decisions: Mapping[str, str]) -> tuple[Item, ...]:
    return tuple(
        replace(one, attributes={**one.attributes, "decision": decisions.get(one.id, "")})
        for one in items
    )


def _context(facts: Facts, name: str, vision: Document | None) -> str:
    about = next((one.get("category") for one in facts.of("BG") if one.get("category")), "")
    parts = [prose_of(facts.of("BG")[:3])]
    if vision:
        parts.append(f"Built on “{vision.title}”. It is there to reach:")
        aims = [f"* {one.id}: {one.with_values('target', 'deadline')}" for one in facts.objectives]
        parts.append("\n".join(aims) or "* nothing yet")
    parts += [context_diagram(facts, name, about), LEGEND]
    parts.append(f"**Where it runs.** {prose_of(facts.of('DP')) or gap_text(facts, 'hosting')}")
    return "\n\n".join(part for part in parts if part)


def _containers(facts: Facts, name: str) -> str:
    if len(facts.components) < 2 and not facts.integrations:
        only = next((f"{one.text} ({one.id})" for one in facts.components), "the system itself")
        return f"There is one part, {only}; the diagram above shows it."
    return f"{container_diagram(facts, name)}\n\n{LEGEND}"


def _flow(facts: Facts) -> Iterator[str]:
    """One numbered way through the components for each feature that one serves."""
    number = 0
    for feature in facts.features:
        serving = [one for one in facts.components if feature.id in one.references("features")]
        way = [f"{one.text} ({one.id})" for one in _reached(facts, serving)]
        said = feature.text.casefold()
        users = [one.text for one in facts.stakeholders if one.text.casefold() in said]
        if way:
            number += 1
            yield f"{number}. **{feature.id}** {feature.text}: {' → '.join([*users[:1], *way])}"


def _reached(facts: Facts, serving: Sequence[Item]) -> list[Item]:
    """The parts that serve a feature from the outer ones inwards, and the systems that they talk to."""
    parts = {one.id: one for one in facts.components}
    found: dict[str, Item] = {}
    left = outer(serving)
    while left:
        one = left.pop(0)
        if one.id not in found:
            found[one.id] = one
            left = [*(parts[name] for name in one.references("depends on") if name in parts), *left]
    named = {one.id for one in serving}
    systems = [one for one in facts.integrations if named & set(one.references("components"))]
    return [*found.values(), *systems]


def _traceability(facts: Facts, decisions: Mapping[str, str]) -> str:
    if not facts.features:
        return gap_text(facts, "features")
    rows = ["| Feature | Objective | Component | Decision |", "| --- | --- | --- | --- |"]
    for feature in facts.features:
        parts = [one.id for one in facts.components if feature.id in one.references("features")]
        uses = [
            one.id for one in facts.technologies if set(parts) & set(one.references("components"))
        ]
        links = (
            decisions.get(one, "")[1:].partition("]")[0] for one in (feature.id, *parts, *uses)
        )
        found = ", ".join(dict.fromkeys(filter(None, links)))
        rows.append(f"| {feature.id} | {feature.get('objective')} | {', '.join(parts)} | {found} |")
    return "\n".join(rows)
