"""Qwen Code: `~/.qwen/projects/<directory>/chats/<id>.jsonl`."""

from __future__ import annotations

from collections.abc import Iterator

from clew.sessions.model import Event, Request, Usage, Words
from clew.sessions.readers.gemini import edits_by_display
from clew.sessions.readers.interface import Source, Surroundings, files_below, text_in, texts_of
from clew.sessions.readers.lines import LineReader, Record, ran, seconds

_WRITERS = ("write_file", "edit", "replace")
_PARSED = (b'"type":"user"', b'"type":"assistant"', b'"type":"tool_result"')


class QwenReader(LineReader):
    """Lines by `type`; `provenance` tells a person's words from others."""

    name, title = "qwen", "Qwen Code"

    def discover(self, around: Surroundings) -> Iterator[Source]:
        """Chats of every project."""
        base = around.directory("QWEN_HOME", ".qwen") / "projects"
        for source in files_below(self.name, base, ".jsonl", depth=3):
            if "chats" in source.path.parts:
                yield source

    def matters(self, line: bytes) -> bool:
        """Telemetry repeats what the messages say."""
        return b'": "' in line[:200] or any(mark in line for mark in _PARSED)

    def record(self, record: Record) -> Iterator[Event]:
        """What a line says."""
        kind = record.get("type")
        if not record.get("sessionId") or kind not in ("user", "assistant", "tool_result"):
            return
        yield self.header_of(record, is_side=False)
        message = record.get("message") or {}
        time = seconds(record.get("timestamp"))
        if kind == "user":
            text = texts_of(message.get("parts"))
            is_person = record.get("provenance", "real_user") == "real_user"
            if is_person and text.strip():
                yield Request(str(record.get("uuid")), time, text)
        elif kind == "assistant":
            yield from self._said(record, message, time)
        else:
            yield from self._result(record, message)

    def _said(self, record: Record, message: Record, time: float) -> Iterator[Event]:
        for part in message.get("parts") or []:
            if isinstance(part.get("text"), str) and not part.get("thought"):
                yield Words(part["text"])
            call = part.get("functionCall")
            if isinstance(call, dict):
                self.called(str(call.get("id")), call.get("name"), call.get("args") or {}, time)
        used = record.get("usageMetadata") or {}
        yield Usage(
            record.get("model"),
            int(used.get("promptTokenCount") or 0),
            int(used.get("candidatesTokenCount") or 0),
        )

    def _result(self, record: Record, message: Record) -> Iterator[Event]:
        told = record.get("toolCallResult") or {}
        name = str(told.get("callId"))
        call = self.waiting.pop(name, None)
        if call is None:
            return
        is_good = told.get("status") == "success"
        if call.name == "run_shell_command":
            answers = [part.get("functionResponse") or {} for part in message.get("parts") or []]
            output = "\n".join(str((one.get("response") or {}).get("output")) for one in answers)
            code = None if is_good else 1
            yield from ran(name, call.time, text_in(call.given, "command"), output, code)
        elif call.name in _WRITERS and is_good:
            yield from edits_by_display(name, call.time, call.given, told.get("resultDisplay"))
