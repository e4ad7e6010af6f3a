"""Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import loads

from clew.sessions.model import Edit, Event, Header, Request, Usage, Words
from clew.sessions.readers.changes import edit_of_texts, edits_of_diff, edits_of_patch
from clew.sessions.readers.interface import Source, Surroundings, files_below, text_in, texts_of
from clew.sessions.readers.lines import Call, LineReader, Record, ran, seconds

_INJECTED = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|turn_aborted|skill|subagent)"
    r"|# AGENTS\.md instructions|# Files mentioned by the user)"
)
_SHELLS = ("exec_command", "shell", "shell_command", "local_shell_call", "container.exec")
_PARSED = (b'"session_meta"', b'"response_item"', b'"event_msg"', b'"turn_context"')


class CodexReader(LineReader):
    """Lines by `type`; `response_item` has what was said, `event_msg` what happened."""

    name, title = "codex", "Codex"

    def discover(self, around: Surroundings) -> Iterator[Source]:
        """Rollouts by day."""
        base = around.directory("CODEX_HOME", ".codex")
        for directory in ("sessions", "archived_sessions"):
            yield from files_below(self.name, base / directory, ".jsonl", depth=3)

    def begin(self, source: Source, state: dict[str, object]) -> None:
        """The session's own id, which a fork's copied lines do not have."""
        super().begin(source, state)
        self._uid = str(state.get("uid") or "")
        self._told: set[str] = set()  # calls whose changes an event told in full

    def state(self) -> dict[str, object]:
        """The id survives a pause in reading."""
        return {"uid": self._uid}

    def matters(self, line: bytes) -> bool:
        """Most bytes are instructions and states."""
        return any(mark in line[:400] for mark in _PARSED)

    def record(self, record: Record) -> Iterator[Event]:
        """What a line says."""
        kind, payload = record.get("type"), record.get("payload") or {}
        time = seconds(record.get("timestamp"))
        if kind == "session_meta":
            yield from self._meta(payload)
        elif kind == "turn_context" and payload.get("model"):
            yield Usage(str(payload["model"]))
        elif kind == "response_item":
            yield from self._item(payload, time)
        elif kind == "event_msg":
            yield from self._happened(payload, time)

    def _meta(self, payload: Record) -> Iterator[Event]:
        uid = text_in(payload, "id", "session_id")
        if self._uid or not uid:  # a fork begins with a copy of what it was forked from
            return
        self._uid = uid
        git = payload.get("git") or {}
        source = payload.get("source")
        spawned = source.get("subagent") if isinstance(source, dict) else None
        spawned = spawned.get("thread_spawn") if isinstance(spawned, dict) else None
        parent = spawned.get("parent_thread_id") if isinstance(spawned, dict) else None
        is_side = parent is not None or payload.get("thread_source") == "subagent"
        yield Header(
            uid,
            text_in(payload, "cwd"),
            parent=parent or payload.get("parent_thread_id"),
            branch=git.get("branch"),
            version=payload.get("cli_version"),
            is_side=is_side,
        )

    def _item(self, payload: Record, time: float) -> Iterator[Event]:
        kind = payload.get("type")
        if kind == "message":
            yield from self._message(payload, time)
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            given = payload.get("arguments") or payload.get("input") or payload.get("action")
            if isinstance(given, str) and kind == "function_call":
                given = loads(given)
            name = payload.get("name") or kind
            call = str(payload.get("call_id"))
            self.called(call, name, given, time)
            if name == "update_plan" and isinstance(given, dict):
                steps = [str(one.get("step") or "") for one in given.get("plan") or []]
                yield Words("\n".join(f"- {step}" for step in steps), is_plan=True)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            yield from self._result(str(payload.get("call_id")), payload.get("output"))

    def _message(self, payload: Record, time: float) -> Iterator[Event]:
        text = texts_of(payload.get("content"))
        if payload.get("role") == "assistant":
            yield Words(text)
        elif payload.get("role") == "user" and text.strip() and not _INJECTED.match(text):
            yield Request(str(payload.get("id") or f"{self._uid}@{time}"), time, text)

    def _result(self, name: str, output: object) -> Iterator[Event]:
        call = self.waiting.pop(name, None)
        if call is None or name in self._told:
            return
        said = output if isinstance(output, str) else texts_of(output)
        if isinstance(output, dict):
            said = text_in(output, "content", "output")
        if call.name == "apply_patch":
            if "Success" in said or "success" in said or not said:
                yield from edits_of_patch(name, call.time, text_in(call.given, "input", "patch"))
        elif call.name in _SHELLS:
            yield from ran(name, call.time, _command(call), said)

    def _happened(self, payload: Record, time: float) -> Iterator[Event]:
        item = payload.get("item") or {}
        if payload.get("type") == "item_completed" and item.get("type") == "FileChange":
            name = str(item.get("id"))
            self._told.add(name)
            if item.get("status") == "completed":
                for path, change in (item.get("changes") or {}).items():
                    yield from _changed(name, time, path, change)
        elif payload.get("type") == "token_count":
            used = (payload.get("info") or {}).get("total_token_usage") or {}
            if used:
                yield Usage(
                    input_tokens=int(used.get("input_tokens") or 0),
                    output_tokens=int(used.get("output_tokens") or 0),
                    is_total=True,
                )


def _changed(name: str, time: float, path: str, change: Record) -> Iterator[Edit]:
    path = str(change.get("move_path") or path)
    if change.get("type") == "add":
        yield edit_of_texts(name, time, path, "", text_in(change, "content"))
    elif change.get("type") == "update":
        yield from edits_of_diff(name, time, path, text_in(change, "unified_diff"))


def _command(call: Call) -> str:
    given = call.given.get("cmd") or call.given.get("command") or ""
    if isinstance(given, list):
        words = [str(word) for word in given]
        return words[-1] if len(words) == 3 and words[1].startswith("-") else " ".join(words)
    return str(given)
