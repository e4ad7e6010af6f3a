"""What the index of sessions can be asked and told; all SQL is behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

from clew.sessions.model import LOCAL, Event, Header, KeptEdit, Session, Turn
from clew.sessions.readers.interface import Progress, Source


@dataclass(frozen=True)
class Found:
    """A turn that a search found."""

    session: Session
    turn: Turn
    snippet: str
    score: float


@dataclass(frozen=True)
class Filter:
    """Which sessions are meant; nothing given means all."""

    project: str | None = None
    program: str | None = None
    since: float | None = None
    until: float | None = None


class Known(NamedTuple):
    """What the index knows of one transcript: whose it is, and how it was when it was read."""

    project: str | None
    size: int
    stamp: int
    told: int


class SessionIndex(ABC):
    """Sessions, turns, edits and commands of one user."""

    @abstractmethod
    def known(self) -> dict[str, Known]:
        """Every transcript that was looked at."""

    @abstractmethod
    def progress(self, source: Source) -> Progress:
        """How far a transcript was read."""

    @abstractmethod
    def together(self) -> AbstractContextManager[None]:
        """One transaction for what is written until its end."""

    @abstractmethod
    def note(self, source: Source, project: str | None, progress: Progress) -> None:
        """Keep how far a transcript was read."""

    @abstractmethod
    def begin(self, program: str, header: Header, project: str, origin: str = LOCAL) -> int | None:
        """The session of a header, made where it is new; None where it must not be kept."""

    @abstractmethod
    def add(self, session: int, program: str, events: Sequence[Event], *, is_side: bool) -> None:
        """Write events of one session, in one transaction; what is known is left out."""

    @abstractmethod
    def settle(self) -> None:
        """Give edits of sub-agents the turn of their session that was under way."""

    @abstractmethod
    def sessions(self, asked: Filter, limit: int) -> list[Session]:
        """Sessions, the latest first."""

    @abstractmethod
    def session(self, name: str) -> list[Session]:
        """The sessions that a name means: its id, or a beginning of it."""

    @abstractmethod
    def session_by_number(self, number: int) -> Session:
        """The session with this number in the index."""

    @abstractmethod
    def turns(self, session: int, numbers: Sequence[int] = ()) -> list[Turn]:
        """The turns of a session in order, or some of them."""

    @abstractmethod
    def search(self, query: str, asked: Filter, limit: int) -> list[Found]:
        """Turns with these words, the best first."""

    @abstractmethod
    def edits(self, project: str, paths: Sequence[str]) -> list[KeptEdit]:
        """The edits of a file under all of its names, in the order of time."""

    @abstractmethod
    def edited_paths(self, project: str) -> list[str]:
        """Every path of a project that was edited."""

    @abstractmethod
    def requests_about(
        self, project: str, paths: Sequence[str], limit: int
    ) -> list[tuple[Session, Turn]]:
        """The turns that edited these files, the latest first."""

    @abstractmethod
    def noted(self, sha: str, limit: int) -> list[tuple[Session, Turn]]:
        """The turns of imported sessions that a commit's note names."""

    @abstractmethod
    def explained(self, blob: str, paths: str, edits: str) -> bytes | None:
        """What was found for a blob, if the same edits were known then."""

    @abstractmethod
    def keep_explained(self, blob: str, paths: str, edits: str, found: bytes) -> None:
        """Keep what was found for a blob."""

    @abstractmethod
    def open_project(self, root: str) -> bool:
        """Note that the user works in a project; True if that is new."""

    @abstractmethod
    def projects(self) -> list[str]:
        """The projects that were opened."""

    @abstractmethod
    def setting(self, name: str) -> str | None:
        """A setting of the user."""

    @abstractmethod
    def set(self, name: str, value: str | None) -> None:
        """Change a setting, or take it back."""

    @abstractmethod
    def forget(
        self, *, session: int | None = None, project: str | None = None, before: float | None = None
    ) -> int:
        """Remove sessions for good, so that they are not read again; how many."""

    @abstractmethod
    def clear(self) -> None:
        """Remove everything but the settings."""

    @abstractmethod
    def counts(self, asked: Filter) -> list[dict[str, object]]:
        """Sessions, turns, edits, tokens and cost by program and model."""
