"""The spec that a feature needs: its body out of the documents, and out of a draft where there is one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from clew.advisors.actions.repository import Likely
from clew.advisors.actions.spec_draft import SpecDraft
from clew.advisors.documents.markdown import REFERENCE
from clew.advisors.documents.model import Document, Item, same_text
from clew.advisors.extract.similarity import tokens
from clew.advisors.extract.statements import plain, shortened

LABEL: Final = "advised"
_LONGEST_TITLE = 80
_MOST_CRITERIA = 8


@dataclass(frozen=True)
class Sources:
    """What specs are made from: the documents, and where they are in the project."""

    vision: Document
    architecture: Document | None = None
    vision_path: str = ""
    architecture_path: str = ""
    decisions: dict[str, str] = field(default_factory=dict)  # id (`ADR-0001`) to path
    test: str = ""


@dataclass(frozen=True)
class Planned:
    """One spec as the documents ask for it."""

    key: str
    feature: str
    title: str
    body: str
    labels: tuple[str, ...]
    origin: tuple[str, ...]
    informed_by: tuple[str, ...]
    after: tuple[str, ...]
    drafted: bool = False


def plan_feature(
    feature: Item, sources: Sources, draft: SpecDraft | None = None, likely: Likely | None = None
) -> Planned:
    """The spec that one feature needs, or the part of it that a draft describes."""
    parts = _components(feature.id, sources.architecture)
    names = {item.id for item in parts}
    goals = _touching(sources.architecture, "QG", names)
    chosen = [item for item in _of(sources.architecture, "TE") if _is_used(item, parts)]
    records = _decisions(feature, [*goals, *chosen], sources)
    objectives = _objectives(feature, sources.vision)
    title = _short(draft.title if draft and draft.title else feature.text) or feature.id
    lines = [f"# {title}", "", *_opening(feature, sources.vision, objectives, draft)]
    lines += ["", "## Context", "", *_context(feature, sources, objectives, parts, records)]
    if draft:
        lines += _drafted(draft, likely)
    else:
        systems = _touching(sources.architecture, "IN", names)
        boxes = _criteria(feature, sources, objectives, goals, systems)
        lines += ["", "## Acceptance Criteria", "", *boxes]
        asked = _questions(feature, sources)
        lines += ["", "## Open questions", "", *asked] if asked else []
    release = feature.get("release").partition(" ")[0]
    informed = [sources.architecture_path if parts else "", *records.values()]
    return Planned(
        draft.key if draft else feature.id,
        feature.id,
        title,
        "\n".join(lines) + "\n",
        (LABEL, feature.id, *([f"release-{release}"] if release else [])),
        (sources.vision_path,) if sources.vision_path else (),
        tuple(path for path in informed if path),
        _after(feature, parts, sources, draft.depends_on if draft else ()),
        drafted=draft is not None,
    )


def _short(words: str) -> str:
    return shortened(plain(words).rstrip("."), _LONGEST_TITLE).lstrip("# ")


def _opening(
    feature: Item, vision: Document, objectives: list[Item], draft: SpecDraft | None
) -> list[str]:
    """What is different once it is done; without a draft, who wants it and why."""
    if draft:
        return [draft.outcome]
    users = [item for item in vision.items("ST") if "primary" in item.get("role").casefold()]
    want = plain(feature.text).rstrip(".")
    who = f"As {plain(users[0].text)}, I want this: {want}" if len(users) == 1 else want
    why = (
        f", so that this is reached: {plain(objectives[0].text).rstrip('.')}" if objectives else ""
    )
    return [f"{who}{why}."]


def _drafted(draft: SpecDraft, likely: Likely | None) -> list[str]:
    lines = ["", "## Scenarios", "", *(f"- {one}" for one in draft.scenarios)]
    lines += ["", "## Acceptance Criteria", ""]
    for one in draft.criteria:
        lines += [f"- [ ] {one.text}", *([f"  check: `{one.check}`"] if one.check else [])]
    files = [f"- `{one}`" for one in draft.files]
    files += [f"- {', '.join(likely.people)} changed these most"] if files and likely and likely.people else []  # fmt: skip
    for heading, entries in (
        ("Likely touched", files),
        ("Only here", [f"- {one}" for one in draft.constraints]),
        ("Out of scope", [f"- {one}" for one in draft.out_of_scope]),
    ):
        lines += ["", f"## {heading}", "", *entries] if entries else []
    return lines


def _of(document: Document | None, prefix: str) -> tuple[Item, ...]:
    return document.items(prefix) if document else ()


def _components(feature: str, architecture: Document | None) -> list[Item]:
    return [item for item in _of(architecture, "CP") if feature in item.references("features")]


def _touching(document: Document | None, prefix: str, components: set[str]) -> list[Item]:
    found = _of(document, prefix)
    return [item for item in found if components & set(item.references("components"))]


def _is_used(technology: Item, parts: Iterable[Item]) -> bool:
    name = same_text(technology.text)
    return any(name in same_text(part.get("technology")) for part in parts)


def _decisions(feature: Item, items: Iterable[Item], sources: Sources) -> dict[str, str]:
    """The decision records that these items name, or the feature's row of the matrix."""
    rows = sources.architecture.text("traceability").splitlines() if sources.architecture else []
    named = [line for line in rows if line.startswith(f"| {feature.id} |")]
    named += [item.get("decision") for item in items]
    return {name: path for name, path in sources.decisions.items() if any(name in n for n in named)}


