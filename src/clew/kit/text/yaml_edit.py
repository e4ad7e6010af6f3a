"""Where the keys of a YAML text are, and values as YAML that every reader takes for the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from clew.kit.errors import Invalid
from clew.kit.text.yaml_text import MOST_NODES, NULLS, compose, is_quick, key_end

if TYPE_CHECKING:
    from clew.kit.text.yaml_text import Node

Span = tuple[int, int]

# Tabs, line ends other than \n, marks and controls: what must be escaped.
_UNUSUAL = re.compile(
    "[^\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_OTHER_LINE_ENDS = re.compile("[\r\x85\u2028\u2029]")
_SAFE_PLAIN = re.compile(r"[\w/.](?:[\w ./@+-]|:(?=[\w/.]))*")
_TYPED = re.compile(
    r"[-+]?[\d.][\d_.:eE+-]*|0[xX][0-9a-fA-F]+|0[oO][0-7]+|[-+]?\.(?:inf|nan)"
    r"|\d{4}-\d\d?-\d\d?(?:[Tt ].*)?|true|false",
    re.IGNORECASE,
)
_WORDS_WITH_MEANING = frozenset({"y", "n", "yes", "no", "on", "off", *NULLS, "null"})


class KeySpan(NamedTuple):
    """Where a top-level key is: its lines and, within one line, its value's columns."""

    start: int
    end: int
    value: Span | None


def key_spans(text: str) -> dict[str, KeySpan] | None:
    """Where the top-level keys are; None where they are not one below the other."""
    if _OTHER_LINE_ENDS.search(text):
        return None
    lines = text.split("\n")
    if is_quick(text):
        ends = [(n, key_end(line)) for n, line in enumerate(lines) if line and line[0] not in " -#"]
        starts = [(lines[n][:end], n, _quick_columns(lines[n], end)) for n, end in ends if end > 0]
        return _with_ends(starts, lines)
    node = compose(text)
    if node is None:
        return {}
    keys = [key for key, _ in node.value]
    if node.flow_style or any(key.start_mark.column != 0 for key in keys):
        return None
    pairs = [(key.value, key.start_mark.line, _columns(key, item)) for key, item in node.value]
    return _with_ends(pairs, lines)


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of every key, by the path to it."""
    node = compose(text)
    found: dict[tuple[str, ...], int] = {}
    waiting: list[tuple[tuple[str, ...], Node]] = [((), node)] if node is not None else []
    while waiting and len(found) < MOST_NODES:
        above, current = waiting.pop()
        for key, value in current.value if current.id == "mapping" else ():
            found[*above, key.value] = key.start_mark.line
            waiting.append(((*above, key.value), value))
    return found


def _quick_columns(line: str, colon: int) -> Span | None:
    value = line[colon + 1 :].strip(" ")
    if not value or value[0] in "[{":
        return None
    start = line.index(value, colon + 1)
    return start, start + len(value)


def _columns(key: Node, node: Node) -> Span | None:
    start, end = node.start_mark, node.end_mark
    if node.id != "scalar" or not key.start_mark.line == start.line == end.line:
        return None
    return (start.column, end.column) if end.column > start.column else None


def _with_ends(starts: list[tuple[str, int, Span | None]], lines: list[str]) -> dict[str, KeySpan]:
    """Each key reaches to the next one, without the blank lines and comments before that."""
    spans: dict[str, KeySpan] = {}
    limits = [*(number for _, number, _ in starts[1:]), len(lines)]
    for (key, start, value), limit in zip(starts, limits, strict=False):
        end = limit
        while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1][0] == "#"):
            end -= 1
        spans[key] = KeySpan(start, end, value)
    return spans


def scalar_text(value: object, *, in_list: bool = False) -> str:
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


def flow_text(value: object) -> str:
    """Any value on one line."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    if isinstance(value, dict):
        parts = (f"{scalar_text(k, in_list=True)}: {flow_text(v)}" for k, v in value.items())
        return "{" + ", ".join(parts) + "}"
    return "null" if value is None else scalar_text(value, in_list=True)


def field_lines(key: str, value: object, *, flow: bool = False, indent: str = "") -> list[str]:
    """The lines of one top-level field, without line ends; lists as blocks unless `flow`."""
    if isinstance(value, list | tuple) and value and not flow:
        return [f"{key}:", *(f"{indent}- {flow_text(item)}" for item in value)]
    if isinstance(value, dict) and value and not flow:
        return [f"{key}:", *(_part_line(name, part) for name, part in value.items())]
    if isinstance(value, list | tuple | dict):
        return [f"{key}: {flow_text(value)}"]
    return [f"{key}: {scalar_text(value)}"]


def _part_line(name: str, part: object) -> str:
    nested = part is None or isinstance(part, list | tuple | dict)
    text = flow_text(part) if nested else scalar_text(part)
    return f"  {scalar_text(name, in_list=True)}: {text}"
