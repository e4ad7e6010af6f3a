"""Git's merge driver for specs: three versions of a file become one, field by field.

A field that one side changed takes that side's value. Where both did: lists gain what either added
and lose what either removed, maps are merged key by key, of two times the later one counts, and of
two statuses the one further along, except that a cancellation always wins. Everything else both
sides changed is a conflict, marked in the file. The body is merged by git. Fields that nobody knows,
comments and the order of keys stay as our side has them.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from clew.kit.errors import ClewError, Invalid
from clew.kit.files import write_atomic
from clew.kit.git import open_git
from clew.kit.text.display import os_reason
from clew.kit.text.frontmatter import Document, FrontmatterError
from clew.kit.text.frontmatter_edit import edit_document
from clew.kit.text.yaml_edit import key_spans
from clew.specs.files.parse import read_document
from clew.specs.model import LIST_FIELDS, words_of

# The later one wins where both sides changed the status.
_COURSE = (
    "pending", "ready", "blocked", "in_progress", "paused", "failed", "needs_attention",
    "completed", "cancelled",
)  # fmt: skip
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_ABSENT: Any = None


class Merged(NamedTuple):
    """The new file, and the fields (or `body`, or `file`) that need a person."""

    data: bytes
    conflicts: tuple[str, ...]


class MergeFailed(ClewError):
    """No merge was possible; exit code 2 says so to git, where 1 is a conflict."""

    exit_code = 2


def merge_files(base: Path, ours: Path, theirs: Path) -> tuple[str, ...]:
    """Merge as git asks for it: the result replaces `ours`; gives what is in conflict."""
    try:
        merged = merge_specs(base.read_bytes(), ours.read_bytes(), theirs.read_bytes())
        write_atomic(ours, merged.data)
    except OSError as error:
        raise MergeFailed(os_reason(error)) from error
    except Invalid as error:
        raise MergeFailed(error.message, error.hint) from error
    return merged.conflicts


def merge_specs(base: bytes, ours: bytes, theirs: bytes) -> Merged:
    """One file of three; files that are no specs are merged as text."""
    if theirs in {ours, base}:
        return Merged(ours, ())
    if ours == base:
        return Merged(theirs, ())
    try:
        mine, other = read_document(ours), read_document(theirs)
        old = read_document(base) if base.strip() else None
        return _merge_documents(old, mine, other)
    except (FrontmatterError, Invalid):
        return _merge_text(base, ours, theirs, "file")


def _merge_documents(old: Document | None, mine: Document, other: Document) -> Merged:
    before = old.fields if old else {}
    changes: dict[str, Any] = {}
    conflicts: list[str] = []
    for name in dict.fromkeys((*mine.fields, *other.fields)):
        values = before.get(name), mine.fields.get(name), other.fields.get(name)
        value, clear = merge_value(name, *values)
        if not clear:
            conflicts.append(name)
        elif value != mine.fields.get(name):
            changes[name] = value
    body = _merge_text(
        (old.body if old else "").encode(), mine.body.encode(), other.body.encode(), "body"
    )
    data = edit_document(mine, changes, body.data.decode())
    if conflicts:
        data = _marked(read_document(data), other, conflicts)
    return Merged(data, (*conflicts, *body.conflicts))


def merge_value(name: str, base: Any, ours: Any, theirs: Any) -> tuple[Any, bool]:
    """One field's value out of three, and whether that is clear; None stands for no field."""
    if theirs in (ours, base) or ours == base:
        return (theirs if ours == base else ours), True
    if name == "status":
        return max((str(ours), str(theirs)), key=_progress), True
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return _merge_maps(base if isinstance(base, dict) else {}, ours, theirs)
    if name in LIST_FIELDS or (isinstance(ours, list) and isinstance(theirs, list)):
        return _merge_lists(words_of(base), words_of(ours), words_of(theirs)), True
    if all(isinstance(value, str) and _TIME.match(value) for value in (ours, theirs)):
        return max(ours, theirs), True
    return ours, False


def _progress(status: str) -> int:
    return _COURSE.index(status) if status in _COURSE else -1


def _merge_maps(
    base: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]
) -> tuple[dict[str, Any], bool]:
    merged: dict[str, Any] = {}
    all_clear = True
    for key in dict.fromkeys((*ours, *theirs)):
        value, clear = merge_value(key, base.get(key), ours.get(key), theirs.get(key))
        all_clear = all_clear and clear
        if value is not _ABSENT:
            merged[key] = value
    return merged, all_clear


def _merge_lists(base: Iterable[str], ours: tuple[str, ...], theirs: tuple[str, ...]) -> list[str]:
    removed = {item for item in base if item not in ours or item not in theirs}
    return [item for item in dict.fromkeys((*ours, *theirs)) if item not in removed]


def _merge_text(base: bytes, ours: bytes, theirs: bytes, name: str) -> Merged:
    """Merge texts line by line, as git does; what cannot be merged is marked."""
    if theirs in {ours, base}:
        return Merged(ours, ())
    if ours == base:
        return Merged(theirs, ())
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for part, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            (place / part).write_bytes(data)
        labels = ("-L", "ours", "-L", "base", "-L", "theirs")
        process = open_git("merge-file", "-p", "-q", *labels, "ours", "base", "theirs", cwd=place)
        data, _ = process.communicate()
    if process.returncode < 0 or process.returncode > 127:
        raise Invalid(f"git cannot merge the {name}", "Merge the file by hand.")
    return Merged(data, (name,) if process.returncode else ())


def _marked(document: Document, other: Document, names: list[str]) -> bytes:
    """The file with both sides of each conflict, so that nobody takes it for merged."""
    mine = document.yaml.splitlines(keepends=True)
    theirs = other.yaml.splitlines(keepends=True)
    my_spans, their_spans = key_spans(document.yaml), key_spans(other.yaml)
    if my_spans is None or their_spans is None:
        raise Invalid("The fields are not one below the other")
    spots: list[tuple[int, int, list[str]]] = []
    for name in names:
        here, there = my_spans.get(name), their_spans.get(name)
        start, end = (here.start, here.end) if here else (len(mine), len(mine))
        their_lines = theirs[there.start : there.end] if there else []
        block = ["<<<<<<< ours\n", *mine[start:end], "=======\n", *their_lines, ">>>>>>> theirs\n"]
        spots.append((start, end, block))
    for start, end, block in sorted(spots, key=lambda spot: spot[:2], reverse=True):
        mine[start:end] = block
    lines = "".join(mine).replace("\n", document.line_end)
    text = document.text
    return (text[: document.yaml_start] + lines + text[document.yaml_end :]).encode()
