"""The thread as a picture: five columns, a line for every link, gaps marked. SVG, or HTML around it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from clew.kit.text.display import shown_text

if TYPE_CHECKING:
    from clew.thread.trace.trace import Trace

COLUMNS = ("Objectives", "Features", "Decisions", "Specs", "Commits")
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 210, 40, 56, 12
_MARGIN, _TOP = 24, 56
_MOST_NODES = 80
_LONGEST = 30
_MOST_COMMITS = 3
_MOST_LOOSE = 12
_MARK = re.compile(r"^chant\([^)]*\): *")
_STYLE = """
:root { color-scheme: light dark; }
svg { font: 12px system-ui, sans-serif; background: #fff; color: #1d2433; }
.node rect { fill: #f3f6fb; stroke: #7b8aa5; }
.node.gap rect { fill: #fff3f0; stroke: #c0392b; stroke-dasharray: 4 3; }
.node.done rect { fill: #eef8f0; stroke: #3c8d5a; }
.name { font-weight: 600; fill: #1d2433; }
.text { fill: #4a5670; }
.link { fill: none; stroke: #9aa8c0; stroke-width: 1.4; }
.column { font-weight: 700; font-size: 14px; fill: #1d2433; }
@media (prefers-color-scheme: dark) {
  svg { background: #14181f; }
  .node rect { fill: #1e2530; stroke: #5d6d88; }
  .node.gap rect { fill: #34201d; stroke: #e07b6c; }
  .node.done rect { fill: #1b2e22; stroke: #5fb37f; }
  .name, .column { fill: #e6ebf4; } .text { fill: #a7b3c8; } .link { stroke: #50607c; }
}
"""
_PAGE_STYLE = """
body { font: 15px system-ui, sans-serif; margin: 2rem; color-scheme: light dark; }
.wide { overflow-x: auto; } small { opacity: 0.7; }
"""


@dataclass
class _Graph:
    """Nodes by column in the order they came, and the links between them."""

    columns: tuple[dict[str, tuple[str, str]], ...] = field(
        default_factory=lambda: tuple({} for _ in COLUMNS)
    )
    links: dict[tuple[tuple[int, str], tuple[int, str]], None] = field(default_factory=dict)
    left_out: int = 0

    def add(self, column: int, name: str, text: str, look: str) -> tuple[int, str] | None:
        """A node; a look that tells more replaces one that tells less."""
        nodes = self.columns[column]
        if name not in nodes and len(nodes) >= _MOST_NODES:
            self.left_out += 1
            return None
        known = nodes.get(name)
        nodes[name] = (text, look if known is None or not known[1] else known[1])
        return column, name

    def link(self, *nodes: tuple[int, str] | None) -> None:
        """Lines from each node to the next that is there."""
        there = [node for node in nodes if node is not None]
        for first, second in pairwise(there):
            self.links[first, second] = None


def picture_svg(made: Trace) -> str:
    """The graph as one SVG document."""
    graph = _graph(made)
    rows = max(1, *(len(nodes) for nodes in graph.columns))
    width = 2 * _MARGIN + len(COLUMNS) * _WIDTH + (len(COLUMNS) - 1) * _GAP_X
    height = _TOP + rows * (_HEIGHT + _GAP_Y) + _MARGIN
    places = {
        (column, name): (_x(column), _TOP + row * (_HEIGHT + _GAP_Y))
        for column, nodes in enumerate(graph.columns)
        for row, name in enumerate(nodes)
    }
    parts = [
        _opening(width, height),
        f"<style>{_STYLE}</style>",
        *(
            f'<text class="column" x="{_x(number)}" y="{_TOP - 20}">{title}</text>'
            for number, title in enumerate(COLUMNS)
        ),
        *(_line(places[first], places[second]) for first, second in graph.links),
        *(
            _box(*places[column, name], name, *node)
            for column, nodes in enumerate(graph.columns)
            for name, node in nodes.items()
        ),
    ]
    if graph.left_out:
        said = f"{graph.left_out} more are not drawn"
        parts.append(f'<text class="text" x="{_MARGIN}" y="{height - 8}">{said}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _opening(width: int, height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="The thread from objectives to commits">'
    )


def picture_html(made: Trace) -> str:
    """The picture with the gaps in words, as a page that needs nothing else."""
    share = made.share()
    tied = "nothing recent" if share["share"] is None else f"{share['share']:.0%}"
    items = [
        f"<li>{escape(kind.replace('_', ' '))}: {len(names)}"
        f" <small>{escape(', '.join(name[:24] for name in names[:12]))}</small></li>"
        for kind, names in made.gaps.items()
    ]
    missing = [f"<li>{escape(shown_text(one))}</li>" for one in made.missing]
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Thread</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>{_PAGE_STYLE}</style></head><body>",
            "<h1>From objectives to commits</h1>",
            f"<p>Of the lines that the last {share['commits']} commits added, {tied} hang on a spec.</p>",
            f'<div class="wide">{picture_svg(made)}</div>',
            f"<h2>Gaps</h2><ul>{''.join(items)}</ul>",
            f"<h2>Missing</h2><ul>{''.join(missing)}</ul>" if missing else "",
            "</body></html>",
        )
    )


def _graph(made: Trace) -> _Graph:
    graph = _Graph()
    tied = {row.objective for row in made.rows if row.specs}
    for row in made.rows:
        objective = feature = None
        if row.objective:
            look = "" if row.objective in tied else "gap"
            objective = graph.add(0, row.objective, made.titles.get(row.objective, ""), look)
        if row.feature:
            feature = graph.add(1, row.feature, row.text, "" if row.specs else "gap")
        graph.link(objective, feature)
        decisions = [graph.add(2, name, made.titles.get(name, ""), "") for name in row.decisions]
        for decision in decisions:
            graph.link(feature, decision)
        for name in row.specs:
            _add_spec(graph, made, name, [one for one in decisions if one] or [feature])
    loose = [one for one in made.recent if not one.specs]
    for one in loose[:_MOST_LOOSE]:
        graph.add(4, one.sha[:12], one.subject, "gap")
    if len(loose) > _MOST_LOOSE:
        graph.add(4, f"+{len(loose) - _MOST_LOOSE}", "more commits without a spec", "gap")
    return graph


def _add_spec(graph: _Graph, made: Trace, name: str, before: list[tuple[int, str] | None]) -> None:
    spec = made.specs[name]
    look = "done" if spec.commits else "gap" if spec.status == "completed" else ""
    node = graph.add(3, name, spec.title, look)
    for one in before:
        graph.link(one, node)
    for sha in spec.commits[:_MOST_COMMITS]:
        subject = next((one.subject for one in made.recent if one.sha.startswith(sha)), "")
        graph.link(node, graph.add(4, sha, _MARK.sub("", subject), "done"))
    more = len(spec.commits) - _MOST_COMMITS
    if more > 0:
        graph.link(node, graph.add(4, f"{name} +{more}", f"{more} more commits", "done"))


def _x(column: int) -> int:
    return _MARGIN + column * (_WIDTH + _GAP_X)


def _box(x: int, y: int, name: str, text: str, look: str) -> str:
    shown, title = escape(shown_text(name)), escape(shown_text(text))
    plain = shown_text(text)
    short = escape(plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 1]}…")
    return (
        f'<g class="node {look}"><title>{shown} {title}</title>'
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>'
        f'<text class="name" x="{x + 8}" y="{y + 16}">{shown}</text>'
        f'<text class="text" x="{x + 8}" y="{y + 32}">{short}</text></g>'
    )


def _line(first: tuple[int, int], second: tuple[int, int]) -> str:
    x, y = first[0] + _WIDTH, first[1] + _HEIGHT // 2
    to_x, to_y = second[0], second[1] + _HEIGHT // 2
    middle = (x + to_x) // 2
    return f'<path class="link" d="M{x} {y} C{middle} {y} {middle} {to_y} {to_x} {to_y}"/>'
