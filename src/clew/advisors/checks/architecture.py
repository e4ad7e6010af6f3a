"""Rules about an architecture document: A1 to A11."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from clew.advisors.checks.structure import Needed, check_needed, where
from clew.advisors.checks.vision import RISK, RISK_FIX, check_conflicts, check_questions
from clew.advisors.documents.document import render_body
from clew.advisors.documents.markdown import REFERENCE
from clew.advisors.documents.model import NOT_KNOWN, Document, Finding, same_text

_BOUNDARY = re.compile(r"\btrust|\buntrusted\b|\bboundar|vertrau|信頼|境界", re.IGNORECASE)
_SECRETS = re.compile(
    r"\bsecrets?\b|\bkeys?\b|\bpasswords?\b|\bcredentials?\b|\btokens?\b|\bcertificates?\b"
    r"|passw[oö]rt|schlüssel|geheim|zertifikat|zugangsdaten|パスワード|秘密|鍵|トークン|認証情報",
    re.IGNORECASE,
)
_DECISION = re.compile(r"\bADR[- ]?\d+", re.IGNORECASE)
_NEEDED: Final = (
    Needed("CP", "A2", "components", "error", "Say in one sentence what it does.", ("responsibility",)),
    Needed("TE", "A4", "technology", "error", "Say why it was chosen.", ("reason",)),
    Needed("IN", "A5", "integrations", "warning", "Fill in the table.", ("protocol", "format", "on failure")),
    Needed("RI", "A10", "risks", "warning", RISK_FIX, RISK),
)  # fmt: skip
_GENERATED = frozenset({"container-diagram", "traceability", "questions", "constraints"})


def check_architecture(document: Document, context: Sequence[Document]) -> Iterator[Finding]:
    """The rules of an architecture, next to the vision it builds on."""
    vision = next((one for one in context if one.kind == "vision"), None)
    yield from _features(document, vision)
    yield from _components(document)
    yield from _qualities(document)
    yield from _technology(document)
    yield from _connections(document)
    yield from _constraints(document, vision)
    yield from _security(document)
    yield from check_needed(document, _NEEDED)
    yield from check_questions(document)
    yield from check_conflicts(document, "A11")


def _features(document: Document, vision: Document | None) -> Iterator[Finding]:
    served = {one for part in document.items("CP") for one in part.references("features")}
    for feature in vision.items("FE") if vision else ():
        if feature.id not in served:
            said = f"no component serves {feature.id} ({feature.text[:60]})"
            fix = "Add it to the features of a component."
            yield where(document, "components").error("A1", said, fix)


def _components(document: Document) -> Iterator[Finding]:
    parts = document.items("CP")
    section = where(document, "components")
    needed = {one for part in parts for one in part.references("depends on")}
    if not parts:
        yield section.error("A2", "there is no component", "Name at least one.")
    for part in parts:
        place = where(document, "components", part.id)
        if not part.get("features") and part.id not in needed:
            fix = "Name one, or leave the component out."
            yield place.warning("A2", f"{part.id} serves no feature", fix)
    if parts and not any(part.get("data") for part in parts):
        yield section.info("A2", "nobody owns data", "Say which component keeps what.")


def _qualities(document: Document) -> Iterator[Finding]:
    for goal in document.items("QG"):
        placed = goal.get("components") or _DECISION.search(goal.get("decision"))
        if not goal.get("tactic") or not placed:
            lacks = "tactic" if not goal.get("tactic") else "component or decision"
            place = where(document, "quality", goal.id)
            fix = "Say what is done for it, and where."
            yield place.warning("A3", f"{goal.id} has no {lacks}", fix)


def _technology(document: Document) -> Iterator[Finding]:
    for one in document.items("TE"):
        place = where(document, "technology", one.id)
        if not one.get("alternatives") and not _DECISION.search(one.get("decision")):
            fix = "Name one, or record the decision."
            yield place.warning("A4", f"{one.id} has no alternative", fix)


def _connections(document: Document) -> Iterator[Finding]:
    parts = {one.id: one.references("depends on") for one in document.items("CP")}
    joined = {end for one, below in parts.items() if below for end in (one, *below)}
    joined |= {part for one in document.items("IN") for part in one.references("components")}
    for name in sorted(parts.keys() - joined) if len(parts) > 1 else ():
        place = where(document, "components", name)
        fix = "Say what it depends on, or leave it out."
        yield place.warning("A6", f"{name} is connected with nothing", fix)
    if circle := cycle_in(parts):
        place = where(document, "components", circle[0])
        yield place.warning("A6", f"a circle: {' → '.join(circle)}", "Turn one dependency around.")


def cycle_in(graph: Mapping[str, Sequence[str]]) -> list[str]:
    """A circle in a graph, its first node at both ends; nothing when there is none."""
    done: set[str] = set()
    for start in graph:
        path = [start]
        stack = [(start, iter(graph.get(start, ())))]
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
            place = where(document, "constraints", one.id)
            fix = "Name it where it is met, or say that it is not about the architecture."
            yield place.info("A8", f"nothing in the architecture answers {one.id}", fix)


def _security(document: Document) -> Iterator[Finding]:
    section = document.section("security")
    body = render_body(document.kind, section) if section else ""
    known = "\n".join(line for line in body.split("\n") if NOT_KNOWN not in line)
    place = where(document, "security")
    if not _BOUNDARY.search(known):
        fix = "Say where unchecked input enters."
        yield place.warning("A9", "no trust boundary is named", fix)
    if not _SECRETS.search(known):
        fix = "Say where keys and passwords are kept."
        yield place.warning("A9", "nothing about secrets", fix)
