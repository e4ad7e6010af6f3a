"""Rules about an architecture document: A1 to A11."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clew.advisors.builder.diagrams import diagrams_in, node_id
from clew.advisors.checks.structure import where
from clew.advisors.checks.vision import check_conflicts, check_questions, check_risks
from clew.advisors.documents.document import render_body
from clew.advisors.documents.markdown import REFERENCE
from clew.advisors.documents.model import NOT_KNOWN, Finding, same_text
from clew.advisors.extract.links import DATA_STORE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clew.advisors.documents.model import Document, Item

_BOUNDARY = re.compile(r"\btrust\b|\buntrusted\b|\bboundar", re.IGNORECASE)
_SECRETS = re.compile(r"\bsecrets?\b|\bkeys?\b|\bpasswords?\b|\bcredentials?\b", re.IGNORECASE)
_NOT_SAID = re.compile(r"\*\*[^*]+\*\*|[^.]*\bmay be needed\b[^.]*\.")
_DECISION = re.compile(r"\bADR[- ]?\d+", re.IGNORECASE)
_GENERATED = frozenset({"container-diagram", "traceability", "questions", "constraints"})


def check_architecture(document: Document, context: Sequence[Document]) -> Iterator[Finding]:
    """The rules of an architecture, next to the vision it builds on."""
    vision = next((one for one in context if one.kind == "vision"), None)
    yield from _features(document, vision)
    yield from _components(document)
    yield from _qualities(document)
    yield from _technology(document)
    yield from _integrations(document)
    yield from _connections(document)
    yield from _diagram(document)
    yield from _constraints(document, vision)
    yield from _security(document)
    yield from check_risks(document, "A10")
    yield from check_questions(document, "V13")
    yield from check_conflicts(document, "A11")


def _features(document: Document, vision: Document | None) -> Iterator[Finding]:
    served = {one for part in document.items("CP") for one in part.references("features")}
    for feature in vision.items("FE") if vision else ():
        if feature.id not in served:
            yield Finding(
                "A1", "error", where(document, "components"), f"no component serves {feature.id} ({feature.text[:60]})",
                "Add it to the features of a component.",
            )  # fmt: skip


def _components(document: Document) -> Iterator[Finding]:
    parts = document.items("CP")
    if not parts:
        yield Finding(
            "A2",
            "error",
            where(document, "components"),
            "there is no component",
            "Name at least one.",
        )
    for part in parts:
        place = where(document, "components", part.id)
        if not part.get("responsibility"):
            yield Finding(
                "A2",
                "error",
                place,
                f"{part.id} has no responsibility",
                "Say in one sentence what it does.",
            )
        if not part.get("features") and part.text != DATA_STORE and not _needed(document, part):
            yield Finding(
                "A2",
                "warning",
                place,
                f"{part.id} serves no feature",
                "Name one, or leave the component out.",
            )
    if parts and not any(part.get("data") for part in parts):
        yield Finding(
            "A2",
            "info",
            where(document, "components"),
            "nobody owns data",
            "Say which component keeps what.",
        )


def _needed(document: Document, part: Item) -> bool:
    return any(part.id in one.references("depends on") for one in document.items("CP"))


def _qualities(document: Document) -> Iterator[Finding]:
    for goal in document.items("QG"):
        placed = goal.get("components") or _DECISION.search(goal.get("decision"))
        if not goal.get("tactic") or not placed:
            lacks = "tactic" if not goal.get("tactic") else "component or decision"
            yield Finding(
                "A3", "warning", where(document, "quality", goal.id), f"{goal.id} has no {lacks}",
                "Say what is done for it, and where.",
            )  # fmt: skip


def _technology(document: Document) -> Iterator[Finding]:
    for one in document.items("TE"):
        place = where(document, "technology", one.id)
        if not one.get("reason"):
            yield Finding("A4", "error", place, f"{one.id} has no reason", "Say why it was chosen.")
        if not one.get("alternatives") and not _DECISION.search(one.get("decision")):
            yield Finding(
                "A4",
                "warning",
                place,
                f"{one.id} has no alternative",
                "Name one, or record the decision.",
            )


def _integrations(document: Document) -> Iterator[Finding]:
    for one in document.items("IN"):
        missing = [name for name in ("protocol", "format", "on failure") if not one.get(name)]
        if missing:
            yield Finding(
                "A5", "warning", where(document, "integrations", one.id),
                f"{one.id} ({one.text[:40]}) lacks: {', '.join(missing)}", "Fill in the table.",
            )  # fmt: skip


def _connections(document: Document) -> Iterator[Finding]:
    parts = {one.id: one.references("depends on") for one in document.items("CP")}
    joined = {end for one, below in parts.items() if below for end in (one, *below)}
    joined |= {part for one in document.items("IN") for part in one.references("components")}
    if len(parts) > 1:
        for name in sorted(parts.keys() - joined):
            yield Finding(
                "A6", "warning", where(document, "components", name), f"{name} is connected with nothing",
                "Say what it depends on, or leave it out.",
            )  # fmt: skip
    circle = cycle_in(parts)
    if circle:
        yield Finding(
            "A6", "warning", where(document, "components", circle[0]), f"a circle: {' → '.join(circle)}",
            "Turn one dependency around.",
        )  # fmt: skip


def cycle_in(graph: Mapping[str, Sequence[str]]) -> list[str]:
    """A circle in a graph, its first node at both ends; nothing when there is none."""
    done: set[str] = set()
    for start in graph:
        path: list[str] = []
        stack = [(start, iter(graph.get(start, ())))]
        path.append(start)
        while stack:
            node, following = stack[-1]
            below = next(following, None)
            if below is None:
                done.add(node)
                stack.pop()
                path.pop()
            elif below in path:
                return [*path[path.index(below) :], below]
            elif below not in done:
                path.append(below)
                stack.append((below, iter(graph.get(below, ()))))
    return []


def _diagram(document: Document) -> Iterator[Finding]:
    section = document.section("container-diagram")
    shown = diagrams_in(section.text) if section else []
    if not shown:
        return
    place = where(document, "container-diagram")
    in_diagram = {name for name in shown[0].declared if name.startswith(("CP", "IN"))}
    in_tables = {node_id(one.id) for prefix in ("CP", "IN") for one in document.items(prefix)}
    for name in sorted(in_tables - in_diagram):
        yield Finding(
            "A7",
            "error",
            place,
            f"{name} is in the tables, not in the diagram",
            "Have it drawn anew.",
        )
    for name in sorted(in_diagram - in_tables):
        yield Finding(
            "A7",
            "error",
            place,
            f"{name} is in the diagram, not in the tables",
            "Have it drawn anew.",
        )
    for start, label, end in shown[0].edges:
        if label.strip('" ').casefold() in {"", "uses", "use"}:
            yield Finding(
                "A7",
                "warning",
                place,
                f"the line from {start} to {end} does not say what it does",
                "Label it.",
            )


def _constraints(document: Document, vision: Document | None) -> Iterator[Finding]:
    constraints = document.items("CO") or (vision.items("CO") if vision else ())
    bodies = [
        render_body(document.kind, section)
        for section in document.sections
        if section.key not in _GENERATED
    ]
    named = set(REFERENCE.findall("\n".join(bodies)))
    goals = {same_text(one.text) for one in document.items("QG")}
    for one in constraints:
        if one.id not in named and same_text(one.text) not in goals:
            yield Finding(
                "A8", "info", where(document, "constraints", one.id), f"nothing in the architecture answers {one.id}",
                "Name it where it is met, or say that it is not about the architecture.",
            )  # fmt: skip


def _security(document: Document) -> Iterator[Finding]:
    section = document.section("security")
    text = section.text if section else ""
    known = "\n".join(line for line in text.split("\n") if NOT_KNOWN not in line)
    place = where(document, "security")
    if not _BOUNDARY.search(known):
        yield Finding(
            "A9",
            "warning",
            place,
            "no trust boundary is named",
            "Say where unchecked input enters.",
        )
    if not _SECRETS.search(_NOT_SAID.sub(" ", known)):
        yield Finding(
            "A9",
            "warning",
            place,
            "nothing about secrets",
            "Say where keys and passwords are kept.",
        )
