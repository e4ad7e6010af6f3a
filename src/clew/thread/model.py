"""What an answer of the thread is made of: statements with their sources, and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# The smaller, the sooner a statement gets its place when the budget is tight.
FIRST, EARLY, USUAL, LATE, LAST = 0, 2, 4, 6, 8


@dataclass(frozen=True)
class Statement:
    """One known fact, the section of the answer it belongs to, and its source.

    A source is a kind and an id: `commit:shop@3f2a1b4c5d6e`, `spec:2026-01-22-001-x7m`.
    """

    section: str
    text: str
    source: str
    priority: int = USUAL
    can_shrink: bool = False

    def as_data(self) -> dict[str, str]:
        """The statement as programs read it."""
        return {"section": self.section, "text": self.text, "source": self.source}


@dataclass(frozen=True)
class Link:
    """One station of the thread: line, commit, spec, run, decision, feature, objective."""

    kind: str
    id: str
    title: str = ""

    @property
    def source(self) -> str:
        """The link as statements name it."""
        return f"{self.kind}:{self.id}"

    def as_data(self) -> dict[str, str]:
        """The link as programs read it."""
        return {"kind": self.kind, "id": self.id, "title": self.title}


@dataclass(frozen=True)
class Pack:
    """Statements that fit a budget, in their order, and how many of each section did not."""

    title: str
    budget: int
    statements: tuple[Statement, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
