"""Whether and when a spec that failed is tried again, and what its failure means for the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clew.kit.times import parse_iso
from clew.work.model import FailureClass

if TYPE_CHECKING:
    from clew.specs.store.config import Config
    from clew.work.model import Run

STOP, SKIP, RETRY = "stop", "skip", "retry"
TRANSIENT = (FailureClass.RATE_LIMIT, FailureClass.NETWORK)
# Trying again would end the same way: somebody has to put something right first.
PERMANENT = (
    FailureClass.AUTH,
    FailureClass.PROGRAM,
    FailureClass.WORKTREE,
    FailureClass.SETUP,
    FailureClass.COST,
    FailureClass.FINISHING,
)
_LONGEST_DELAY = 3600.0


@dataclass(frozen=True)
class Policy:
    """What is done about failures.

    Services that are busy are asked again under every policy. `retry` also repeats what an agent
    did wrong; when that does not help, `after_retries` says how the others go on.
    """

    on_failure: str = SKIP
    retries: int = 3
    delay_seconds: float = 60.0
    multiplier: float = 2.0
    after_retries: str = SKIP
    patterns: tuple[str, ...] = ()

    def is_transient(self, run: Run) -> bool:
        """Whether trying again later is likely to help."""
        said = run.failure or ""
        return run.failure_class in TRANSIENT or any(
            re.search(pattern, said, re.IGNORECASE) for pattern in self.patterns
        )

    @property
    def stops(self) -> bool:
        """Whether a spec that finally failed stops the others from being started."""
        return (self.after_retries if self.on_failure == RETRY else self.on_failure) == STOP


def policy_of(config: Config, mode: str, on_failure: str | None, retries: int | None) -> Policy:
    """The policy that was asked for, else the configured one, else the mode's own."""
    usual = STOP if mode == "chain" else SKIP
    most = config.number("watch", "failure", "max_retries")
    delay = config.number("watch", "failure", "retry_delay_ms")
    return Policy(
        on_failure or config.text("work", "on_failure") or usual,
        int(most or 0) if retries is None else retries,
        float(delay or 0) / 1000,
        max(1.0, float(config.number("watch", "failure", "backoff_multiplier") or 1)),
        config.text("watch", "failure", "on_permanent_failure") or SKIP,
        tuple(map(_pattern, config.words("watch", "failure", "retryable_patterns"))),
    )


def _pattern(text: str) -> str:
    """The text as a regular expression; what is none stands for itself."""
    try:
        re.compile(text)
    except re.error:
        return re.escape(text)
    return text


def retry_time(policy: Policy, failed: list[Run], now: float) -> float | None:
    """When a spec is tried again, given its failed runs of this schedule, the newest first.

    None is never. What a service asked for is waited for, however long it is.
    """
    latest = failed[0]
    kind = latest.failure_class
    is_transient = policy.is_transient(latest)
    if len(failed) > policy.retries or kind in PERMANENT:
        return None
    if not is_transient and policy.on_failure != RETRY:
        return None
    if not is_transient:
        return now
    delay = policy.delay_seconds * policy.multiplier ** (len(failed) - 1)
    return max(
        _moment(latest.ended_at, now) + min(delay, _LONGEST_DELAY), _moment(latest.retry_at, 0)
    )


def _moment(text: str | None, otherwise: float) -> float:
    return parse_iso(text).timestamp() if text else otherwise
