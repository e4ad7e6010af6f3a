"""Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, older ones as one JSON file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.sessions.model import Edit, Event, Header, Request, Usage, Words
from clew.sessions.readers.changes import edit_of_texts, edits_of_diff
from clew.sessions.readers.interface import Source, Surroundings, files_below, text_in, texts_of
from clew.sessions.readers.lines import LineReader, Record, ran, seconds

_INJECTED = re.compile(r"\s*<(?:session_context|hook_context|system)")
_WRITERS = ("write_file", "replace", "edit")


class GeminiReader(LineReader):
    """A header, then messages; a message is written again when its tools have ended."""

    name, title = "gemini", "Gemini CLI"

    def discover(self, around: Surroundings) -> Iterator[Source]:
        """Chats of every project."""
        base = around.directory("GEMINI_CLI_HOME", ".gemini") / "tmp"
        if not base.is_dir():  # the variable names the home itself
            base = around.directory("GEMINI_CLI_HOME") / ".gemini" / "tmp"
        for source in files_below(self.name, base, ".jsonl", depth=3):
            if source.path.parent.name == "chats":
                yield source

    def begin(self, source: Source, state: dict[str, object]) -> None:
        """The project's directory is in a file beside the chats."""
        super().begin(source, state)
        marker = source.path.parent.parent / ".project_root"
        try:
            self._root = marker.read_text(encoding="utf-8", errors="replace")[:4096].strip()
        except OSError:
            self._root = ""
        told = state.get("told")
        self._told: dict[str, int] = dict(told) if isinstance(told, dict) else {}

    def state(self) -> dict[str, object]:
        """The last messages that were told, since they may be written again."""
        return {"told": dict(list(self._told.items())[-50:])}

    def record(self, record: Record) -> Iterator[Event]:
        """What a line says."""
        if "sessionId" in record:
            kind = str(record.get("kind") or "main")
            yield Header(str(record["sessionId"]), self._root, is_side=kind != "main")
        elif "$set" in record:
            for message in (record["$set"] or {}).get("messages") or []:
                yield from self._message(message)
        else:
            yield from self._message(record)

    def _message(self, message: Record) -> Iterator[Event]:
        uid, time = str(message.get("id")), seconds(message.get("timestamp"))
        if message.get("type") == "user":
            text = texts_of(message.get("content"))
            if text.strip() and not _INJECTED.match(text):
                yield Request(uid, time, text)
        elif message.get("type") == "gemini":
            if uid not in self._told:
                self._told[uid] = 0
                used = message.get("tokens") or {}
                tokens = int(used.get("input") or 0), int(used.get("output") or 0)
                yield Words(texts_of(message.get("content")))
                yield Usage(message.get("model"), *tokens)
            calls = message.get("toolCalls") or []
            for call in calls[self._told[uid] :]:
                yield from _called(call)
            self._told[uid] = len(calls)


def _called(call: Record) -> Iterator[Event]:
    name, given = str(call.get("id")), call.get("args") or {}
    time = seconds(call.get("timestamp"))
    if call.get("name") == "run_shell_command":
        failed = None if call.get("status") == "success" else 1
        yield from ran(name, time, text_in(given, "command"), _output(call), failed)
    elif call.get("name") in _WRITERS and call.get("status") == "success":
        yield from edits_by_display(name, time, given, call.get("resultDisplay"))


def edits_by_display(name: str, time: float, given: Record, display: object) -> Iterator[Edit]:
    """The edit that the program shows beside its result, or what the tool was given."""
    path = text_in(given, "file_path", "absolute_path", "path")
    shown = display if isinstance(display, dict) else {}
    diff = shown.get("fileDiff")
    if isinstance(diff, str) and "@@" in diff:
        yield from edits_of_diff(name, time, path, diff)
    elif "content" in given:
        before = shown.get("originalContent")
        old = before if isinstance(before, str) else None
        yield edit_of_texts(name, time, path, old, str(given["content"]))
    else:
        old, new = text_in(given, "old_string"), text_in(given, "new_string")
        yield edit_of_texts(name, time, path, old, new)


def _output(call: Record) -> str:
    parts = [
        ((part.get("functionResponse") or {}).get("response") or {}).get("output")
        for part in call.get("result") or []
        if isinstance(part, dict)
    ]
    return "\n".join(part for part in parts if isinstance(part, str))
