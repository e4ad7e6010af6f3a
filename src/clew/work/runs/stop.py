"""Stopping a run from outside: the wish goes into the journal, then the supervisor is woken."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from clew.kit.errors import ClewError, NotFound
from clew.work.journal.journal import open_journal
from clew.work.model import ENDED, Phase
from clew.work.processes.identity import send_signal
from clew.work.runs.reconcile import reconcile

if TYPE_CHECKING:
    from clew.work.model import Request, Run
    from clew.work.paths import Places

_POLL_SECONDS = 0.05


def stop_run(places: Places, spec_id: str, request: Request, seconds: float = 30) -> Run:
    """Have the spec's run paused, held or cancelled, and wait until it is.

    A run whose supervisor died in the meantime is put right first, the way that was asked for.
    """
    with open_journal(places) as journal:
        run = journal.open_run(spec_id)
        if run is None or run.phase is Phase.HELD:
            raise NotFound("No running process found", f"`clew runs {spec_id}` shows what was.")
        journal.ask(run.run_id, request)
        deadline = time.monotonic() + seconds
        woken = None
        while run.phase not in (*ENDED, Phase.HELD):
            if run.owner is not None and run.owner != woken and run.process_id is not None:
                send_signal(run.owner, signal.SIGTERM)
                woken = run.owner
            reconcile(places)
            if time.monotonic() > deadline:
                raise ClewError(
                    f"Run {run.run_id} did not stop within {seconds:g} s",
                    "It has been asked to and will; look again with `clew runs`.",
                )
            time.sleep(_POLL_SECONDS)
            run = journal.get(run.run_id)
    return run
