"""When an agent has to stop: too long, too silent, too expensive."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from clew.work.agents.classify import Failure
from clew.work.model import FailureClass

if TYPE_CHECKING:
    from clew.work.model import Limits


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
