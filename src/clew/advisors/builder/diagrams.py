"""C4-style diagrams in Mermaid, generated from the component model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from clew.advisors.documents.markdown import one_line
from clew.advisors.documents.model import Facts, Item
from clew.advisors.extract.similarity import stem
from clew.advisors.extract.statements import plain, shortened
from clew.kit.jsontext import dumps

LEGEND: Final = "Dark blue: people. Blue: this system. Grey: other systems. A line reads in the direction of its arrow."
_LONGEST_LABEL = 60
_STYLES = (
    "    classDef person fill:#08427b,stroke:#052e56,color:#fff",
    "    classDef system fill:#1168bd,stroke:#0b4884,color:#fff",
    "    classDef external fill:#707070,stroke:#4d4d4d,color:#fff",
)
_STORE = re.compile(r"\bstore\b|database|datenbank|データベース", re.IGNORECASE)


def node_id(item_id: str) -> str:
    """An item's id as a node's name."""
    return item_id.replace("-", "")


def context_diagram(facts: Facts, name: str, category: str) -> str:
    """Level 1: the people, the system, and the systems outside it."""
    lines = _head(f"System context of {plain(name)}")
    lines += [_person(one) for one in facts.stakeholders]
    lines.append(_node("SYS", name, "Software system", category, "system"))
    lines += [_external(one) for one in facts.integrations]
    lines += [
        _edge(node_id(one.id), "SYS", one.get("interest") or "works with it")
        for one in facts.stakeholders
    ]
    lines += [_edge("SYS", node_id(one.id), _talk(one)) for one in facts.integrations]
    return _fenced([*lines, *_STYLES])


def container_diagram(facts: Facts, name: str) -> str:
    """Level 2: the parts of the system, who uses which, and what they talk to."""
    lines = _head(f"Containers of {plain(name)}")
    links = list(people_of_parts(facts))
    shown = dict.fromkeys(person.id for person, _ in links)
    lines += [_person(one) for one in facts.stakeholders if one.id in shown]
    lines.append(f"    subgraph SYS [{_quoted(name)}]")
    lines += [f"    {_container(one)}" for one in facts.components]
    lines.append("    end")
    lines += [_external(one) for one in facts.integrations]
    lines += [
        _edge(node_id(person.id), node_id(part.id), person.get("interest") or "works with it")
        for person, part in links
    ]
    lines += _connections(facts)
    return _fenced([*lines, *_STYLES])


def people_of_parts(facts: Facts) -> Iterable[tuple[Item, Item]]:
    """Who uses which component: those whom the features that it serves speak of."""
    parts = [one for one in facts.components if one.references("features")]
    features = {one.id: one.text for one in facts.features}
    for person in facts.stakeholders:
        name = stem((person.text.casefold().split() or [""])[-1])
        used = [
            part
            for part in parts
            if len(parts) == 1
            or any(name in features.get(one, "").casefold() for one in part.references("features"))
        ]
        yield from ((person, part) for part in outer(used))


def outer(parts: Sequence[Item]) -> list[Item]:
    """The parts that none of the others depends on; all of them where they depend in a circle."""
    below = {one for part in parts for one in part.references("depends on")}
    return [part for part in parts if part.id not in below] or list(parts)


def _head(title: str) -> list[str]:
    return ["---", f"title: {dumps(title)}", "---", "flowchart TB"]


def _fenced(lines: list[str]) -> str:
    return "\n".join(["```mermaid", *lines, "```"])


def _person(item: Item) -> str:
    return _node(node_id(item.id), item.text, "Person", item.get("role"), "person")


def _external(item: Item) -> str:
    return _node(node_id(item.id), item.text, "External system", item.get("purpose"), "external")


def _container(item: Item) -> str:
    technology = item.get("technology")
    kind = f"Container: {technology}" if technology else "Container"
    shape = ("[(", ")]") if _STORE.search(item.text) else ("[", "]")
    return _node(node_id(item.id), item.text, kind, item.get("responsibility"), "system", shape)


def _node(
    name: str, title: str, kind: str, about: str, style: str, shape: tuple[str, str] = ("[", "]")
) -> str:
    lines = [f"<b>{_label(title)}</b>", f"[{_label(kind)}]", _label(about)]
    text = "<br/>".join(line for line in lines if line)
    return f'    {name}{shape[0]}"{text}"{shape[1]}:::{style}'


def _edge(start: str, end: str, label: str) -> str:
    return f"    {start} -->|{_quoted(label)}| {end}"


def _connections(facts: Facts) -> list[str]:
    parts = {one.id: one for one in facts.components}
    lines = []
    for part in parts.values():
        for below in part.references("depends on"):
            if below in parts:
                kept = _STORE.search(parts[below].text)
                label = "reads and writes data" if kept else "sends requests"
                lines.append(_edge(node_id(part.id), node_id(below), label))
    for system in facts.integrations:
        lines += [
            _edge(node_id(part_id), node_id(system.id), _talk(system))
            for part_id in system.references("components")
            if part_id in parts
        ]
    return lines


def _talk(item: Item) -> str:
    protocol = item.get("protocol")
    purpose = item.get("purpose") or "exchanges data"
    return f"{purpose} ({protocol})" if protocol else purpose


def _quoted(text: str) -> str:
    return f'"{_label(text)}"'


def _label(text: str) -> str:
    """The text as a label: shortened, and nothing in it means anything to Mermaid."""
    shown = shortened(one_line(plain(text)), _LONGEST_LABEL)
    escapes = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "&": "#amp;", "`": "#96;", "|": "#124;", "\\": "#92;"}  # fmt: skip
    return "".join(escapes.get(one, one) for one in shown)
