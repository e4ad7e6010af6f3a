"""Hints for clients that have tools: the commands that a text names become calls of tools.

Texts say what to do next as a command in backticks, such as `chant pause ID`. A tool client gets
`chant_pause {"id": "ID"}` instead. A command that no tool does stays one, by the name that the server's
face has for it, and is said to be one.
"""

from __future__ import annotations

from clew.kit import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Container

    from clew.kit.jsontext import JsonObject

_ID = "id"
# The tool that does a command, what its first word is called, and what it is always given.
_TOOLS: dict[str, tuple[str, str | None, JsonObject]] = {
    "add": ("chant_add", "description", {}),
    "archive": ("chant_archive", _ID, {}),
    "cancel": ("chant_cancel", _ID, {}),
    "check": ("chant_check", _ID, {}),
    "diagnose": ("chant_diagnose", _ID, {}),
    "finalize": ("chant_finalize", _ID, {}),
    "lint": ("chant_lint", _ID, {}),
    "list": ("chant_spec_list", None, {}),
    "log": ("chant_log", _ID, {}),
    "logs": ("chant_log", _ID, {}),
    "pause": ("chant_pause", _ID, {}),
    "ready": ("chant_ready", None, {}),
    "release": ("chant_release", _ID, {}),
    "reset": ("chant_reset", _ID, {}),
    "resume": ("chant_work_start", _ID, {}),
    "runs": ("chant_work_list", None, {"include_completed": True}),
    "show": ("chant_spec_get", _ID, {}),
    "split": ("chant_split", _ID, {}),
    "status": ("chant_status", None, {}),
    "takeover": ("chant_takeover", _ID, {}),
    "update": ("chant_spec_update", _ID, {}),
    "verify": ("chant_verify", _ID, {}),
    "watch": ("chant_watch_start", None, {}),
    "work": ("chant_work_start", _ID, {}),
}
_OPTIONS: dict[str, JsonObject] = {
    "--allow-no-criteria": {"skip_criteria": True},
    "--background": {},
    "--chain": {"chain": True},
    "--continue": {"then": "continue"},
    "--finish": {"then": "finish"},
    "--force": {"force": True},
    "--skip-criteria": {"skip_criteria": True},
    "-f": {},
}
_VALUES = {"--status": "status"}


def in_tools(text: str, face: str, offered: Container[str] | None = None) -> str:
    """The text with tools in place of commands; `offered` are the names that the client has."""
    import re

    from clew.catalog.wording import commands_of

    def replaced(found: re.Match[str]) -> str:
        call = _call(found["words"].split())
        if call is None or (offered is not None and call[0] not in offered):
            return f"{found[0]} on the command line"
        name, arguments = call
        return f"`{name} {jsontext.dumps(arguments)}`" if arguments else f"`{name}`"

    with_tools = re.sub(r"`(?:chant|clew) (?P<words>[a-z][^`]*)`", replaced, text)
    return commands_of(face, with_tools)


def _call(words: list[str]) -> tuple[str, JsonObject] | None:
    """The tool and its arguments for the words of a command; None where there is no such tool."""
    verb, *rest = words
    if verb == "criterion" and len(rest) > 2 and rest[0] == "add":
        text = " ".join(rest[2:]).strip('"')
        output = f"## Acceptance Criteria\n\n- [ ] {text}"
        return "chant_spec_update", {"id": rest[1], "output": output}
    if verb not in _TOOLS:
        return None
    name, first, fixed = _TOOLS[verb]
    arguments = dict(fixed)
    while rest:
        word = rest.pop(0)
        if word in _OPTIONS:
            arguments |= _OPTIONS[word]
        elif word in _VALUES and rest:
            arguments[_VALUES[word]] = rest.pop(0)
        elif word.startswith("-"):
            return None
        elif first is not None and first not in arguments:
            arguments[first] = word
        elif first is not None:
            return None
    return name, arguments
