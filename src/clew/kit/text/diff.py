"""Unified diffs as git prints them: files, hunks, numbered lines, quoted names.

Patches are bytes where they are stored and text where they are shown. They may be cut anywhere,
may hold files of any encoding, and a merge's diff may have a column of signs for each parent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import AnyStr

Line = tuple[str, int, int, str]


_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPED = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
# A line of a file has a sign before it, so only the first line of a file's section begins so.
_SECTION = "\ndiff --"
SECTION = _SECTION.encode()
_HUNK = re.compile(r"@@(@*) -(\d{1,9})[-,\d ]*\+(\d{1,9})(?:,\d+)? @@@* ?(.*)")
_HUNKS = re.compile(r"^(?=@@)", re.MULTILINE)
_RANGES = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_NAMED = re.compile(r"^(\+\+\+|---|rename to|copy to) (.*?)\t*$", re.MULTILINE)
_SIDE = re.compile(r'^("?)[ab]/')
# The line end before them lets the search skip to each: twice as quick as a loop over lines.
_ADDED, _REMOVED, _AROUND = (
    re.compile(line).findall for line in (rb"\n\+(.*)", rb"\n-(.*)", rb"\n@..*?@@.(.+)")
)
_KINDS = {"+": "added", "-": "removed", " ": "context"}


class Hunk:
    """One hunk of a file's section: where it is, and its lines with their signs."""

    def __init__(self, text: str) -> None:
        """Read a hunk, which is one of `FileDiff.hunks`."""
        header, _, body = text.partition("\n")
        self.header = header
        self.lines = body.removesuffix("\n").split("\n") if body else []
        numbers = _RANGES.match(header)
        self.old_start, self.old_count, self.new_start, self.new_count = (
            (int(number) if number else 1) for number in (numbers.groups() if numbers else "0000")
        )

    def texts(self, sign: str) -> list[str]:
        """The lines that have a sign, without it."""
        return [line[1:] for line in self.lines if line[:1] == sign]

    def around(self, number: int, most: int) -> str:
        """The lines nearest to a line of the new file, as a hunk without header."""
        kept = [at for at, line in enumerate(self.lines) if line[:1] in ("+", " ")]
        place = number - self.new_start
        at = kept[place] if 0 <= place < len(kept) else 0
        start = max(0, min(at - most // 2, len(self.lines) - most))
        return "\n".join(self.lines[start : start + most])


class FileDiff:
    """One file's section of a patch."""

    def __init__(self, section: str) -> None:
        """Read a section, which is one of `sections`."""
        self.section = section
        self.header = section.partition("\n@@")[0]

    @cached_property
    def path(self) -> str:
        """The file's name after the change, or before it if the file was deleted."""
        names = [(word, name) for word, name in _NAMED.findall(self.header) if name != "/dev/null"]
        if not names:
            return self._name_of_first_line()
        word, name = next((one for one in names if one[0] != "---"), names[0])
        path = unquote(name.encode("utf-8", "replace"))
        return _SIDE.sub(r"\1", path) if word in ("+++", "---") else path

    def _name_of_first_line(self) -> str:
        """The only name of a file without lines: one whose mode changed, or something binary."""
        first = self.header.partition("\n")[0]
        name = first.removeprefix("diff --cc ")
        if first.startswith("diff --git "):  # twice the same name: renamed files name it further on
            name = first[(len(first) + len("diff --git ")) // 2 + 1 :]
        return _SIDE.sub(r"\1", unquote(name.encode("utf-8", "replace")))

    @property
    def is_binary(self) -> bool:
        """Whether git says only that the file differs."""
        return "\nBinary files " in self.header or "\nGIT binary patch" in self.header

    @property
    def old_path(self) -> str:
        """The file's name before the change, or after it if the file is new."""
        names = re.findall(r"^(---|rename from|copy from) (.*?)\t*$", self.header, re.MULTILINE)
        word, name = next((one for one in names if one[1] != "/dev/null"), ("", ""))
        if not name:
            return self.path
        path = unquote(name.encode("utf-8", "replace"))
        return _SIDE.sub(r"\1", path) if word == "---" else path

    @property
    def is_new(self) -> bool:
        """Whether the file was not there before."""
        return "\nnew file mode" in self.header

    @property
    def hunks(self) -> list[Hunk]:
        """The hunks in their order."""
        return [Hunk(text) for text in _HUNKS.split(self.section)[1:]]

    def lines(self) -> Iterator[Line]:
        """Kind, number in the old and in the new file, and text of each line and hunk header."""
        old = new = columns = 0
        for text in self.section.split("\n"):
            kind = _KINDS.get(text[:1])
            if text[:2] == "@@" and (header := _HUNK.match(text)):
                columns = 1 + len(header[1])
                old, new = int(header[2]), int(header[3])
                yield ("hunk", old, new, header[4])
            elif kind is None or not columns:
                continue
            else:
                if columns > 1:
                    kind = _combined(text[:columns])
                yield (kind, old, new, text[columns:])
                old += kind != "added"
                new += kind != "removed"

    @property
    def added(self) -> list[tuple[int, str]]:
        """The added lines with their numbers in the new file."""
        return self._changed[0]

    @property
    def removed(self) -> list[tuple[int, str]]:
        """The removed lines with their numbers in the old file."""
        return self._changed[1]

    @cached_property
    def _changed(self) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
        added, removed = [], []
        for kind, old, new, text in self.lines():
            if kind == "added":
                added.append((new, text))
            elif kind == "removed":
                removed.append((old, text))
        return added, removed


def _combined(signs: str) -> str:
    """What became of a line that is compared with several parents."""
    return "removed" if "-" in signs else "added" if "+" in signs else "context"


def file_diffs(patch: str) -> Iterator[FileDiff]:
    """The files of a patch, in its order."""
    for section in sections(patch):
        if section.strip():
            yield FileDiff(section)


def sections(patch: AnyStr) -> Iterator[AnyStr]:
    """The patch file by file."""
    mark = _SECTION if isinstance(patch, str) else SECTION
    start = 0
    while start < len(patch):
        end = patch.find(mark, start)
        if end < 0:
            yield patch[start:]
            return
        yield patch[start : end + 1]
        start = end + 1


class LineKinds:
    """The kinds of a patch's lines, by where they begin; quick for lines of one file in a row."""

    def __init__(self, patch: str) -> None:
        self._patch = patch
        self._begin, self._end, self._hunks = 0, -1, 0

    def of(self, start: int) -> str | None:
        """The kind of the line that begins at an offset; None outside of hunks."""
        patch = self._patch
        if not self._begin < start <= self._end:
            self._begin = patch.rfind(_SECTION, 0, start)
            end = patch.find(_SECTION, max(start - 1, 0))
            self._end = len(patch) if end < 0 else end
            self._hunks = patch.find("\n@@ ", max(self._begin, 0), self._end)
        return _KINDS.get(patch[start : start + 1]) if 0 <= self._hunks < start else None


def line_place(patch: str, start: int) -> tuple[str, int]:
    """The file of the line at an offset, and its number: in the new file, or where it was."""
    section = patch.rfind(_SECTION, 0, start) + 1
    hunk = patch.rfind("\n@@ ", 0, start) + 1
    header = _HUNK.match(patch, hunk)
    if header is None:
        return "", 0
    is_removed = patch[start : start + 1] == "-"
    other = "+" if is_removed else "-"
    body = patch.find("\n", hunk)
    number = int(header[2] if is_removed else header[3]) - 1
    number += patch.count("\n", body, start)
    number -= patch.count(f"\n{other}", body, start) + patch.count("\n\\", body, start)
    return _path_of(patch[section : patch.find("\n@@ ", section) + 1]), number


@lru_cache(maxsize=256)
def _path_of(header: str) -> str:
    return FileDiff(header).path


def changed_texts(patch: bytes) -> tuple[str, str, str]:
    """Added text, removed text, and the context that hunk headers name."""
    added: list[bytes] = []
    removed: list[bytes] = []
    for start, end in _hunks_of_files(patch):
        added += _ADDED(patch, start, end)
        removed += _REMOVED(patch, start, end)
    return _text(added), _text(removed), _text(list(dict.fromkeys(_AROUND(patch))))


def _text(lines: list[bytes]) -> str:
    return b"\n".join(lines).decode("utf-8", "replace")


def _hunks_of_files(patch: bytes) -> Iterator[tuple[int, int]]:
    """Where the hunks of each file begin, with the line end before them, and where they end."""
    start = patch.find(b"\n@@ ")
    while start >= 0:
        end = patch.find(SECTION, start)
        end = len(patch) if end < 0 else end
        yield start, end
        start = patch.find(b"\n@@ ", end)


def count_lines(patch: bytes) -> tuple[int, int]:
    """How many lines a patch adds and removes."""
    added = removed = 0
    for start, end in _hunks_of_files(patch):
        added += patch.count(b"\n+", start, end)
        removed += patch.count(b"\n-", start, end)
    return added, removed


def is_binary_only(patch: bytes) -> bool:
    """Whether a patch shows nothing but that binary files differ."""
    if b"\nBinary files " not in patch:
        return False
    return all(b"\n@@ " not in part and b"\nBinary files " in part for part in sections(patch))


def unquote(name: bytes) -> str:
    """A path as git prints it, as text; one that is no UTF-8 stays in git's quotes."""
    raw = name
    if name[:1] == b'"' and name[-1:] == b'"':
        raw = _ESCAPED.sub(_unescape, name[1:-1])
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("ascii", "backslashreplace")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match.group(1)
    return bytes([_ESCAPES[code.decode()] if len(code) == 1 else int(code, 8) & 0xFF])
