"""Notes of a repository: Clew's own form, and reading and writing them through git."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clew.kit.errors import Invalid
from clew.kit.git import GitError, git_line, guard, run_git
from clew.sessions.attribution.files import blob_contents
from clew.sessions.sharing.model import (
    Ranges,
    SharedLines,
    SharedSession,
    SharedTurn,
    program_name,
    session_uid,
)

FORM = "clew-sessions/1"
_LAST_LINE = 10_000_000
_MOST_RANGES = 20_000


def note_text(sessions: Sequence[SharedSession]) -> str:
    """The sessions of a commit as its note has them."""
    return json.dumps({"form": FORM, "sessions": [session_data(one) for one in sessions]}, indent=1)


def session_data(session: SharedSession) -> dict[str, Any]:
    """A session as the note and programs have it."""
    return {
        "program": session.program,
        "id": session.uid,
        "model": session.model,
        "turns": [
            {
                "number": turn.number,
                "time": turn.time,
                "request": turn.request,
                "files": {
                    path: {"lines": [list(one) for one in lines.ranges], "digest": lines.digest}
                    for path, lines in turn.files.items()
                },
            }
            for turn in session.turns
        ],
    }


def clew_sessions(text: str) -> list[SharedSession]:
    """What a note of Clew says; a note of another form raises."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("form") != FORM:
        raise Invalid(f"not {FORM}")
    return [
        SharedSession(
            program_name(one.get("program")),
            session_uid(one.get("id")),
            _text_or_none(one.get("model")),
            tuple(_turn(turn) for turn in one["turns"]),
        )
        for one in data["sessions"]
    ]


def _turn(data: Mapping[str, Any]) -> SharedTurn:
    number = int(data["number"])
    if not 0 < number < _LAST_LINE:
        raise Invalid("a turn without a number")
    files = {
        str(path): SharedLines(checked_ranges(one["lines"]), _text_or_none(one.get("digest")))
        for path, one in data["files"].items()
    }
    return SharedTurn(str(data["request"]), float(data["time"]), number, files=files)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def checked_ranges(pairs: Sequence[Sequence[int]]) -> Ranges:
    """Ranges of lines as somebody wrote them, if a file can have them."""
    made = tuple((int(first), int(last)) for first, last in pairs[:_MOST_RANGES])
    if any(not 0 < first <= last < _LAST_LINE for first, last in made):
        raise Invalid("a range that no file has")
    return made


class Notes:
    """The notes of one reference."""

    def __init__(self, root: Path, ref: str) -> None:
        self.root, self.ref = root, ref

    def exist(self) -> bool:
        """Whether the repository has such notes."""
        try:
            git_line(self.root, "rev-parse", "--verify", "--quiet", self.ref)
        except GitError:
            return False
        return True

    def texts(self) -> dict[str, str]:
        """Every note by the commit that it is on, where the commit is here."""
        listed = run_git("notes", f"--ref={self.ref}", "list", cwd=self.root).decode()
        pairs = [line.split() for line in listed.splitlines()]
        bodies = blob_contents(self.root, [note for note, _ in pairs])
        return {
            commit: body.decode("utf-8", "replace")
            for (_, commit), body in zip(pairs, bodies, strict=True)
            if body is not None
        }

    def text(self, commit: str) -> str | None:
        """The note of one commit."""
        try:
            shown = run_git("notes", f"--ref={self.ref}", "show", guard(commit), cwd=self.root)
        except GitError:
            return None
        return shown.decode("utf-8", "replace")

    def write(self, commit: str, text: str) -> None:
        """Put a note in place of what was there."""
        words = ("notes", f"--ref={self.ref}", "add", "-f", "-F", "-", guard(commit))
        run_git(*words, cwd=self.root, given=text.encode())
