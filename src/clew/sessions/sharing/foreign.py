"""Notes of other programs, as the sessions that they tell of.

git-ai: `refs/notes/ai`, `authorship/3.0.0`: lines by file, `---`, JSON with who wrote them. Agent
Note: `refs/notes/agentnote`, JSON with prompts, and no lines.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from clew.kit.errors import Invalid
from clew.sessions.readers.lines import seconds
from clew.sessions.sharing import CLEW
from clew.sessions.sharing.model import (
    SharedLines,
    SharedSession,
    SharedTurn,
    program_name,
    session_uid,
)
from clew.sessions.sharing.notes import checked_ranges, clew_sessions

GIT_AI, AGENT_NOTE = "refs/notes/ai", "refs/notes/agentnote"
_PEOPLE = "h_"


def git_ai_sessions(text: str) -> list[SharedSession]:
    """What a note of git-ai says; one turn for each session, since lines name no more."""
    head, divider, tail = f"\n{text}".partition("\n---\n")
    data = json.loads(tail) if divider else None
    version = str(data.get("schema_version")) if isinstance(data, dict) else ""
    if not isinstance(data, dict) or not version.startswith("authorship/3."):
        raise Invalid("not authorship/3")
    known = {**(data.get("prompts") or {}), **(data.get("sessions") or {})}
    lines: dict[str, dict[str, SharedLines]] = defaultdict(dict)
    path = ""
    for line in head.splitlines():
        if line.startswith("  "):
            key, _, listed = line.strip().partition(" ")
            name = key.partition("::")[0]
            if not name.startswith(_PEOPLE) and name in known:
                before = lines[name][path].ranges if path in lines[name] else ()
                lines[name][path] = SharedLines((*before, *_ranges(listed)))
        elif line.strip():
            path = line[1:-1] if line.startswith('"') and line.endswith('"') else line
    return [_git_ai_session(known[name], files) for name, files in lines.items()]


def _ranges(listed: str) -> tuple[tuple[int, int], ...]:
    pairs = (part.partition("-") for part in listed.split(",") if part.strip())
    return checked_ranges([(int(first), int(last or first)) for first, _, last in pairs])


def _git_ai_session(record: Mapping[str, Any], files: Mapping[str, SharedLines]) -> SharedSession:
    agent = record["agent_id"]
    said = [one for one in record.get("messages") or () if one.get("type") == "user"]
    asked = "\n".join(str(one.get("text") or "") for one in said)
    model = agent.get("model")
    return SharedSession(
        program_name(agent.get("tool")),
        session_uid(agent.get("id")),
        None if model is None else str(model),
        (SharedTurn(asked, number=1, files=files),),
    )


def agent_note_sessions(text: str) -> list[SharedSession]:
    """What a note of Agent Note says: the prompts that led to the commit."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("v") != 1:
        raise Invalid("not version 1")
    time = seconds(data.get("timestamp")) or None
    turns = [
        (bool(one.get("files_touched")), SharedTurn(str(one["prompt"]), time, words=_said(one)))
        for one in data.get("interactions") or ()
        if one.get("prompt")
    ]
    # Prompts that edited nothing are the talk between; they count where nothing else is known.
    chosen = [turn for is_edit, turn in turns if is_edit] or [turn for _, turn in turns]
    model = data.get("model")
    return [
        SharedSession(
            program_name(data.get("agent")),
            session_uid(data.get("session_id")),
            None if model is None else str(model),
            tuple(chosen),
        )
    ]


def _said(interaction: Mapping[str, Any]) -> str:
    said = interaction.get("response")
    return said if isinstance(said, str) else ""


READERS: dict[str, Callable[[str], list[SharedSession]]] = {
    CLEW: clew_sessions,
    GIT_AI: git_ai_sessions,
    AGENT_NOTE: agent_note_sessions,
}
