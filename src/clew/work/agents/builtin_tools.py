"""The tools of our own agent: files within one directory, commands in it, and an end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, Invalid
from clew.kit.text.display import os_reason
from clew.work.processes.shell import run_command

if TYPE_CHECKING:
    from pathlib import Path

    from clew.kit.jsontext import JsonObject

_LARGEST_FILE = 256 * 1024
_LONGEST_OUTPUT = 32 * 1024
_MOST_FILES = 2000
_COMMAND_SECONDS = 600
_WRITING = ("write_file", "run_command")
_TOOLS: dict[str, tuple[str, dict[str, str]]] = {
    "read_file": ("Read a text file", {"path": "Path of the file"}),
    "write_file": (
        "Write a file, replacing what is there",
        {"path": "Path of the file", "content": "The whole new text"},
    ),
    "list_files": ("List the files below a directory", {"path": "Directory; . is the top"}),
    "run_command": ("Run a shell command and see its output", {"command": "The command line"}),
    "task_complete": ("End the work", {"summary": "What was done and how it was checked"}),
}


def tool_schemas(*, read_only: bool) -> list[JsonObject]:
    """The tools as a model is told of them."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {
                    "type": "object",
                    "properties": {
                        key: {"type": "string", "description": text} for key, text in fields.items()
                    },
                    "required": list(fields),
                },
            },
        }
        for name, (description, fields) in _TOOLS.items()
        if not (read_only and name in _WRITING)
    ]


class LoopTools:
    """The tools, confined to one directory."""

    def __init__(self, top: Path, *, read_only: bool) -> None:
        self._top = top.resolve()
        self.read_only = read_only
        self.summary: str | None = None

    def call(self, name: str, given: JsonObject) -> tuple[bool, str]:
        """Run one tool; whether it worked, and what it says."""
        if name not in _TOOLS or (self.read_only and name in _WRITING):
            return False, f"There is no tool {name}"
        missing = [key for key in _TOOLS[name][1] if not isinstance(given.get(key), str)]
        if missing:
            return False, f"Missing: {', '.join(missing)}"
        try:
            return True, getattr(self, f"_{name}")(given)
        except ClewError as error:
            return False, error.full_text()
        except OSError as error:
            return False, os_reason(error)

    def _read_file(self, given: JsonObject) -> str:
        data = self._place(given["path"]).read_bytes()
        text = data[:_LARGEST_FILE].decode("utf-8", "replace")
        return text if len(data) <= _LARGEST_FILE else f"{text}\n... ({len(data)} bytes in all)"

    def _write_file(self, given: JsonObject) -> str:
        place = self._place(given["path"])
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(given["content"], encoding="utf-8")
        return f"Written: {given['path']}"

    def _list_files(self, given: JsonObject) -> str:
        names: list[str] = []
        for directory, children, files in os.walk(self._place(given["path"])):
            children[:] = sorted(child for child in children if child != ".git")
            names += [os.path.relpath(f"{directory}/{file}", self._top) for file in sorted(files)]
            if len(names) > _MOST_FILES:
                return "\n".join([*names[:_MOST_FILES], "..."])
        return "\n".join(names)

    def _run_command(self, given: JsonObject) -> str:
        code, text = run_command(given["command"], cwd=self._top, seconds=_COMMAND_SECONDS)
        shown = text if len(text) <= _LONGEST_OUTPUT else f"...{text[-_LONGEST_OUTPUT:]}"
        return f"exit {code}\n{shown}"

    def _task_complete(self, given: JsonObject) -> str:
        self.summary = given["summary"]
        return "Done"

    def _place(self, name: str) -> Path:
        """The path of that name; links and dots do not lead out of the directory."""
        if "\0" in name:
            raise Invalid("A path cannot contain a NUL character")
        place = (self._top / name).resolve()
        parts = place.relative_to(self._top).parts if place.is_relative_to(self._top) else None
        if parts is None or ".git" in parts:
            raise Invalid(f"{name} is outside of the worktree", "Use a path inside of it.")
        return place
