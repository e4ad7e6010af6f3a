"""Times as texts: the present in UTC, days, and moments that were written down.

`datetime` is imported by what needs it: a server starts without it.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime


def utc_now(*, milliseconds: bool = False) -> str:
    """The present as RFC 3339 in UTC; texts sort as times do."""
    return utc_text(time.time(), milliseconds=milliseconds)


def utc_text(seconds: float, *, milliseconds: bool = False) -> str:
    """A moment as RFC 3339 in UTC: 2026-01-31T10:00:00Z, or 2026-01-31T10:00:00.250Z."""
    whole, rest = divmod(int(seconds * 1000), 1000)
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
    return f"{text}.{rest:03d}Z" if milliseconds else f"{text}Z"


def day_text(seconds: float) -> str:
    """The day of a moment in UTC: 2026-01-31; what no calendar has stays a number: @123."""
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return f"@{seconds}"


_STEPS = ((60, "second"), (60, "minute"), (24, "hour"), (7, "day"), (4.35, "week"), (12, "month"))


def ago_text(seconds: float, now: float | None = None) -> str:
    """How long ago a moment was, in its largest unit: 3 days ago; the future is a day."""
    passed = (time.time() if now is None else now) - seconds
    if passed < 0:
        return day_text(seconds)
    for size, unit in _STEPS:
        if passed < size:
            return _counted_ago(passed, unit)
        passed /= size
    return _counted_ago(passed, "year")


def _counted_ago(count: float, unit: str) -> str:
    whole = int(count)
    return f"{whole} {unit}{'s'[: whole != 1]} ago"


def today() -> str:
    """The day where the user is."""
    return time.strftime("%Y-%m-%d", time.localtime(time.time()))


def parse_iso(text: str) -> datetime:
    """The moment of an ISO text, in UTC unless it has an offset; or ValueError."""
    from datetime import UTC, datetime

    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
