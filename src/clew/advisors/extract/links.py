"""What follows from the facts without anybody saying more: links, metrics, the component model.

Everything added here names what it follows from, or the open question whose default it is.
"""

from __future__ import annotations

import re
from typing import Final

from clew.advisors.documents.model import Facts, Item
from clew.advisors.documents.templates import Kind
from clew.advisors.extract import patterns
from clew.advisors.extract.gaps import answer_to, measurable
from clew.advisors.extract.lexicon import PARTIAL, PARTS
from clew.advisors.extract.similarity import contained, tokens
from clew.advisors.extract.statements import plain

DATA_STORE: Final = "Data store"
APPLICATION: Final = "Application"
_SHARED_WORDS = 2
_RELATED = 0.4
_FROM_TO = re.compile(r"\bfrom .{1,30}? to [^.;,]{1,30}?(?= by | until | before |[.;,]|$)|\d[\d.,]{0,30}\S{0,3}から\d[\d.,]{0,30}\S{0,3}(?=に)|\bvon .{1,20}? auf .{1,30}?(?= zu |[.;,]|$)")  # fmt: skip
_BY = re.compile(r"^(?:by|until|before|bis)\s+", re.IGNORECASE)
_METHOD = re.compile(r"\b(?:with|by|from|using|through|mit|anhand)\s+(.{3,})", re.IGNORECASE)
_FACING = re.compile(r"web|mobile|desktop|command line|dashboard|bot|front|client|cli|ui\b|app", re.IGNORECASE)  # fmt: skip
_SERVER = re.compile(r"\bapi\b|server|backend|service|core", re.IGNORECASE)


def completed(facts: Facts, kind: Kind) -> Facts:
    """The facts with what follows from them; a second time changes nothing."""
    facts = _linked_features(_with_metrics(facts))
    return _with_components(facts) if kind == "architecture" else facts


def related(one: str, other: str) -> bool:
    """Whether two texts are about the same thing."""
    first, second = tokens(plain(one)), tokens(plain(other))
    return len(first & second) >= _SHARED_WORDS and contained(first, second) >= _RELATED


def target_of(objective: Item) -> str:
    """The change that an objective asks for, in its own words."""
    if objective.get("target"):
        return objective.get("target")
    text = patterns.DATE.sub(lambda date: "by " if _BY.match(date[0]) else "", objective.text)
    found = _FROM_TO.search(text) or patterns.AMOUNT.search(text)
    return found[0].strip() if found else ""


def deadline_of(item: Item) -> str:
    """The date in an item, in its own words."""
    found = patterns.DATE.search(f"{item.text} {item.get('target')}")
    return item.get("deadline") or (_BY.sub("", found[0], count=1).strip() if found else "")


def _with_metrics(facts: Facts) -> Facts:
    for metric in facts.metrics:
        if metric.get("objective"):
            continue
        linked = next((o for o in facts.objectives if _measures(metric, o)), None)
        if linked:
            method = _METHOD.search(metric.text)
            found = metric.filled(
                objective=linked.id,
                target=target_of(linked),
                deadline=deadline_of(linked),
                measured_by=method[1].rstrip(".") if method else "",
            )
            facts = facts.replacing(found)
    measured = {one for metric in facts.metrics for one in metric.references("objective")}
    number = max((metric.number for metric in facts.metrics), default=0)
    made: list[Item] = []
    for objective in facts.objectives:
        if objective.id in measured or not measurable(objective):
            continue
        attributes = {
            "objective": objective.id,
            "target": target_of(objective),
            "measured by": answer_to(facts, "measure"),
            "deadline": deadline_of(objective),
            "source": f"from {objective.id}",
        }
        text = f"How far {objective.id} is reached"
        made.append(Item(f"SM-{number + len(made) + 1}", text, attributes))
    return facts.including(*made)


def _measures(metric: Item, objective: Item) -> bool:
    shared = tokens(plain(metric.text)) & tokens(plain(objective.text))
    return any(len(word) > 3 for word in shared)


