"""The architecture document, section by section, out of what is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from clew.advisors.builder.diagrams import (
    LEGEND,
    container_diagram,
    context_diagram,
    people_of_parts,
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
        parts.append(
            "\n".join(f"* {one.id}: {one.text}" for one in facts.objectives) or "* nothing yet"
        )
    parts += [context_diagram(facts, name, about), LEGEND]
    parts.append(f"**Where it runs.** {prose_of(facts.of('DP')) or gap_text(facts, 'hosting')}")
    return "\n\n".join(part for part in parts if part)


def _containers(facts: Facts, name: str) -> str:
    if len(facts.components) < 2 and not facts.integrations:
        only = next((f"{one.text} ({one.id})" for one in facts.components), "the system itself")
        return f"There is one part, {only}; the diagram above shows it."
    return f"{container_diagram(facts, name)}\n\n{LEGEND}"


def _flow(facts: Facts) -> Iterator[str]:
    """One numbered way through the components for each feature."""
    people = [(person.text, part.id) for person, part in people_of_parts(facts)]
    parts = {one.id: one for one in facts.components}
    served = [
        (feature, part)
        for feature in facts.features
        for part in facts.components
        if feature.id in part.references("features")
    ]
    for number, (feature, part) in enumerate(served, 1):
        said = feature.text.casefold()
        way = [who for who, used in people if used == part.id and who.casefold() in said][:1]
        way.append(f"{part.text} ({part.id})")
        way += [
            f"{parts[one].text} ({one})" for one in part.references("depends on") if one in parts
        ]
        systems = [one for one in facts.integrations if part.id in one.references("components")]
        way += [f"{one.text} ({one.id})" for one in systems if one.text.casefold() in said]
        yield f"{number}. **{feature.id}** {feature.text}: {' → '.join(way)}"


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
