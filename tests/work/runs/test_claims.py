"""One run per spec: whoever starts, ends, resets, merges or is killed, and in whatever order."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from clew.kit.errors import ClewError, Conflict
from clew.kit.files import private_directory
from clew.kit.locks import try_lock
from clew.specs.change.lifecycle import apply_status
from clew.work.agents.options import WorkOptions
from clew.work.merging.conflicts import complete_again, needs_attention
from clew.work.model import (
    FINISHING,
    OPEN,
    RUNNING,
    FailureClass,
    Phase,
    RunRequest,
    new_run_id,
)
from clew.work.runs import reconcile as repairing
from clew.work.runs.prepare import startable, take
from clew.work.runs.reconcile import reconcile, update_spec_statuses
from clew.work.runs.stop import release, reset_spec, take_over
from clew.work.workspace import Workspace
from tests.support.proof import amount

ENDS = [None, FailureClass.AGENT, FailureClass.CRITERIA]
WAY = [Phase.PREPARED, Phase.WORKTREE, Phase.STARTED, Phase.AGENT_EXITED, Phase.CHECKED]
SPEC = "---\ntype: code\nstatus: pending\n---\n# One\n\n## Acceptance Criteria\n\n- [x] It works\n"


def race(house, spec_id, number):
    """What this many starters of a spec were told."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.work.runs.starters", house.root, spec_id, str(number)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("ending", [("tick",), ("tick", "leave 1")], ids=["done", "failed"])
def test_of_many_starters_one_gets_the_spec_and_the_others_touch_nothing(house, ending):
    """Those that come when the first one's run is over already are refused, too."""
    for number in range(amount(1, 25)):
        spec = house.spec(
            f"s{number}", "note_span spans", f"edit {number}.txt", f"commit {number}.txt", *ending
        )
        said = race(house, spec, amount(8, 30))
        run = house.settled(spec)
        assert [one["run"] for one in said if "run" in one] == [run.run_id]
        for one in said:
            assert (
                "run" in one
                or f"run {run.run_id}" in one["refused"]
                or "is completed" in one["refused"]
            )
        assert [one.run_id for one in house.attempts(spec)] == [run.run_id]
        assert house.status(spec) == ("failed" if len(ending) > 1 else "completed")
        worked = (house.root / "spans").read_text().splitlines()
        assert sum(line.startswith(f"{spec} ") for line in worked) == 1


