"""Why an agent failed, told from its exit code and its own last words, never from its whole log."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.kit.text.display import clipped
from clew.work.model import FailureClass

if TYPE_CHECKING:
    from clew.work.agents.output import StreamReader

_CLASSES = (
    (
        FailureClass.RATE_LIMIT,
        r"rate.?limit|\b429\b|too many requests|quota|overloaded|usage limit|\b529\b",
    ),
    (
        FailureClass.AUTH,
        (
            r"\b401\b|\b403\b|unauthori[sz]ed|not logged in|log ?in again|invalid api key|"
            r"authentication|api key (?:is )?(?:missing|not set)|credit balance"
        ),
    ),
    (
        FailureClass.CONTEXT,
        r"context (?:window|length)|prompt is too long|maximum context|max(?:imum)? turns",
    ),
    (
        FailureClass.NETWORK,
        (
            r"econnre|enotfound|etimedout|connection (?:refused|reset|error)|network|"
            r"timed out|\b50[0234]\b|could not resolve|getaddrinfo"
        ),
    ),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _CLASSES)
_RETRY_AFTER = re.compile(
    r"retry[-_ ]?after[\"']?\s*[:=]?\s*(\d{1,6})|(?:try again|retry) in (\d{1,6})\s*(s|m|h)",
    re.IGNORECASE,
)
_UNITS = {"s": 1, "m": 60, "h": 3600}
_TRANSIENT = (FailureClass.RATE_LIMIT, FailureClass.NETWORK)
_LONGEST_RETRY = 24 * 3600


@dataclass(frozen=True)
class Failure:
    """What went wrong, and how long to wait before it makes sense to try again."""

    kind: FailureClass
    message: str
    retry_after: float | None = None


def failure_of(exit_code: int, reader: StreamReader, stderr_tail: str) -> Failure | None:
    """Why the agent failed, or None when it did not say or show that it did."""
    if exit_code == 0 and reader.error_text is None:
        return None
    said = reader.error_text or stderr_tail.strip() or reader.last_text.strip()
    ending = _ending(exit_code)
    message = f"{ending}: {clipped(said, 600)}" if said else ending
    kind = next((kind for kind, pattern in _PATTERNS if pattern.search(said)), None)
    if kind is None:
        kind = FailureClass.KILLED if exit_code < 0 else FailureClass.AGENT
    return Failure(kind, message, retry_after(said) if kind in _TRANSIENT else None)


def retry_after(text: str) -> float | None:
    """The seconds that a service asked to wait."""
    found = _RETRY_AFTER.search(text)
    if found is None:
        return None
    plain, amount, unit = found.groups()
    seconds = int(plain) if plain else int(amount) * _UNITS[unit.lower()]
    return float(min(seconds, _LONGEST_RETRY))


def _ending(exit_code: int) -> str:
    if exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = str(-exit_code)
        return f"The agent was ended by {name}"
    return f"The agent exited with status {exit_code}"
