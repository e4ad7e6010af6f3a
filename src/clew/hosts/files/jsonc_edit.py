"""Changing one member of a JSON file and nothing else.

A text splice rather than a round-trip model. `json-five` was tried: its model keeps the bytes
it has read, but new members need their blanks and commas built by hand all the same, it takes
6 s for 200 KB (`~/.claude.json` is often larger), and it accepts JSON5 that hosts refuse.

`put` and `remove` are inverse: what a removal cannot see in the text (how an empty object was
written, what an entry said before) `put` hands out as a trace, which the ledger keeps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clew.hosts.files.jsonc import (
    JsoncError,
    Member,
    Node,
    after_last_comment,
    has_value,
    last_comment,
    line_of,
    parse,
    without_blanks,
)

Path = tuple[str, ...]
Trace = dict[str, Any]


@dataclass(frozen=True)
class Edit:
    """The changed text, and what its undoing needs to know."""

    text: str
    trace: Trace


def load(text: str) -> Any:
    """The document's value; nothing at all counts as an empty object."""
    return parse(text).value if has_value(text) else {}


def refuse_doubles(text: str, path: Path) -> None:
    """Refuse a duplicate member: hosts differ on which one counts."""
    if not path or not has_value(text):
        return
    nodes, doubled = [parse(text)], list[Member]()
    for key in path:
        found = [member for node in nodes for member in node.all_members(key)]
        doubled = found if len(found) > 1 else doubled
        nodes = [member.value for member in found]
    if doubled and nodes and nodes != [_descend(text, path)[0]]:
        lines = " and ".join(str(line_of(text, member.start)) for member in doubled)
        reason = f'"{doubled[0].key}" occurs {len(doubled)} times, in lines {lines}'
        raise JsoncError(f"{reason}; keep one of them", text, doubled[0].start)


def is_blank(text: str) -> bool:
    """Whether the document says nothing: no members and no comments."""
    return text.strip() in ("", "{}") or "".join(text.split()) == "{}"


def put(text: str, path: Path, value: object) -> Edit:
    """Set the member at this path, making missing objects on the way."""
    if not has_value(text):
        return _first_document(text, path, value)
    node, rest = _descend(text, path)
    if not rest:
        return Edit(
            text[: node.start] + _written(text, node, value) + text[node.end :],
            {"replaced": text[node.start : node.end]},
        )
    for key in reversed(rest[1:]):
        value = {key: value}
    trace: Trace = {"created": len(rest) - 1}
    if not node.members:
        trace["hollow"] = text[node.start : node.end]
    return Edit(_inserted(text, node, rest[0], value), trace)


def remove(text: str, path: Path, trace: Trace) -> str:
    """Remove the member at this path, and the objects that were created to hold it."""
    node, rest = _descend(text, path)
    if rest:
        return text
    if "replaced" in trace:
        return text[: node.start] + str(trace["replaced"]) + text[node.end :]
    text = _cut(text, path)
    for _ in range(trace.get("created", 0)):
        holder, _ = _descend(text, path[:-1])
        if without_blanks(text[holder.start : holder.end]) != "{}" or holder.members:
            break
        path = path[:-1]
        text = _cut(text, path)
    return _closed(text, path[:-1], trace.get("hollow"))


def _descend(text: str, path: Path) -> tuple[Node, Path]:
    """The deepest existing node on the path, and the keys that are missing below it."""
    node = parse(text)
    for depth, key in enumerate(path):
        if node.members is None:
            where = ".".join(path[:depth]) or "the document"
            raise JsoncError(f"{where} is not an object", text, node.start)
        member = node.member(key)
        if member is None:
            return node, path[depth:]
        node = member.value
    return node, ()


def _first_document(text: str, path: Path, value: object) -> Edit:
    for key in reversed(path):
        value = {key: value}
    newline = _newline(text)
    gap = newline if text and not text.endswith("\n") else ""
    return Edit(
        text + gap + _pretty(value, "", "  ", newline) + newline, {"created": len(path) - 1}
    )


