"""What every claim is handed: its settings, a place to work in, and the installed program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.measurement.install import Installation, install

Made = TypeVar("Made")


@dataclass
class Workshop:
    """Shared by the claims of one run."""

    scratch: Path
    say: Callable[[str], None]
    repository: Path | None = None
    peers: Mapping[str, list[str]] = field(default_factory=dict)
    _made: dict[str, Any] = field(default_factory=dict)

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
