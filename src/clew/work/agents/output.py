"""What agents print, read as events: one reader for each form of stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from clew.kit import jsontext
from clew.kit.jsontext import JsonObject
from clew.work.journal.run_log import Event, EventKind

_LONGEST_LINE = 64 * 1024
_AIDER_COST = re.compile(r"Cost: .*\$([0-9]+\.?[0-9]*) session")


class StreamReader:
    """Turns an agent's lines into events and remembers what matters about all of them."""

    def __init__(self, form: str, session: str | None = None) -> None:
        self._read = _READERS[form]
        self.session_id = session
        self.model: str | None = None
        self.cost_usd: float | None = None
        self.last_text = ""
        self.final_text: str | None = None
        self.error_text: str | None = None
        self.tool_calls = 0
        self._open_line = ""

    def read(self, line: str) -> list[Event]:
        """The events of one line of standard output; what is no stream is plain text."""
        value = None
        if line.lstrip().startswith("{"):
            try:
                value = jsontext.loads(line)
            except jsontext.JsonError:
                value = None
        events = list(self._read(self, value, line))
        for event in events:
            if event.kind is EventKind.TEXT and event.text.strip():
                self.last_text = event.text
            self.tool_calls += event.kind is EventKind.TOOL
        return events

    def piece(self, text: str) -> Iterator[Event]:
        """Some characters of what the agent says; whole lines of it are events."""
        whole, _, self._open_line = f"{self._open_line}{text}".rpartition("\n")
        if whole:
            yield self._said(whole)
        if len(self._open_line) > _LONGEST_LINE:
            yield from self.rest()

    def rest(self) -> Iterator[Event]:
        """What came in pieces and had no line end yet."""
        said, self._open_line = self._open_line, ""
        if said:
            yield self._said(said)

    def _said(self, text: str) -> Event:
        self.last_text = text if text.strip() else self.last_text
        return _text(text)

    def set_cost(self, total: Any) -> Iterator[Event]:
        """Take over a total in dollars, if it is a sensible one."""
        if isinstance(total, int | float) and not isinstance(total, bool) and total >= 0:
            self.cost_usd = float(total)
            yield Event(EventKind.COST, f"${total:.4f}", {"cost_usd": self.cost_usd})

    def end(self, text: str, *, ok: bool) -> Event:
        """The agent's last word."""
        self.final_text = text
        self.error_text = None if ok else (text or "the agent reported an error")
        return Event(EventKind.RESULT, text, {"final": True, "ok": ok})


def _text(text: str) -> Event:
    return Event(EventKind.TEXT, text)


def _tool(name: Any, given: Any) -> Event:
    shown = "" if given in (None, {}, "") else f" {_compact(given)}"
    return Event(EventKind.TOOL, f"{name}{shown}", {"name": str(name), "input": given})


def _result(content: Any, *, ok: bool) -> Event:
    return Event(EventKind.RESULT, _flat(content), {"ok": ok})


def _plain(reader: StreamReader, value: Any, line: str) -> Iterator[Event]:
    yield _text(line)


def _aider(reader: StreamReader, value: Any, line: str) -> Iterator[Event]:
    yield _text(line)
    found = _AIDER_COST.search(line)
    if found:
        yield from reader.set_cost(float(found.group(1)))


def _claude(reader: StreamReader, value: Any, line: str) -> Iterator[Event]:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind not in ("system", "assistant", "user", "result", "tool_call"):
        yield from _unknown(value, line)
        return
    session = value.get("session_id")
    reader.session_id = session if isinstance(session, str) else reader.session_id
    if kind == "system":
        reader.model = _string(value.get("model")) or reader.model
        yield Event(EventKind.STATE, f"agent {value.get('subtype', 'system')}")
    elif kind == "result":
        yield reader.end(_flat(value.get("result")), ok=not value.get("is_error"))
        yield from reader.set_cost(value.get("total_cost_usd"))
    elif kind == "tool_call":
        yield from _cursor_tool(value)
    else:
        for block in _blocks(value.get("message")):
            yield from _claude_block(block, by_user=kind == "user")


def _claude_block(block: JsonObject, *, by_user: bool) -> Iterator[Event]:
    kind = block.get("type")
    if kind == "tool_use":
        yield _tool(block.get("name"), block.get("input"))
    elif kind == "tool_result":
        yield _result(block.get("content"), ok=not block.get("is_error"))
    elif kind == "text" and not by_user:
        yield _text(_flat(block.get("text")))


def _cursor_tool(value: JsonObject) -> Iterator[Event]:
    for name, call in _mapping(value.get("tool_call")).items():
        if value.get("subtype") == "completed":
            yield _result(_mapping(call).get("result"), ok=True)
        else:
            yield _tool(name.removesuffix("ToolCall"), _mapping(call).get("args"))


def _codex(reader: StreamReader, value: Any, line: str) -> Iterator[Event]:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "thread.started":
        reader.session_id = _string(value.get("thread_id"))
        yield Event(EventKind.STATE, "agent thread started")
    elif kind in ("item.started", "item.completed"):
        yield from _codex_item(_mapping(value.get("item")), done=kind == "item.completed")
    elif kind == "turn.completed":
        usage = _mapping(value.get("usage"))
        yield Event(EventKind.COST, f"tokens {_compact(usage)}", {"usage": usage})
        yield reader.end(reader.last_text, ok=True)
    elif kind in ("turn.failed", "error"):
        error = value.get("error", value)
        yield reader.end(_flat(_mapping(error).get("message") or error), ok=False)
    elif kind not in ("turn.started", "item.updated"):
        yield from _unknown(value, line)


