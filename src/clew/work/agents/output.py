"""What agents print, read as events: one reader for each form of stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from clew.kit import jsontext
from clew.kit.jsontext import JsonObject
from clew.work.agents.trouble import Trouble, trouble_of
from clew.work.agents.usage import Prices, Tokens
from clew.work.journal.run_log import Event, EventKind

_LONGEST_LINE = 64 * 1024
_AIDER_COST = re.compile(r"Cost: .*\$([0-9]+\.?[0-9]*) session")
_AIDER_TOKENS = re.compile(r"Tokens: ([\d.,]+)(k?) sent.*?([\d.,]+)(k?) received")
_AIDER_LIMIT = "has hit a token limit"
_AIDER_ERROR = re.compile(r"(?:litellm|openai|anthropic)\.(\w+(?:Error|Exceeded)): (.*)")
_LOGGED_ERROR = re.compile(r'\blevel=ERROR\b.*\berror\.error="((?:[^"\\]|\\.)*)"')
_MINOR = " small=true "  # a title, which nobody waits for
_FAILED_ATTEMPT = re.compile(r"^Attempt \d+ failed(?: with status (\d{3}))?[.:](.*)")
# Claude Code waits at most about forty seconds of its own accord; a longer time is the service's.
_OWN_WAIT_SECONDS = 60.0
_NO_ANSWER = "The model answered with neither text nor a tool, as it does when it refuses"


class StreamReader:
    """Turns an agent's lines into events and remembers what matters about all of them."""

    def __init__(self, form: str, session: str | None = None, prices: Prices | None = None) -> None:
        self._read = _READERS[form]
        self.is_structured = form not in _UNSTRUCTURED
        self._prices = prices or Prices({})
        self.tokens: Tokens | None = None
        self.trouble: Trouble | None = None  # the last error that nothing good came after
        self._is_trouble = False
        self.broken_answers = 0  # in a row: something was said, then an error, and nothing was done
        self.session_id = session
        self.model: str | None = None
        self.cost_usd: float | None = None
        self.last_text = ""
        self.final_text: str | None = None
        self.error_text: str | None = None
        self.tool_calls = 0
        self.told_cost = 0.0
        self._open_line = ""

    def read(self, line: str) -> list[Event]:
        """The events of one line of standard output; what is no stream is plain text."""
        value = None
        if line.lstrip().startswith("{"):
            try:
                value = jsontext.loads(line)
            except jsontext.JsonError:
                value = None
        self._is_trouble = False
        events = list(self._read(self, value, line))
        for event in events:
            if event.kind is EventKind.TEXT and event.text.strip():
                self.last_text = event.text
            if event.kind is EventKind.TOOL:
                self.tool_calls += 1
                self.broken_answers = 0
        if not self._is_trouble and any(map(self._is_progress, events)):
            self.trouble = None
        return events

    def read_error(self, line: str) -> None:
        """Look at a line of standard error: some agents tell only there what they try again."""
        logged, failed = _LOGGED_ERROR.search(line), _FAILED_ATTEMPT.search(line)
        if logged and _MINOR not in line:
            self.trouble = trouble_of(logged.group(1).replace('\\"', '"'))
        elif failed:
            status = int(failed.group(1)) if failed.group(1) else None
            self.trouble = trouble_of(failed.group(2), status)

    @property
    def is_stuck(self) -> bool:
        """Whether the agent keeps meeting an error, so that what it prints is no progress."""
        return self.trouble is not None and self.trouble.kind is not None

    def _is_progress(self, event: Event) -> bool:
        if event.kind is EventKind.TOOL:
            return True
        return self.is_structured and event.kind is EventKind.TEXT and bool(event.text.strip())

    def fail(self, trouble: Trouble) -> Iterator[Event]:
        """An error that the agent may still get over; one that says more is kept."""
        self._is_trouble = True
        before = self.trouble
        self.broken_answers += before is None
        if trouble.kind is None and before is not None:
            said = trouble.message or before.message
            trouble = replace(before, message=said) if before.kind else Trouble(said)
        self.trouble = trouble
        yield Event(EventKind.STATE, f"agent error: {trouble.message}", {"ok": False})

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

    def count(self, tokens: Tokens | None, *, is_total: bool) -> Iterator[Event]:
        """Take over how many tokens were used, and what they cost where only that is told."""
        if tokens is None:
            return
        self.tokens = tokens if is_total or self.tokens is None else self.tokens + tokens
        told = {"input_tokens": self.tokens.input, "output_tokens": self.tokens.output}
        yield Event(EventKind.COST, self.tokens.shown(), {"usage": told})
        cost = self._prices.cost(self.tokens, self.model)
        if cost is not None:
            yield from self.set_cost(cost)

    def end(self, text: str, *, ok: bool, trouble: Trouble | None = None) -> Iterator[Event]:
        """The agent's last word."""
        self.final_text = text
        self.error_text = None if ok else (text or "the agent reported an error")
        if ok:
            self.trouble, self._is_trouble = None, False
        else:
            list(self.fail(trouble or trouble_of(text)))
        yield Event(EventKind.RESULT, text, {"final": True, "ok": ok})


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
    error = _AIDER_ERROR.search(line)
    if error:
        yield from reader.fail(trouble_of(error.group(2), name=error.group(1)))
    elif _AIDER_LIMIT in line:
        yield from reader.fail(trouble_of(line, name="context_window"))
    used = _AIDER_TOKENS.search(line)
    if used:
        sent, received = (_shortened(*used.group(n, n + 1)) for n in (1, 3))
        yield from reader.count(Tokens(sent, received), is_total=False)
        reader.trouble = None
    found = _AIDER_COST.search(line)
    if found:
        yield from reader.set_cost(float(found.group(1)))


