"""What a transcript says, whichever program wrote it, and what the index keeps of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LOCAL = "local"
_GO_ON = re.compile(
    r"\W*(?:(?:yes|yeah|yep|ok|okay|sure|fine|good|great|go|on|ahead|continue|proceed|please|do|it|that|"
    r"this|next|now|thanks|and|lgtm|right|correct|weiter|ja)\W*){1,6}",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Header:
    """Which session the following events belong to; later headers fill in what was not known."""

    uid: str
    cwd: str = ""
    parent: str | None = None  # of a sub-agent: the session that its work belongs to
    branch: str | None = None
    version: str | None = None
    title: str | None = None
    is_side: bool = False  # its requests are an agent's, not a person's


@dataclass(frozen=True)
class Request:
    """What a person asked for; it begins a turn."""

    uid: str
    time: float
    text: str
    number: int | None = None  # in its session, where another machine counted


@dataclass(frozen=True)
class Words:
    """What the agent said, or its plan."""

    text: str
    is_plan: bool = False


@dataclass(frozen=True)
class Edit:
    """One changed place of a file: its lines afterwards, which of them are new, what went away."""

    call: str
    time: float
    path: str
    lines: tuple[tuple[str, bool], ...]
    removed: tuple[str, ...] = ()
    is_blind: bool = False  # the whole file was written, and what it was before is not known


@dataclass(frozen=True)
class Command:
    """A command that the agent ran, and what matters of its end."""

    call: str
    time: float
    text: str
    exit_code: int | None = None
    commits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Noted:
    """A commit whose note names the turn."""

    sha: str


@dataclass(frozen=True)
class Usage:
    """What a session used: added up, or in all so far where `is_total`."""

    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    is_total: bool = False


Event = Header | Request | Words | Edit | Command | Noted | Usage


@dataclass(frozen=True)
class Session:
    """One session as the index keeps it."""

    id: int
    program: str
    uid: str
    project: str
    title: str
    branch: str | None
    model: str | None
    version: str | None
    started: float
    ended: float
    input_tokens: int
    output_tokens: int
    cost: float | None
    turns: int
    edits: int
    origin: str = LOCAL  # or the notes that it was imported from

    def as_data(self) -> dict[str, object]:
        """The session as programs read it."""
        return {**vars(self), "id": self.name}

    @property
    def imported(self) -> str:
        """Where the session was imported from, as a remark; nothing for one of this machine."""
        return "" if self.origin == LOCAL else f"imported from {self.origin}"

    @property
    def name(self) -> str:
        """The id as people name it: the program and the beginning of its own id."""
        return f"{self.program}:{self.uid}"


@dataclass(frozen=True)
class Turn:
    """One request, what the agent said to it, and what it did."""

    session: int
    number: int
    time: float
    request: str
    words: str
    plan: str
    files: tuple[str, ...] = ()
    commands: tuple[CommandRun, ...] = ()
    commits: tuple[str, ...] = ()

    @property
    def is_only_consent(self) -> bool:
        """Whether it only lets the agent go on, so that the request before tells what is done."""
        return _GO_ON.fullmatch(self.request.strip()) is not None


@dataclass(frozen=True)
class CommandRun:
    """A command as the index keeps it."""

    text: str
    exit_code: int | None


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


@dataclass(frozen=True)
class KeptEdit:
    """An edit as the index keeps it: fingerprints of its lines, no text."""

    id: int
    session: int
    turn: int
    time: float
    path: str
    is_blind: bool
    is_imported: bool
    exact: tuple[int, ...]
    normal: tuple[int, ...]
    added: tuple[bool, ...]
    weights: tuple[bool, ...]  # whether a line says enough to be found by itself
    words: tuple[bytes, ...]  # the fingerprints of each line's words
    removed: frozenset[int] = field(default_factory=frozenset)
