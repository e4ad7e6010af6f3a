"""The project's documents: vision, architecture and decisions, and what their ids stand for."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from clew.advisors.documents import adr, files
from clew.advisors.documents.adr import AdrFile
from clew.advisors.documents.document import parse, render_body
from clew.advisors.documents.markdown import REFERENCE
from clew.advisors.documents.model import Document, Item
from clew.advisors.documents.templates import Kind
from clew.kit.errors import ClewError

_ADR = re.compile(r"\bADR[- ]?0*(\d{1,6})\b", re.IGNORECASE)
_CHOSEN = re.compile(r'Chosen option:?\s*["“*`]*([^"”*`\n]+?)["”*`]*\s*(?:,|\.|$)', re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.+)$", re.MULTILINE)
_MOST_CACHED = 64
_cache: dict[str, tuple[object, Any]] = {}
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Found:
    """A document and where it is, from the project's root."""

    path: str
    document: Document


@dataclass(frozen=True)
class Decision:
    """One decision record."""

    number: int
    path: str
    title: str
    status: str
    document: Document

    @property
    def name(self) -> str:
        """What people call it."""
        return f"ADR-{self.number:04}"

    @property
    def outcome(self) -> str:
        """What was decided, in one paragraph."""
        section = self.document.section("decision")
        text = render_body("adr", section).strip() if section else ""
        return " ".join(text.split("\n\n")[0].split())

    @cached_property
    def mentions(self) -> frozenset[str]:
        """The ids of statements that it names."""
        return frozenset(REFERENCE.findall(_whole(self.document)))

    def rejected(self) -> list[str]:
        """The options that were not chosen."""
        section = self.document.section("options")
        if section is None:
            return []
        options = [one.strip() for one in _BULLET.findall(render_body("adr", section))]
        chosen = _CHOSEN.search(self.outcome)
        name = _bare(chosen[1]) if chosen else _bare(self.title)
        others = [
            one
            for one in options
            if _bare(one) and _bare(one) not in name and name not in _bare(one)
        ]
        # Where none of them is the chosen one, nobody can tell which were not.
        return others if len(others) < len(options) else []


@dataclass(frozen=True)
class Documents:
    """All documents of a project."""

    vision: tuple[Found, ...] = ()
    architecture: tuple[Found, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def all(self) -> list[Document]:
        """The vision and the architecture."""
        return [found.document for found in (*self.vision, *self.architecture)]

    def item(self, item_id: str, paths: Iterable[str] = ()) -> tuple[Item, str] | None:
        """What an id stands for, and in which file; in the named files if it is there."""
        named = set(paths)
        everywhere = (*self.vision, *self.architecture)
        for found in sorted(everywhere, key=lambda one: one.path not in named):
            item = found.document.item(item_id)
            if item is not None:
                return item, found.path
        return None

    def named_decisions(self, text: str) -> list[Decision]:
        """The decisions that a text names by number or by path."""
        numbers = {int(number) for number in _ADR.findall(text)}
        return [one for one in self.decisions if one.number in numbers or one.path in text]


def read_documents(project: Path | None) -> Documents:
    """The documents of a project; what cannot be read is as if it were not there."""
    if project is None:
        return Documents()
    root = project.resolve()
    return Documents(_of_kind(root, "vision"), _of_kind(root, "architecture"), _decisions(root))


def _of_kind(root: Path, kind: Kind) -> tuple[Found, ...]:
    try:
        place = files.place_of(root, kind)
    except ClewError:
        return ()
    candidates = (files.beside(place), place, root / f"{kind.upper()}.md")
    found = (_read(root, path, kind) for path in candidates)
    return tuple(one for one in found if one is not None)


def _read(root: Path, path: Path, kind: Kind) -> Found | None:
    try:
        if not path.is_file() or not path.resolve().is_relative_to(root):
            return None
        status = path.stat()
        identity = (status.st_mtime_ns, status.st_size, status.st_ino)
        document = _cached(f"{kind}:{path}", identity, lambda: _parse_file(path, kind))
    except (ClewError, OSError):
        return None
    return None if document is None else Found(path.relative_to(root).as_posix(), document)


def _parse_file(path: Path, kind: Kind) -> Document | None:
    text = files.read_text(path)
    return None if text is None else parse(text, kind)


def _cached(name: str, identity: object, make: Callable[[], _Value]) -> _Value:
    """What was made of files last time, as long as they are the same."""
    known = _cache.get(name)
    if known is None or known[0] != identity:
        if len(_cache) >= _MOST_CACHED:
            _cache.clear()
        _cache[name] = known = (identity, make())
    made: _Value = known[1]
    return made


def _decisions(root: Path) -> tuple[Decision, ...]:
    place = adr.find_directory(root)
    if place is None:
        return ()

    def read() -> tuple[Decision, ...]:
        return tuple(_decision(root, one) for one in adr.read_directory(place).files)

    try:
        return _cached(f"decisions:{place}", _listing(place), read)
    except OSError:
        return ()


def _listing(place: Path) -> tuple[tuple[str, int, int], ...]:
    with os.scandir(place) as entries:
        files = [(one.name, one.stat(follow_symlinks=False)) for one in entries]
    return tuple(sorted((name, status.st_mtime_ns, status.st_size) for name, status in files))


def _decision(root: Path, file: AdrFile) -> Decision:
    path = file.path.relative_to(root).as_posix()
    return Decision(file.number, path, file.title, file.status, file.document)


def _whole(document: Document) -> str:
    return "\n".join(render_body(document.kind, section) for section in document.sections)


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
