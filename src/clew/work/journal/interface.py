"""What a journal can do: every question and every change that the room has, by name.

The journal keeps runs with each change of their phase, schedules, and the merge queue. A claim is
one transaction that exactly one of several starters wins, and a process that is killed in the
middle of writing leaves the last whole state. `tests/work/journal` holds implementations to this.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from clew.kit.jsontext import JsonObject
from clew.work.model import (
    OPEN_MERGES,
    Check,
    Merge,
    MergeStatus,
    Move,
    Phase,
    Request,
    Run,
    RunPlan,
    Schedule,
)


class Journal(Protocol):
    """A project's runs, schedules and merges; what cannot be stored is `Unavailable`."""

    def close(self) -> None:
        """Release what the journal holds open."""

    def is_active(self) -> bool:
        """Whether anything is under way, or was when its process died: then repair is due."""

    def progress(self) -> str:
        """A text that is another one after every move of a run and every step of a merge."""

    def claim(
        self,
        spec_id: str,
        plan: RunPlan,
        *,
        mode: str,
        run_id: str | None = None,
        attempt: int | None = None,
    ) -> Run:
        """A new run of the spec, owned by this process; refused while another one is open.

        Whoever names the attempt has looked at the one before it. The claim is refused as well if
        there has been another since, or if the spec does not have that one's status yet.
        """

    def move(
        self,
        run_id: str,
        after: Phase,
        *,
        expected: Sequence[Phase] | None = None,
        note: str | None = None,
        **fields: Any,
    ) -> Run:
        """Take a run one phase on, with what became known; illegal moves are refused."""

    def update(self, run_id: str, **fields: Any) -> Run:
        """Store what became known about a run without a change of phase."""

    def ask(self, run_id: str, request: Request) -> None:
        """Leave a request for the run's supervisor."""

    def get(self, run_id: str) -> Run:
        """One run."""

    def open_run(self, spec_id: str) -> Run | None:
        """The run that claims the spec now."""

    def latest(self, spec_id: str) -> Run | None:
        """The spec's newest run."""

    def runs(
        self,
        *,
        spec_id: str | None = None,
        phases: Sequence[Phase] | None = None,
        limit: int = -1,
    ) -> list[Run]:
        """Runs, the newest first."""

    def unreported(self) -> list[Run]:
        """The runs at rest whose specs do not have the status that follows, the oldest first."""

    def history(self, run_id: str) -> list[Move]:
        """Every move of a run, the oldest first."""

    def count(self) -> int:
        """How many runs there ever were."""

    def running_by_worker(self) -> dict[str, int]:
        """How many runs each worker has under way; one without a name is the empty text."""

    def keep_check(self, run_id: str, check: Check) -> None:
        """Store how a check went; an earlier outcome of the same check is replaced."""

    def checks(self, run_id: str) -> list[Check]:
        """The checks of a run, in the order of its criteria."""

    def add_schedule(self, spec_id: str, mode: str, plan: JsonObject) -> Schedule:
        """A new schedule, not begun yet."""

    def update_schedule(self, schedule_id: str, **fields: Any) -> Schedule:
        """Store what became known about a schedule."""

    def schedule(self, schedule_id: str) -> Schedule:
        """One schedule."""

    def schedules(self, *, running: bool = False) -> list[Schedule]:
        """All schedules, or those under way; the newest first."""

    def queue_merge(
        self, spec_id: str, branch: str, target: str, *, strategy: str, delete_branch: bool
    ) -> Merge:
        """Put a branch into the merge queue; one that is in it already keeps its place."""

    def update_merge(self, number: int, status: MergeStatus, **fields: Any) -> Merge:
        """Take an entry of the merge queue one step on, with what became known."""

    def merge(self, number: int) -> Merge:
        """One entry of the merge queue."""

    def merges(self, statuses: Sequence[MergeStatus] = OPEN_MERGES) -> list[Merge]:
        """The entries of these statuses, in the order of the queue."""

    def latest_merge(self, spec_id: str) -> Merge | None:
        """The newest entry of a spec."""
