"""What agents were asked: the request behind lines, what was tried before, and the session."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from clew.history.model import Repo
from clew.kit.errors import ClewError
from clew.kit.text.display import clipped
from clew.kit.times import day_text
from clew.sessions.attribution.files import Line, Repository
from clew.sessions.index.sqlite import SessionIndex
from clew.sessions.model import KeptEdit, Session, Turn
from clew.sessions.room import current_index, has_transcripts, short_name
from clew.thread.model import EARLY, FIRST, LATE, Statement
from clew.thread.why.blame import Blamed

_MOST_TURNS = 3
_MOST_TRIED = 3
_MOST_EARLIER = 5
_LONGEST = 400
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w{3,}")


def session_statements(repo: Repo, entries: Sequence[Blamed]) -> list[Statement]:
    """What is known of the turns that wrote lines."""
    root = Path(repo.local_path)
    try:
        if not has_transcripts(root):
            return []
        with current_index(root) as (index, _):
            repository = Repository(index, root)
            lines = [line for entry in entries for line in _lines(repository, entry)]
            paths = sorted({entry.path for entry in entries})
            return list(_told(index, lines, index.edits(os.path.realpath(root), paths)))
    except ClewError:
        return []  # without an index the rest of the answer stands


def _lines(repository: Repository, entry: Blamed) -> list[Line]:
    numbers = range(entry.line, entry.line + entry.end - entry.start + 1)
    return repository.line(entry.sha, entry.path, numbers)


def earlier_requests(repo: Repo, paths: Sequence[str]) -> list[Statement]:
    """What was asked before about files, the latest first."""
    root = Path(repo.local_path)
    try:
        if not paths or not has_transcripts(root):
            return []
        with current_index(root) as (index, _):
            found = index.requests_about(os.path.realpath(root), paths, _MOST_EARLIER)
    except ClewError:
        return []
    return [
        Statement(
            "requests",
            f"{day_text(int(turn.time))}: “{essence(turn.request, ' '.join(paths))}”"
            f"{_remark(session)}",
            f"session:{short_name(session)}",
            LATE,
            can_shrink=True,
        )
        for session, turn in found
        if turn.request
    ]


def _told(index: SessionIndex, lines: list[Line], edits: Sequence[KeptEdit]) -> Iterable[Statement]:
    origins = [line.origin for line in lines if line.origin is not None]
    counted = Counter((one.session, one.turn) for one in origins)
    text = " ".join(line.text for line in lines)
    if not origins:
        yield from _noted(index, lines, text)
    for (number, turn), count in counted.most_common(_MOST_TURNS):
        session = index.session_by_number(number)
        found = index.turns(number, tuple(range(max(turn - 1, 1), turn + 1)))
        if not found or found[-1].number != turn:
            continue
        some = [one for one in origins if (one.session, one.turn) == (number, turn)]
        yield from _turn(session, found, text)
        kinds = ", ".join(f"{kind} {n}" for kind, n in Counter(one.kind for one in some).items())
        yield _session(session, found[-1], count, kinds)
        yield from _undone(session, found[-1], edits)
        yield from _tried(session, found[-1])


def _undone(session: Session, turn: Turn, edits: Sequence[KeptEdit]) -> Iterable[Statement]:
    """Lines of the same files that the session wrote, and took back again until this turn."""
    own = [edit for edit in edits if edit.session == session.id and edit.turn <= turn.number]
    counts: Counter[int] = Counter()
    for number, edit in enumerate(own):
        later = frozenset[int]().union(*(one.removed for one in own[number + 1 :]))
        counts[edit.turn] += sum(
            print_ in later and is_new and says
            for print_, is_new, says in zip(edit.normal, edit.added, edit.weights, strict=True)
        )
    for number, count in counts.items():
        if count:
            plural = "s" if count > 1 else ""
            text = f"{count} line{plural} of turn {number} in these files taken back again"
            yield Statement("tried before", text, f"session:{short_name(session)}", LATE)


def _turn(session: Session, turns: list[Turn], text: str) -> Iterable[Statement]:
    turn = turns[-1]
    source = f"session:{short_name(session)}"
    asked = essence(turn.request, text)
    told = f"“{asked}”" if asked else ""
    if turn.is_only_consent and len(turns) > 1:
        told = f"“{essence(turns[0].request, text)}”, then “{asked}”"
    if told:  # a note need not name it
        yield Statement("request", f"{told}{_remark(session)}", source, FIRST, can_shrink=True)


def _remark(session: Session) -> str:
    return f" ({session.imported})" if session.imported else ""


def _noted(index: SessionIndex, lines: list[Line], text: str) -> Iterable[Statement]:
    """What imported notes say of the commits of lines, where nothing is known of the lines."""
    for commit in dict.fromkeys(line.commit for line in lines):
        for session, turn in index.noted(commit, _MOST_TURNS):
            told = f"“{essence(turn.request, text)}” ({session.imported}, about the whole commit)"
            source = f"session:{short_name(session)}"
            yield Statement("request", told, source, FIRST, can_shrink=True)


def _session(session: Session, turn: Turn, count: int, kinds: str) -> Statement:
    cost = f", ${session.cost:.2f}" if session.cost else ""
    text = (
        f"{session.program}, model {session.model or '?'}, {day_text(int(turn.time))}{cost}; "
        f"{count} of these lines ({kinds}); {session.imported}{'; ' if session.imported else ''}"
        f"clew sessions show {short_name(session)} --turn {turn.number}"
    )
    return Statement("session", text, f"session:{short_name(session)}", EARLY)


def _tried(session: Session, turn: Turn) -> Iterable[Statement]:
    """Commands that failed in the turn; each once."""
    failed = dict.fromkeys(one.text for one in turn.commands if one.exit_code)
    codes = {one.text: one.exit_code for one in turn.commands if one.exit_code}
    for text in list(failed)[:_MOST_TRIED]:
        shown = clipped(" ".join(text.split()), 160)
        said = f"`{shown}` failed with exit code {codes[text]}"
        yield Statement("tried before", said, f"session:{short_name(session)}", LATE)


def essence(request: str, text: str) -> str:
    """A short request whole; of a long one, the sentence that shares most with the lines."""
    flat = " ".join(request.split())
    if len(flat) <= _LONGEST:
        return flat
    about = {word.lower() for word in _WORD.findall(text)}
    sentences = [" ".join(one.split()) for one in _SENTENCE.split(request) if one.strip()]

    def shared(sentence: str) -> int:
        return len({word.lower() for word in _WORD.findall(sentence)} & about)

    best = max(sentences, key=shared) if about else sentences[0]
    chosen = best if shared(best) else sentences[0]
    return clipped(chosen, _LONGEST)
