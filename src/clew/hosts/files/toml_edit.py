"""Changing one table of a TOML file and nothing else.

A new table is appended as text and removed as the same text, which keeps every other byte;
whatever is more than that (an inline parent, an entry someone edited) is left to tomlkit.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, cast

from clew.hosts.files.jsonc_edit import Edit

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from tomlkit import TOMLDocument

    from clew.hosts.files.jsonc_edit import Path, Trace


class ShapeError(ValueError):
    """Something on the way to an entry is not a table; says what is expected."""


def load(text: str) -> Any:
    """The document's value; tomlkit would take ten times as long."""
    return tomllib.loads(text)


def is_blank(text: str) -> bool:
    """Whether the document says nothing."""
    return not text.strip()


def put(text: str, path: Path, value: object) -> Edit:
    """Set the table or key at this path."""
    whole = load(text)
    _refuse_other_shapes(whole, path)
    before = value_at(whole, path)
    if before is None and isinstance(value, dict):
        appended = _block(text, path, value)
        if _is_right(text + appended, path, value):
            return Edit(text + appended, {"inserted": appended})
    document = _parsed(text)
    _assign(document, path, value)
    trace: Trace = {} if before is None else {"replaced": before}
    return Edit(document.as_string(), trace)


def remove(text: str, path: Path, trace: Trace) -> str:
    """Remove the table or key at this path, or restore what was there before."""
    if value_at(load(text), path) is None:
        return text
    if "replaced" in trace:
        document = _parsed(text)
        _assign(document, path, trace["replaced"])
        return document.as_string()
    inserted = trace.get("inserted")
    if inserted and text.count(inserted) == 1:
        shorter = text.replace(inserted, "")
        if _is_removed(text, shorter, path):
            return shorter
    return _deleted(text, path)


def _refuse_other_shapes(value: Any, path: Path) -> None:
    """Refuse a document that has something else in place of the table that holds the entry."""
    for depth, key in enumerate(path[:-1], 1):
        value = value.get(key, {})
        if not isinstance(value, dict):
            name, expected = ".".join(path[:depth]), ".".join(path[: depth + 1])
            what = "a list" if isinstance(value, list) else "a plain value"
            raise ShapeError(f"{name} is {what}; expected a table, as in [{expected}]")


def _parsed(text: str) -> TOMLDocument:
    import tomlkit

    return tomlkit.parse(text)


def _block(text: str, path: Path, value: dict[str, Any]) -> str:
    import tomlkit

    newline = "\r\n" if "\r\n" in text else "\n"
    header = tomlkit.key(list(path)).as_string()
    body = tomlkit.dumps(value).strip("\n").split("\n")
    lines = [f"[{header}]", *body]
    gap = newline if text and not text.endswith("\n") else ""
    if text.strip() and not text.endswith(("\n\n", "\n\r\n")):
        gap += newline
    return gap + newline.join(lines) + newline


def _is_right(text: str, path: Path, value: object) -> bool:
    try:
        return bool(value_at(load(text), path) == value)
    except tomllib.TOMLDecodeError:
        return False


def _is_removed(before: str, after: str, path: Path) -> bool:
    try:
        is_gone = value_at(load(after), path) is None
        return is_gone and bool(others(load(after), path) == others(load(before), path))
    except tomllib.TOMLDecodeError:
        return False


def _assign(document: TOMLDocument, path: Path, value: object) -> None:
    import tomlkit

    holder = cast("MutableMapping[str, Any]", document)
    for key in path[:-1]:
        if key not in holder:
            holder[key] = tomlkit.table(is_super_table=True)
        holder = holder[key]
    holder[path[-1]] = value


def _deleted(text: str, path: Path) -> str:
    document = _parsed(text)
    holders: list[MutableMapping[str, Any]] = [document]
    for key in path[:-1]:
        holders.append(holders[-1][key])
    for holder, key in zip(reversed(holders), reversed(path), strict=True):
        del holder[key]
        if holder or not getattr(holder, "is_super_table", bool)():
            break
    return document.as_string()


def value_at(value: Any, path: tuple[str, ...]) -> Any:
    """The value at this path, or None."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def others(value: Any, path: tuple[str, ...]) -> Any:
    """Everything beside the path; parents that would hold nothing are left out."""
    if not path or not isinstance(value, dict):
        return None
    kept = {key: item for key, item in value.items() if key != path[0]}
    inner = others(value.get(path[0]), path[1:])
    return {**kept, path[0]: inner} if inner else kept
