"""Patches as rows that a page can show: files, hunks, numbered lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from clew.history.git.diff_lines import file_diffs, file_sections, header_name

MOST_LINES = 6000
_MOST_PER_FILE = 1500
_LONGEST_LINE = 2000
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@ ?(.*)")
_KINDS = {"+": "added", "-": "removed", " ": "same"}


@dataclass(frozen=True)
class Line:
    """One line of a diff: what became of it, its numbers before and after, its text."""

    kind: str
    old: int | None
    new: int | None
    text: str

    @property
    def side(self) -> str:
        """Which file a remark about this line is about."""
        return "old" if self.new is None else "new"

    @property
    def number(self) -> int:
        """The line's number on its side."""
        return (self.new if self.new is not None else self.old) or 0


@dataclass
class FileView:
    """One file of a diff."""

    path: str
    note: str = ""
    lines: list[Line] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    left_out: int = 0


@dataclass
class DiffView:
    """A diff, as much of it as a page can hold."""

    files: list[FileView] = field(default_factory=list)

    @property
    def added(self) -> int:
        """How many lines came."""
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        """How many lines went."""
        return sum(file.removed for file in self.files)


def read_diff(patch: str) -> DiffView:
    """The files and lines of a unified diff."""
    view = DiffView()
    shown = 0
    for section in file_sections(patch):
        if not section.strip():
            continue
        file = _file(section, max(0, min(_MOST_PER_FILE, MOST_LINES - shown)))
        shown += len(file.lines)
        view.files.append(file)
    return view


def _file(section: str, most: int) -> FileView:
    named = next(file_diffs(section), None)
    view = FileView((named.path if named else "") or header_name(section), _note(section))
    old = new = 0
    in_hunk = False
    for text in section.split("\n"):
        hunk = _HUNK.match(text) if text.startswith("@@") else None
        if hunk is not None:
            old, new, in_hunk = int(hunk[1]), int(hunk[2]), True
            _keep(view, Line("hunk", None, None, hunk[3]), most)
            continue
        kind = _KINDS.get(text[:1]) if in_hunk else None
        if kind is None:
            continue
        line = Line(
            kind,
            None if kind == "added" else old,
            None if kind == "removed" else new,
            text[1 : _LONGEST_LINE + 1],
        )
        view.added += kind == "added"
        view.removed += kind == "removed"
        old, new = old + (kind != "added"), new + (kind != "removed")
        _keep(view, line, most)
    return view


def _keep(view: FileView, line: Line, most: int) -> None:
    if len(view.lines) < most:
        view.lines.append(line)
    elif line.kind != "hunk":
        view.left_out += 1


def _note(section: str) -> str:
    header = section.partition("\n@@")[0]
    marks = (
        ("\nnew file mode", "new"),
        ("\ndeleted file mode", "deleted"),
        ("\nrename from", "renamed"),
        ("\nBinary files", "binary"),
        ("\nGIT binary patch", "binary"),
    )
    return ", ".join(word for mark, word in marks if mark in header)
