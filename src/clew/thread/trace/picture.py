"""The thread as a picture: five columns, a line for every link, gaps marked. SVG, or HTML around it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape

from clew.kit.text.display import shown_text
from clew.thread.trace.trace import Trace, TraceRow

Key = tuple[int, str]


COLUMNS = ("Objectives", "Features", "Decisions", "Specs", "Commits")
OBJECTIVE, FEATURE, DECISION, SPEC, COMMIT = range(len(COLUMNS))
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 214, 44, 50, 12
_MARGIN, _TOP = 8, 34
_LONGEST = 30
_MOST_ROWS = 60
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


@dataclass(frozen=True)
class Node:
    """One thing of the thread, at its place; a node for several things has no name."""

    column: int
    key: str
    name: str
    text: str
    look: str
    x: int
    y: int

    @property
    def short(self) -> str:
        """As much of the text as a box holds."""
        cut = f"{self.text[: _LONGEST - 1].rstrip()}…"
        return self.text if len(self.text) <= _LONGEST else cut


@dataclass
class Layout:
    """Nodes by column and name, the lines between them, and how large the picture is."""

    nodes: dict[Key, Node] = field(default_factory=dict)
    lines: dict[tuple[Key, Key], str] = field(default_factory=dict)
    bottom: int = _TOP
    left_out: int = 0
    box_width: int = _WIDTH
    box_height: int = _HEIGHT
    _ends: dict[int, int] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """How wide it is."""
        return 2 * _MARGIN + len(COLUMNS) * (_WIDTH + _GAP_X) - _GAP_X

    @property
    def height(self) -> int:
        """How high it is."""
        return self.bottom + _MARGIN

    @property
    def heads(self) -> list[tuple[str, int]]:
        """The names of the columns, each with its place."""
        return [(title, _x(number)) for number, title in enumerate(COLUMNS)]

    def end(self, column: int) -> int:
        """Where the next node of a column goes, if nothing is above it."""
        return self._ends.get(column, self.bottom)

    def add(self, key: Key, text: str, look: str, before: list[Key], *, top: int = 0) -> Key:
        """A node with lines from those before it; one that was placed stays where it is."""
        column, name = key
        if key not in self.nodes:
            y = max(top, self.bottom, self.end(column))
            shown = "" if name.endswith("+") else name
            self.nodes[key] = Node(column, name, shown, text, look, _x(column), y)
            self._ends[column] = y + _HEIGHT + _GAP_Y
        for first in before:
            self.lines[first, key] = _curve(self.nodes[first], self.nodes[key])
        return key

    def close_row(self) -> None:
        """Let the next row begin below everything."""
        self.bottom = max(self._ends.values(), default=self.bottom)


def lay_out(made: Trace, wanted: Callable[[TraceRow], bool], *, loose: bool = False) -> Layout:
    """The rows that are wanted, one below the other, and at the end commits without a spec."""
    layout = Layout()
    tied = {row.objective for row in made.rows if row.specs}
    rows = [row for row in made.rows if wanted(row)]
    for row in rows[:_MOST_ROWS]:
        before: list[Key] = []
        if row.objective:
            text, look = made.titles.get(row.objective, ""), "" if row.objective in tied else "gap"
            before = [layout.add((OBJECTIVE, row.objective), text, look, [])]
        if row.feature:
            look = "" if row.specs else "gap"
            before = [layout.add((FEATURE, row.feature), row.text, look, before)]
        decided = [
            layout.add((DECISION, name), made.titles.get(name, ""), "", before)
            for name in row.decisions
        ]
        for name in row.specs:
            _add_spec(layout, made, name, decided or before)
        layout.close_row()
    layout.left_out = max(0, len(rows) - _MOST_ROWS)
    if loose:
        _add_loose(layout, made)
    return layout


def _add_spec(layout: Layout, made: Trace, name: str, before: list[Key]) -> None:
    spec = made.specs[name]
    look = "done" if spec.commits else "gap" if spec.status == "completed" else ""
    top = layout.end(COMMIT) if spec.commits else 0
    node = layout.add((SPEC, name), spec.title, look, before, top=top)
    for sha in spec.commits[:_MOST_COMMITS]:
        subject = next((one.subject for one in made.recent if one.sha.startswith(sha)), "")
        layout.add((COMMIT, sha), _MARK.sub("", subject), "done", [node])
    more = len(spec.commits) - _MOST_COMMITS
    if more > 0:
        layout.add((COMMIT, f"{name}+"), f"{more} more commits", "done", [node])


def _add_loose(layout: Layout, made: Trace) -> None:
    loose = [one for one in made.recent if not one.specs]
    for one in loose[:_MOST_LOOSE]:
        layout.add((COMMIT, one.sha[:12]), one.subject, "gap", [])
    if len(loose) > _MOST_LOOSE:
        words = f"{len(loose) - _MOST_LOOSE} more without a spec"
        layout.add((COMMIT, "+"), words, "gap", [])
    layout.close_row()


def _x(column: int) -> int:
    return _MARGIN + column * (_WIDTH + _GAP_X)


def _curve(first: Node, second: Node) -> str:
    x, y = first.x + _WIDTH, first.y + _HEIGHT // 2
    to_x, to_y = second.x, second.y + _HEIGHT // 2
    middle = (x + to_x) // 2
    return f"M{x} {y}C{middle} {y} {middle} {to_y} {to_x} {to_y}"


def picture_svg(made: Trace) -> str:
    """The graph as one SVG document."""
    layout = lay_out(made, lambda _: True, loose=True)
    width, height = layout.width, layout.height + (_TOP if layout.left_out else 0)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="The thread from objectives to commits">'
    )
    parts = [
        opening,
        f"<style>{_STYLE}</style>",
        *(f'<text class="column" x="{x}" y="18">{title}</text>' for title, x in layout.heads),
        *(f'<path class="link" d="{line}"/>' for line in layout.lines.values()),
        *map(_box, layout.nodes.values()),
    ]
    if layout.left_out:
        words = f"{layout.left_out} more rows are not drawn"
        parts.append(f'<text class="text" x="{_MARGIN}" y="{height - 8}">{words}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _box(node: Node) -> str:
    name, text, short = (escape(shown_text(one)) for one in (node.name, node.text, node.short))
    return (
        f'<g class="node {node.look}"><title>{name} {text}</title>'
        f'<rect x="{node.x}" y="{node.y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>'
        f'<text class="name" x="{node.x + 8}" y="{node.y + 16}">{name}</text>'
        f'<text class="text" x="{node.x + 8}" y="{node.y + 32}">{short}</text></g>'
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
