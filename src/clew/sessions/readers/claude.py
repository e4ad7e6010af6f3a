"""Claude Code: `~/.claude/projects/<directory>/<session>.jsonl`, sub-agents beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clew.sessions.model import Edit, Event, Header, Request, Usage, Words
from clew.sessions.readers.changes import edit_of_texts, edits_of_hunk
from clew.sessions.readers.interface import Source, Surroundings, files_below, text_in, texts_of
from clew.sessions.readers.lines import Call, LineReader, Record, ran, seconds

_WRITERS = ("Write", "Edit", "MultiEdit", "NotebookEdit")
# What the program itself puts in a person's place.
_INJECTED = re.compile(
    r"\s*(?:<(?:command-|local-command|system-reminder|bash-|task-notification)|Caveat: The messages"
    r"|\[Request interrupted|This session is being continued from a previous conversation)"
)
_PARSED = (b'"type":"user"', b'"type":"assistant"', b'"type":"cost-state"', b'"type":"summary"')


class ClaudeReader(LineReader):
    """Lines by `type`; a request is a `user` line whose content is text."""

    name, title = "claude", "Claude Code"

    def discover(self, around: Surroundings) -> Iterator[Source]:
        """Transcripts of sessions, and of sub-agents in directories beside them."""
        base = around.directory("CLAUDE_CONFIG_DIR", ".claude") / "projects"
        return files_below(self.name, base, ".jsonl", depth=3)

    def begin(self, source: Source, state: dict[str, object]) -> None:
        """A file of a sub-agent is known by its name."""
        super().begin(source, state)
        self._is_side = source.path.name.startswith("agent-")
        self._known: Header | None = None

    def matters(self, line: bytes) -> bool:
        """Requests to the service are kept beside the messages; they say everything twice."""
        spaced = b'": "' in line[:200]
        return spaced or any(mark in line for mark in _PARSED)

    def record(self, record: Record) -> Iterator[Event]:
        """What a line says."""
        kind = record.get("type")
        if kind == "cost-state":
            yield from _total(record)
        if kind not in ("user", "assistant"):
            return
        yield from self._header(record)
        message = record.get("message") or {}
        time = seconds(record.get("timestamp"))
        if kind == "assistant":
            yield from self._said(message, time)
        else:
            yield from self._user(record, message, time)

    def _header(self, record: Record) -> Iterator[Event]:
        if record.get("sessionId"):
            header = self.header_of(record, is_side=self._is_side)
            if header != self._known:
                self._known = header
                yield header

    def _said(self, message: Record, time: float) -> Iterator[Event]:
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        for block in blocks:
            if block.get("type") == "text":
                yield Words(str(block["text"]))
            elif block.get("type") == "tool_use":
                given = block.get("input") or {}
                self.called(str(block["id"]), block.get("name"), given, time)
                plan = given.get("plan") if isinstance(given, dict) else None
                if isinstance(plan, str):
                    yield Words(plan, is_plan=True)
        model = message.get("model")
        if isinstance(model, str) and not model.startswith("<"):
            yield Usage(model)

    def _user(self, record: Record, message: Record, time: float) -> Iterator[Event]:
        content = message.get("content")
        blocks = (
            [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
        )
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            yield from self._result(block, record.get("toolUseResult"))
        text = "" if results else texts_of(content)
        is_injected = record.get("isMeta") or record.get("isCompactSummary")
        if text.strip() and not is_injected and not _INJECTED.match(text):
            yield Request(str(record.get("uuid") or f"{time}"), time, text)

    def _result(self, block: Record, told: object) -> Iterator[Event]:
        name = str(block.get("tool_use_id"))
        call = self.waiting.pop(name, None)
        if call is None:
            return
        output = texts_of(block.get("content"))
        is_error = bool(block.get("is_error"))
        if call.name == "Bash":
            code = None if is_error else 0
            yield from ran(name, call.time, text_in(call.given, "command"), output, code)
        elif call.name in _WRITERS and not is_error:
            yield from _edits(name, call, told if isinstance(told, dict) else {})


def _edits(name: str, call: Call, told: Record) -> Iterator[Edit]:
    """What a writing tool did: the patch that the program shows, or else what it was given."""
    given = call.given
    path = text_in(given, "file_path", "notebook_path")
    patch = told.get("structuredPatch")
    if isinstance(patch, list) and patch:
        for hunk in patch:
            yield from edits_of_hunk(name, call.time, path, hunk["lines"])
    elif call.name == "Write":
        before = told.get("originalFile")
        is_new = told.get("type") == "create"
        old = before if isinstance(before, str) else "" if is_new else None
        yield edit_of_texts(name, call.time, path, old, text_in(given, "content"))
    elif call.name == "NotebookEdit":
        yield edit_of_texts(name, call.time, path, "", text_in(given, "new_source"))
    else:
        for one in given.get("edits") or [given]:
            old, new = text_in(one, "old_string"), text_in(one, "new_string")
            yield edit_of_texts(name, call.time, path, old, new)


def _total(record: Record) -> Iterator[Event]:
    used = (record.get("modelUsage") or {}).values()
    yield Usage(
        input_tokens=sum(int(one.get("inputTokens") or 0) for one in used),
        output_tokens=sum(int(one.get("outputTokens") or 0) for one in used),
        cost=float(record.get("totalCostUSD") or 0),
        is_total=True,
    )