def _shortened(number: str, thousand: str) -> int:
    digits = number.replace(",", "").strip(".") or "0"
    return round(float(digits) * (1000 if thousand else 1)) if digits.count(".") < 2 else 0


def _claude(reader: StreamReader, value: Any, line: str) -> Iterator[Event]:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind not in ("system", "assistant", "user", "result", "tool_call"):
        yield from _unknown(value, line)
        return
    session = value.get("session_id")
    reader.session_id = session if isinstance(session, str) else reader.session_id
    if kind == "system":
        yield from _claude_system(reader, value)
    elif kind == "result":
        yield from _claude_result(reader, value)
    elif kind == "tool_call":
        yield from _cursor_tool(value)
    elif value.get("is_api_error_message") is True:
        yield from reader.fail(_claude_trouble(value, _mapping(value.get("message"))))
    else:
        message = _mapping(value.get("message"))
        if kind == "assistant" and _string(message.get("model")):
            reader.model = message["model"]
        for block in _blocks(message):
            yield from _claude_block(block, by_user=kind == "user")


def _claude_system(reader: StreamReader, value: JsonObject) -> Iterator[Event]:
    reader.model = _string(value.get("model")) or reader.model
    if value.get("subtype") != "api_retry":
        yield Event(EventKind.STATE, f"agent {value.get('subtype', 'system')}")
        return
    status, name = value.get("error_status"), _string(value.get("error")) or "error"
    delay = value.get("retry_delay_ms")
    seconds = delay / 1000 if isinstance(delay, int | float) else 0.0
    words = f"{name} (status {status})" if status else f"{name}: the answer was cut off or missing"
    wait = seconds if seconds > _OWN_WAIT_SECONDS else None
    cut_off = name if status or name != "unknown" else "connection"
    yield from reader.fail(trouble_of(words, status, cut_off, wait))


def _claude_result(reader: StreamReader, value: JsonObject) -> Iterator[Event]:
    text, ok = _flat(value.get("result")), not value.get("is_error")
    if not text:
        text = _flat(_mapping(value.get("error")).get("message") or value.get("errors"))
    yield from reader.end(text, ok=ok, trouble=None if ok else _claude_trouble(value, value, text))
    yield from reader.count(Tokens.of_claude(value.get("usage")), is_total=True)
    yield from reader.set_cost(value.get("total_cost_usd"))


