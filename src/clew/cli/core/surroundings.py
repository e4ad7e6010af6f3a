"""What a question is about when it does not say so: where somebody stands, and under which name.

Under `clew` a question is about the repository of the working directory; its index is made and
kept current on the way. The users of `commitmux` register and sync theirs, and ask all of them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from clew.cli.core.streams import say
from clew.kit.errors import NotFound
from clew.kit.project import find_repository

_WORTH_A_WORD = 500  # new commits; fewer are read in before anybody wonders


def current_face() -> str:
    """The name that the program was called by."""
    context = click.get_current_context(silent=True)
    return (context.find_root().info_name if context is not None else None) or "clew"


class Surroundings:
    """The repository of the working directory, and the index made ready for a question."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        if settings.get("db") or os.environ.get("CLEW_DATABASE"):
            from clew.program import offer_engines

            offer_engines()
        self.settings = settings
        self.is_door = current_face() == "clew"
        self.root = find_repository(settings)

    def scope(self, named: tuple[str, ...], *, every: bool = False) -> list[str] | None:
        """The repositories that a question is about, brought up to date; None for all of them."""
        if self.settings.get("index") == "no":
            return [self._unindexed_name()]
        self.bring_along(named, every=every)
        if named:
            return list(named)
        return None if self._is_everywhere(every=every) else [self.name()]

    def bring_along(self, named: tuple[str, ...], *, every: bool = False) -> None:
        """Bring the index up to date for a question; what could not be done is told."""
        if self.settings.get("index") == "no" or not self.is_door:
            return
        if not (named or every or self.root):
            return
        from clew.history.upkeep import keep_current

        everywhere = self._is_everywhere(every=every)
        asked = named or None
        problems = keep_current(self.settings, asked, every=everywhere, meter=progress_meter)
        for problem in problems:
            say(f"Answered from what is indexed; not brought up to date: {problem}")

    def _is_everywhere(self, *, every: bool) -> bool:
        return every or not (self.is_door and self.root)

    def name(self) -> str:
        """The name of the repository in which somebody stands."""
        from clew.history.reader import reading_store
        from clew.history.sync.repositories import repository_root
        from clew.history.upkeep import own_repo
        from clew.kit.call import Call

        if self.root is None:
            raise NotFound("There is no git repository here", "Change to one, or use --repo NAME.")
        if self.settings.get("index") == "no":
            return self._unindexed_name()
        store = reading_store(Call(settings=self.settings))
        own = own_repo(store, self.root)
        if own is None:
            repository_root(self.root)  # one that cannot be indexed is refused in its own words
            raise NotFound(
                f"{self.root} is not in the index",
                "`commitmux add-repo .` and `commitmux sync` add it.",
            )
        return own.name

    def checkout(self) -> Path | None:
        """The directory that paths count from: of a linked worktree, its own."""
        try:
            here = Path.cwd()
        except OSError:
            return self.root
        if self.settings.get("project"):
            return self.root
        return next(
            (place for place in (here, *here.parents) if (place / ".git").exists()), self.root
        )

    def _unindexed_name(self) -> str:
        from clew.history.sync.repositories import plain_name

        if self.root is None:
            raise NotFound("There is no git repository here", "Change to one that has the history.")
        return plain_name(self.root)


@contextmanager
def progress_meter(
    name: str,
    total: int,
    is_first: bool,  # noqa: FBT001 - a `Meter` of the upkeep
) -> Iterator[Callable[[int], None] | None]:
    """A bar on a terminal, else a line where it takes long; what Ctrl-C leaves is told."""
    try:
        if sys.stderr.isatty():
            with progress_bar(name, total or None) as advance:
                yield advance
            return
        if is_first and total >= _WORTH_A_WORD:
            say(f"Reading {total} commits of {name} into the index, once.")
        yield None
    except KeyboardInterrupt:
        say(
            "\nWhat was read is kept; the next question goes on. --no-index answers from git alone."
        )
        raise


@contextmanager
def progress_bar(name: str, total: int | None = None) -> Iterator[Callable[[int], None] | None]:
    """A bar with the time on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = (f"{name}: commits", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda count: bar.update(task, completed=count)
