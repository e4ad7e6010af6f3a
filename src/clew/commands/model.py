"""What a command is: its address, description, options and variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clew.commands.files.declarations import Variable
from clew.commands.files.layers import DEFAULT_AGENT, PROJECT

__all__ = ("Command", "Options", "Variable")


@dataclass(frozen=True)
class Options:
    """What a command accepts, as its registry entry or frontmatter declares it."""

    edition: tuple[str, ...] = ()
    adaptation: tuple[str, ...] = ()
    file: bool = False
    stdin: bool = False
    destination: bool = False

    def record(self) -> dict[str, Any]:
        """The options as a registry file has them."""
        return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(self).items()}


@dataclass(frozen=True)
class Command:
    """One instruction: found by c1, c2 and c3 within the registry of an agent."""

    c1: str
    c2: str
    c3: str
    description: str = ""
    usage: str = ""
    options: Options = field(default_factory=Options)
    agent: str = DEFAULT_AGENT
    origin: str = PROJECT
    title: str = ""
    variables: tuple[Variable, ...] = ()
    tags: tuple[str, ...] = ()
    body: str = ""
    source: str = ""
    # The entry of the registry file, unchanged; None for what only a template declares.
    record: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def address(self) -> tuple[str, str, str]:
        """The three words that identify the command."""
        return (self.c1, self.c2, self.c3)

    @property
    def parts(self) -> dict[str, str]:
        """The address by its parts."""
        return {"c1": self.c1, "c2": self.c2, "c3": self.c3}

    @property
    def label(self) -> str:
        """The address as people write it."""
        return f"{self.c1} {self.c2} {self.c3}"
