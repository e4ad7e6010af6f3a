"""Search in memory: Markdown notes that agents and people keep, section by section.

Nothing is stored. The notes are read when they are asked for and kept in memory; a file that
changed, came or went is noticed by its stat. They are never sent anywhere: only the packaged
model makes vectors of them.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.history.lookup import bounded
from clew.history.semantic.search import any_word, checked_query, fused
from clew.history.store.vectors import rank_texts
from clew.kit.errors import ClewError, NotFound
from clew.kit.files import open_regular
from clew.kit.text.display import os_reason, shown_path
from clew.models.embedding import packaged_embedder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.models.embedding import Vectors

DIRECTORIES = "CLEW_MEMORY"
_POOL = 100
_MOST_FILES = 2000
_LARGEST_FILE = 1024 * 1024
_LONGEST_SECTION = 4000
_LONGEST_EXCERPT = 700
_MOST_SKIPPED = 20
_DEEPEST = 8
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")


@dataclass(frozen=True)
class Section:
    """One part of a note: the text under one heading."""

    source: str
    project: str
    heading: str
    line: int
    text: str


@dataclass
class _Note:
    """One file as it was read."""

    identity: tuple[int, ...]
    sections: list[Section]
    vectors: Vectors | None = None


@dataclass
class Notes:
    """All notes of some directories, kept up to date by their stat."""

    files: dict[Path, _Note] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def refresh(self, roots: Sequence[tuple[Path, str]]) -> None:
        """Read new and changed files, drop deleted ones."""
        self.skipped = []
        present: dict[Path, _Note] = {}
        for root, project in roots:
            for path, found in self._markdown(root):
                if len(present) >= _MOST_FILES:
                    self.skipped.append(f"more than {_MOST_FILES} files")
                    break
                if path not in present:
                    self._take(path, found, project, present)
        self.files = present
        del self.skipped[_MOST_SKIPPED:]

    def _take(
        self, path: Path, found: os.stat_result, project: str, present: dict[Path, _Note]
    ) -> None:
        identity = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        known = self.files.get(path)
        if known is not None and known.identity == identity:
            present[path] = known
            return
        try:
            text = _read(path)
        except OSError as error:
            self.skipped.append(os_reason(error))
            return
        present[path] = _Note(identity, list(sections(text, shown_path(path), project)))

    def _markdown(self, directory: Path, depth: int = 0) -> Iterator[tuple[Path, os.stat_result]]:
        """The Markdown files of a directory and below; links lead outside and are left alone."""
        try:
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError as error:
            self.skipped.append(os_reason(error))
            return
        for entry in entries:
            if entry.is_symlink():
                self.skipped.append(f"a link: {shown_path(entry.path)}")
            elif entry.is_dir(follow_symlinks=False):
                if depth < _DEEPEST and not entry.name.startswith("."):
                    yield from self._markdown(Path(entry.path), depth + 1)
            elif entry.name.endswith(".md"):
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(found.st_mode) and found.st_size <= _LARGEST_FILE:
                    yield Path(entry.path), found
                else:
                    self.skipped.append(f"not a file of at most 1 MB: {shown_path(entry.path)}")


_lock = threading.Lock()
_notes = Notes()


def search_memory(
    query: str,
    *,
    mode: str = "hybrid",
    project: str | None = None,
    directories: Sequence[str] | None = None,
    limit: int = 10,
) -> dict[str, Any]:
    """Sections of notes nearest to a question, best first."""
    text = checked_query(query, mode)
    with _lock:
        _notes.refresh(memory_roots(directories))
        skipped = list(_notes.skipped)
        notes = [note for note in _notes.files.values() if note.sections]
    if project is not None:
        notes = [note for note in notes if note.sections[0].project == project]
    found = [section for note in notes for section in note.sections]
    lists: dict[str, list[int]] = {}
    model = None
    if mode != "words":
        try:
            lists["meaning"] = _by_meaning(notes, text)
            model = packaged_embedder().name
        except ClewError as error:
            if mode == "semantic":
                raise
            skipped.append(f"meaning: {error.message}. {error.hint or ''}".strip())
    if mode != "semantic":
        texts = ((section.heading, section.text) for section in found)
        lists["words"] = rank_texts(texts, any_word(text), _POOL)
    ranked = fused(lists)
    return {
        "total": len(ranked),
        "limit": bounded(limit),
        "mode": mode if model or mode == "words" else "words",
        "model": model,
        "files": len(notes),
        "skipped": skipped,
        "sections": [
            {**_as_data(found[number], text), "score": round(score, 4), "found_by": found_by}
            for number, score, found_by in ranked[: bounded(limit)]
        ],
    }


def memory_roots(directories: Sequence[str] | None = None) -> list[tuple[Path, str]]:
    """The directories that may be read, each with its project's name.

    Those that are named, or else those of `CLEW_MEMORY`, or else the memory that Claude Code
    keeps for each project.
    """
    named = [*directories] if directories else _words(os.environ.get(DIRECTORIES, ""))
    if not named:
        home = Path(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser()
        return [(path, path.parent.name) for path in sorted(home.glob("projects/*/memory"))]
    roots = []
    for name in named:
        path = Path(name).expanduser()
        if "\0" in name or not path.is_dir():
            raise NotFound(
                f"No such memory directory: {shown_path(name)}", f"Correct {DIRECTORIES} or --dir."
            )
        place = path.resolve()
        roots.append((place, place.parent.name if place.name == "memory" else place.name))
    return roots


def _words(text: str) -> list[str]:
    return [part for part in text.split(os.pathsep) if part]


def _read(path: Path) -> str:
    """A file's text; not what a link or a pipe put in its place meanwhile."""
    with open(open_regular(path), "rb") as stream:
        return stream.read(_LARGEST_FILE).decode("utf-8", "replace").replace("\x00", "\ufffd")


