"""opencode: `~/.local/share/opencode/opencode.db`, one SQLite file for all sessions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from json import loads

from clew.kit.errors import ClewError
from clew.kit.sqlite import open_read_only
from clew.sessions.model import Event, Header, Request, Usage, Words
from clew.sessions.readers.changes import edit_of_texts, edits_of_diff, edits_of_patch
from clew.sessions.readers.interface import Progress, Reader, Source, Surroundings, first_text
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
            for row in _rows(path, _SESSIONS):
                stamp = int(row["time_updated"] or 0)
                yield Source(self.name, str(path), str(row["id"]), 0, stamp)

    def header(self, source: Source) -> Header | None:
        """The session's own row."""
        for row in _rows(source.path, _HEAD, source.part):
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
        for row in _rows(source.path, _PARTS, source.part):
            message, part = _json(row["said"]), _json(row["data"])
            yield from _part(row, message, part)
            if part.get("type") == "step-finish":
                tokens = part.get("tokens") or {}
                asked += int(tokens.get("input") or 0)
                said += int(tokens.get("output") or 0)
                cost += float(part.get("cost") or 0)
                model = message.get("modelID")
                yield Usage(model, asked, said, cost, is_total=True)


def _rows(path: object, query: str, *values: str) -> Iterator[sqlite3.Row]:
    from pathlib import Path

    try:
        with closing(open_read_only(Path(str(path)))) as database:
            yield from database.execute(query, values)
    except (sqlite3.Error, ClewError, OSError):
        return  # another version's database, or one that is being made


def _json(text: object) -> Record:
    try:
        found = loads(str(text))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


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
    path = first_text(given.get("filePath"), given.get("path"), told.get("filepath"))
    diff = first_text(told.get("diff"))
    if tool == "bash":
        code = told.get("exit")
        output = str(state.get("output") or "")
        yield from ran(name, time, str(given.get("command") or ""), output, code)
    elif tool == "write" and not diff:
        old = None if told.get("exists", True) else ""
        yield edit_of_texts(name, time, path, old, str(given.get("content") or ""))
    elif tool in ("edit", "write", "multiedit"):
        if "@@" in diff:
            yield from edits_of_diff(name, time, path, diff)
        else:
            old, new = str(given.get("oldString") or ""), str(given.get("newString") or "")
            yield edit_of_texts(name, time, path, old, new)
    elif tool in ("patch", "apply_patch"):
        text = first_text(given.get("patchText"), given.get("patch"), given.get("input"))
        yield from edits_of_patch(name, time, text)
