"""What is shared of a session, whoever wrote it down."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

Ranges = tuple[tuple[int, int], ...]

_UID = re.compile(r"[\w.:-]{1,100}", re.ASCII)
_PROGRAM = re.compile(r"[a-z][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class SharedLines:
    """Lines of a file as a commit has them; `digest` tells whether they still are the same."""

    ranges: Ranges
    digest: str | None = None

    def numbers(self) -> list[int]:
        """The lines one by one."""
        return [number for first, last in self.ranges for number in range(first, last + 1)]


@dataclass(frozen=True)
class SharedTurn:
    """A request, and the lines that came of it."""

    request: str
    time: float | None = None
    number: int | None = None  # in its session, where that is known
    words: str = ""
    files: Mapping[str, SharedLines] = field(default_factory=dict)


@dataclass(frozen=True)
class SharedSession:
    """A session as one commit's note has it."""

    program: str
    uid: str
    model: str | None
    turns: tuple[SharedTurn, ...]


def ranges_of(numbers: Iterable[int]) -> Ranges:
    """Line numbers as ranges, in order."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return tuple((first, last) for first, last in found)


def digest_of(lines: Sequence[str], numbers: Iterable[int]) -> str | None:
    """A fingerprint of some lines of a file; None where it does not have them."""
    chosen = list(numbers)
    if not chosen or min(chosen) < 1 or max(chosen) > len(lines):
        return None
    text = "\n".join(lines[number - 1] for number in chosen)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def program_name(value: object) -> str:
    """A program's name as Clew has it; what could be no name is `unknown`."""
    text = str(value or "").lower().removeprefix("github-")
    return text if _PROGRAM.fullmatch(text) else "unknown"


def session_uid(value: object) -> str:
    """A session's id as Clew can show and take it; another text is named by its fingerprint."""
    text = str(value or "")
    if _UID.fullmatch(text):
        return text
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