def _objectives(feature: Item, vision: Document) -> list[Item]:
    found = (vision.item(name) for name in feature.references("objective"))
    return [item for item in found if item is not None]


def _context(
    feature: Item,
    sources: Sources,
    objectives: list[Item],
    parts: list[Item],
    records: dict[str, str],
) -> list[str]:
    place = f" in `{sources.vision_path}`" if sources.vision_path else ""
    lines = [f"- Feature {feature.id}{place}: {feature.text}"]
    lines += [f"- Serves {item.id}: {item.text}" for item in objectives]
    for item in parts:
        duty = item.get("responsibility")
        lines.append(f"- Built in {item.id} {item.text}" + (f": {duty}" if duty else ""))
    lines += [f"- Decided in {name}: `{path}`" for name, path in records.items()]
    about = tokens(
        plain(" ".join([feature.text, *(f"{p.text} {p.get('technology')}" for p in parts)]))
    )
    limits = {
        item.id: item for one in (sources.vision, sources.architecture) for item in _of(one, "CO")
    }
    bound = [item for item in limits.values() if about & tokens(plain(item.text))]
    return [*lines, *(f"- Bound by {item.id}: {item.text}" for item in bound)]


def _criteria(
    feature: Item,
    sources: Sources,
    objectives: list[Item],
    goals: list[Item],
    systems: list[Item],
) -> list[str]:
    """What the documents measure, and a test; nothing that would fit any feature."""
    check = f"\n  check: `{sources.test}`" if sources.test else ""
    lines = [f"A test shows {feature.id}, and fails without this change{check}"]
    served = {item.id for item in objectives}
    metrics = [m for m in sources.vision.items("SM") if served & set(m.references("objective"))]
    values = ("target", "measured by", "deadline")
    lines += [f"Measure {metric.id}: {metric.with_values(*values)}" for metric in metrics]
    lines += [f"Verify {goal.id}: {_goal(goal)}" for goal in goals]
    for system in systems:
        failure = system.get("on failure")
        if failure:
            lines.append(f"Verify by a test: when {system.text} fails: {failure} ({system.id})")
    return [f"- [ ] {line}" for line in lines[:_MOST_CRITERIA]]


def _goal(goal: Item) -> str:
    tactic = goal.get("tactic").removeprefix("proposed: ")
    return f"{goal.text} (by {tactic})" if tactic else goal.text


def _questions(feature: Item, sources: Sources) -> list[str]:
    """The open questions about this feature alone; the others are in the documents."""
    found = [*sources.vision.items("Q"), *_of(sources.architecture, "Q")]
    lines = []
    for item in found:
        named = [name for name in REFERENCE.findall(item.text) if name.startswith("FE-")]
        if named == [feature.id] and not item.get("answer"):
            default = item.get("default")
            lines.append(
                f"- {item.id} {item.text}" + (f" (if unsaid: {default})" if default else "")
            )
    return lines


def _after(
    feature: Item, parts: list[Item], sources: Sources, drafted: tuple[str, ...]
) -> tuple[str, ...]:
    """The features that must be there first: named ones, and those of parts it depends on."""
    named = [*drafted, *feature.references("depends on"), *feature.references("after")]
    own = {item.id for item in parts}
    needed = {name for item in parts for name in item.references("depends on")} - own
    for item in _of(sources.architecture, "CP"):
        if item.id in needed:
            served = item.references("features")
            named += [] if feature.id in served else served
    order = [item.id for item in sources.vision.items("FE")]
    found = dict.fromkeys(name for name in named if name in order and name != feature.id)
    parts_first = tuple(f"{feature.id}/{name}" for name in drafted if name not in order)
    return (*sorted(found, key=order.index), *parts_first)
