"""Patches as rows that a page can show: files, hunks, numbered lines."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.kit.text.diff import FileDiff, file_diffs

MOST_LINES = 6000
_MOST_PER_FILE = 1500
_LONGEST_LINE = 2000


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
    for file in file_diffs(patch):
        found = _file(file, max(0, min(_MOST_PER_FILE, MOST_LINES - shown)))
        shown += len(found.lines)
        view.files.append(found)
    return view


def _file(file: FileDiff, most: int) -> FileView:
    view = FileView(file.path, _note(file))
    for kind, old, new, text in file.lines():
        view.added += kind == "added"
        view.removed += kind == "removed"
        if len(view.lines) < most:
            view.lines.append(
                Line(
                    kind,
                    None if kind in ("added", "hunk") else old,
                    None if kind in ("removed", "hunk") else new,
                    text[:_LONGEST_LINE],
                )
            )
        elif kind != "hunk":
            view.left_out += 1
    return view


def _note(file: FileDiff) -> str:
    marks = (
        ("\nnew file mode", "new"),
        ("\ndeleted file mode", "deleted"),
        ("\nrename from", "renamed"),
    )
    notes = [word for mark, word in marks if mark in file.header]
    return ", ".join([*notes, "binary"] if file.is_binary else notes)
