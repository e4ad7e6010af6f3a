"""Cursor: `state.vscdb` below the user's application data. Undocumented, and not verified."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clew.sessions.model import Event, Header, Request, Words
from clew.sessions.readers.interface import (
    Progress,
    Reader,
    Source,
    Surroundings,
    json_record,
    rows_of,
)
from clew.sessions.readers.lines import Record, seconds

_PLACES = (
    (".config", "Cursor", "User", "globalStorage"),
    ("Library", "Application Support", "Cursor", "User", "globalStorage"),
)
_COMPOSERS = "SELECT key, length(value) AS size FROM cursorDiskKV WHERE key LIKE 'composerData:%'"
_VALUE = "SELECT value FROM cursorDiskKV WHERE key = ?"


class CursorReader(Reader):
    """Composers and their bubbles; what was asked and said, but no edits."""

    name, title, is_verified = "cursor", "Cursor", False

    def discover(self, around: Surroundings) -> Iterator[Source]:
        """Every composer in the global storage."""
        for place in _PLACES:
            path = around.home.joinpath(*place) / "state.vscdb"
            if path.is_file() and not path.is_symlink():
                for row in rows_of(path, _COMPOSERS):
                    part = str(row["key"]).removeprefix("composerData:")
                    yield Source(self.name, str(path), part, int(row["size"] or 0), 0)

    def header(self, source: Source) -> Header | None:
        """The folder is known by the files that the conversation is about."""
        data = _value(source.path, f"composerData:{source.part}")
        context = data.get("context") or {}
        for one in context.get("fileSelections") or []:
            place = ((one.get("uri") or {}).get("fsPath")) if isinstance(one, dict) else None
            if isinstance(place, str):
                return Header(source.part, str(Path(place).parent), title=data.get("name"))
        return None

    def read(self, source: Source, progress: Progress) -> Iterator[Event]:
        """The bubbles in their order: a person's have type 1."""
        header = self.header(source)
        if header is None:
            return
        yield header
        data = _value(source.path, f"composerData:{source.part}")
        for one in data.get("fullConversationHeadersOnly") or []:
            uid = str(one.get("bubbleId")) if isinstance(one, dict) else ""
            bubble = _value(source.path, f"bubbleId:{source.part}:{uid}")
            text = bubble.get("text")
            if isinstance(text, str) and text.strip():
                time = seconds(bubble.get("createdAt"))
                yield Request(uid, time, text) if bubble.get("type") == 1 else Words(text)


def _value(path: Path, key: str) -> Record:
    return next((json_record(row["value"]) for row in rows_of(path, _VALUE, key)), {})
