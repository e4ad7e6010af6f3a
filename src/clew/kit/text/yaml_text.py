"""YAML in which every scalar is text: a quick reader, and a careful one for all that is unusual.

No date, number or truth value is ever made of a scalar; only a plain `null`, `~` or nothing at all
becomes None. The quick reader knows what people write in front matter (`key: value`, lists, nested
maps, quoted text) and leaves everything else to ruamel.yaml, which is imported only then. Both give
the same for what the quick one accepts; a property test holds that.

Nothing here may import what a cold start cannot afford, such as `re` and `typing`.
"""

from __future__ import annotations

from clew.kit import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = Any  # a node of ruamel.yaml, whose types tell too little

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
MOST_NODES = 20_000  # aliases count as what they stand for
_DEEPEST = 30
# The careful reader takes about a second for this much; a repository must not make it take minutes.
_LONGEST_CAREFUL = 64 * 1024
_MOST_BRACKETS = 1000
_NO_PLAIN_START = frozenset("&*!|>%@`\"'[]{},#?:=")


class YamlError(Exception):
    """Text that is not YAML as it is allowed here; `line` counts from 0."""

    def __init__(self, line: int, cause: str) -> None:
        super().__init__(cause)
        self.line = line
        self.cause = cause


class _NotQuick(Exception):
    """The quick reader does not plainly understand this."""


def read_fields(text: str) -> dict[str, Any]:
    """The mapping that the text stands for; lines must end with a plain line feed."""
    try:
        return read_quick(text)
    except _NotQuick:
        return read_carefully(text)


def is_quick(text: str) -> bool:
    """Whether the quick reader understands this text."""
    try:
        read_quick(text)
    except _NotQuick:
        return False
    return True


def read_quick(text: str) -> dict[str, Any]:
    """The mapping, read by hand; raises for everything unusual."""
    # Tabs, other line ends, marks and controls need a real reader.
    if not text.replace("\n", "").replace("\xa0", "").isprintable():
        raise _NotQuick
    lines = text.split("\n")
    fields, end = _mapping(lines, 0, 0, 0)
    if end < len(lines):
        raise _NotQuick
    return fields


def _mapping(lines: list[str], start: int, indent: int, depth: int) -> tuple[dict[str, Any], int]:
    if depth > _DEEPEST:
        raise _NotQuick
    fields: dict[str, Any] = {}
    place = start
    while place < len(lines):
        line = lines[place]
        content = line.lstrip(" ")
        if not content or content[0] == "#":
            place += 1
            continue
        inner = len(line) - len(content)
        if inner < indent:
            break
        colon = key_end(content)
        key = content[:colon]
        if inner > indent or colon < 0 or key in fields:
            raise _NotQuick
        place += 1
        value = content[colon + 1 :].strip(" ")
        if value:
            fields[key] = _scalar_or_list(value)
        else:
            fields[key], place = _nested(lines, place, indent, depth)
    return fields, place


def key_end(content: str) -> int:
    """Where the colon after a plain key is, or -1 where the line does not begin with one."""
    end = content.find(":")
    if end < 1 or (len(content) > end + 1 and content[end + 1] != " "):
        return -1
    key = content[:end]
    if not key.isidentifier():
        bare = key.replace("_", "").replace("-", "").replace(".", "")
        if key[0] in "-." or not bare.isalnum():
            return -1
    return end if key.isascii() else -1


def _nested(lines: list[str], start: int, indent: int, depth: int) -> tuple[Any, int]:
    """What stands below a key that has nothing beside it."""
    for place in range(start, len(lines)):
        line = lines[place]
        content = line.lstrip(" ")
        if content and content[0] != "#":
            inner = len(line) - len(content)
            if inner >= indent and content.startswith("- "):
                return _block_list(lines, place, inner, depth + 1)
            if inner > indent:
                return _mapping(lines, place, inner, depth + 1)
            break
    return None, start


