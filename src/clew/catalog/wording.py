"""The one place that words a command for whoever reads it: by the face that they use.

Texts of the rooms name a command by any of its names, such as `chant reset ID` or `clew pause ID`.
Whoever came by a face of their own reads that face's name for it; everybody else the one door's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from clew.catalog.command_table import (
    ADVISE_COMMANDS,
    COMMAND_COMMANDS,
    COMMANDS,
    HISTORY_COMMANDS,
    SPEC_COMMANDS,
    WORK_COMMANDS,
    find,
    summaries,
)

# A room by the word of its group under `clew`: the face that has it, and its commands.
_ROOMS = {
    "spec": ("chant", {**SPEC_COMMANDS, **WORK_COMMANDS}),
    "history": ("commitmux", HISTORY_COMMANDS),
    "command": ("climpt", {**COMMAND_COMMANDS, "init": COMMANDS["climpt"]["init"]}),
    "advise": ("clariad", ADVISE_COMMANDS),
}
_OF_FACE = {face: room for room, (face, _) in _ROOMS.items()}
_SERVERS = {"commitmux": "serve", "chant": "mcp", "climpt": "mcp", "clariad": "serve"}
_BOTH = {("spec", "show")}  # the door's word takes what the room's takes, and more
_QUOTED = r"(?P<open>['`])(?P<face>{names}) (?P<first>[a-z][a-z-]*)(?: (?P<second>[a-z][a-z-]*))?"
_NAMES = "|".join(COMMANDS)
_IN_QUOTES = re.compile(_QUOTED.format(names=_NAMES))
_ANYWHERE = re.compile(
    _QUOTED.format(names=_NAMES).replace("(?P<open>['`])", r"(?P<open>(?<![\w/.@-]))")
)


def commands_of(face: str, text: str) -> str:
    """A hint with the commands as this face has them."""
    return _worded(_ANYWHERE, text, face)


def for_caller(settings: Mapping[str, str], text: str) -> str:
    """A hint as the face of a server has it; the command line words its own when it prints."""
    face = settings.get("face")
    return commands_of(face, text) if face else text


def message_of(face: str, text: str) -> str:
    """The same for a message, which may quote others: only what stands in quotes is a command."""
    return _worded(_IN_QUOTES, text, face)


def _worded(pattern: re.Pattern[str], text: str, face: str) -> str:
    def replaced(found: re.Match[str]) -> str:
        named = _named(found["face"], found["first"], found["second"])
        if named is None:
            return found[0]
        words, rest = named
        shown = _called(words, face)
        return f"{found['open']}{shown}{f' {rest}' if rest else ''}"

    return pattern.sub(replaced, text)


def _named(face: str, first: str, second: str | None) -> tuple[tuple[str, str], str | None] | None:
    """The room and its command, and what belongs to the arguments; None where it is no such thing."""
    if face == "clew":
        if first in _ROOMS:
            known = second is not None and find(_ROOMS[first][1], second) is not None
            return ((first, second), None) if known and second else None
        for room, (_, table) in _ROOMS.items():
            if _is_at_door(room, first) or (first in WORK_COMMANDS and first in table):
                return (room, first), second
        return None
    if first == _SERVERS[face]:
        return (face, first), second
    room = _OF_FACE[face]
    return ((room, first), second) if find(_ROOMS[room][1], first) is not None else None


def _called(named: tuple[str, str], face: str) -> str:
    room, word = named
    if room in _SERVERS:  # the command that starts a server
        return f"{room} {word}" if face == room else "clew serve"
    if face == _ROOMS[room][0]:
        return f"{face} {word}"
    return f"clew {word}" if _is_at_door(room, word) else f"clew {room} {word}"


def _is_at_door(room: str, word: str) -> bool:
    """Whether `clew WORD` is what the room calls so."""
    at_door = COMMANDS["clew"].get(word)
    if at_door is None or (room, word) in _BOTH:
        return at_door is not None
    return find(COMMANDS["clew"], word) == find(_ROOMS[room][1], word)


def grouped_words() -> dict[str, str]:
    """Every word of a group of the door, and the group; of a word that several have, the first."""
    found: dict[str, str] = {}
    for room, (_, table) in _ROOMS.items():
        for word in summaries(table):
            found.setdefault(word, room)
    return found
