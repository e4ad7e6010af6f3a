"""What leaves the machine when a person asks for it: requests, without secrets and home paths."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from clew.kit.errors import ClewError, NotFound
from clew.kit.git import GitError, git_line, guard
from clew.sessions.attribution.files import Line, Repository
from clew.sessions.index.events import LONGEST_REQUEST, kept_text
from clew.sessions.index.sqlite import SessionIndex
from clew.sessions.model import LOCAL, Turn
from clew.sessions.sharing import CLEW
from clew.sessions.sharing.model import (
    SharedLines,
    SharedSession,
    SharedTurn,
    digest_of,
    ranges_of,
)
from clew.sessions.sharing.notes import Notes, clew_sessions, note_text, session_data

__all__ = ["CLEW", "commits_of", "markdown", "session_data", "shared_sessions", "write_notes"]

_MOST_COMMITS = 10_000


def commits_of(root: Path, *, commit: str | None, between: str | None) -> list[str]:
    """The commits that are meant, the oldest first."""
    words = ("--no-walk", guard(commit)) if commit else ("--reverse", guard(between or ""))
    try:
        listed = git_line(root, "rev-list", f"--max-count={_MOST_COMMITS}", *words, "--").split()
    except GitError:
        raise NotFound(
            f"No commits {commit or between}", "Give a commit, or a range such as main..HEAD."
        ) from None
    return listed


def shared_sessions(
    index: SessionIndex, root: Path, commits: Sequence[str]
) -> dict[str, list[SharedSession]]:
    """The sessions of this machine behind the lines that commits added, by commit."""
    if not commits:
        return {}
    found: dict[str, list[SharedSession]] = {}
    for commit, files in Repository(index, root).added_by(commits).items():
        turns: dict[tuple[int, int], dict[str, list[Line]]] = defaultdict(dict)
        for path, lines in files.items():
            for line in lines:
                origin = line.origin
                if origin and origin.is_agents and not origin.is_imported:
                    turns[origin.session, origin.turn].setdefault(path, []).append(line)
        made = _sessions(index, turns)
        if made:
            found[commit] = made
    return found


def _sessions(
    index: SessionIndex, turns: dict[tuple[int, int], dict[str, list[Line]]]
) -> list[SharedSession]:
    made = []
    for number in dict.fromkeys(session for session, _ in turns):
        session = index.session_by_number(number)
        wanted = {turn: files for (one, turn), files in turns.items() if one == number}
        known = {turn.number: turn for turn in index.turns(number)}
        for turn in list(wanted):  # what a mere "yes" was said to
            if turn in known and known[turn].is_only_consent and turn - 1 in known:
                wanted.setdefault(turn - 1, {})
        shared = [_turn(known[turn], wanted[turn]) for turn in sorted(wanted) if turn in known]
        if session.origin == LOCAL and shared:
            made.append(SharedSession(session.program, session.uid, session.model, tuple(shared)))
    return made


def _turn(turn: Turn, files: dict[str, list[Line]]) -> SharedTurn:
    return SharedTurn(
        shareable(turn.request),
        round(turn.time, 3),
        turn.number,
        files={path: _lines(lines) for path, lines in files.items()},
    )


def _lines(lines: Iterable[Line]) -> SharedLines:
    texts = {line.number: line.text for line in lines}
    numbers = sorted(texts)
    last = [texts.get(number, "") for number in range(1, numbers[-1] + 1)]
    return SharedLines(ranges_of(numbers), digest_of(last, numbers))


def shareable(text: str) -> str:
    """A request as others may read it: without secrets, and without the name of one's home."""
    clean = kept_text(text, LONGEST_REQUEST)
    for home in {str(Path.home()), os.path.realpath(Path.home())}:
        if len(home) > 1:
            clean = clean.replace(home, "~")
    return clean


def write_notes(root: Path, found: dict[str, list[SharedSession]]) -> list[str]:
    """Write a note on each commit; what others wrote there about their own sessions stays."""
    notes = Notes(root, CLEW)
    for commit, sessions in found.items():
        own = {(one.program, one.uid) for one in sessions}
        try:
            before = clew_sessions(notes.text(commit) or "")
        except (ClewError, ValueError, KeyError, TypeError, AttributeError):
            before = []
        others = [one for one in before if (one.program, one.uid) not in own]
        notes.write(commit, note_text([*others, *sessions]))
    return list(found)


def markdown(root: Path, found: dict[str, list[SharedSession]]) -> str:
    """The requests of some commits as a text for a pull request."""
    parts = ["# Requests behind these commits\n"]
    for commit, sessions in found.items():
        subject = git_line(root, "log", "-1", "--format=%s", guard(commit), "--")
        parts.append(f"## {commit[:12]} {_plain(subject)}\n")
        for session in sessions:
            for turn in session.turns:
                count = sum(len(lines.numbers()) for lines in turn.files.values())
                where = ", ".join("`" + path.replace("`", "'") + "`" for path in turn.files)
                quoted = "\n".join(f"> {_plain(line)}" for line in turn.request.splitlines())
                led = f": {count} lines in {where}" if count else ""
                model = f", {_plain(session.model)}" if session.model else ""
                parts.append(f"{quoted}\n\n{session.program}{model}, turn {turn.number}{led}\n")
    return "\n".join(parts)


def _plain(text: str) -> str:
    """Text that Markdown takes for nothing but text: no HTML, images, links or mentions."""
    for mark in "\\`*_[]<>#!@|":
        text = text.replace(mark, f"\\{mark}")
    return text