def _codex_item(item: JsonObject, *, done: bool) -> Iterator[Event]:
    kind = item.get("type")
    if kind in ("agent_message", "reasoning"):
        if done:
            yield _text(_flat(item.get("text")))
    elif kind == "command_execution":
        if done:
            yield _result(item.get("aggregated_output"), ok=item.get("exit_code") == 0)
        else:
            yield _tool("command", item.get("command"))
    elif not done or kind == "file_change":
        known = ("id", "type", "status")
        yield _tool(kind, {key: part for key, part in item.items() if key not in known})


def _gemini(reader: StreamReader, value: Any, line: str) -> Iterator[Event]:
    kind = value.get("type") if isinstance(value, dict) else None
    is_piece = kind == "message" and value.get("delta") is True
    if not is_piece:
        yield from reader.rest()
    if kind == "init":
        reader.session_id = _string(value.get("session_id"))
        reader.model = _string(value.get("model"))
        yield Event(EventKind.STATE, "agent init")
    elif kind == "message":
        if value.get("role") == "assistant":
            said = _flat(value.get("content"))
            yield from reader.piece(said) if is_piece else [_text(said)]
    elif kind == "tool_use":
        yield _tool(value.get("tool_name"), value.get("parameters"))
    elif kind == "tool_result":
        yield _result(value.get("output") or value.get("error"), ok=value.get("status") != "error")
    elif kind == "error":
        yield Event(EventKind.STATE, f"agent warning: {_flat(value.get('message'))}")
    elif kind == "result":
        stats = _mapping(value.get("stats"))
        yield Event(EventKind.COST, f"tokens {_compact(stats)}", {"usage": stats})
        failed = value.get("status") == "error"
        text = _flat(_mapping(value.get("error")).get("message")) if failed else reader.last_text
        yield reader.end(text, ok=not failed)
    else:
        yield from _unknown(value, line)


def _opencode(reader: StreamReader, value: Any, line: str) -> Iterator[Event]:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind not in ("step_start", "text", "reasoning", "tool_use", "step_finish", "error"):
        yield from _unknown(value, line)
        return
    reader.session_id = _string(value.get("sessionID")) or reader.session_id
    part = _mapping(value.get("part"))
    if kind in ("text", "reasoning"):
        yield _text(_flat(part.get("text")))
    elif kind == "tool_use":
        state = _mapping(part.get("state"))
        yield _tool(part.get("tool"), state.get("input"))
        failed = state.get("status") == "error"
        yield _result(state.get("error" if failed else "output"), ok=not failed)
    elif kind == "step_finish":
        cost = part.get("cost")
        if isinstance(cost, int | float):
            yield from reader.set_cost((reader.cost_usd or 0.0) + cost)
    elif kind == "error":
        error = _mapping(value.get("error"))
        text = _mapping(error.get("data")).get("message") or error.get("name") or error
        yield reader.end(_flat(text), ok=False)


def _copilot(reader: StreamReader, value: Any, line: str) -> Iterator[Event]:
    kind = value.get("type") if isinstance(value, dict) else None
    data = _mapping(value.get("data")) if kind else {}
    if kind == "assistant.message":
        reader.model = _string(data.get("model")) or reader.model
        yield _text(_flat(data.get("content")))
    elif kind == "tool.execution_start":
        yield _tool(data.get("toolName"), data.get("arguments"))
    elif kind == "tool.execution_complete":
        ok = data.get("success") is not False
        yield _result(_mapping(data.get("result" if ok else "error")).get("content"), ok=ok)
    elif kind == "session.error":
        yield reader.end(_flat(data.get("message")), ok=False)
    elif kind == "result":
        reader.session_id = _string(value.get("sessionId")) or reader.session_id
        ok = value.get("exitCode") == 0
        yield reader.end(reader.last_text if ok else reader.error_text or "", ok=ok)
    elif kind is None or value.get("ephemeral") is not True:
        yield from _unknown(value, line)


def _unknown(value: Any, line: str) -> Iterator[Event]:
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        yield Event(EventKind.STATE, f"agent {value['type']}")
    elif line.strip():
        yield _text(line)


def _either(reader: StreamReader, value: Any, line: str) -> Iterator[Event]:
    """Any program's output: the common stream where a line has its form, else plain text."""
    known = ("system", "assistant", "user", "result")
    is_stream = isinstance(value, dict) and value.get("type") in known
    yield from (_claude if is_stream else _plain)(reader, value, line)


_READERS: dict[str, Callable[[StreamReader, Any, str], Iterator[Event]]] = {
    "plain": _plain,
    "aider": _aider,
    "claude": _claude,
    "codex": _codex,
    "copilot": _copilot,
    "gemini": _gemini,
    "opencode": _opencode,
    "either": _either,
}


def _blocks(message: Any) -> list[JsonObject]:
    content = _mapping(message).get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _mapping(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _flat(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_flat(_mapping(part).get("text", part)) for part in content)
    return "" if content is None else _compact(content)


def _compact(value: Any) -> str:
    try:
        return value if isinstance(value, str) else jsontext.dumps(value)
    except jsontext.JsonError:
        return repr(value)
