"""Times as people write them: ISO dates, Unix seconds, `2 weeks ago`."""

from __future__ import annotations

import re
import time

from clew.kit.errors import Invalid
from clew.kit.times import parse_iso

_DAY = 86400
_SECONDS = {
    "s": 1,
    "sec": 1,
    "second": 1,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hour": 3600,
    "d": _DAY,
    "day": _DAY,
    "w": 7 * _DAY,
    "week": 7 * _DAY,
    "mo": 30 * _DAY,
    "month": 30 * _DAY,
    "y": 365 * _DAY,
    "year": 365 * _DAY,
}
_WORDS = {"now": 0, "today": 0, "yesterday": _DAY}
_COUNTS = {"a": 1, "an": 1, "one": 1, "last": 1, "two": 2, "three": 3}
_AGO = re.compile(
    rf"(\d{{1,9}}|{'|'.join(_COUNTS)})\s*({'|'.join(sorted(_SECONDS, key=len, reverse=True))})s?"
    r"(?:\s+ago)?"
)
HINT = "Write YYYY-MM-DD, seconds since 1970, or a time like '2 weeks ago'."


def moment(value: str | int | None, *, now: float | None = None) -> int | None:
    """The time that somebody wrote, in seconds since 1970; a date alone is its start in UTC."""
    if value is None or isinstance(value, int):
        return value
    text = value.strip()
    ago = _seconds_ago(text.lower().replace(".", " ").replace("_", " "))
    if ago is not None:
        return int((time.time() if now is None else now) - ago)
    try:
        if text.isascii() and text.removeprefix("-").isdigit():
            return int(text)
        return int(parse_iso(text).timestamp())
    except (ValueError, OverflowError):
        raise Invalid(f"Not a date: {value}", HINT) from None


def _seconds_ago(text: str) -> int | None:
    if text in _WORDS:
        return _WORDS[text]
    match = _AGO.fullmatch(text)
    if match is None:
        return None
    count = _COUNTS.get(match[1]) or int(match[1])
    return count * _SECONDS[match[2]]
