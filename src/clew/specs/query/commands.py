"""The commands that a project's settings and specs name, and where each of them is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clew.specs.files.criteria import parse_criteria
from clew.specs.model import Spec
from clew.specs.store.config import Config

SETTINGS = (("worktree", "setup"), ("worktree", "teardown"), ("merge", "checks"))


class NamedCommand(NamedTuple):
    """A command line, and the place that names it."""

    command: str
    place: str


def settings_commands(config: Config) -> Iterator[NamedCommand]:
    """What the settings run: when a worktree is made or removed, and before main moves."""
    for path in SETTINGS:
        for command in config.words(*path):
            yield NamedCommand(command, ".".join(path))


def spec_commands(specs: Iterable[Spec]) -> Iterator[NamedCommand]:
    """The check commands of criteria."""
    for spec in specs:
        for item in parse_criteria(spec.body).items:
            if item.check:
                yield NamedCommand(item.check, f"{spec.id}, criterion {item.number}")
