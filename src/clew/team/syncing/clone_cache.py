"""The clones that a worker keeps, so that the next sync only fetches; bounded by what they take."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clew.history.sync.clones import clone_into, fetch_clone
from clew.kit.files import private_directory
from clew.kit.git import run_git
from clew.kit.locks import LONG_LOCK_TIMEOUT, locked, try_lock


class CloneCache:
    """Bare clones in one directory, by name; those unused for longest go first."""

    def __init__(self, directory: Path, most_bytes: int) -> None:
        self._directory = directory
        self._most_bytes = most_bytes

    @contextmanager
    def fetched(self, name: str, url: str) -> Iterator[Path]:
        """An up-to-date clone, which nobody else of this machine touches meanwhile."""
        private_directory(self._directory)
        place = self._place(name)
        with locked(self._lock(place), LONG_LOCK_TIMEOUT):
            if not place.exists():
                self._make_room(besides=place)
                clone_into(self._directory, place.name, url)
            else:
                run_git("remote", "set-url", "origin", url, cwd=place)
                fetch_clone(place)
            os.utime(place)
            yield place
        self._make_room(besides=place)

    def _place(self, name: str) -> Path:
        return self._directory / name.replace("/", "%2F")

    def _lock(self, place: Path) -> Path:
        return self._directory / f"{place.name}.lock"

    def _make_room(self, besides: Path) -> None:
        """Delete clones that nobody uses, until the others fit."""
        places = [one for one in self._directory.iterdir() if one.is_dir() and one != besides]
        sizes = {one: _size(one) for one in places}
        total = sum(sizes.values()) + (_size(besides) if besides.exists() else 0)
        for place in sorted(places, key=lambda one: one.stat().st_mtime):
            if total <= self._most_bytes:
                return
            lock = try_lock(self._lock(place))
            if lock is not None:
                shutil.rmtree(place, ignore_errors=True)
                total -= sizes[place]
                lock.release()


def _size(place: Path) -> int:
    total = 0
    for directory, _, files in os.walk(place):
        for file in files:
            try:
                total += (Path(directory) / file).stat().st_size
            except FileNotFoundError:  # git put it into a pack meanwhile
                continue
    return total
