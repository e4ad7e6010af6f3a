"""A stored patch as files with numbered added and removed lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.history.git.patch import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_SECTION = re.compile(r"^(?=diff --git )", re.MULTILINE)
_NAMES = ("+++ ", "--- ", "rename to ", "copy to ")


@dataclass
class FileDiff:
    """One file of a patch: its lines with their numbers in the new and in the old file."""

    path: str = ""
    added: list[tuple[int, str]] = field(default_factory=list)
    removed: list[tuple[int, str]] = field(default_factory=list)


def file_sections(patch: str) -> list[str]:
    """The text of a patch, file by file."""
    return _SECTION.split(patch)


def file_diffs(patch: str) -> Iterator[FileDiff]:
    """The files of a patch, in its order."""
    for section in file_sections(patch):
        if section.strip():
            yield _file_diff(section)


def header_name(section: str) -> str:
    """The name in a section's first line, for files without lines: a mode, something binary."""
    first = section.partition("\n")[0]
    names = first.removeprefix("diff --git ")
    if names == first:
        return first
    new = names[len(names) // 2 + 1 :]  # twice the same name: a file that moved says so further on
    return _without_side(unquote(new.encode("utf-8", "replace")))


def _file_diff(section: str) -> FileDiff:
    current = FileDiff()
    old = new = 0
    in_hunk = False
    for line in section.split("\n"):
        first = line[:1]
        if first == "@" and (match := _HUNK.match(line)):
            old, new, in_hunk = int(match[1]), int(match[2]), True
        elif not in_hunk:
            _name(current, line)
        elif first == "+":
            current.added.append((new, line[1:]))
            new += 1
        elif first == "-":
            current.removed.append((old, line[1:]))
            old += 1
        elif first == " ":
            old, new = old + 1, new + 1
    return current


def _name(current: FileDiff, line: str) -> None:
    """Take the file's name from a header line; the new name wins over the old."""
    prefix = next((start for start in _NAMES if line.startswith(start)), None)
    shown = line.removeprefix(prefix or "").rstrip("\t")
    if prefix is None or shown == "/dev/null" or (prefix == "--- " and current.path):
        return
    name = unquote(shown.encode("utf-8", "replace"))
    current.path = _without_side(name) if prefix in ("+++ ", "--- ") else name


def _without_side(name: str) -> str:
    return re.sub(r'^("?)[ab]/', r"\1", name)
