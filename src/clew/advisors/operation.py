"""The long-running example: real waiting with honest progress, for trying out a client."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clew.kit.call import Call

LONGEST_SECONDS = 3600.0
_MOST_STEPS = 10


def run_operation(name: str, seconds: float, call: Call) -> str:
    """Take the time asked for, report each step, and tell what was done."""
    honoured = min(max(seconds, 0.0), LONGEST_SECONDS)
    steps = min(max(int(honoured), 1), _MOST_STEPS)
    started = time.monotonic()
    call.progress(0, steps, f"Started {name}")
    for step in range(1, steps + 1):
        due = started + honoured * step / steps
        call.sleep(max(due - time.monotonic(), 0.0))
        call.progress(step, steps, f"{name}: {100 * step // steps}% complete")
    elapsed = time.monotonic() - started
    text = f"Completed {name} in {elapsed:.1f} seconds"
    if honoured != seconds:
        text += f" (asked for {seconds:g}, allowed is 0 to {LONGEST_SECONDS:g})"
    return text