def _linked_features(facts: Facts) -> Facts:
    linked = []
    for feature in facts.features:
        served = [one.id for one in facts.objectives if related(feature.text, one.text)]
        if served and not feature.get("objective"):
            linked.append(feature.but(objective=", ".join(served)))
    return facts.replacing(*linked)


def _with_components(facts: Facts) -> Facts:
    facts = _without_defaults(facts)
    if not _parts_now(facts):
        duty = "does everything that the features ask for"
        facts = facts.adding("CP", APPLICATION, responsibility=duty, source="default")
    databases = [one for one in facts.technologies if one.get("used for") == "database"]
    if databases and not any(one.text == DATA_STORE for one in facts.components):
        facts = facts.adding(
            "CP", DATA_STORE, responsibility="keeps the data", source=f"from {databases[0].id}"
        )
    facts = _with_connections(_with_served_features(_with_technology(facts)))
    now = _parts_now(facts)
    alone = len(now) == 1 and not any(one.text == DATA_STORE for one in facts.components)
    return facts.replacing(now[0].filled(data="all")) if alone else facts


def _parts_now(facts: Facts) -> list[Item]:
    """The parts of the first release that can stand for the whole system."""
    return [
        one for one in facts.components if one.text not in PARTIAL and one.get("release") != "later"
    ]


def _without_defaults(facts: Facts) -> Facts:
    """The part that stood for all others goes when others are known."""
    parts = _parts_now(facts)
    stated = [one for one in parts if not one.source.startswith("default")]
    return facts.without(one.id for one in parts if stated and one.source.startswith("default"))


def _with_technology(facts: Facts) -> Facts:
    by_use: dict[str, list[str]] = {}
    for one in facts.technologies:
        by_use.setdefault(one.get("used for"), []).append(one.text)
    for part in facts.components:
        if part.get("technology"):
            continue
        uses = (
            ["database"] if part.text == DATA_STORE else ["programming language", "web framework"]
        )
        if _FACING.search(part.text):
            uses.append("user interface")
        names = [name for use in uses for name in by_use.get(use, [])]
        facts = facts.replacing(part.but(technology=", ".join(names)))
    return facts


def _with_served_features(facts: Facts) -> Facts:
    """Each feature goes to the components it names, else to the only one there is."""
    parts = [one for one in facts.components if one.text != DATA_STORE]
    only = _parts_now(facts)
    served = {part.id: list(part.references("features")) for part in parts}
    taken = {one for features in served.values() for one in features}
    for feature in facts.features:
        if feature.id in taken:
            continue
        named = [part for part in parts if _names(feature, part)]
        for part in named or (only if len(only) == 1 else []):
            served[part.id].append(feature.id)
    return facts.replacing(*(part.but(features=", ".join(served[part.id])) for part in parts))


def _names(feature: Item, part: Item) -> bool:
    known = PARTS.get(part.text)
    if known and known[0].search(feature.text):
        return True
    return bool(known is None and tokens(part.text) & tokens(feature.text))


def _with_connections(facts: Facts) -> Facts:
    parts = facts.components
    if any(part.get("depends on") for part in parts) or len(parts) < 2:
        return facts
    store = next((one for one in parts if one.text == DATA_STORE), None)
    server = next((one for one in parts if one is not store and _SERVER.search(one.text)), None)
    for part in parts:
        if part is store:
            continue
        below = server if server and part is not server else store
        if below:
            facts = facts.replacing(part.but(depends_on=below.id))
    mains = [*_parts_now(facts), *(one for one in parts if one is not store)]
    writer = server or next(iter(mains), None)
    if store and writer and not store.get("data"):
        facts = facts.replacing(
            (facts.get(store.id) or store).but(data=f"all, written by {writer.id}")
        )
    joined = any(part.get("depends on") for part in facts.components)
    if joined and not any(one.get("topic") == "connections" for one in facts.assumptions):
        text = "The parts are connected as usual: what people see, then the server, then the data"
        attributes = {"state": "unconfirmed", "topic": "connections", "source": "inferred"}
        facts = facts.including(Item(facts.next_id("AS"), text, attributes))
    return facts