def sections(text: str, source: str, project: str) -> Iterator[Section]:
    """A note's sections: the text under each heading, with the headings above it."""
    above: list[tuple[int, str]] = []
    lines: list[str] = []
    start = 1
    fence = None
    for number, line in enumerate(text.splitlines(), start=1):
        marker = _FENCE.match(line)
        if marker and fence in (None, marker[1]):
            fence = None if fence else marker[1]
        heading = _HEADING.fullmatch(line) if fence is None else None
        if heading or sum(map(len, lines)) > _LONGEST_SECTION:
            yield from _section(lines, source, project, above, start)
            lines, start = [], number
        if heading:
            depth = len(heading[1])
            above = [*(one for one in above if one[0] < depth), (depth, heading[2])]
        lines.append(line)
    yield from _section(lines, source, project, above, start)


def _section(
    lines: list[str], source: str, project: str, above: list[tuple[int, str]], start: int
) -> Iterator[Section]:
    text = "\n".join(lines).strip()
    if any(character.isalnum() for character in text):
        heading = " > ".join(title for _, title in above)
        yield Section(source, project, heading, start, text)


def _by_meaning(notes: list[_Note], text: str) -> list[int]:
    embedder = packaged_embedder()
    import numpy as np

    fresh = [note for note in notes if note.vectors is None]
    for note in fresh:
        note.vectors = embedder.embed([f"{one.heading}\n{one.text}" for one in note.sections])
    if not notes:
        return []
    vectors = np.concatenate([note.vectors for note in notes if note.vectors is not None])
    likeness = vectors @ embedder.embed([text])[0]
    return [int(number) for number in np.argsort(-likeness, kind="stable")[:_POOL]]


def _as_data(section: Section, query: str) -> dict[str, Any]:
    excerpt = _excerpt(section.text, query)
    return {
        "source": section.source,
        "project": section.project,
        "heading": section.heading,
        "line": section.line,
        "text": excerpt,
        "is_whole": excerpt == section.text,
    }


def _excerpt(text: str, query: str) -> str:
    """The section, or of a long one the part from its first matching line on."""
    if len(text) <= _LONGEST_EXCERPT:
        return text
    words = set(any_word(query).replace('"', "").lower().split(" or "))
    lines = text.split("\n")
    hit = next((n for n, line in enumerate(lines) if words & set(line.lower().split())), 0)
    return "\n".join(lines[hit:])[:_LONGEST_EXCERPT]
