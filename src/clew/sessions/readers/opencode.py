"""opencode: `~/.local/share/opencode/opencode.db`, one SQLite file for all sessions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from clew.sessions.model import Event, Header, Request, Usage, Words
from clew.sessions.readers.changes import edit_of_texts, edits_of_diff, edits_of_patch
from clew.sessions.readers.interface import (
    Progress,
    Reader,
    Source,
    Surroundings,
    json_record,
    rows_of,
    text_in,
)
from clew.sessions.readers.lines import Record, ran, seconds

_SESSIONS = "SELECT id, time_updated FROM session"
_HEAD = "SELECT id, directory, parent_id, title, version FROM session WHERE id = ?"
_PARTS = (
    "SELECT m.id AS message, m.data AS said, p.id AS part, p.data AS data, m.time_created AS time"
    " FROM message m JOIN part p ON p.message_id = m.id WHERE m.session_id = ?"
    " ORDER BY m.time_created, m.id, p.id"
)


class OpencodeReader(Reader):
    """Messages and their parts; parts change while they are made, so a session is read anew."""

    name, title = "opencode", "opencode"

    def discover(self, around: Surroundings) -> Iterator[Source]:
        """Every session in the database."""
        base = around.directory("XDG_DATA_HOME", ".local", "share") / "opencode"
        path = base / "opencode.db"
        if path.is_file() and not path.is_symlink():
            for row in rows_of(path, _SESSIONS):
                stamp = int(row["time_updated"] or 0)
                yield Source(self.name, str(path), str(row["id"]), 0, stamp)

    def header(self, source: Source) -> Header | None:
        """The session's own row."""
        for row in rows_of(source.path, _HEAD, source.part):
            parent = row["parent_id"]
            return Header(
                str(row["id"]),
                str(row["directory"] or ""),
                parent=str(parent) if parent else None,
                version=row["version"],
                title=row["title"],
                is_side=bool(parent),
            )
        return None

    def read(self, source: Source, progress: Progress) -> Iterator[Event]:
        """The whole session; what is known already is left out by its id."""
        header = self.header(source)
        if header is None:
            return
        yield header
        asked = said = 0
        cost = 0.0
        for row in rows_of(source.path, _PARTS, source.part):
            message, part = json_record(row["said"]), json_record(row["data"])
            yield from _part(row, message, part)
            if part.get("type") == "step-finish":
                tokens = part.get("tokens") or {}
                asked += int(tokens.get("input") or 0)
                said += int(tokens.get("output") or 0)
                cost += float(part.get("cost") or 0)
                model = message.get("modelID")
                yield Usage(model, asked, said, cost, is_total=True)


def _part(row: sqlite3.Row, message: Record, part: Record) -> Iterator[Event]:
    kind = part.get("type")
    time = seconds(row["time"])
    if kind == "text" and message.get("role") == "user":
        text = str(part.get("text") or "")
        if text.startswith('"') and text.endswith('"') and len(text) > 1:
            text = text[1:-1]  # as `opencode run` hands it over
        if text.strip() and not part.get("synthetic"):
            yield Request(str(row["message"]), time, text)
    elif kind == "text":
        yield Words(str(part.get("text") or ""))
    elif kind == "tool":
        try:
            yield from _tool(part)
        except (TypeError, ValueError, AttributeError):
            return


def _tool(part: Record) -> Iterator[Event]:
    state = part.get("state") or {}
    given, told = state.get("input") or {}, state.get("metadata") or {}
    time = seconds((state.get("time") or {}).get("start"))
    name = str(part.get("callID"))
    if state.get("status") != "completed":
        return
    tool = part.get("tool")
    path = text_in(given, "filePath", "path") or text_in(told, "filepath")
    diff = text_in(told, "diff")
    if tool == "bash":
        told_text = text_in(state, "output")
        yield from ran(name, time, text_in(given, "command"), told_text, told.get("exit"))
    elif tool == "write" and not diff:
        old = None if told.get("exists", True) else ""
        yield edit_of_texts(name, time, path, old, text_in(given, "content"))
    elif tool in ("edit", "write", "multiedit"):
        if "@@" in diff:
            yield from edits_of_diff(name, time, path, diff)
        else:
            old, new = text_in(given, "oldString"), text_in(given, "newString")
            yield edit_of_texts(name, time, path, old, new)
    elif tool in ("patch", "apply_patch"):
        yield from edits_of_patch(name, time, text_in(given, "patchText", "patch", "input"))
