"""YAML in which every scalar is text: a quick reader, a careful one, and safe values to write.

No date, number or truth value is ever made of a scalar; only a plain `null`, `~` or nothing at all
becomes None. The quick reader knows what specs are made of (`key: text`, block lists, short flow
lists, nested maps, quoted text) and passes on everything else to ruamel.yaml, which is imported
only then. Both give the same for what the quick one accepts; a property test holds that.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from clew.kit.errors import Invalid

Node = Any  # a node of ruamel.yaml, whose types tell too little
Span = tuple[int, int]
_MOST_NODES = 20_000  # aliases count as what they stand for
_DEEPEST = 30
# The careful reader takes about a second for this much; a repository must not make it take minutes.
_LONGEST_CAREFUL = 64 * 1024
_MOST_BRACKETS = 1000
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})

# Tabs, line ends other than \n, marks and controls: what needs a real reader.
_UNUSUAL = re.compile(
    "[^\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_OTHER_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*):(?: +(.*))?")
_PLAIN = re.compile(r"""[^\s\-?:,\[\]{}#&*!|>'"%@`](?:[^:#]|:(?=[^ ])|(?<! )#)*""")
_SINGLE = re.compile(r"'((?:[^']|'')*)'")
_DOUBLE = re.compile(r'"([^"\\]*)"')
_FLOW_ITEM = r"""(?:[A-Za-z0-9_./][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*|'[^']*'|"[^"\\]*")"""
_FLOW_LIST = re.compile(rf"\[ *(?:{_FLOW_ITEM}(?: *, *{_FLOW_ITEM})*)? *\]")
_FLOW_ITEMS = re.compile(_FLOW_ITEM)

_SAFE_PLAIN = re.compile(r"[\w/.](?:[\w ./@+-]|:(?=[\w/.]))*")
_TYPED = re.compile(
    r"[-+]?[\d.][\d_.:eE+-]*|0[xX][0-9a-fA-F]+|0[oO][0-7]+|[-+]?\.(?:inf|nan)"
    r"|\d{4}-\d\d?-\d\d?(?:[Tt ].*)?|true|false",
    re.IGNORECASE,
)
_WORDS_WITH_MEANING = frozenset({"y", "n", "yes", "no", "on", "off", *_NULLS, "null"})


class YamlError(Exception):
    """Text that is not YAML as it is allowed here; `line` counts from 0."""

    def __init__(self, line: int, cause: str) -> None:
        super().__init__(cause)
        self.line = line
        self.cause = cause


class Place(NamedTuple):
    """Where a top-level key stands: its lines and, within one line, its value's columns."""

    start: int
    end: int
    value: Span | None


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
    if _UNUSUAL.search(text):
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
        if len(line) - len(content) < indent:
            break
        found = _KEY.fullmatch(content)
        if not found or len(line) - len(content) > indent:
            raise _NotQuick
        key, value = found.groups()
        if key in fields:
            raise _NotQuick
        place += 1
        value = value.rstrip(" ") if value else ""
        if value:
            fields[key] = _flow_list(value) if value[0] == "[" else _scalar(value)
        else:
            fields[key], place = _nested(lines, place, indent, depth)
    return fields, place


def _nested(lines: list[str], start: int, indent: int, depth: int) -> tuple[Any, int]:
    """What stands below a key that has nothing beside it."""
    for place in range(start, len(lines)):
        line = lines[place]
        content = line.lstrip(" ")
        if content and content[0] != "#":
            inner = len(line) - len(content)
            if inner >= indent and content.startswith("- "):
                return _block_list(lines, place, inner)
            if inner > indent:
                return _mapping(lines, place, inner, depth + 1)
            break
    return None, start


def _block_list(lines: list[str], start: int, indent: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    place = start
    while place < len(lines):
        line = lines[place]
        content = line.lstrip(" ")
        if content and content[0] != "#":
            inner = len(line) - len(content)
            if inner < indent or (inner == indent and not content.startswith("-")):
                break
            if inner > indent or not content.startswith("- "):
                raise _NotQuick
            items.append(_scalar(content[2:].strip(" ")))
        place += 1
    return items, place


def _flow_list(value: str) -> list[Any]:
    if not _FLOW_LIST.fullmatch(value):
        raise _NotQuick
    return [_scalar(item) for item in _FLOW_ITEMS.findall(value)]


def _scalar(value: str) -> str | None:
    if _PLAIN.fullmatch(value):
        return None if value in _NULLS else value
    if found := _DOUBLE.fullmatch(value):
        return found.group(1)
    if found := _SINGLE.fullmatch(value):
        return found.group(1).replace("''", "'")
    raise _NotQuick


def read_carefully(text: str) -> dict[str, Any]:
    """The mapping, read by ruamel.yaml."""
    node = _compose(text)
    if node is None:
        return {}
    if node.id != "mapping":
        raise YamlError(node.start_mark.line, "it is not made of `key: value` lines")
    value: dict[str, Any] = _Expander().value(node, 0)
    return value


def _compose(text: str) -> Node | None:
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
        self._left = _MOST_NODES

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
        return None if node.style is None and text in _NULLS else text

    def _mapping(self, node: Node, depth: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key, item in node.value:
            if key.id != "scalar":
                raise YamlError(key.start_mark.line, "a key must be a plain word")
            if key.value in fields:
                raise YamlError(key.start_mark.line, f"the key '{key.value}' is there twice")
            fields[key.value] = self.value(item, depth + 1)
        return fields


def places_of(text: str) -> dict[str, Place] | None:
    """Where the top-level keys stand; None where they are not one below the other."""
    if _OTHER_LINE_ENDS.search(text):
        return None
    lines = text.split("\n")
    if is_quick(text):
        numbered = enumerate(lines)
        found = [(n, _KEY.fullmatch(line)) for n, line in numbered if line and line[0] not in " -#"]
        return _with_ends([(m[1], n, _quick_columns(m)) for n, m in found if m], lines)
    node = _compose(text)
    if node is None:
        return {}
    keys = [key for key, _ in node.value]
    if node.flow_style or any(key.start_mark.column != 0 for key in keys):
        return None
    pairs = [(key.value, key.start_mark.line, _columns(key, item)) for key, item in node.value]
    return _with_ends(pairs, lines)


def lines_of_keys(text: str) -> dict[tuple[str, ...], int]:
    """The line of every key, by the path to it."""
    node = _compose(text)
    found: dict[tuple[str, ...], int] = {}
    waiting: list[tuple[tuple[str, ...], Node]] = [((), node)] if node is not None else []
    while waiting and len(found) < _MOST_NODES:
        above, current = waiting.pop()
        for key, value in current.value if current.id == "mapping" else ():
            found[*above, key.value] = key.start_mark.line
            waiting.append(((*above, key.value), value))
    return found


def _quick_columns(found: re.Match[str]) -> Span | None:
    value = (found[2] or "").rstrip(" ")
    return (found.start(2), found.start(2) + len(value)) if value and value[0] != "[" else None


def _columns(key: Node, node: Node) -> Span | None:
    start, end = node.start_mark, node.end_mark
    if node.id != "scalar" or not key.start_mark.line == start.line == end.line:
        return None
    return (start.column, end.column) if end.column > start.column else None


def _with_ends(starts: list[tuple[str, int, Span | None]], lines: list[str]) -> dict[str, Place]:
    """Each key reaches to the next one, without the blank lines and comments before that."""
    places: dict[str, Place] = {}
    limits = [*(number for _, number, _ in starts[1:]), len(lines)]
    for (key, start, value), limit in zip(starts, limits, strict=False):
        end = limit
        while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1][0] == "#"):
            end -= 1
        places[key] = Place(start, end, value)
    return places


def written_scalar(value: object, *, in_list: bool = False) -> str:
    """A scalar as YAML, quoted so that every reader takes it for this very text.

    Where a field may be a truth value, a number or a time, it is written as one; within lists of
    texts these are quoted, because strict readers want texts there.
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Invalid("The text holds half a character", "Send valid Unicode text.") from None
    unusual = _UNUSUAL.search(text) or "\n" in text
    typed = _TYPED.fullmatch(text) and (in_list or text[:1] in ".+-")
    plain = _SAFE_PLAIN.fullmatch(text) and not text.endswith(" ") and not text.startswith("...")
    if plain and not unusual and not typed and text.lower() not in _WORDS_WITH_MEANING:
        return text
    if not unusual:
        return "'" + text.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character == "\n":
        return "\\n"
    if not _UNUSUAL.match(character):
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def written_flow(value: object) -> str:
    """Any value on one line."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(written_flow, value)) + "]"
    if isinstance(value, dict):
        parts = (f"{written_scalar(k, in_list=True)}: {written_flow(v)}" for k, v in value.items())
        return "{" + ", ".join(parts) + "}"
    return "null" if value is None else written_scalar(value, in_list=True)


def written_field(key: str, value: object, *, flow: bool = False, indent: str = "") -> list[str]:
    """The lines of one top-level field, without line ends; lists as blocks unless `flow`."""
    if isinstance(value, list | tuple) and value and not flow:
        return [f"{key}:", *(f"{indent}- {written_flow(item)}" for item in value)]
    if isinstance(value, dict) and value and not flow:
        return [f"{key}:", *(_written_part(name, part) for name, part in value.items())]
    if isinstance(value, list | tuple | dict):
        return [f"{key}: {written_flow(value)}"]
    return [f"{key}: {written_scalar(value)}"]


def _written_part(name: str, part: object) -> str:
    nested = part is None or isinstance(part, list | tuple | dict)
    text = written_flow(part) if nested else written_scalar(part)
    return f"  {written_scalar(name, in_list=True)}: {text}"
