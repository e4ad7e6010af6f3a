"""The specs as a graph: what comes first, what waits for it, and where they wait in a circle."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from clew.kit.errors import Invalid
from clew.specs.index.graph import Graph
from clew.specs.model import Head

FORMATS = ("text", "mermaid", "dot")
_ICONS = {
    "pending": "○", "in_progress": "◐", "paused": "◑", "completed": "●", "failed": "✗",
    "needs_attention": "⚠", "ready": "◕", "blocked": "⊗", "cancelled": "✓",
}  # fmt: skip
_LONGEST_TITLE = 60


class Node(NamedTuple):
    """One spec of the graph."""

    id: str
    title: str | None
    state: str


class Dag(NamedTuple):
    """Specs by how many steps lie before them; those in or behind a cycle have no level."""

    nodes: dict[str, Node]
    levels: list[list[str]]
    unordered: list[str]
    edges: list[tuple[str, str]]
    cycles: list[tuple[str, ...]]

    def as_json(self) -> dict[str, Any]:
        """The graph for programs; an edge leads from what is first to what waits for it."""
        return {
            "nodes": [node._asdict() for node in self.nodes.values()],
            "levels": self.levels,
            "unordered": self.unordered,
            "edges": [{"from": first, "to": second} for first, second in self.edges],
            "cycles": [list(way) for way in self.cycles],
        }


def build_dag(heads: Iterable[Head], graph: Graph) -> Dag:
    """The graph of these specs; what they wait for outside of them is left out."""
    chosen = {head.id: head for head in heads}
    nodes = {
        name: Node(name, head.title, head.status if head.archived else graph.status(name))
        for name, head in chosen.items()
    }
    before = {
        name: [other for other in dict.fromkeys(head.depends_on or ()) if other in chosen]
        for name, head in chosen.items()
    }
    edges = [(first, name) for name, firsts in before.items() for first in firsts]
    levels, unordered = _levels(before, edges)
    known = [way for way in graph.cycles() if all(name in chosen for name in way)]
    return Dag(nodes, levels, unordered, edges, known)


def render(dag: Dag, form: str = "text") -> str:
    """The graph as text for people, Mermaid or DOT."""
    makers = {"text": _text, "mermaid": _mermaid, "dot": _dot}
    if form not in makers:
        raise Invalid(f"Unknown format: {form}", f"Use {', '.join(FORMATS)}.")
    return makers[form](dag)


def _levels(
    before: dict[str, list[str]], edges: list[tuple[str, str]]
) -> tuple[list[list[str]], list[str]]:
    after: dict[str, list[str]] = {}
    for first, second in edges:
        after.setdefault(first, []).append(second)
    missing = {name: len(firsts) for name, firsts in before.items()}
    level = {name: 0 for name, count in missing.items() if count == 0}
    queue = deque(level)
    while queue:
        name = queue.popleft()
        for later in after.get(name, ()):
            missing[later] -= 1
            if missing[later] == 0:
                level[later] = level[name] + 1  # the last one before it has the highest level
                queue.append(later)
    levels: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for name in before:
        if name in level:
            levels[level[name]].append(name)
    return levels, [name for name in before if name not in level]


def _text(dag: Dag) -> str:
    firsts: dict[str, list[str]] = {}
    for first, second in dag.edges:
        firsts.setdefault(second, []).append(first)
    lines: list[str] = []
    for number, names in enumerate(dag.levels):
        lines.append(f"Level {number}")
        lines += [_line(dag.nodes[name], firsts.get(name, [])) for name in names]
        lines.append("")
    if dag.unordered:
        lines.append("In or behind a cycle")
        lines += [_line(dag.nodes[name], firsts.get(name, [])) for name in dag.unordered]
        lines.append("")
    lines += [f"Cycle: {' -> '.join((*way, way[0]))}" for way in dag.cycles]
    counts = f"{len(dag.nodes)} specs, {len(dag.edges)} dependencies, {len(dag.cycles)} cycles"
    return "\n".join([*lines, counts])


def _line(node: Node, firsts: list[str]) -> str:
    title = node.title or "(no title)"
    shown = title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"
    behind = f"  <- {', '.join(firsts)}" if firsts else ""
    return f"  {_ICONS.get(node.state, '?')} {node.id}  {shown}{behind}"


def _mermaid(dag: Dag) -> str:
    names = {name: f"n{number}" for number, name in enumerate(dag.nodes)}
    lines = ["graph TD"]
    for node in dag.nodes.values():
        words = f"{node.id}<br/>{_html(node.title or '(no title)')}<br/>{node.state}"
        lines.append(f'  {names[node.id]}["{words}"]')
    lines += [f"  {names[first]} --> {names[second]}" for first, second in dag.edges]
    return "\n".join(lines)


def _html(text: str) -> str:
    for mark, name in (("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(mark, name)
    return " ".join(text.split())


def _dot(dag: Dag) -> str:
    lines = ["digraph specs {", "  node [shape=box];"]
    for node in dag.nodes.values():
        words = f"{node.id}\n{' '.join((node.title or '(no title)').split())}\n{node.state}"
        lines.append(f"  {_quoted(node.id)} [label={_quoted(words)}];")
    lines += [f"  {_quoted(first)} -> {_quoted(second)};" for first, second in dag.edges]
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