def _inserted(text: str, node: Node, key: str, value: object) -> str:
    """The text with a new last member in this object."""
    last = node.members[-1] if node.members else None
    inner_end = node.end - 1
    gap_start = _gap_start(node, last)
    spot = after_last_comment(text, gap_start, inner_end)
    lead, body = _lead_and_body(text, node, key, value)
    tail = ""
    if last is None and "\n" in lead and "\n" not in text[spot:inner_end]:
        tail = lead[: len(lead) - len(lead.lstrip("\r\n"))] + _line_indent(text, node.start)
    if last is None:
        return text[:spot] + lead + body + tail + text[spot:]
    if last.comma is not None:
        return text[:spot] + lead + body + "," + text[spot:]
    end = last.value.end
    return text[:end] + "," + text[end:spot] + lead + body + text[spot:]


def _gap_start(node: Node, last: Member | None) -> int:
    if last is None:
        return node.start + 1
    return last.value.end if last.comma is None else last.comma + 1


def _lead_and_body(text: str, node: Node, key: str, value: object) -> tuple[str, str]:
    """The blanks before a new member and the member itself, in the style of its object."""
    name = json.dumps(key, ensure_ascii=False)
    if _on_one_line(text, node):
        colon = ": " if ": " in text or not node.members else ":"
        separators = (", ", ": ") if colon == ": " else (",", ":")
        body = json.dumps(value, ensure_ascii=False, separators=separators)
        return (" " if node.members and colon == ": " else ""), f"{name}{colon}{body}"
    newline, unit = _newline(text), _unit(text)
    indent = _member_indent(text, node, unit)
    return newline + indent, f"{name}: {_pretty(value, indent, unit, newline)}"


def _on_one_line(text: str, node: Node) -> bool:
    if "\n" in text[node.start : node.end]:
        return False
    return bool(node.members or ("\n" not in text.strip() and parse(text).members))


def _member_indent(text: str, node: Node, unit: str) -> str:
    indent = next(_indents(text, node), None)
    return _line_indent(text, node.start) + unit if indent is None else indent


def _indents(text: str, node: Node) -> Iterator[str]:
    """The blanks before each member that begins a line."""
    end = node.start
    for member in node.members or []:
        line = text.rfind("\n", end, member.start) + 1
        if line and not text[line : member.start].strip(" \t"):
            yield text[line : member.start]
        end = member.value.end


def _line_indent(text: str, position: int) -> str:
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation, as the document's first member shows it."""
    return next(filter(None, _indents(text, parse(text))), "  ")


def _newline(text: str) -> str:
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"


def _written(text: str, node: Node, value: object) -> str:
    """A value in place of another: on one line if that one was, else in the file's style."""
    if "\n" not in text[node.start : node.end]:
        return json.dumps(value, ensure_ascii=False)
    return _pretty(value, _line_indent(text, node.start), _unit(text), _newline(text))


def _pretty(value: object, indent: str, unit: str, newline: str) -> str:
    """Objects over several lines, lists on one, as people write these files."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = indent + unit
    lines = [
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_pretty(item, inner, unit, newline)}"
        for key, item in value.items()
    ]
    return "{" + newline + ("," + newline).join(lines) + newline + indent + "}"


def _cut(text: str, path: Path) -> str:
    """The text without this member, its comma and the blanks before it."""
    parent, _ = _descend(text, path[:-1])
    members = parent.members or []
    member = parent.member(path[-1])
    assert member is not None
    index = members.index(member)
    before = members[index - 1] if index else None
    comma = before.comma if before else None
    gap_start = parent.start + 1 if comma is None else comma + 1
    end = member.value.end if member.comma is None else member.comma + 1
    start = after_last_comment(text, gap_start, member.start)
    if text.startswith("//", _comment_start(text, gap_start, member.start)) and _more(text, end):
        start = member.start
    if comma is not None and member.comma is None:
        return text[:comma] + text[comma + 1 : start] + text[end:]
    return text[:start] + text[end:]


def _comment_start(text: str, start: int, stop: int) -> int:
    found = last_comment(text, start, stop)
    return found.start() if found else stop


def _more(text: str, position: int) -> bool:
    """Whether something follows on the same line, where a `//` before it would swallow it."""
    return text[position:].lstrip(" \t")[:1] not in ("", "\r", "\n")


def _closed(text: str, path: Path, hollow: str | None) -> str:
    """The text with an object that became empty written as it was before, or as `{}`."""
    node, rest = _descend(text, path)
    if rest or node.members:
        return text
    own = text[node.start : node.end]
    if hollow is not None and without_blanks(own) == without_blanks(hollow):
        own = hollow
    elif without_blanks(own) == "{}":
        own = "{}"
    return text[: node.start] + own + text[node.end :]
