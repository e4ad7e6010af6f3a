"""A spec and what is around it as a picture: what it waits for, and what waits for it."""

from __future__ import annotations

from dataclasses import dataclass

from clew.specs.index.graph import Graph
from clew.specs.index.index import Snapshot
from clew.specs.model import Head
from clew.specs.query.dag import build_dag

_STEPS = 2
_MOST_NODES = 24
_WIDTH, _HEIGHT = 250, 46
_GAP_X, _GAP_Y = 16, 34
_MARGIN = 6
_LETTERS = 32


@dataclass(frozen=True)
class Box:
    """One spec of the picture, at its place."""

    id: str
    title: str
    state: str
    x: int
    y: int
    is_here: bool


@dataclass(frozen=True)
class Picture:
    """Boxes and the lines between them; `left_out` specs had no room."""

    boxes: tuple[Box, ...]
    lines: tuple[str, ...]
    width: int
    height: int
    box_width: int = _WIDTH
    box_height: int = _HEIGHT
    left_out: int = 0


def draw_around(snapshot: Snapshot, spec_id: str) -> Picture | None:
    """The picture of a spec's neighbours; None where it has none."""
    graph = snapshot.graph()
    near = _near(snapshot.by_id, graph, spec_id)
    if len(near) < 2:
        return None
    chosen = near[:_MOST_NODES]
    dag = build_dag([snapshot.by_id[name] for name in chosen], graph)
    levels = [level for level in (*dag.levels, dag.unordered) if level]
    places = {
        name: (
            _MARGIN + across * (_WIDTH + _GAP_X),
            _MARGIN + down * (_HEIGHT + _GAP_Y),
        )
        for down, level in enumerate(levels)
        for across, name in enumerate(level)
    }
    boxes = tuple(
        Box(name, _cut(dag.nodes[name].title or "(no title)"), dag.nodes[name].state, x, y,
            name == spec_id)
        for name, (x, y) in places.items()
    )  # fmt: skip
    lines = tuple(_line(places[first], places[second]) for first, second in dag.edges)
    widest = max(map(len, levels))
    return Picture(
        boxes,
        lines,
        width=2 * _MARGIN + widest * (_WIDTH + _GAP_X) - _GAP_X,
        height=2 * _MARGIN + len(levels) * (_HEIGHT + _GAP_Y) - _GAP_Y,
        left_out=len(near) - len(chosen),
    )


def _near(heads: dict[str, Head], graph: Graph, spec_id: str) -> list[str]:
    """The spec, then what is one step away, then two; members count as steps."""
    found = {spec_id: None}
    edge = [spec_id]
    for _ in range(_STEPS):
        following: list[str] = []
        for name in edge:
            head = heads.get(name)
            around = [*(head.depends_on or () if head else ()), *graph.dependents(name)]
            if name == spec_id:
                around += graph.members(name)
            following += [other for other in around if other in heads and other not in found]
        edge = list(dict.fromkeys(following))
        found |= dict.fromkeys(edge)
    return list(found)


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    """A calm curve from the lower edge of one box to the upper edge of the other."""
    x1, y1 = start[0] + _WIDTH // 2, start[1] + _HEIGHT
    x2, y2 = end[0] + _WIDTH // 2, end[1]
    bend = max(14, abs(y2 - y1) // 2)
    return f"M{x1} {y1}C{x1} {y1 + bend} {x2} {y2 - bend} {x2} {y2 - 4}"


def _cut(title: str) -> str:
    return title if len(title) <= _LETTERS else f"{title[: _LETTERS - 1].rstrip()}…"