def _block_list(lines: list[str], start: int, indent: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    place = start
    while place < len(lines):
        line = lines[place]
        content = line.lstrip(" ")
        if not content or content[0] == "#":
            place += 1
            continue
        inner = len(line) - len(content)
        if inner < indent or (inner == indent and content[0] != "-"):
            break
        if inner > indent or not content.startswith("- "):
            raise _NotQuick
        item = content[2:].strip(" ")
        if key_end(item) >= 0:
            # The rest of the line opens a mapping whose keys begin in the column of this one.
            column = len(line) - len(content[2:].lstrip(" "))
            lines[place] = " " * column + item
            value, place = _mapping(lines, place, column, depth + 1)
            items.append(value)
        else:
            items.append(_scalar_or_list(item))
            place += 1
    return items, place


def _scalar_or_list(value: str) -> Any:
    if value[:1] == "[":
        return _flow_list(value)
    return {} if value == "{}" else _scalar(value)


def _flow_list(value: str) -> list[Any]:
    inner = value[1:-1].strip(" ")
    if value[-1] != "]" or any(mark in inner for mark in "[]{}"):
        raise _NotQuick
    items = [item.strip(" ") for item in inner.split(",")] if inner else []
    # A comma or a colon within quotes, or a pair, needs a real reader.
    if any(not item or ":" in item or "\\" in item for item in items):
        raise _NotQuick
    return [_scalar(item) for item in items]


def _scalar(value: str) -> str | None:
    first = value[:1]
    if first == '"':
        return _double_quoted(value)
    if first == "'":
        inner = value[1:-1].replace("''", "\0")
        if len(value) < 2 or value[-1] != "'" or "'" in inner:
            raise _NotQuick
        return inner.replace("\0", "'")
    if (
        not first
        or first in _NO_PLAIN_START
        or (first == "-" and value[1:2] in {"", " "})
        or ": " in value
        or " #" in value
        or value[-1] == ":"
    ):
        raise _NotQuick
    return None if value in NULLS else value


def _double_quoted(value: str) -> str:
    if "\\" not in value and len(value) > 1 and value.find('"', 1) == len(value) - 1:
        return value[1:-1]
    try:
        if "\\u" in value:  # JSON joins two halves of a character, YAML does not
            raise _NotQuick
        return str(jsontext.loads(value))
    except jsontext.JsonError:
        raise _NotQuick from None


def read_carefully(text: str) -> dict[str, Any]:
    """The mapping, read by ruamel.yaml."""
    node = compose(text)
    if node is None:
        return {}
    if node.id != "mapping":
        raise YamlError(node.start_mark.line, "it is not made of `key: value` lines")
    value: dict[str, Any] = _Expander().value(node, 0)
    return value


def compose(text: str) -> Node | None:
    """The tree of nodes of ruamel.yaml, each with its position."""
    if len(text) > _LONGEST_CAREFUL or text.count("[") + text.count("{") > _MOST_BRACKETS:
        raise YamlError(0, "it is too long for YAML that is not plain `key: value` lines")
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    reader = YAML(typ="safe", pure=True)
    reader.composer.warn_double_anchors = False
    try:
        node: Node | None = reader.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        cause = ", ".join(part for part in (error.context, error.problem) if part)
        raise YamlError(mark.line if mark else 0, " ".join(cause.split())) from None
    except YAMLError as error:
        position = getattr(error, "position", 0)
        line = text.count("\n", 0, position) if isinstance(position, int) else 0
        raise YamlError(line, getattr(error, "reason", None) or "it is not YAML") from None
    except (RecursionError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise YamlError(0, f"it cannot be read ({type(error).__name__})") from None
    return node


class _Expander:
    """Nodes as plain values, within limits."""

    def __init__(self) -> None:
        self._left = MOST_NODES

    def value(self, node: Node, depth: int) -> Any:
        """What the node stands for."""
        self._left -= 1
        if self._left < 0 or depth > _DEEPEST:
            raise YamlError(node.start_mark.line, "it is nested too deeply or expands too far")
        if node.id == "sequence":
            return [self.value(item, depth + 1) for item in node.value]
        if node.id == "mapping":
            return self._mapping(node, depth)
        text: str = node.value
        return None if node.style is None and text in NULLS else text

    def _mapping(self, node: Node, depth: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key, item in node.value:
            if key.id != "scalar":
                raise YamlError(key.start_mark.line, "a key must be a plain word")
            if key.value in fields:
                raise YamlError(key.start_mark.line, f"the key '{key.value}' is there twice")
            fields[key.value] = self.value(item, depth + 1)
        return fields
