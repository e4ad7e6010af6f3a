"""The architecture document, section by section, out of what is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from clew.advisors.builder.diagrams import (
    LEGEND,
    container_diagram,
    context_diagram,
    people_of_parts,
)
from clew.advisors.builder.sections import assembled, gap_text, owned_risks, prose_of
from clew.advisors.documents.model import Document, Facts, Item, Section, same_text
from clew.advisors.extract.gaps import answer_to
from clew.advisors.extract.lexicon import ALTERNATIVES
from clew.advisors.extract.links import DATA_STORE

TACTICS: Final = {
    "performance": "measure it in every build; one query per page; nothing slow while somebody waits",
    "availability": "watch it from outside; restart by itself; no single part whose failure stops all",
    "capacity": "test with that load before release; keep no state in the process",
    "security": "check input where it enters; least rights; encrypt on the way and at rest",
    "privacy": "keep only what is needed; delete by schedule; log who reads personal data",
    "accessibility": "semantic pages; keyboard and screen reader in the tests",
    "offline use": "keep a local copy; bring both sides together when the network is back",
    "reliability": "write in transactions; back up daily; practise restoring",
    "usability": "watch five people use it before each release",
}
_ON_DATA: Final = frozenset({"privacy", "reliability"})


def prepared(facts: Facts) -> Facts:
    """The facts with what only an architecture needs: who talks to which system, and tactics."""
    parts = [one for one in facts.components if one.text != DATA_STORE]
    for system in facts.integrations:
        if system.get("components") or not parts:
            continue
        naming = {one.id for one in facts.features if system.text.casefold() in one.text.casefold()}
        serving = [part.id for part in parts if naming & set(part.references("features"))]
        facts = facts.replacing(system.but(components=", ".join(serving or [parts[0].id])))
    for goal in facts.quality_goals:
        facts = facts.replacing(_with_tactic(goal, facts))
    return facts


def _with_tactic(goal: Item, facts: Facts) -> Item:
    on_data = goal.get("attribute") in _ON_DATA
    stores = [one.id for one in facts.components if one.text == DATA_STORE]
    others = [one.id for one in facts.components if one.text != DATA_STORE]
    tactic = TACTICS.get(goal.get("attribute"), "")
    return goal.filled(
        tactic=f"proposed: {tactic}" if tactic else "",
        components=", ".join((stores if on_data else []) or others),
    )


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
        "container-diagram": f"{container_diagram(facts, name)}\n\n{LEGEND}",
        "data-flow": "\n".join(_flow(facts)) or gap_text(facts, "features"),
        "technology": gap_text(facts, "language"),
        "integrations": "None was named.",
        "quality": gap_text(facts, "quality"),
        "security": _security(facts),
        "risks": gap_text(facts, "risks"),
        "assumptions": "None.",
        "decisions": "\n".join(records) or "No decision is recorded yet.",
        "traceability": _traceability(facts, decisions),
    }
    items = {
        "constraints": facts.constraints,
        "components": facts.components,
        "technology": tuple(_technology(facts, one, decisions) for one in facts.technologies),
        "integrations": facts.integrations,
        "quality": facts.quality_goals,
        "risks": owned_risks(facts),
        "assumptions": tuple(one.but(topic="") for one in facts.assumptions),
    }
    shown = frozenset(item.id for item in vision.items()) if vision else frozenset()
    return assembled("architecture", facts, texts, items, shown=shown)


def _context(facts: Facts, name: str, vision: Document | None) -> str:
    about = next((one for one in facts.of("BG") if one.get("category")), None)
    parts = [prose_of(facts.of("BG")[:3])]
    if vision:
        goals = ", ".join(one.id for one in facts.objectives) or "none yet"
        features = ", ".join(one.id for one in facts.features) or "none yet"
        parts.append(f"Built on “{vision.title}”. Objectives: {goals}. Features: {features}.")
    category = about.get("category") if about else ""
    shown = "" if same_text(category) == same_text(name) else category
    parts.append(context_diagram(facts, name, shown))
    parts.append(LEGEND)
    hosting = prose_of(facts.of("DP")) or gap_text(facts, "hosting")
    parts.append(f"**Where it runs.** {hosting}")
    return "\n\n".join(part for part in parts if part)


def _flow(facts: Facts) -> Iterator[str]:
    """One numbered way through the components for each feature."""
    people = [(person, part.id) for person, part in people_of_parts(facts)]
    stores = {one.id: one for one in facts.components}
    served = {one.id: set(one.references("features")) for one in facts.components}
    number = 0
    for feature in facts.features:
        for part in facts.components:
            if feature.id not in served[part.id]:
                continue
            number += 1
            actors = [
                person.text
                for person, used in people
                if used == part.id and person.text.casefold() in feature.text.casefold()
            ]
            way = [*actors[:1], f"{part.text} ({part.id})"]
            way += [
                f"{stores[one].text} ({one})"
                for one in part.references("depends on")
                if one in stores
            ]
            way += [
                f"{system.text} ({system.id})"
                for system in facts.integrations
                if system.text.casefold() in feature.text.casefold()
            ]
            yield f"{number}. **{feature.id}** {feature.text}: {' → '.join(way)}"


def _technology(facts: Facts, one: Item, decisions: Mapping[str, str]) -> Item:
    use, compared = one.get("used for"), one.get("alternatives")
    other = ALTERNATIVES.get(use, "")
    shown = {
        "used for": use,
        "reason": _reason(facts, one),
        "alternatives": compared or (f"not compared: {other}" if other else ""),
        "decision": decisions.get(one.id, ""),
        "source": one.source,
    }
    return replace(one, attributes=shown)


def _reason(facts: Facts, technology: Item) -> str:
    """The constraint that names it, or the words in which it was named."""
    asked = [
        one.id for one in facts.constraints if technology.text.casefold() in one.text.casefold()
    ]
    if asked:
        return f"{', '.join(asked)} asks for it"
    return technology.get("reason").replace("named: ", "named in: ") or "named"


def _security(facts: Facts) -> str:
    entries: dict[str, list[str]] = {}
    for person, part in people_of_parts(facts):
        entries.setdefault(part.id, []).append(person.text)
    lines = ["**Trust boundary.** Input that nobody has checked enters:", ""]
    lines += [f"- at {part_id}, from {', '.join(people)}" for part_id, people in entries.items()]
    lines += [
        f"- at {one.get('components') or 'the system'}, with what {one.text} ({one.id}) sends back"
        for one in facts.integrations
    ]
    if len(lines) == 2:
        lines.append("- wherever people or other systems reach it; none was named")
    decided = answer_to(facts, "security")
    secrets = f"{decided}." if decided else gap_text(facts, "security")
    needing = ", ".join(f"{one.text} ({one.id})" for one in facts.integrations)
    if needing:
        secrets += f" Credentials may be needed for {needing}."
    return "\n".join([*lines, "", f"**Rights and secrets.** {secrets}"])


def _traceability(facts: Facts, decisions: Mapping[str, str]) -> str:
    if not facts.features:
        return gap_text(facts, "features")
    technology = {one.text: one.id for one in facts.technologies}
    rows = ["| Feature | Objective | Component | Decision |", "| --- | --- | --- | --- |"]
    served = {one.id: set(one.references("features")) for one in facts.components}
    for feature in facts.features:
        parts = [one for one in facts.components if feature.id in served[one.id]]
        names = [name.strip() for part in parts for name in part.get("technology").split(",")]
        about = [part.id for part in parts] + [technology.get(name, "") for name in names]
        links = dict.fromkeys(_short(decisions.get(one, "")) for one in about)
        rows.append(
            f"| {feature.id} | {feature.get('objective')} | {', '.join(one.id for one in parts)} "
            f"| {', '.join(filter(None, links))} |"
        )
    return "\n".join(rows)


def _short(link: str) -> str:
    return link[1:].partition("]")[0]
