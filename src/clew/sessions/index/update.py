"""The index brought up to date: transcripts that grew are read on, new ones from their beginning."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path

from clew.kit.errors import ClewError
from clew.kit.project import project_directory
from clew.sessions.index.checkouts import Places, places_of
from clew.sessions.index.sqlite import Known, SessionIndex
from clew.sessions.model import Command, Edit, Event, Header
from clew.sessions.readers.interface import Progress, Reader, Source, Surroundings
from clew.sessions.readers.lines import LineReader, is_grown
from clew.sessions.readers.table import READERS

OFF, EXCLUDED = "off", "exclude"
_BATCH = 400
# So many small transcripts are written in one transaction; nobody waits long for its end.
_SMALL = 256 * 1024
_TOGETHER = 50


@dataclass
class Report:
    """What an update did."""

    is_off: bool = False
    looked_at: int = 0
    read: int = 0
    bytes: int = 0
    planned: int = 0
    left: int = 0  # transcripts that were too much for now
    unreadable: list[str] = field(default_factory=list)


@dataclass
class Updater:
    """One look at every transcript."""

    index: SessionIndex
    environment: Mapping[str, str]
    home: Path
    takes_all: bool = False
    _report: Report = field(default_factory=Report, init=False)
    _excluded: list[str] = field(default_factory=list, init=False)
    _opened: list[Places] = field(default_factory=list, init=False)

    def update(
        self,
        project: Path | None = None,
        *,
        only: str | None = None,
        most_bytes: int | None = None,
    ) -> Report:
        """Read what is new of the opened projects; `only` one file or id, and not more than so much."""
        report = self._report = Report()
        if self.index.setting(OFF):
            report.is_off = True
            return report
        if project is not None:
            self.index.open_project(os.path.realpath(project))
        self._excluded = (self.index.setting(EXCLUDED) or "").splitlines()
        roots = [root for root in self.index.projects() if not self._is_excluded(root)]
        self._opened = [places_of(Path(root)) for root in roots]
        around = Surroundings(self.home, self.environment, tuple(Path(root) for root in roots))
        known = self.index.known()
        for reader in (make() for make in READERS):
            chosen = []
            for source in _discovered(reader, around):
                if only is not None and only not in source.key:
                    continue
                report.looked_at += 1
                before = known.get(source.key)
                if self._is_wanted(source, before, most_bytes):
                    chosen.append((source, before))
            self._take_all(reader, chosen)
        if report.read:
            self.index.settle()
        return report

    def _is_wanted(self, source: Source, before: Known | None, most_bytes: int | None) -> bool:
        """Whether a transcript is new or grew, and is not too much for now."""
        if before is not None and (before.size, before.stamp) == (source.size, source.stamp):
            is_foreign = before.project is None
            if not (self.takes_all and is_foreign):
                return False
        grown = _grown(source, before)
        if most_bytes is not None and self._report.planned + grown > most_bytes:
            self._report.left += 1
            return False
        self._report.planned += grown
        return True

    def _take_all(self, reader: Reader, chosen: list[tuple[Source, Known | None]]) -> None:
        """Read transcripts: large ones each by itself, small ones some in a transaction."""
        small = [one for one in chosen if _grown(*one) <= _SMALL]
        for source, before in chosen:
            if _grown(source, before) > _SMALL:
                self._take(reader, source, before)
        for first in range(0, len(small), _TOGETHER):
            with self.index.together():
                for source, before in small[first : first + _TOGETHER]:
                    self._take(reader, source, before)

    def _take(self, reader: Reader, source: Source, before: Known | None) -> None:
        """Read one transcript; whatever is wrong with it, the others are read."""
        try:
            header = reader.header(source)
            places = self._places(header)
            if header is None or places is None or self._is_excluded(header.cwd):
                self.index.note(source, None, Progress())
                return
            progress = Progress()
            if before is not None and before.project is not None and isinstance(reader, LineReader):
                known = self.index.progress(source)
                progress = known if is_grown(source, known) else progress
            start = progress.told
            self._read(reader, source, places, progress)
            self.index.note(source, places.root, progress)
            self._report.read += 1
            self._report.bytes += max(progress.told - start, 0)
        except (OSError, ClewError, sqlite3.DataError, sqlite3.IntegrityError, ValueError) as error:
            self._report.unreadable.append(f"{source.path.name}: {error}")

    def _is_excluded(self, directory: str) -> bool:
        patterns = (one for pattern in self._excluded for one in (pattern, f"{pattern}/*"))
        return any(fnmatch(directory, pattern) for pattern in patterns)

    def _places(self, header: Header | None) -> Places | None:
        if header is None or not header.cwd:
            return None
        found = next((places for places in self._opened if places.has(header.cwd)), None)
        if found is not None or not self.takes_all:
            return found
        try:
            start, root = project_directory(header.cwd)
        except ClewError:  # the directory is gone
            start, root = header.cwd, None
        return places_of(Path(root or start))

    def _read(self, reader: Reader, source: Source, places: Places, progress: Progress) -> None:
        """Write what a transcript says, a batch at a time."""
        session: int | None = None
        header = Header("")
        batch: list[Event] = []
        if progress.told:  # its header may be before what is read now
            header = reader.header(source) or header
            session = self.index.begin(source.program, header, places.root)
        for event in reader.read(source, progress):
            if isinstance(event, Header):
                if event == header:
                    continue
                self._write(session, header, source, batch)
                header = replace(event, cwd=event.cwd or header.cwd)
                is_new = session is None
                session = self.index.begin(source.program, header, places.root)
                if is_new and session is not None and not isinstance(reader, LineReader):
                    self.index.replace_words(session)
                continue
            placed = _placed(event, places, header.cwd)
            if placed is not None:
                batch.append(placed)
            if len(batch) >= _BATCH:
                self._write(session, header, source, batch)
        self._write(session, header, source, batch)

    def _write(
        self, session: int | None, header: Header, source: Source, batch: list[Event]
    ) -> None:
        if session is not None and batch:
            self.index.add(session, source.program, batch, is_side=header.is_side)
        batch.clear()


def _discovered(reader: Reader, around: Surroundings) -> Iterator[Source]:
    try:
        yield from reader.discover(around)
    except (OSError, ClewError, sqlite3.Error):
        return


def _grown(source: Source, before: Known | None) -> int:
    return max(source.size - (before.told if before else 0), 0)


def _placed(event: Event, places: Places, cwd: str) -> Event | None:
    """The event with its path as the project has it; None for a file elsewhere."""
    if isinstance(event, Edit):
        path = places.relative(event.path, cwd)
        return None if path is None else replace(event, path=path)
    if isinstance(event, Command) and not event.text.strip():
        return None
    return event
