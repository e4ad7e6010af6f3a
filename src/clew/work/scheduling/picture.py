"""What the watch depends on, as a picture made of a few stats; the same one means nothing to do.

It shows the specs, the settings, the branches, the worktrees and the moves in the journal. What it
cannot show, the files in somebody's checkout, is looked at again where something waits for it.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from clew.kit.errors import ClewError
from clew.kit.paths import ProjectPaths
from clew.work.journal.sqlite import read_journal
from clew.work.paths import git_common_directory, worktree_home

_EVERY_FILE_SECONDS = 30.0
_TICK_NS = 20_000_000  # two changes within a tick of the clock look like one
Stamp = tuple[int, int, int] | None
Picture = tuple[object, ...]


@dataclass
class Sight:
    """One project, seen again and again."""

    paths: ProjectPaths
    _newest: int = 0
    _files: object = None
    _files_stamp: Stamp = None
    _files_at: float = 0.0
    _journal: object = None
    _journal_stamps: tuple[Stamp, ...] = ()

    def picture(self) -> Picture:
        """What there is now; a picture of what changes this very moment equals no other."""
        self._newest = 0
        seen: list[object] = [self._spec_files(), self._moves()]
        seen += [self._stamp(path) for path in self._settings()]
        try:
            git = git_common_directory(self.paths.root)
            owners = worktree_home(self.paths.root) / ".owners"
            seen += [self._stamp(p) for p in (git / "packed-refs", git / "reftable", owners)]
            seen += [self._stamp(path) for path in _directories(git / "refs" / "heads")]
        except ClewError:
            pass  # no repository: a look says so
        if time.time_ns() - self._newest < _TICK_NS:
            seen.append(object())
        return tuple(seen)

    def _settings(self) -> tuple[Path, ...]:
        user = Path(os.path.expanduser("~")) / ".config" / "chant" / "config.md"  # noqa: PTH111
        return (self.paths.config, self.paths.agents, user)

    def _spec_files(self) -> object:
        """The spec files. A file that is replaced changes its directory; all are seen less often."""
        directory = self.paths.chant / "specs"
        stamp, now = self._stamp(directory), time.monotonic()
        if stamp != self._files_stamp or now - self._files_at >= _EVERY_FILE_SECONDS:
            self._files_stamp, self._files_at = stamp, now
            self._files = hash(frozenset(_stamps_in(directory)))
        return self._files

    def _moves(self) -> object:
        """How far the journal is; it is only asked when its files changed."""
        file = self.paths.journal
        stamps = (self._stamp(file), self._stamp(file.with_name(f"{file.name}-wal")))
        if stamps == self._journal_stamps and time.time_ns() - self._newest >= _TICK_NS:
            return self._journal
        try:
            with read_journal(self.paths) as journal:
                self._journal = journal.progress() if journal is not None else None
            self._journal_stamps = stamps
        except (ClewError, OSError):
            self._journal = object()  # looked at again until it can be read
        return self._journal

    def _stamp(self, path: Path) -> Stamp:
        """A file's identity, time and size; an empty file is as good as none."""
        try:
            found = path.stat()
        except OSError:
            return None
        self._newest = max(self._newest, found.st_mtime_ns)
        return (found.st_ino, found.st_mtime_ns, found.st_size) if found.st_size else None


def _stamps_in(directory: Path) -> list[tuple[str, int, int]]:
    stamps = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                found = entry.stat()
                stamps.append((entry.name, found.st_mtime_ns, found.st_size))
    except OSError:  # one was replaced just now: its directory changed, too
        pass
    return stamps


def _directories(top: Path) -> list[Path]:
    """The directories of branches; git replaces the file of a branch, so its directory tells."""
    return [Path(directory) for directory, _, _ in os.walk(top)]