class Claims(RuleBasedStateMachine):
    """Starters, supervisors, people and merges around one spec, step by step.

    Every step is the program's own; only the agent is missing. A run is live while its lock is
    held, and a kill frees the lock.
    """

    def __init__(self):
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="claims-"))
        (self.root / ".chant" / "specs").mkdir(parents=True)
        (self.root / ".chant" / "specs" / "001.md").write_text(SPEC, "utf-8")
        self.work = Workspace(self.root)
        self.checked, self.live = [], {}
        self.may_go_back = True
        self.before = "pending"
        self.patch = pytest.MonkeyPatch()  # looking at all processes is slow, and there are none
        self.patch.setattr(repairing, "stop_processes_of_run", lambda run_id, seconds: 0)

    def teardown(self):
        for lock in self.live.values():
            lock.release()
        self.work.__exit__()
        self.patch.undo()
        shutil.rmtree(self.root)

    def status(self):
        return self.work.store.load("001").status

    def newest(self):
        return self.work.journal.latest("001")

    @initialize(starters=st.integers(2, 4))
    def starters_come(self, starters):
        self.starters_check(starters)

    @rule(starters=st.integers(1, 4))
    def starters_check(self, starters):
        with suppress(Conflict):
            spec, earlier = startable(self.work, "001", WorkOptions())
            request = RunRequest(spec.id, "Do it.", attempt=earlier.attempt + 1 if earlier else 1)
            self.checked += [request] * starters

    @precondition(lambda self: self.checked)
    @rule(data=st.data())
    def a_starter_claims(self, data):
        request = self.checked.pop(data.draw(st.integers(0, len(self.checked) - 1)))
        run_id = new_run_id()
        private_directory(self.work.paths.run_directory(run_id))
        lock = try_lock(self.work.paths.run_lock(run_id))
        before = (self.work.store.load("001").raw, self.work.journal.progress())
        newest = self.newest()

        def claim():
            return self.work.journal.claim(
                "001", request.plan, mode="single", run_id=run_id, attempt=request.attempt
            )

        try:
            take(self.work, request, claim)
            self.live[run_id] = lock
            assert request.attempt == (newest.attempt if newest else 0) + 1  # what it had checked
            assert newest is None or newest.settled_at is not None
        except Conflict:
            lock.release()
            after = (self.work.store.load("001").raw, self.work.journal.progress())
            assert after == before

    @precondition(lambda self: self.live)
    @rule()
    def a_run_goes_on(self):
        run = self.newest()
        if run.phase is not Phase.CHECKED:
            self.work.journal.move(run.run_id, WAY[WAY.index(run.phase) + 1])

    @precondition(lambda self: self.live)
    @rule(failure=st.sampled_from(ENDS))
    def a_run_ends(self, failure):
        run = self.newest()
        for phase in WAY[WAY.index(run.phase) + 1 :]:
            self.work.journal.move(run.run_id, phase)
        known = {"failure_class": failure, "failure": "no"} if failure else {}
        self.work.journal.move(run.run_id, Phase.FAILED if failure else Phase.FINISHED, **known)
        self.live.pop(run.run_id).release()

    @precondition(lambda self: self.live)
    @rule()
    def everything_is_killed(self):
        for run_id in list(self.live):
            self.live.pop(run_id).release()

    @rule()
    def somebody_repairs(self):
        reconcile(self.work)

    @rule()
    def statuses_follow(self):
        update_spec_statuses(self.work)

    @precondition(lambda self: not self.live)
    @rule()
    def somebody_resets(self):
        self.may_go_back = True
        with suppress(ClewError):
            reset_spec(self.work, "001", actor="test")

    @precondition(lambda self: not self.live)
    @rule(status=st.sampled_from(["pending", "cancelled"]))
    def somebody_sets_it(self, status):
        self.may_go_back = True
        with suppress(ClewError):
            apply_status(self.work.store, "001", status, actor="test")

    @precondition(lambda self: not self.live)
    @rule()
    def somebody_takes_over(self):
        self.may_go_back = True
        with suppress(ClewError):
            take_over(self.work, "001", force=True)

    @rule()
    def somebody_hands_back(self):
        with suppress(ClewError):
            release(self.work, "001")

    @rule()
    def a_merge_meets_a_conflict(self):
        self.may_go_back = True
        needs_attention(self.work.store, "001", "it conflicts")

    @rule()
    def a_merge_succeeds(self):
        complete_again(self.work.store, "001", "merged")

    @invariant()
    def at_most_one_run_is_open(self):
        found = self.work.journal.runs(phases=OPEN)
        assert len(found) <= 1
        at_work = {run.run_id for run in found if run.phase in (*RUNNING, *FINISHING)}
        assert set(self.live) <= at_work

    @invariant()
    def what_runs_is_in_progress_and_nothing_goes_back_by_itself(self):
        status = self.status()
        if self.live:
            assert status == "in_progress"
        if self.before == "completed" and not self.may_go_back:
            assert status == "completed"
        self.before, self.may_go_back = status, False

    @invariant()
    def a_finished_run_completes_its_spec(self):
        run = self.newest()
        if run is not None and run.phase is Phase.FINISHED and run.settled_at is not None:
            assert self.status() != "in_progress"


TestClaims = Claims.TestCase
TestClaims.settings = settings(
    max_examples=amount(60, 1000), stateful_step_count=amount(30, 60), deadline=None
)
