"""Why an agent failed: by its exit code and last words, never its whole log; or by its limits."""

from __future__ import annotations

import re
import signal
import time
from dataclasses import dataclass

from clew.kit.text.display import clipped
from clew.work.agents.output import StreamReader
from clew.work.model import FailureClass, Limits

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


class Watchdog:
    """Watches one agent against its limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._started = self._heard = time.monotonic()

    def heard(self) -> None:
        """The agent printed something."""
        self._heard = time.monotonic()

    def broken(self, cost_usd: float | None) -> Failure | None:
        """The limit that is reached, and what to say about it."""
        now, limits = time.monotonic(), self._limits
        if limits.wall_seconds is not None and now - self._started >= limits.wall_seconds:
            said = f"The agent worked for {limits.wall_seconds:g} s, which is the limit"
            return Failure(FailureClass.WALL_TIME, said)
        if limits.idle_seconds is not None and now - self._heard >= limits.idle_seconds:
            said = f"The agent printed nothing for {limits.idle_seconds:g} s, which is the limit"
            return Failure(FailureClass.IDLE, said)
        if limits.cost_usd is not None and cost_usd is not None and cost_usd > limits.cost_usd:
            said = f"The agent cost ${cost_usd:.2f}; the limit is ${limits.cost_usd:.2f}"
            return Failure(FailureClass.COST, said)
        return None


def _ending(exit_code: int) -> str:
    if exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = str(-exit_code)
        return f"The agent was ended by {name}"
    return f"The agent exited with status {exit_code}"
