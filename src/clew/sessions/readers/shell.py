"""Commands that agents run: the files they write by here-documents, the commits they show."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.sessions.model import Command, Edit
from clew.sessions.readers.changes import edit_of_texts, edits_of_patch

_DOCUMENT = re.compile(
    r"(?P<before>[^\n]*?)<<-?\s*(?P<quote>['\"]?)(?P<word>\w+)(?P=quote)(?P<after>[^\n]*)\n"
    r"(?P<body>.*?)^\s*(?P=word)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_TARGET = re.compile(
    r"(?:cat\b[^|;&<]*|(?<!\S))>\s*(?P<one>[^\s<>|;&]+)|\btee\s+(?P<two>[^\s<>|;&-]+)"
)
_APPENDS = re.compile(r">>|tee\s+-a")
_COMMITTED = re.compile(r"^\[[^\]\n]*?\b([0-9a-f]{7,40})\] ", re.MULTILINE)
_SHA = re.compile(r"\b[0-9a-f]{40}\b")
_EXITS = (
    re.compile(r"Process exited with code (\d+)"),
    re.compile(r"[Ee]xit [Cc]ode:? (\d+)"),
    re.compile(r"exited? with (?:exit )?code (\d+)"),
)
_MOST_OUTPUT = 65_536
_MOST_COMMITS = 20
_LONGEST_DOCUMENT = 1_000_000


def command_of(
    call: str, time: float, text: str, output: str, exit_code: int | None = None
) -> Command:
    """A command with what its output tells: how it ended, and the commits that it made."""
    said = output[:_MOST_OUTPUT]
    if exit_code is None:
        found = next((match for form in _EXITS if (match := form.search(said))), None)
        exit_code = int(found[1]) if found and len(found[1]) < 9 else None
    commits: list[str] = []
    if "git" in text:
        commits += _COMMITTED.findall(said)
        if "rev-parse" in text or "commit" in text:
            commits += _SHA.findall(said)
    return Command(call, time, text, exit_code, tuple(dict.fromkeys(commits))[:_MOST_COMMITS])


def written_by(command: Command) -> Iterator[Edit]:
    """The files that a command writes by here-documents, and patches that it hands over."""
    if "<<" not in command.text or len(command.text) > _LONGEST_DOCUMENT:
        return
    for found in _DOCUMENT.finditer(command.text):
        around = f"{found['before']} {found['after']}"
        body = found["body"]
        if "apply_patch" in around:
            yield from edits_of_patch(command.call, command.time, body)
            continue
        target = _TARGET.search(around)
        if target is None or "<" in (target["one"] or target["two"]):
            continue
        path = (target["one"] or target["two"]).strip("'\"")
        if "$" in path or path.startswith("/dev/"):
            continue
        if _APPENDS.search(around):
            lines = tuple((line, True) for line in body.splitlines())
            yield Edit(command.call, command.time, path, lines)
        else:
            yield edit_of_texts(command.call, command.time, path, None, body)
