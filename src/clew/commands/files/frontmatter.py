"""Frontmatter: where it ends, and what it says.

The plain YAML that people write in frontmatter is read here, because a YAML library would take
longer than everything else a cold start does. Whatever is not plainly understood goes to the
library. All scalars are text.
"""

from __future__ import annotations

from clew.kit import jsontext
from clew.kit.errors import Invalid
from clew.kit.text.frontmatter import read_leniently

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Line = tuple[int, str]

_SPECIAL = frozenset("&*!|>%@`\"'[]{},#?:=")
# The library takes about a second for this much; a repository must not make it take minutes.
_LONGEST_BLOCK = 64 * 1024
_MOST_BRACKETS = 1000


class FrontmatterError(Invalid):
    """Frontmatter that cannot be read."""


class _NotPlain(Exception):
    """More than the plain reader understands."""


def split(text: str) -> tuple[dict[str, Any] | None, str, str]:
    """Frontmatter as a mapping (None where there is none), the body, and what is wrong with it."""
    return read_leniently(text)


def read_mapping(block: str) -> dict[str, Any] | None:
    """The mapping that a block of YAML holds, or None when it holds something else."""
    try:
        found = _plain(block)
    except _NotPlain:
        found = _by_library(block)
    return found if isinstance(found, dict) else None


def _by_library(block: str) -> Any:
    if len(block) > _LONGEST_BLOCK or block.count("[") + block.count("{") > _MOST_BRACKETS:
        raise FrontmatterError("The frontmatter is too long, or has too many brackets")
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="base", pure=True).load(block) or {}
    except (YAMLError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = getattr(error, "problem", None) or str(error).split("\n")[0]
        raise FrontmatterError(f"The frontmatter is not readable YAML: {reason}") from None


def _plain(block: str) -> Any:
    lines: list[Line] = []
    for line in block.split("\n"):
        content = line.strip(" \r")
        if not content or content.startswith("#"):
            continue
        if not content.isprintable() or content.startswith(("---", "...", "%")):
            raise _NotPlain
        lines.append((len(line) - len(line.lstrip(" ")), content))
    if not lines:
        return {}
    found, end = _block(lines, 0, lines[0][0])
    if end != len(lines):
        raise _NotPlain
    return found


def _block(lines: list[Line], start: int, indent: int) -> tuple[Any, int]:
    if lines[start][1].startswith("- "):
        return _list(lines, start, indent)
    return _mapping(lines, start, indent)


def _list(lines: list[Line], start: int, indent: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    index = start
    while index < len(lines) and lines[index][0] == indent:
        content = lines[index][1]
        if not content.startswith("- "):
            break
        inner = content[2:].lstrip(" ")
        if _key_end(inner) >= 0:
            # The rest of the line opens a mapping whose keys stand where this one does.
            depth = indent + len(content) - len(inner)
            lines[index] = (depth, inner)
            item, index = _mapping(lines, index, depth)
            items.append(item)
        else:
            items.append(_scalar(inner))
            index += 1
            _expect_no_continuation(lines, index, indent)
    if index < len(lines) and lines[index][0] > indent:
        raise _NotPlain
    return items, index


def _mapping(lines: list[Line], start: int, indent: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    index = start
    while index < len(lines) and lines[index][0] == indent:
        content = lines[index][1]
        end = _key_end(content)
        key = content[:end] if end >= 0 else ""
        if not key or key in found:
            raise _NotPlain
        rest = content[end + 1 :].strip(" ")
        index += 1
        if rest:
            found[key] = _scalar(rest)
            _expect_no_continuation(lines, index, indent)
        elif index < len(lines) and _opens_value(lines[index], indent):
            found[key], index = _block(lines, index, lines[index][0])
        else:
            found[key] = ""
    if index < len(lines) and lines[index][0] > indent:
        raise _NotPlain
    return found, index


def _opens_value(line: Line, indent: int) -> bool:
    return line[0] > indent or (line[0] == indent and line[1].startswith("- "))


def _expect_no_continuation(lines: list[Line], index: int, indent: int) -> None:
    if index < len(lines) and lines[index][0] > indent:
        raise _NotPlain


def _key_end(content: str) -> int:
    """Where the colon after a plain key stands, or -1."""
    end = content.find(":")
    if end < 1 or (len(content) > end + 1 and content[end + 1] != " "):
        return -1
    plain = content[:end].replace("_", "").replace("-", "").replace(".", "")
    usable = plain.isalnum() and plain.isascii() and content[0] not in "-."
    return end if usable else -1


def _scalar(text: str) -> Any:
    first = text[0]
    if first == '"':
        return _double_quoted(text)
    if first == "'":
        inner = text[1:-1].replace("''", "\0")
        if len(text) < 2 or not text.endswith("'") or "'" in inner:
            raise _NotPlain
        return inner.replace("\0", "'")
    if first == "[":
        return _flow_list(text)
    if text == "{}":
        return {}
    if (
        first in _SPECIAL
        or text.startswith("- ")
        or text == "-"
        or ": " in text
        or " #" in text
        or text.endswith(":")
    ):
        raise _NotPlain
    return text


def _double_quoted(text: str) -> str:
    try:
        found = jsontext.loads(text)
    except jsontext.JsonError:
        raise _NotPlain from None
    return str(found)


def _flow_list(text: str) -> list[Any]:
    inner = text[1:-1].strip(" ")
    if not text.endswith("]") or any(mark in inner for mark in "[]{}"):
        raise _NotPlain
    if not inner:
        return []
    items = [item.strip(" ") for item in inner.split(",")]
    if not all(items) or any(": " in item or item.count('"') == 1 for item in items):
        raise _NotPlain
    return [_scalar(item) for item in items]
