"""Why an agent failed: by the errors it told, its exit code and last words; or by its limits."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

from clew.kit.text.display import clipped
from clew.work.agents.output import StreamReader
from clew.work.agents.trouble import Trouble, trouble_of
from clew.work.model import FailureClass, Limits

# Signals with which a program ends that went wrong by itself.
_CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
# An agent that asks again at once, and says the beginning of an answer each time, would never be idle.
_MOST_BROKEN_ANSWERS = 10


@dataclass(frozen=True)
class Failure:
    """What went wrong, and how long to wait before it makes sense to try again."""

    kind: FailureClass
    message: str
    retry_after: float | None = None


def failure_of(exit_code: int, reader: StreamReader, stderr_tail: str) -> Failure | None:
    """Why the agent failed, or None when it did not say or show that it did."""
    if exit_code == 0 and reader.error_text is None and reader.trouble is None:
        return None
    trouble = reader.trouble or trouble_of(_last_words(reader, stderr_tail))
    ending = _ending(exit_code)
    message = f"{ending}: {clipped(trouble.message, 600)}" if trouble.message else ending
    return Failure(trouble.kind or _kind_of_end(exit_code, reader), message, trouble.retry_after)


def _last_words(reader: StreamReader, stderr_tail: str) -> str:
    """What may tell the reason: an agent's own prose does not, where it has fields for errors."""
    prose = "" if reader.is_structured else reader.last_text.strip()
    return reader.error_text or stderr_tail.strip() or prose


def _kind_of_end(exit_code: int, reader: StreamReader) -> FailureClass:
    if -exit_code in _CRASHES:
        return FailureClass.CRASH
    if exit_code < 0:
        return FailureClass.KILLED
    ended_itself = reader.error_text is not None or not reader.is_structured
    return FailureClass.AGENT if ended_itself else FailureClass.CRASH


class Watchdog:
    """Watches one agent against its limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._started = self._heard = time.monotonic()

    def heard(self) -> None:
        """The agent printed something that is no error."""
        self._heard = time.monotonic()

    def broken(self, reader: StreamReader) -> Failure | None:
        """The limit that is reached, and what to say about it."""
        now, limits, cost_usd = time.monotonic(), self._limits, reader.cost_usd
        if limits.wall_seconds is not None and now - self._started >= limits.wall_seconds:
            said = f"The agent worked for {limits.wall_seconds:g} s, which is the limit"
            return Failure(FailureClass.WALL_TIME, said)
        idle = limits.idle_seconds
        if idle is not None and now - self._heard >= idle:
            return _idle(f"The agent printed nothing for {idle:g} s, which is the limit", reader)
        if reader.trouble and reader.broken_answers >= _MOST_BROKEN_ANSWERS:
            said = f"The agent's answers broke off {reader.broken_answers} times in a row"
            return _stuck(said, reader.trouble, FailureClass.NETWORK)
        wait = reader.trouble.retry_after if reader.trouble else None
        if idle is not None and wait is not None and wait > idle:
            return _idle(f"The agent waits for {wait:g} s; the limit is {idle:g} s", reader)
        if limits.cost_usd is not None and cost_usd is not None and cost_usd > limits.cost_usd:
            said = f"The agent cost ${cost_usd:.2f}; the limit is ${limits.cost_usd:.2f}"
            return Failure(FailureClass.COST, said)
        return None


def _idle(said: str, reader: StreamReader) -> Failure:
    """An agent that does nothing more; the last error it told is the reason, if it told one."""
    trouble = reader.trouble
    if trouble is None:
        return Failure(FailureClass.IDLE, said)
    return _stuck(said, trouble, FailureClass.IDLE)


def _stuck(said: str, trouble: Trouble, usual: FailureClass) -> Failure:
    message = f"{said}. Its last error: {clipped(trouble.message, 600)}"
    return Failure(trouble.kind or usual, message, trouble.retry_after)


def _ending(exit_code: int) -> str:
    if exit_code < 0:
        try:
            name = signal.Signals(-exit_code).name
        except ValueError:
            name = str(-exit_code)
        return f"The agent was ended by {name}"
    return f"The agent exited with status {exit_code}"
