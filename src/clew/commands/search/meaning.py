"""How near commands are to a query by meaning, where the packaged embedding is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.commands.model import Command
from clew.kit.errors import Unavailable
from clew.kit.text.display import clipped

if TYPE_CHECKING:
    from clew.models.embedding import Vectors

# Two texts of this kind that have nothing to do with each other are about so alike.
_UNRELATED = 0.15
_LONGEST_BODY = 2000


class Meaning:
    """The vectors of commands: one of the name and the description, one of the body."""

    def __init__(self, commands: Sequence[Command]) -> None:
        from clew.models.embedding import packaged_embedder

        self._embedder = packaged_embedder()
        self._said = self._embedder.embed([_said(command) for command in commands])
        self._bodies = self._embedder.embed([clipped(c.body, _LONGEST_BODY) for c in commands])

    def near(self, query: str, count: int) -> dict[int, tuple[float, float]]:
        """The nearest commands: how near the description is and how near the body (0 to 1)."""
        asked = self._embedder.embed([query])[0]
        said, bodies = _likeness(self._said @ asked), _likeness(self._bodies @ asked)
        best = (-said).argsort(kind="stable")[:count]
        return {int(n): (float(said[n]), float(bodies[n])) for n in best if said[n] > 0}


def meaning_of(commands: Sequence[Command]) -> Meaning | None:
    """The meaning of commands, or none where the embedding is not installed."""
    try:
        return Meaning(commands)
    except Unavailable:
        return None


def _said(command: Command) -> str:
    name = f"{command.c2} {command.c3}".replace("-", " ").replace("_", " ")
    return ". ".join(text for text in (name, command.title, command.description) if text)


def _likeness(cosines: Vectors) -> Vectors:
    nearness: Vectors = ((cosines - _UNRELATED) / (1 - _UNRELATED)).clip(0.0, 1.0)
    return nearness
