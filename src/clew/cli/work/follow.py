"""Work while it goes on: a table that lives on a terminal, plain lines elsewhere.

All of it goes to standard error; what a command answers comes after it, on standard output.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from clew.cli.core.hints import own_commands
from clew.cli.core.streams import say
from clew.cli.core.terminal import is_terminal
from clew.kit.paths import ProjectPaths
from clew.kit.text.display import clipped, terminal_text
from clew.work.model import Run, Schedule
from clew.work.workspace import Workspace

_LOOK_SECONDS = 0.25
_LONGEST = 100
_SHOWN = ("state", "tool")


def follow_run(work: Workspace, run_id: str) -> Run:
    """Show one run until it is over and its spec has the status that follows."""
    from clew.work.runs.reconcile import current_run

    with _shown(work.paths) as show:
        while True:
            run = current_run(work, run_id)
            show([run])
            if run.settled_at is not None:
                return run
            time.sleep(_LOOK_SECONDS)


def follow_schedule(work: Workspace, schedule_id: str) -> tuple[Schedule, list[Run]]:
    """Show a schedule until it is over; gives it and the last run of each of its specs."""
    from clew.kit.locks import is_locked
    from clew.work.journal.schedules import scheduler_lock
    from clew.work.runs.reconcile import reconcile

    with _shown(work.paths) as show:
        while True:
            if not is_locked(scheduler_lock(work.paths)):  # it has ended, or it was killed
                reconcile(work)
            schedule = work.journal.schedule(schedule_id)
            found = [run for run in work.journal.runs() if _is_part(run, schedule)]
            latest = list({run.spec_id: run for run in reversed(found)}.values())
            show(latest)
            if schedule.ended_at is not None:
                return schedule, latest
            time.sleep(_LOOK_SECONDS)


def _is_part(run: Run, schedule: Schedule) -> bool:
    return run.mode == schedule.mode and run.created_at >= schedule.created_at


@contextmanager
def _shown(paths: ProjectPaths) -> Iterator[Callable[[list[Run]], None]]:
    """How runs are shown here, for as long as somebody looks."""
    from clew.work.journal.run_log import EventTail

    tails: dict[str, EventTail] = {}

    def new_events(run: Run) -> list[dict[str, Any]]:
        path = paths.events_file(run.spec_id)
        return tails.setdefault(run.run_id, EventTail(path, run.run_id)).new()

    def show_lines(runs: list[Run]) -> None:
        for run in runs:
            for event in new_events(run):
                if event.get("type") in _SHOWN:
                    say(_event_line(run.spec_id, event))

    try:
        if is_terminal(sys.stderr):
            with _live_table(new_events) as show_table:
                yield show_table
        else:
            yield show_lines
    except KeyboardInterrupt:
        words = "The work goes on without you: `clew runs` shows it, `clew pause ID` stops it."
        say(own_commands(words))
        raise


def _event_line(spec_id: str, event: dict[str, Any]) -> str:
    """One event as a line: its time, the spec, what happened."""
    text = " ".join(str(event.get("text", "")).split())
    word = "" if event.get("type") == "state" else f"{event.get('type')}: "
    return f"{str(event.get('ts', ''))[11:19]} {spec_id}: {word}{clipped(text, 160)}"


@contextmanager
def _live_table(
    new_events: Callable[[Run], list[dict[str, Any]]],
) -> Iterator[Callable[[list[Run]], None]]:
    from rich.console import Console
    from rich.live import Live

    last: dict[str, str] = {}
    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:

        def show(runs: list[Run]) -> None:
            for run in runs:
                for event in new_events(run):
                    text = " ".join(str(event.get("text", "")).split())
                    last[run.run_id] = text or last.get(run.run_id, "")
            live.update(_table(runs, last), refresh=True)

        yield show


def _table(runs: list[Run], last: dict[str, str]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_edge=False)
    for column in ("spec", "phase", "time", "cost"):
        table.add_column(column, no_wrap=True)
    table.add_column("now", no_wrap=True, overflow="ellipsis", ratio=1)
    for run in runs:
        now = terminal_text(clipped(run.failure or last.get(run.run_id, ""), _LONGEST))
        style = "red" if run.failure else "green" if run.phase == "finished" else ""
        cells = (run.spec_id, str(run.phase), duration(run), _cost(run), " ".join(now.split()))
        table.add_row(*(Text(cell) for cell in cells), style=style)
    return table


def duration(run: Run) -> str:
    """How long a run took, or takes so far."""
    seconds = int(run.elapsed_seconds() or 0)
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"


def _cost(run: Run) -> str:
    return "" if run.cost_usd is None else f"${run.cost_usd:.2f}"
