"""What is searched beside commits: the specs of a project, the logs of its runs, its documents."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from clew.kit.errors import Invalid
from clew.kit.files import open_regular
from clew.kit.project import followed
from clew.specs.files.criteria import title_of
from clew.specs.index.text_index import SPEC, Entry, Source, TextIndex, spec_source
from clew.thread.recall.document_dates import committed_dates
from clew.thread.rooms import Rooms

RUN, DOCUMENT = "run", "document"
_LONGEST_LOG = 64 * 1024
_LARGEST_DOCUMENT = 1024 * 1024
_MOST_DOCUMENTS = 2000
_DEEPEST = 6
_DOCUMENT_ROOTS = ("docs", "doc", "adr", "adrs", "architecture")
_IGNORED = frozenset({"node_modules", "vendor", "target", "build", "dist"})
_LINE_TIME = re.compile(r"^\[[^\]]{10,40}\] ", re.MULTILINE)


@contextmanager
def current_texts(rooms: Rooms, kinds: Iterable[str]) -> Iterator[TextIndex]:
    """The project's text index, with these kinds of texts as they are now."""
    assert rooms.project is not None
    sources = []
    if SPEC in kinds and rooms.specs is not None:
        sources.append(spec_source(rooms.project, rooms.specs.snapshot()))
    if RUN in kinds:
        sources.append(_logs(rooms.project))
    if DOCUMENT in kinds:
        sources.append(_documents(rooms.project))
    index = rooms.specs.texts if rooms.specs is not None else TextIndex(rooms.project)
    with index.current(sources):
        yield index


def _logs(project: Path) -> Source:
    directory = project / ".chant" / "logs"

    def versions() -> dict[str, str]:
        return {
            entry.name.removesuffix(".log"): _version(entry.stat(follow_symlinks=False))
            for entry in _scanned(directory)
            if entry.name.endswith(".log") and entry.is_file(follow_symlinks=False)
        }

    return Source(RUN, versions, partial(_log_entry, directory))


def _documents(project: Path) -> Source:
    dates: dict[str, int] = {}

    def versions() -> dict[str, str]:
        found = dict(_markdown_files(project))
        dates.update(committed_dates(project, found))
        return {name: f"{_version(one)}:{dates.get(name, '')}" for name, one in found.items()}

    return Source(DOCUMENT, versions, partial(_document_entry, project, dates))


def _log_entry(directory: Path, spec_id: str) -> Entry | None:
    found = _end_of(directory / f"{spec_id}.log", _LONGEST_LOG)
    if found is None:
        return None
    return Entry(f"Log of {spec_id}", _LINE_TIME.sub("", found[0]), spec_id, found[1])


def _document_entry(project: Path, dates: Mapping[str, int], name: str) -> Entry | None:
    """A document from when it was committed; one that git does not have, from when it was written."""
    found = _end_of(project / name, _LARGEST_DOCUMENT)
    if found is None:
        return None
    text, written = found
    return Entry(title_of(text) or name, text, name, dates.get(name, written))


def _end_of(file: Path, most: int) -> tuple[str, int] | None:
    """The last bytes of a file as text, and when it changed; links are not followed."""
    try:
        with open(open_regular(file), "rb") as stream:
            status = os.fstat(stream.fileno())
            stream.seek(max(0, status.st_size - most))
            return stream.read(most).decode("utf-8", "replace"), int(status.st_mtime)
    except OSError:
        return None


def _markdown_files(project: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The Markdown files of the project's root and of its directories for documents."""
    count = 0
    for root in ("", *_DOCUMENT_ROOTS):
        deepest = _DEEPEST if root else 0
        for name, status in _markdown(project / root, root, deepest):
            yield name, status
            count += 1
            if count >= _MOST_DOCUMENTS:
                return


def _markdown(directory: Path, shown: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    for entry in _scanned(directory):
        name = f"{shown}/{entry.name}" if shown else entry.name
        if entry.is_dir(follow_symlinks=False):
            if depth and entry.name not in _IGNORED and not entry.name.startswith("."):
                yield from _markdown(Path(entry.path), name, depth - 1)
        elif entry.name.lower().endswith(".md") and entry.is_file(follow_symlinks=False):
            status = entry.stat(follow_symlinks=False)
            if status.st_size <= _LARGEST_DOCUMENT:
                yield name, status


def _scanned(directory: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(followed(directory)) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (OSError, Invalid):
        return []


def _version(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"
