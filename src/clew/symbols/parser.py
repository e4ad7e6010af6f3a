"""From the text of a file to what it defines and calls."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from clew.symbols.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

LARGEST = 512 * 1024
_SCOPE = "scope"
_LONGEST_NAME = 200
_MOST_OWNERS = 20
# Deeper than any file that a person wrote. Parsers need kilobytes for each open angle bracket, the
# square of the time for brackets that do not fit, and end the program in trees that are far deeper.
_DEEPEST = 500
_MOST_UNFITTING = 5000  # parts side by side that fit nowhere
_BRACKET = re.compile(rb"[][(){}]")
_ANGLES_END = re.compile(rb"[;{}>]")


class Definition(NamedTuple):
    """A name that a file defines: its kind, its lines, and the names that it is in."""

    name: str
    kind: str
    start: int
    end: int
    owners: tuple[str, ...]

    @property
    def full_name(self) -> str:
        """The name with what it is in."""
        return ".".join((*self.owners, self.name))


@dataclass(frozen=True)
class Outline:
    """What one file defines, in its order, and the lines on which it calls names."""

    definitions: tuple[Definition, ...] = ()
    calls: tuple[tuple[str, int], ...] = ()

    def around(self, line: int) -> Definition | None:
        """The innermost definition that a line is in."""
        inside = [one for one in self.definitions if one.start <= line <= one.end]
        return max(inside, key=lambda one: one.start) if inside else None


def outline(language: Language, source: bytes) -> Outline:
    """What a text of that language defines and calls; nothing of one that is too large or too deep."""
    if _is_too_much(source):
        return Outline()
    from tree_sitter import QueryCursor

    parser, query = _loaded(language)
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(_DEEPEST)
    found: list[tuple[int, int, Definition]] = []
    calls: list[tuple[str, int]] = []

    root = parser.parse(source).root_node
    for _, captured in [] if _is_rubble(root) else cursor.matches(root):
        called = captured.get("call")
        if called:
            calls.append((_text(called[0]), called[0].start_point[0] + 1))
            continue
        kind = next(key for key in captured if key not in ("name", "owner"))
        node, owner = captured[kind][0], captured.get("owner")
        name = _text(captured["name"][0])
        if name:
            end = node.end_point[0] + (node.end_point[1] > 0)
            owners = (_text(owner[0]),) if owner else ()
            one = Definition(name, kind, node.start_point[0] + 1, end, owners)
            found.append((node.start_byte, -node.end_byte, one))
    return Outline(tuple(_nested(sorted(set(found)))), tuple(calls))


def _is_too_much(source: bytes) -> bool:
    if len(source) > LARGEST:
        return True
    depth = 0
    for bracket in _BRACKET.finditer(source):
        depth += 1 if bracket[0] in b"[({" else -1
        if abs(depth) > _DEEPEST:
            return True
    return any(part.count(b"<") > _DEEPEST for part in _ANGLES_END.split(source))


def _is_rubble(root: Node) -> bool:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error and node.child_count > _MOST_UNFITTING:
            return True
        waiting += [child for child in node.children if child.has_error]
    return False


@cache
def _loaded(language: Language) -> tuple[Parser, Query]:
    import tree_sitter

    grammar = tree_sitter.Language(language.grammar())
    return tree_sitter.Parser(grammar), tree_sitter.Query(grammar, language.query)


def _text(node: Node) -> str:
    raw = node.text or b""
    return raw[:_LONGEST_NAME].decode("utf-8", "replace").strip()


def _nested(found: Sequence[tuple[int, int, Definition]]) -> list[Definition]:
    """Definitions in their order, each with the names around it."""
    made: list[Definition] = []
    around: list[tuple[int, str]] = []
    for start, minus_end, one in found:
        while around and around[-1][0] <= start:
            around.pop()
        if one.kind != _SCOPE:
            made.append(
                one._replace(owners=(*(name for _, name in around[-_MOST_OWNERS:]), *one.owners))
            )
        if one.kind != "value":
            around.append((-minus_end, one.name))
    return made
