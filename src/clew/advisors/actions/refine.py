"""On to work: the features of a vision as specs, with criteria, dependencies and links back.

Each feature has one spec, known by the field `advised`. A second run finds it again: it is brought
up to date while nobody has touched it, and left alone once somebody has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from clew.advisors.documents.markdown import REFERENCE
from clew.advisors.documents.model import Document, Item, same_text
from clew.advisors.extract.statements import plain
from clew.kit.jsontext import dumps
from clew.specs.model import Changes, Spec
from clew.specs.store.store import SpecStore

FIELD = "advised"
LABEL = "advised"
LATER = "later"
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


@dataclass(frozen=True)
class Planned:
    """One spec as the documents ask for it."""

    feature: str
    title: str
    body: str
    labels: tuple[str, ...]
    origin: tuple[str, ...]
    informed_by: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class Refined:
    """What became of one feature."""

    feature: str
    spec_id: str
    title: str
    action: str  # created, updated, unchanged, kept
    note: str = ""

    def as_json(self) -> dict[str, str]:
        """The fields by name."""
        names = {"spec_id": "id"}
        return {names.get(key, key): value for key, value in vars(self).items()}


def refine(store: SpecStore, sources: Sources, *, later: bool = False, actor: str) -> list[Refined]:
    """Make or update the specs of all features; of later releases only if asked."""
    known = _known_specs(store)
    plans = [
        plan_feature(item, sources)
        for item in sources.vision.items("FE")
        if later or not _is_later(item) or item.id in known
    ]
    done: dict[str, Refined] = {}
    for plan in _ordered(plans):
        ids = [done[name].spec_id for name in plan.after if name in done]
        done[plan.feature] = _written(store, plan, known.get(plan.feature), ids, actor)
    gone = [spec for feature, spec in known.items() if sources.vision.item(feature) is None]
    note = "no such feature now"
    lost = [Refined(_mark(one)["feature"], one.id, one.title or "", "kept", note) for one in gone]
    return [*done.values(), *lost]


def refined_text(done: list[Refined]) -> str:
    """The specs, one line each."""
    if not done:
        return "The vision has no features yet, so there is nothing to make specs of."
    return "\n".join(
        f"- {one.spec_id} {one.action}: {one.title} ({one.feature})"
        + (f"; {one.note}" if one.note else "")
        for one in done
    )


def _is_later(item: Item) -> bool:
    return item.get("release").strip().casefold() == LATER


def _mark(spec: Spec) -> dict[str, str]:
    found = spec.fields.get(FIELD)
    return found if isinstance(found, dict) else {}


def _known_specs(store: SpecStore) -> dict[str, Spec]:
    """The specs that were made from features, archived ones too."""
    known: dict[str, Spec] = {}
    for head in store.heads(archived=True):
        if LABEL in head.labels:
            spec = store.read(head)
            feature = _mark(spec).get("feature")
            if feature:
                known.setdefault(feature, spec)
    return known


def _ordered(plans: list[Planned]) -> list[Planned]:
    """What others wait for comes first; waiting in a circle is cut where it closes."""
    by_feature = {plan.feature: plan for plan in plans}
    placed: list[Planned] = []
    seen: set[str] = set()

    def place(plan: Planned) -> None:
        if plan.feature not in seen:
            seen.add(plan.feature)
            for name in plan.after:
                if name in by_feature:
                    place(by_feature[name])
            placed.append(plan)

    for plan in plans:
        place(plan)
    return placed


def _written(
    store: SpecStore, plan: Planned, old: Spec | None, after: list[str], actor: str
) -> Refined:
    fields = _fields(plan, after)
    if old is None:
        given = {name: value for name, value in fields.items() if value}
        spec = store.create(given, plan.body, actor=actor)
        return Refined(plan.feature, spec.id, plan.title, "created")
    title = old.title or plan.title
    if old.head.archived or old.status != "pending":
        state = "archived" if old.head.archived else old.status
        return Refined(plan.feature, old.id, title, "kept", f"it is {state}")
    if not _is_untouched(old):
        return Refined(plan.feature, old.id, title, "kept", "somebody has edited it")
    if _mark(old).get("hash") == fields[FIELD]["hash"]:
        return Refined(plan.feature, old.id, title, "unchanged")

    def edit(current: Spec) -> Changes:
        if not _is_untouched(current):
            return Changes()  # somebody was quicker: it is theirs now
        given = {name: value or None for name, value in fields.items()}
        return Changes(given, plan.body, note="refined again")

    changed = store.change(old.id, edit, actor=actor)
    action = "updated" if changed.body == plan.body else "kept"
    return Refined(plan.feature, old.id, plan.title, action)


def _fields(plan: Planned, after: list[str]) -> dict[str, Any]:
    """The fields of a spec; the hash in the last one shows later whether it was edited."""
    lists = {
        "depends_on": after,
        "labels": list(plan.labels),
        "informed_by": list(plan.informed_by),
        "origin": list(plan.origin),
    }
    mark = {"feature": plan.feature, "hash": _hash(plan.body, *lists.values())}
    return {**lists, FIELD: mark}


def _is_untouched(spec: Spec) -> bool:
    names = ("depends_on", "labels", "informed_by", "origin")
    return _mark(spec).get("hash") == _hash(spec.body, *(list(spec.words(n)) for n in names))


def _hash(body: str, *lists: list[str]) -> str:
    said = dumps([body, *lists])
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def plan_feature(feature: Item, sources: Sources) -> Planned:
    """The spec that one feature needs."""
    vision, architecture = sources.vision, sources.architecture
    parts = _components(feature.id, architecture)
    names = {item.id for item in parts}
    goals = _touching(architecture, "QG", names)
    systems = _touching(architecture, "IN", names)
    chosen = [item for item in _of(architecture, "TE") if _is_used(item, parts)]
    records = _decisions([*goals, *chosen], sources.decisions)
    objectives = _objectives(feature, vision)
    lines = [
        f"# {_title(feature)}",
        "",
        _story(feature, vision, objectives),
        "",
        "## Context",
        "",
        *_context(feature, sources, objectives, parts, records),
        "",
        "## Acceptance Criteria",
        "",
        *(f"- [ ] {line}" for line in _criteria(feature, vision, objectives, goals, systems)),
    ]
    asked = _questions(feature, sources)
    if asked:
        lines += ["", "## Open questions", "", *asked]
    release = feature.get("release").partition(" ")[0]
    informed = [sources.architecture_path if parts else "", *records.values()]
    return Planned(
        feature.id,
        _title(feature),
        "\n".join(lines) + "\n",
        (LABEL, feature.id, *([f"release-{release}"] if release else [])),
        (sources.vision_path,) if sources.vision_path else (),
        tuple(path for path in informed if path),
        _after(feature, parts, sources),
    )


def _title(feature: Item) -> str:
    text = plain(feature.text).rstrip(".")
    short = text if len(text) <= _LONGEST_TITLE else text[: _LONGEST_TITLE - 1].rstrip() + "…"
    return short.lstrip("# ") or feature.id


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


def _decisions(items: Iterable[Item], known: dict[str, str]) -> dict[str, str]:
    """The decision records that these items name."""
    named = " ".join(item.get("decision") for item in items)
    return {name: path for name, path in known.items() if name in named}


def _objectives(feature: Item, vision: Document) -> list[Item]:
    found = (vision.item(name) for name in feature.references("objective"))
    return [item for item in found if item is not None]


def _story(feature: Item, vision: Document, objectives: list[Item]) -> str:
    """Who wants it and why, as far as known."""
    users = [item for item in vision.items("ST") if "primary" in item.get("role").casefold()]
    want = plain(feature.text).rstrip(".")
    who = f"As {plain(users[0].text)}, I want this: {want}" if len(users) == 1 else want
    why = (
        f", so that this is reached: {plain(objectives[0].text).rstrip('.')}" if objectives else ""
    )
    return f"{who}{why}."


def _context(
    feature: Item,
    sources: Sources,
    objectives: list[Item],
    parts: list[Item],
    records: dict[str, str],
) -> list[str]:
    place = f" in `{sources.vision_path}`" if sources.vision_path else ""
    lines = [f"- Feature {feature.id}{place}"]
    lines += [f"- Serves {item.id}: {item.text}" for item in objectives]
    for item in parts:
        duty = item.get("responsibility")
        lines.append(f"- Built in {item.id} {item.text}" + (f": {duty}" if duty else ""))
    lines += [f"- Decided in {name}: `{path}`" for name, path in records.items()]
    lines += [f"- Bound by {item.id}: {item.text}" for item in sources.vision.items("CO")]
    return lines


def _criteria(
    feature: Item,
    vision: Document,
    objectives: list[Item],
    goals: list[Item],
    systems: list[Item],
) -> list[str]:
    lines = [
        f"Verify by a test: {feature.text.rstrip('.')} ({feature.id})",
        "Verify by a test: wrong, missing and repeated input is answered with a clear message",
    ]
    served = {item.id for item in objectives}
    metrics = [one for one in vision.items("SM") if served & set(one.references("objective"))]
    lines += [f"Measure {metric.id}: {_measure(metric)}" for metric in metrics]
    lines += [f"Verify {goal.id}: {_goal(goal)}" for goal in goals]
    for system in systems:
        failure = system.get("on failure")
        if failure:
            lines.append(f"Verify by a test: when {system.text} fails: {failure} ({system.id})")
    return lines[:_MOST_CRITERIA]


def _measure(metric: Item) -> str:
    more = [metric.get("target"), metric.get("measured by"), metric.get("deadline")]
    known = [text for text in more if text and text not in metric.text]
    return f"{metric.text} ({'; '.join(known)})" if known else metric.text


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


def _after(feature: Item, parts: list[Item], sources: Sources) -> tuple[str, ...]:
    """The features that must be there first: named ones, and those of parts it depends on."""
    named = [*feature.references("depends on"), *feature.references("after")]
    own = {item.id for item in parts}
    needed = {name for item in parts for name in item.references("depends on")} - own
    for item in _of(sources.architecture, "CP"):
        if item.id in needed:
            served = item.references("features")
            named += [] if feature.id in served else served
    order = [item.id for item in sources.vision.items("FE")]
    found = dict.fromkeys(name for name in named if name in order and name != feature.id)
    return tuple(sorted(found, key=order.index))
