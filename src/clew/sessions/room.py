"""The index at hand for one project: brought up to date first, within what a question may take."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import ClewError, NotFound, Unavailable
from clew.kit.text.display import clipped, shown_text
from clew.sessions.index.sqlite import SessionIndex, database_path, opened_index
from clew.sessions.index.update import OFF, Report, Updater
from clew.sessions.model import Filter, Found, Session, Turn
from clew.sessions.readers.interface import Surroundings
from clew.sessions.readers.table import READERS

# What a question reads before it answers; `clew sessions index` reads everything.
MOST_BYTES = 200 * 1024 * 1024
SHOWN_ID = 13
# What programs hand to a hook: the transcript, or the session's id, which is in its name.
_NAMES = ("transcript_path", "session_id", "sessionId", "thread-id")


def updater(index: SessionIndex, *, takes_all: bool = False) -> Updater:
    """An update from the transcripts of the user."""
    return Updater(index, dict(os.environ), Path("~").expanduser(), takes_all=takes_all)


def has_transcripts(project: Path) -> bool:
    """Whether there is an index, or anything that one could be made from."""
    around = Surroundings(Path("~").expanduser(), dict(os.environ), (project,))
    found = (source for make in READERS for source in make().discover(around))
    return database_path().exists() or next(found, None) is not None


@contextmanager
def current_index(project: Path) -> Iterator[tuple[SessionIndex, Report]]:
    """The index with what is new of a project."""
    with opened_index() as index:
        yield index, updater(index).update(project, most_bytes=MOST_BYTES)


def captured(event: str) -> Report | None:
    """Read the session that a hook's event names, if its project was opened; None where it cannot."""
    try:
        data = jsontext.loads(event)
    except ValueError:
        data = None
    given = data if isinstance(data, dict) else {}
    named = [given.get(name) for name in _NAMES]
    only = next((one for one in named if isinstance(one, str) and one), None)
    try:
        with opened_index() as index:
            return updater(index).update(only=only)
    except ClewError:
        return None


def found_turns(project: Path, words: Sequence[str], limit: int) -> list[Found]:
    """Turns of a project with these words, the best first; none where there is nothing to read."""
    try:
        if not has_transcripts(project):
            return []
        with current_index(project) as (index, _):
            return index.search(" ".join(words), Filter(os.path.realpath(project)), limit)
    except ClewError:
        return []


def refuse_off(index: SessionIndex) -> None:
    """Refuse to go on while reading transcripts is turned off."""
    if index.setting(OFF):
        raise Unavailable("Sessions are turned off", "`clew sessions on` turns them on.")


def named_session(index: SessionIndex, name: str) -> Session:
    """The one session that a name means."""
    found = index.session(name)
    shown = clipped(shown_text(name))
    if not found:
        raise NotFound(f"No session {shown}", "`clew sessions list` shows them.")
    if len(found) > 1 and found[0].uid != name:
        some = ", ".join(short_name(one) for one in found[:3])
        raise NotFound(f"{len(found)} sessions begin with {shown}: {some}", "Give more of the id.")
    return found[0]


def short_name(session: Session) -> str:
    """A session as people name it."""
    return f"{session.program}:{session.uid[:SHOWN_ID]}"


def turn_data(session: Session, turn: Turn) -> dict[str, object]:
    """A turn as programs read it."""
    return {
        "session": short_name(session),
        "program": session.program,
        "model": session.model,
        "turn": turn.number,
        "time": int(turn.time),
        "request": turn.request,
        "words": turn.words,
        "plan": turn.plan,
        "files": list(turn.files),
        "commands": [{"text": one.text, "exit_code": one.exit_code} for one in turn.commands],
        "commits": list(turn.commits),
        "imported": session.imported,
    }
