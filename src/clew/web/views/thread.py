"""The thread as a picture that can be clicked: objectives, features, decisions, specs, commits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clew.web.site import path_part, url

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.thread.trace.trace import Trace, TraceRow

COLUMNS = ("Objectives", "Features", "Decisions", "Specs", "Commits")
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 214, 44, 50, 12
_MARGIN, _TOP = 8, 34
_LETTERS = 30
_MOST_ROWS = 60
_MOST_COMMITS = 3
_GAP_WORDS = {
    "objectives_without_specs": "Objectives that no spec works towards",
    "features_without_specs": "Features without a spec",
    "specs_without_origin": "Specs that come from no feature",
    "specs_without_commits": "Completed specs without a commit",
    "commits_without_specs": "Recent commits without a spec",
}


@dataclass(frozen=True)
class Node:
    """One thing of the thread, at its place, with where a click leads."""

    name: str
    text: str
    address: str
    look: str
    x: int
    y: int


@dataclass
class Weave:
    """The picture: nodes, the lines between them, and how large it is."""

    nodes: dict[tuple[int, str], Node] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    bottom: int = _TOP
    left_out: int = 0
    box_width: int = _WIDTH
    box_height: int = _HEIGHT

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


def weave(made: Trace, paths: dict[str, str], wanted: Callable[[TraceRow], bool]) -> Weave:
    """The picture of the rows that are wanted; `paths` are those of the decisions by name."""
    view = _Weaver(made, paths)
    rows = [row for row in made.rows if wanted(row)]
    for row in rows[:_MOST_ROWS]:
        view.add(row)
    view.weave.left_out = max(0, len(rows) - _MOST_ROWS)
    return view.weave


def gaps_of(made: Trace) -> list[dict[str, Any]]:
    """What breaks the thread, in words and with where to look."""
    subjects = {one.sha: one.subject for one in made.recent}
    found = []
    for kind, names in made.gaps.items():
        if not names:
            continue
        entries = [
            {
                "name": name[:12] if kind.startswith("commits") else name,
                "text": subjects.get(name) or made.titles.get(name, ""),
                "address": _address_of(kind, name),
            }
            for name in names
        ]
        words = _GAP_WORDS.get(kind, kind.replace("_", " "))
        found.append({"kind": kind, "words": words, "entries": entries})
    return found


def _address_of(kind: str, name: str) -> str:
    if kind.startswith("commits"):
        return f"/commits/{path_part(name)}"
    return f"/specs/{path_part(name)}" if kind.startswith("specs") else url("/thread", item=name)


class _Weaver:
    """Puts one row of the matrix below the other; what was placed before stays where it is."""

    def __init__(self, made: Trace, paths: dict[str, str]) -> None:
        self.weave = Weave()
        self._made = made
        self._paths = paths
        self._subjects = {one.sha[:12]: one.subject for one in made.recent}
        self._tied = {row.objective for row in made.rows if row.specs}
        self._drawn: set[tuple[tuple[int, str], tuple[int, str]]] = set()
        self._ends: dict[int, int] = {}

    def add(self, row: TraceRow) -> None:
        """Place a row, and draw its lines."""
        top = self.weave.bottom
        before: list[tuple[int, str]] = []
        if row.objective:
            look = "" if row.objective in self._tied else "gap"
            title = self._made.titles.get(row.objective, "")
            address = url("/thread", item=row.objective)
            before = [self._place(0, row.objective, title, address, look, top)]
        if row.feature:
            look = "" if row.specs else "gap"
            node = self._place(
                1, row.feature, row.text, url("/thread", item=row.feature), look, top
            )
            self._line(before, node)
            before = [node]
        decided = [self._decision(name, top) for name in row.decisions]
        for node in decided:
            self._line(before, node)
        for name in row.specs:
            self._spec(name, decided or before, top)
        self.weave.bottom = max(self._ends.values(), default=top)

    def _decision(self, name: str, top: int) -> tuple[int, str]:
        address = f"/documents/{self._paths[name]}" if name in self._paths else "/documents"
        return self._place(2, name, self._made.titles.get(name, ""), address, "", top)

    def _spec(self, name: str, before: list[tuple[int, str]], top: int) -> None:
        spec = self._made.specs[name]
        top = max(top, self._ends.get(3, top), self._ends.get(4, top) if spec.commits else top)
        look = "done" if spec.commits else "gap" if spec.status == "completed" else ""
        node = self._place(3, name, spec.title, f"/specs/{path_part(name)}", look, top)
        self._line(before, node)
        for sha in spec.commits[:_MOST_COMMITS]:
            subject = self._subjects.get(sha, "")
            address = f"/commits/{path_part(sha)}"
            self._line([node], self._place(4, sha, subject, address, "done", top))
        more = len(spec.commits) - _MOST_COMMITS
        if more > 0:
            words = f"{more} more commits"
            address = f"/specs/{path_part(name)}#review"
            self._line([node], self._place(4, f"{name}+", words, address, "done", top))

    def _place(
        self, column: int, name: str, text: str, address: str, look: str, top: int
    ) -> tuple[int, str]:
        key = (column, name)
        if key not in self.weave.nodes:
            y = max(top, self._ends.get(column, top))
            shown = "" if name.endswith("+") else name
            self.weave.nodes[key] = Node(shown, _cut(text), address, look, _x(column), y)
            self._ends[column] = y + _HEIGHT + _GAP_Y
        return key

    def _line(self, before: list[tuple[int, str]], after: tuple[int, str]) -> None:
        for first in before:
            if (first, after) not in self._drawn:
                self._drawn.add((first, after))
                self.weave.lines.append(_curve(self.weave.nodes[first], self.weave.nodes[after]))


def _x(column: int) -> int:
    return _MARGIN + column * (_WIDTH + _GAP_X)


def _curve(first: Node, second: Node) -> str:
    x1, y1 = first.x + _WIDTH, first.y + _HEIGHT // 2
    x2, y2 = second.x, second.y + _HEIGHT // 2
    middle = (x1 + x2) // 2
    return f"M{x1} {y1}C{middle} {y1} {middle} {y2} {x2} {y2}"


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1].rstrip()}…"
