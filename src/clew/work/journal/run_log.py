"""What a run leaves to read: a log for people and, beside it, the same as JSON lines.

Every line carries its time, so that both can be read from a moment on.
"""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from clew.kit import jsontext
from clew.kit.files import open_regular
from clew.kit.jsontext import JsonObject
from clew.kit.paths import ProjectPaths
from clew.kit.text.display import clipped, shown_text
from clew.kit.text.redact import SecretLines
from clew.work.model import now_text, second_text

_RULE = "=" * 80
_LONGEST_TEXT = 64 * 1024
_LONGEST_LINE = 400
_LARGEST_LOG = 64 * 1024 * 1024  # of one run; an agent that floods must not fill the disk


class EventKind(StrEnum):
    """What an event is about."""

    TEXT = "text"
    TOOL = "tool"
    RESULT = "result"
    COST = "cost"
    STATE = "state"


@dataclass(frozen=True)
class Event:
    """One thing that happened in a run."""

    kind: EventKind
    text: str = ""
    data: JsonObject = field(default_factory=dict)


class RunLog:
    """The two logs of a spec, open for one run."""

    def __init__(self, paths: ProjectPaths, spec_id: str, run_id: str) -> None:
        self._run_id = run_id
        self._number = 0
        self._written = 0
        self._is_full = False
        self._secrets = defaultdict[tuple[object, ...], SecretLines](SecretLines)
        log = paths.log_file(spec_id)
        log.parent.mkdir(parents=True, exist_ok=True)
        self._is_new = not log.exists() or log.stat().st_size == 0
        self._spec_id = spec_id
        self._log = _open_at_line_start(log)
        self._events = _open_at_line_start(paths.events_file(spec_id))

    def begin(self, prompt_name: str) -> None:
        """Write the header of a new run."""
        now = second_text(now_text())
        if self._is_new:
            lines = [f"# Agent Log: {self._spec_id}", f"# Started: {now}"]
            lines += [f"# Prompt: {prompt_name}", ""]
        else:
            lines = ["", _RULE, f"# New Run: {now}", f"# Prompt: {prompt_name}", _RULE]
        self._write(self._log, "\n".join(lines) + "\n")

    def add(self, event: Event) -> None:
        """Write an event to both logs, without the secrets that are known by their form."""
        source = (event.kind, event.data.get("stream"), event.data.get("by"))
        event = replace(event, text=self._secrets[source].clean(event.text))
        now = now_text()
        self._number += 1
        record = {
            "ts": now,
            "run": self._run_id,
            "seq": self._number,
            "type": str(event.kind),
            "text": shown_text(_cut(event.text)),
            **event.data,
        }
        if self._written < _LARGEST_LOG or event.kind in (EventKind.STATE, EventKind.COST):
            self._write(self._log, "".join(f"[{now}] {line}\n" for line in _lines(event)))
            self._write(self._events, SecretLines().clean(_json_line(record)))
        elif not self._is_full:
            self._is_full = True
            self._write(self._log, f"[{now}] (the rest of the agent's output is left out)\n")

    def state(self, text: str, **data: object) -> None:
        """Write what happened to the run itself."""
        self.add(Event(EventKind.STATE, text, dict(data)))

    def close(self) -> None:
        """Close both files."""
        os.close(self._log)
        os.close(self._events)

    def _write(self, descriptor: int, text: str) -> None:
        payload = shown_text(text).encode("utf-8", "replace")
        self._written += len(payload)
        with suppress(OSError):  # a full disk must not end the work that is being logged
            while payload:
                payload = payload[os.write(descriptor, payload) :]


def log_state(paths: ProjectPaths, spec_id: str, run_id: str, text: str, **data: object) -> None:
    """Add one line about a run to its logs."""
    log = RunLog(paths, spec_id, run_id)
    try:
        log.state(text, **data)
    finally:
        log.close()


class EventTail:
    """The events of a spec, or of one run, as they come."""

    def __init__(self, path: Path, run_id: str | None = None) -> None:
        self._path = path
        self._run_id = run_id
        self._offset = 0

    def new(self) -> list[JsonObject]:
        """What came since the last look; a line that is not whole yet is left for the next."""
        try:
            with open(open_regular(self._path), "rb") as stream:
                stream.seek(self._offset)
                data = stream.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        found = []
        for line in whole.splitlines():
            with suppress(jsontext.JsonError):
                event = jsontext.loads_bytes(line)
                if isinstance(event, dict) and self._run_id in (None, event.get("run")):
                    found.append(event)
        return found


def read_events(path: Path, run_id: str | None = None) -> list[JsonObject]:
    """The events of a spec, or of one run, so far; a torn last line is ignored."""
    return EventTail(path, run_id).new()


def _open_at_line_start(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o644)
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":  # its writer was killed in a line
        os.write(descriptor, b"\n")
    return descriptor


def _json_line(record: JsonObject) -> str:
    try:
        return jsontext.dumps(record) + "\n"
    except jsontext.JsonError:
        kept = {key: record[key] for key in ("ts", "run", "seq", "type", "text")}
        return jsontext.dumps(kept) + "\n"


def _lines(event: Event) -> list[str]:
    if event.kind is EventKind.TEXT:
        prefix = "stderr: " if event.data.get("stream") == "stderr" else ""
        return [prefix + line for line in _cut(event.text).splitlines() or [""]]
    word = str(event.kind)
    if event.data.get("ok") is False:
        word += " (error)"
    return [f"{word}: {clipped(' '.join(event.text.split()), _LONGEST_LINE)}"]


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_TEXT:
        return text
    return f"{text[:_LONGEST_TEXT]}... ({len(text) - _LONGEST_TEXT} more characters)"
