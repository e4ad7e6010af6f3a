"""Notes of others taken into the index: their requests, and the lines of their commits."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from clew.kit.errors import ClewError
from clew.kit.git import run_git
from clew.sessions.attribution.files import blob_contents, text_lines
from clew.sessions.index.sqlite import SessionIndex
from clew.sessions.model import LOCAL, Edit, Event, Header, Noted, Request, Usage, Words
from clew.sessions.sharing.foreign import READERS
from clew.sessions.sharing.model import SharedLines, SharedSession, SharedTurn, digest_of
from clew.sessions.sharing.notes import Notes

_AROUND = 3  # lines of context, by which plain lines find their place
_MOST_FILES = 1000  # of one note


@dataclass
class Imported:
    """What an import did."""

    notes: int = 0
    sessions: set[str] = field(default_factory=set)
    turns: int = 0
    lines: int = 0
    own: int = 0  # of sessions that this machine has itself
    changed: int = 0  # files whose lines are not those that the note is about
    unreadable: list[str] = field(default_factory=list)


def import_notes(index: SessionIndex, root: Path, refs: Sequence[str]) -> Imported:
    """Take over the notes of some references; what is known is left out."""
    done = Imported()
    for ref in refs:
        notes = Notes(root, ref)
        if not notes.exist():
            continue
        texts = notes.texts()
        times = _times(root, list(texts))
        for commit, text in texts.items():
            if commit not in times:
                continue  # the commit is not here
            try:
                sessions = READERS[ref](text)
            except (ClewError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
                done.unreadable.append(f"{ref} {commit[:12]}")
                continue
            done.notes += 1
            for session in sessions:
                _take(index, root, (ref, commit, times[commit]), session, done)
    return done


def _times(root: Path, commits: Sequence[str]) -> dict[str, float]:
    """When commits were written, of those that are here."""
    if not commits:
        return {}
    asked = "".join(f"{commit}\n" for commit in commits).encode()
    words = ("log", "--no-walk=unsorted", "--ignore-missing", "--stdin", "--format=%H %at")
    told = run_git(*words, cwd=root, given=asked).decode()
    return {sha: float(time) for sha, time in (line.split() for line in told.splitlines())}


def _take(
    index: SessionIndex,
    root: Path,
    place: tuple[str, str, float],
    session: SharedSession,
    done: Imported,
) -> None:
    ref, commit, authored = place
    name = f"{session.program}:{session.uid}"
    if any(one.origin == LOCAL and one.uid == session.uid for one in index.session(name)):
        done.own += 1
        return
    number = index.begin(session.program, Header(session.uid), os.path.realpath(root), ref)
    if number is None:  # the user had it forgotten
        return
    files = _files(root, commit, session)
    for at, turn in enumerate(session.turns):
        events = list(_events(turn, f"{ref}:{session.uid}", (commit, at, authored), files, done))
        events.append(Usage(session.model))
        index.add(number, session.program, events, is_side=False)
        done.turns += 1
    done.sessions.add(name)


def _files(root: Path, commit: str, session: SharedSession) -> dict[str, list[str]]:
    """The lines of the files that a session names, as the commit has them."""
    named = {path for turn in session.turns for path in turn.files}
    paths = sorted(path for path in named if path and "\n" not in path)[:_MOST_FILES]
    bodies = blob_contents(root, [f"{commit}:{path}" for path in paths]) if paths else []
    return {path: text_lines(body) for path, body in zip(paths, bodies, strict=True) if body}


def _events(
    turn: SharedTurn,
    session: str,
    place: tuple[str, int, float],
    files: Mapping[str, list[str]],
    done: Imported,
) -> Iterator[Event]:
    commit, at, authored = place
    # What is later than the commit cannot have been in it.
    time = authored if turn.time is None or turn.time <= 0 else min(turn.time, authored)
    call = f"{session}:{turn.number or f'{commit}:{at}'}"
    yield Request(call, time, turn.request, turn.number)
    yield Words(turn.words)
    yield Noted(commit)
    for path, lines in turn.files.items():
        there = files.get(path, [])
        numbers = lines.numbers()
        digest = digest_of(there, numbers)
        if digest is None or lines.digest not in (None, digest):
            done.changed += 1
            continue
        done.lines += len(numbers)
        yield from (Edit(call, time, path, part) for part in _parts(there, lines))


def _parts(there: Sequence[str], lines: SharedLines) -> Iterator[tuple[tuple[str, bool], ...]]:
    """The lines with some around them; what is near to each other is one part."""
    new = set(lines.numbers())
    shown = sorted({n for at in new for n in range(at - _AROUND, at + _AROUND + 1)})
    part: list[tuple[str, bool]] = []
    last = 0
    for number in shown:
        if not 0 < number <= len(there):
            continue
        if part and number != last + 1:
            yield tuple(part)
            part = []
        part.append((there[number - 1], number in new))
        last = number
    if part:
        yield tuple(part)
