"""Waiting for conditions: no test trusts a clock."""

from __future__ import annotations

import time

LIMIT_SECONDS = 180.0  # generous: reached only when the condition never becomes true
PAUSE_SECONDS = 0.02


def wait_until(condition, limit=LIMIT_SECONDS, pause=PAUSE_SECONDS):
    """What the condition returns once that is true; fails when it never is."""
    deadline = time.monotonic() + limit
    while not (found := condition()):
        is_late = time.monotonic() >= deadline
        assert not is_late, f"still {found!r} after {limit:g} s: {_name(condition)}"
        time.sleep(pause)
    return found


def _name(condition):
    return getattr(condition, "__qualname__", repr(condition))
