"""Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator

from clew.sessions.model import Event, Header, Request, Usage, Words
from clew.sessions.readers.changes import edit_of_texts, edits_of_diff, edits_of_patch
from clew.sessions.readers.interface import Source, Surroundings, files_below, text_in
from clew.sessions.readers.lines import Call, LineReader, Record, ran, seconds

_WRITERS = ("create", "edit", "str_replace_editor", "str_replace")
_PARSED = (b"user.message", b"assistant.message", b"tool.execution", b"session.")


class CopilotReader(LineReader):
    """Events by `type`; a tool has a start and an end."""

    name, title = "copilot", "Copilot CLI"

    def discover(self, around: Surroundings) -> Iterator[Source]:
        """One directory for each session."""
        base = around.directory("COPILOT_HOME", ".copilot") / "session-state"
        return files_below(self.name, base, ".jsonl", depth=1)

    def matters(self, line: bytes) -> bool:
        """The program's instructions are events, too."""
        return any(mark in line[:100] for mark in _PARSED)

    def record(self, record: Record) -> Iterator[Event]:
        """What an event says."""
        kind, data = record.get("type"), record.get("data") or {}
        time = seconds(record.get("timestamp"))
        if kind in ("session.start", "session.resume") and data.get("sessionId"):
            yield from _header(data)
        elif kind == "user.message":
            text = str(data.get("content") or "")
            if text.strip() and data.get("source", "user") in ("user", None):
                yield Request(str(record.get("id")), time, text)
        elif kind == "assistant.message":
            yield Words(str(data.get("content") or ""))
        elif kind == "session.usage_record":
            used = data.get("usage") or {}
            tokens = int(used.get("inputTokens") or 0), int(used.get("outputTokens") or 0)
            yield Usage(used.get("model"), *tokens)
        elif kind == "tool.execution_start":
            self.called(
                str(data.get("toolCallId")), data.get("toolName"), data.get("arguments"), time
            )
        elif kind == "tool.execution_complete":
            yield from self._result(data)

    def _result(self, data: Record) -> Iterator[Event]:
        name = str(data.get("toolCallId"))
        call = self.waiting.pop(name, None)
        if call is None:
            return
        result = data.get("result") or {}
        if call.name in ("bash", "shell", "powershell"):
            code = (data.get("shellExecution") or {}).get("exitCode")
            text = text_in(call.given, "command")
            yield from ran(name, call.time, text, text_in(result, "content"), code)
        elif data.get("success"):
            yield from _edits(name, call, text_in(result, "detailedContent"))


def _header(data: Record) -> Iterator[Header]:
    context = data.get("context") or {}
    yield Header(
        str(data["sessionId"]),
        str(context.get("cwd") or ""),
        branch=context.get("branch"),
        version=data.get("copilotVersion"),
    )


def _edits(name: str, call: Call, diff: str) -> Iterator[Event]:
    given = call.given
    if call.name == "apply_patch":
        yield from edits_of_patch(name, call.time, text_in(given, "input", "patch"))
    if call.name not in _WRITERS or given.get("command") == "view":
        return
    path = text_in(given, "path")
    if "@@" in diff:
        yield from edits_of_diff(name, call.time, path, diff)
    elif "file_text" in given:
        yield edit_of_texts(name, call.time, path, None, str(given["file_text"]))
    else:
        old, new = text_in(given, "old_str"), text_in(given, "new_str")
        yield edit_of_texts(name, call.time, path, old, new)
