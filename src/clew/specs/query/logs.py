"""Reading a log that may be growing: from its end, or onwards from where the last answer ended.

Without an offset the last `lines` lines are read; with one, the next `lines` lines from there. The
returned `byte_offset` is just behind what was read, so a reader that follows with it gets every
byte exactly once. A line that is still being written is handed out as far as it is there; a
character never. `has_more` says that there is more to read right now. `since` leaves lines out of
the answer, but not out of the count of bytes. One answer holds at most `ANSWER_BYTES`.
"""

from __future__ import annotations

import codecs
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from clew.kit.errors import Invalid, NotFound
from clew.kit.files import open_regular
from clew.kit.times import parse_iso

ANSWER_BYTES = 1 << 20
DEFAULT_LINES = 100
_STEP = 1 << 16
_NEW_RUN = b"# New Run: "
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_LINE_TIME = re.compile(
    r"(?:# (?:Started|New Run): |\[)?"
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:[.,]\d+)?) ?(Z|UTC|[+-]\d\d:?\d\d)?"
)


class LogPage(NamedTuple):
    """What one read gives: the text, where it ends, and whether more is there."""

    content: str
    byte_offset: int
    line_count: int
    has_more: bool


def read_log(
    path: Path,
    spec_id: str,
    *,
    lines: int = DEFAULT_LINES,
    offset: int | None = None,
    since: str | None = None,
) -> LogPage:
    """The end of a log or, with an offset, what follows it."""
    if lines < 0 or (offset is not None and offset < 0):
        name, value = ("lines", lines) if lines < 0 else ("offset", offset)
        raise Invalid(f"{name} must not be negative: {value}", "Use 0 or a greater number.")
    after = _moment(since) if since is not None else None
    descriptor = _open(path, spec_id)
    try:
        status = os.fstat(descriptor)
        start = _tail_start(descriptor, status.st_size, lines) if offset is None else offset
        page = _forward(descriptor, min(start, status.st_size), lines)
    finally:
        os.close(descriptor)
    if after is None:
        return page
    written = datetime.fromtimestamp(status.st_mtime, UTC)
    return _only_after(page, after) if written > after else page._replace(content="", line_count=0)


def latest_run_offset(path: Path, spec_id: str) -> int:
    """Where the part of the newest run begins."""
    start = 0
    with open(_open(path, spec_id), "rb") as log:
        position = 0
        for line in log:
            start = position if line.startswith(_NEW_RUN) else start
            position += len(line)
    return start


def _open(path: Path, spec_id: str) -> int:
    try:
        return open_regular(path)
    except FileNotFoundError:
        raise NotFound(
            f"No log file found for spec '{spec_id}'. "
            "Logs are created when a spec is executed with `chant work`."
        ) from None
    except OSError as error:
        raise Invalid(f"The log of spec '{spec_id}' cannot be read: {error.strerror}") from error


def _tail_start(descriptor: int, size: int, lines: int) -> int:
    """Where the last `lines` lines begin, as far as one answer can hold them."""
    if lines == 0 or size == 0:
        return size
    floor = max(0, size - ANSWER_BYTES)
    position, missing, first = size, lines, None
    if os.pread(descriptor, 1, size - 1) == b"\n":
        position -= 1  # it ends the last line, it does not begin another
    while position > floor:
        step = min(_STEP, position - floor)
        block = os.pread(descriptor, step, position - step)
        end = len(block)
        while (found := block.rfind(b"\n", 0, end)) >= 0:
            missing -= 1
            end, first = found, position - step + found + 1
            if missing == 0:
                return first
        position -= step
    if floor == 0:
        return 0
    return first if first is not None else _character_start(descriptor, floor)


def _character_start(descriptor: int, position: int) -> int:
    """The first position from here on that is not inside a character."""
    for number, byte in enumerate(os.pread(descriptor, 4, position)):
        if byte & 0xC0 != 0x80:
            return position + number
    return position


def _forward(descriptor: int, start: int, lines: int) -> LogPage:
    data, at_end = _read_lines(descriptor, start, lines)
    text, used = codecs.utf_8_decode(data, "replace", not at_end)
    end = start + used
    # Bytes of a character that is still being written are no reason to ask again at once.
    has_more = os.fstat(descriptor).st_size > start + len(data)
    count = text.count("\n") + (not text.endswith("\n") and bool(text))
    return LogPage(text, end, count, has_more)


def _read_lines(descriptor: int, start: int, lines: int) -> tuple[bytes, bool]:
    """At most this number of lines, and whether the last may end inside a character."""
    data = bytearray()
    seen = 0
    while seen < lines and len(data) < ANSWER_BYTES:
        block = os.pread(descriptor, min(_STEP, ANSWER_BYTES - len(data)), start + len(data))
        if not block:
            break
        end = 0
        while seen < lines and (found := block.find(b"\n", end)) >= 0:
            seen += 1
            end = found + 1
        if seen == lines:
            data += block[:end]
            return bytes(data), False
        data += block
    return bytes(data), True


def _only_after(page: LogPage, after: datetime) -> LogPage:
    """Without the lines up to that time; a line without a time has that of the line above it.

    Lines above the first time in the page are kept unless a later line is old.
    """
    kept: list[str] = []
    keep = True
    for line in _LINES.findall(page.content):
        moment = _line_moment(line)
        if moment is not None:
            keep = moment > after
            if not keep:
                kept.clear()
        if keep:
            kept.append(line)
    return page._replace(content="".join(kept), line_count=len(kept))


def _line_moment(line: str) -> datetime | None:
    found = _LINE_TIME.match(line)
    if found is None:
        return None
    zone = "" if found[3] in {None, "Z", "UTC"} else found[3]
    try:
        return parse_iso(f"{found[1]}T{found[2].replace(',', '.')}{zone}")
    except ValueError:
        return None


def _moment(text: str) -> datetime:
    try:
        return parse_iso(text.strip())
    except ValueError:
        raise Invalid(
            f"Not an ISO timestamp: '{text}'", "Write it like 2026-02-02T10:00:00Z."
        ) from None
