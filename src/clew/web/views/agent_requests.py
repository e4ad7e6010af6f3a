"""What agents were asked, beside the lines of a commit that came of it."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError
from clew.kit.text.display import clipped

if TYPE_CHECKING:
    from pathlib import Path

    from clew.sessions.model import Session, Turn

_LONGEST = 1200


@dataclass(frozen=True)
class Asked:
    """One request, by a number that the lines name."""

    number: int
    text: str
    session: Session
    turn: Turn
    lines: int


@dataclass
class Requests:
    """The requests behind a commit, and which of them each added line leads to."""

    asked: list[Asked] = field(default_factory=list)
    lines: dict[tuple[str, int], int] = field(default_factory=dict)
    edited: set[tuple[str, int]] = field(default_factory=set)


def requests_of(root: Path, sha: str) -> Requests:
    """The requests behind the lines that a commit added; none where nothing is known."""
    from clew.sessions.attribution.files import Repository
    from clew.sessions.room import current_index, has_transcripts

    try:
        if not has_transcripts(root):
            return Requests()
        with current_index(root) as (index, _):
            repository = Repository(index, root)
            added = repository.added_by([sha]) if repository.has_edits else {}
            found = {
                (path, line.number): line.origin
                for files in added.values()
                for path, lines in files.items()
                for line in lines
                if line.origin is not None
            }
            counts = Counter((one.session, one.turn) for one in found.values())
            made = Requests(edited={place for place, one in found.items() if not one.is_agents})
            numbers: dict[tuple[int, int], int] = {}
            for (session, turn), count in counts.most_common():
                for one in index.turns(session, (turn,)):
                    number = numbers[session, turn] = len(made.asked) + 1
                    of = index.session_by_number(session)
                    made.asked.append(Asked(number, clipped(one.request, _LONGEST), of, one, count))
    except ClewError:
        return Requests()
    for place, origin in found.items():
        if (origin.session, origin.turn) in numbers:
            made.lines[place] = numbers[origin.session, origin.turn]
    return made


def is_own(local_path: str, root: Path) -> bool:
    """Whether an indexed repository is the project itself; of others nothing is read."""
    return os.path.realpath(local_path) == os.path.realpath(root)
