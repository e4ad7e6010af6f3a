"""What every claim is handed: its settings, a place to work in, and the installed program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from benchmarks.measurement.install import Installation, install

Made = TypeVar("Made")


class Closable(Protocol):
    """What has to be closed."""

    def close(self) -> object:
        """Give it back."""


Opened = TypeVar("Opened", bound=Closable)


@dataclass
class Workshop:
    """Shared by the claims of one run."""

    scratch: Path
    say: Callable[[str], None]
    repository: Path | None = None
    peers: Mapping[str, list[str]] = field(default_factory=dict)
    _made: dict[str, Any] = field(default_factory=dict)
    _opened: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def keep(self, opened: Opened) -> Opened:
        """What a claim opens and asks until the end of the run, which closes it."""
        return self._opened.enter_context(closing(opened))

    @cached_property
    def installation(self) -> Installation:
        """Clew as users have it, made when the first claim needs it."""
        self.say("building and installing the wheel")
        return install(self.scratch)

    def once(self, name: str, make: Callable[[], Made]) -> Made:
        """What several claims need, made for the first of them."""
        if name not in self._made:
            self._made[name] = make()
        made: Made = self._made[name]
        return made


@dataclass(frozen=True)
class Bench:
    """One claim's view of the run."""

    workshop: Workshop
    settings: Mapping[str, int]

    def __getitem__(self, name: str) -> int:
        return self.settings[name]

    @property
    def installation(self) -> Installation:
        """Clew as users have it."""
        return self.workshop.installation

    @property
    def home(self) -> Path:
        """Home and working directory of measured processes."""
        return self.workshop.scratch

    def say(self, text: str) -> None:
        """Tell the person at the terminal how far it is."""
        self.workshop.say(text)
