"""What one command works with: paths, specs and journal of a project, opened and closed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from clew.kit.paths import ProjectPaths
from clew.specs.store.config import Config
from clew.specs.store.store import SpecStore
from clew.work.journal.interface import Journal
from clew.work.journal.sqlite import SqliteJournal

Brief = Callable[[Path, str], str]


@dataclass(frozen=True)
class Wiring:
    """What the program above gives to this room.

    `brief` is the background that a prompt gets, from the project's root and a spec's id. `entry`
    is the module that starts the scheduler and the watch in processes of their own.
    """

    brief: Brief | None = None
    entry: str = "clew.work.scheduling.start"


class Workspace:
    """A project at work, for one thread; whoever opens it closes it."""

    def __init__(
        self, root: Path, wiring: Wiring | None = None, store: SpecStore | None = None
    ) -> None:
        self.root = root
        self.paths = ProjectPaths(root)
        self.wiring = wiring or Wiring()
        self._store = store
        self._journal: Journal | None = None

    @property
    def store(self) -> SpecStore:
        """The project's specs."""
        if self._store is None:
            from clew.specs.store.store import SpecStore

            self._store = SpecStore(self.root)
        return self._store

    @property
    def journal(self) -> Journal:
        """The project's journal, opened when it is first needed."""
        if self._journal is None:
            self._journal = SqliteJournal(self.paths.journal)
        return self._journal

    def config(self) -> Config:
        """The project's configuration as it is now."""
        from clew.specs.store.config import load_config

        return load_config(self.root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None