def _claude_trouble(value: JsonObject, message: JsonObject, text: str | None = None) -> Trouble:
    """What the fields of an error say; a refusal is one by the reason why the model stopped."""
    said = "\n".join(_flat(block.get("text")) for block in _blocks(message))
    fields = [value.get("api_error_type") or value.get("error"), value.get("terminal_reason")]
    fields += [value.get("subtype"), message.get("stop_reason")]
    dull = ("api_error", "invalid_request", "invalid_request_error", "unknown", "success")
    names = " ".join(name for name in fields if isinstance(name, str) and name not in dull)
    return trouble_of(text or said, value.get("api_error_status"), names)


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
        item, done = _mapping(value.get("item")), kind == "item.completed"
        if item.get("type") == "error":
            yield from reader.fail(trouble_of(_flat(item.get("message"))))
        else:
            yield from _codex_item(item, done=done)
    elif kind == "turn.completed":
        yield from reader.count(Tokens.of_codex(value.get("usage")), is_total=False)
        is_empty = not reader.last_text and not reader.tool_calls and reader.tokens is not None
        refused = trouble_of(_NO_ANSWER, name="refusal") if is_empty else None
        yield from reader.end(reader.last_text, ok=refused is None, trouble=refused)
    elif kind == "error":
        yield from reader.fail(trouble_of(_flat(value.get("message"))))
    elif kind == "turn.failed":
        text = _flat(_mapping(value.get("error")).get("message") or value.get("error"))
        yield from reader.end(text, ok=False, trouble=trouble_of(text))
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
    elif kind == "mcp_tool_call" and done:
        error = item.get("error")
        answer = _mapping(item.get("result")).get("content")
        yield _result(answer if error is None else _mapping(error).get("message"), ok=error is None)
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
        yield from reader.fail(trouble_of(_flat(value.get("message"))))
    elif kind == "result":
        stats = _mapping(value.get("stats"))
        used = [name for name, one in _mapping(stats.get("models")).items() if _mapping(one)]
        reader.model = used[-1] if len(used) == 1 else reader.model
        yield from reader.count(Tokens.of_gemini(stats), is_total=True)
        failed, error = value.get("status") == "error", _mapping(value.get("error"))
        text = _flat(error.get("message")) if failed else reader.last_text
        trouble = trouble_of(text, name=error.get("type")) if failed else None
        yield from reader.end(text, ok=not failed, trouble=trouble)
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
        yield from _opencode_step(reader, part)
    elif kind == "error":
        error = _mapping(value.get("error"))
        data = _mapping(error.get("data"))
        text = _flat(data.get("message") or error.get("name") or error)
        body = trouble_of(_flat(data.get("responseBody")))
        name = f"{error.get('name')} {body.name or ''}"
        trouble = trouble_of(text, data.get("statusCode") or body.status, name)
        yield from reader.end(text, ok=False, trouble=trouble)


def _opencode_step(reader: StreamReader, part: JsonObject) -> Iterator[Event]:
    yield from reader.count(Tokens.of_opencode(part.get("tokens")), is_total=False)
    cost = part.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and cost > 0:
        reader.told_cost += cost
        yield from reader.set_cost(reader.told_cost)
    if part.get("reason") == "content-filter":
        yield from reader.fail(trouble_of("the model stopped: content filter", name="refusal"))
    elif part.get("reason") == "unknown":
        yield from reader.fail(trouble_of("the answer was cut off", name="connection"))


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
    elif kind == "model.call_failure":
        status, name = data.get("statusCode"), data.get("failureKind")
        words = f"the model's service failed ({status or name})"
        yield from reader.fail(trouble_of(words, status, name))
    elif kind == "session.error":
        error, status = data.get("errorType"), data.get("statusCode")
        yield from reader.fail(trouble_of(_flat(data.get("message")), status, error))
    elif kind == "result":
        reader.session_id = _string(value.get("sessionId")) or reader.session_id
        ok, known = value.get("exitCode") == 0, reader.trouble
        text = known.message if known and not ok else reader.last_text
        yield from reader.end(text, ok=ok, trouble=known)
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


_UNSTRUCTURED = ("plain", "aider", "either")
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
