"""From the text of a file to what it defines and calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from clew.symbols.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

LARGEST = 2 * 1024 * 1024
_SCOPE = "scope"
_LONGEST_NAME = 200


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
    """What a text of that language defines and calls; nothing of one that is too large."""
    if len(source) > LARGEST:
        return Outline()
    from tree_sitter import QueryCursor

    parser, query = _loaded(language)
    tree = parser.parse(source)
    found: list[tuple[int, int, Definition]] = []
    calls: list[tuple[str, int]] = []
    for _, captured in QueryCursor(query).matches(tree.root_node):
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
            made.append(one._replace(owners=(*(name for _, name in around), *one.owners)))
        if one.kind != "value":
            around.append((-minus_end, one.name))
    return made
