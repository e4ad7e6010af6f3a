"""kill -9 of supervisor, agent and scheduler at every step of the journal.

Whatever is killed and whenever: the next command puts it right, nothing that was written is lost,
no spec stays stuck, and the work can be brought to its end.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from clew.kit.errors import ClewError
from clew.work.model import AT_REST
from clew.work.processes.identity import processes_of_run
from clew.work.runs.repair_on_call import repair_project
from tests.support.journals import open_journal
from tests.support.waiting import wait_until
from tests.work.conftest import kill

FAULTS = Path(__file__).with_name("faults")
SUPERVISOR, SCHEDULER = "clew.work.runs.supervisor", "clew.daemons"
MOVES = ("worktree", "started", "agent_exited", "checked", "finished")
STEPS = ("edit a.txt", "commit a.txt", "edit b.txt", "commit b.txt", "tick", "say done")


@pytest.fixture
def fault(house, monkeypatch):
    """Have a program of ours end at one of its calls."""

    def arm(program, place, when, word="-"):
        mark = house.root / "run-fault"
        module, _, method = place.partition(":")
        monkeypatch.setenv("PYTHONPATH", str(FAULTS))
        monkeypatch.setenv("FAULT", f"{program} {module} {method} {when} {word} {mark}")
        return mark

    return arm


def at_rest(house, *spec_ids):
    """Every run is over, and every spec knows; by what any command does first."""

    def look():
        repair_project(house.root)
        with open_journal(house.paths) as journal:
            runs = journal.runs()
            busy = journal.schedules(running=True)
        return not busy and all(run.phase in AT_REST and run.settled_at for run in runs)

    wait_until(look)
    for spec_id in spec_ids:
        assert house.status(spec_id) != "in_progress", house.latest(spec_id)


def assert_comes_to_its_end(house, spec_id="001"):
    """The spec is completed, after a further attempt if it takes one; its work is all there."""
    if house.status(spec_id) != "completed":
        assert house.status(spec_id) in ("pending", "failed")
        house.begin(spec_id)
        house.settled(spec_id)
    assert house.status(spec_id) == "completed"
    for run in house.attempts(spec_id):
        assert processes_of_run(run.run_id) == []
    for name in ("a.txt", "b.txt"):
        assert house.repo.text("show", f"chant/{spec_id}:{name}").startswith("made by an agent")
    assert house.repo.text("log", "--format=%s", "main") == "first"
    assert "- [x] It works" in house.body(spec_id)
    assert house.body(spec_id).count("## Agent Output") == len(house.attempts(spec_id)) - sum(
        run.result is None for run in house.attempts(spec_id)
    )


@pytest.mark.parametrize("word", MOVES)
@pytest.mark.parametrize("when", ["before", "after"])
def test_the_supervisor_is_killed_at_a_step_of_the_journal(house, fault, when, word):
    mark = fault(SUPERVISOR, "clew.work.journal.sqlite:SqliteJournal.move", when, word)
    house.spec("001", "mark run-begun", *STEPS)
    with suppress(ClewError):  # it may end before it can answer
        house.begin("001")
    wait_until(mark.exists)
    at_rest(house, "001")
    assert_comes_to_its_end(house)


@pytest.mark.parametrize(
    ("place", "when"),
    [
        ("clew.work.worktrees.worktrees:run_git", "before"),
        ("clew.work.runs.verdict:run_command", "after"),
        ("clew.specs.store.store:write_atomic", "before"),
        ("clew.specs.store.store:write_atomic", "after"),
        ("clew.specs.change.finalize:after_move", "before"),
        ("clew.work.runs.reconcile:_update_spec", "before"),
        ("clew.work.runs.reconcile:_update_spec", "after"),
    ],
)
def test_the_supervisor_is_killed_between_its_steps(house, fault, place, when):
    mark = fault(SUPERVISOR, place, when)
    house.spec("001", *STEPS, checks=("test -f a.txt",))
    with suppress(ClewError):
        house.begin("001")
    wait_until(lambda: mark.exists() or house.status("001") == "completed")
    at_rest(house, "001")
    assert_comes_to_its_end(house)


def test_the_supervisor_of_a_failed_run_is_killed_before_the_spec_knows(house, fault):
    mark = fault(SUPERVISOR, "clew.work.runs.reconcile:_update_spec", "before")
    house.spec("001", "once run-first leave 5", *STEPS)
    house.begin("001")
    wait_until(mark.exists)
    at_rest(house, "001")
    assert house.status("001") == "failed"
    assert_comes_to_its_end(house)


def test_finishing_that_is_cut_off_is_tried_again_and_then_given_up(house):
    house.spec("001", *STEPS, checks=("kill -9 $PPID",))  # of the supervisor, each time
    house.begin("001")
    run = house.reconciled("001")
    assert (run.phase, run.failure_class, run.finishings) == ("failed", "finishing", 3)
    assert house.status("001") == "failed"


def test_agent_and_supervisor_are_killed_with_work_that_is_not_committed(house):
    house.spec("001", "once run-x edit b.txt", "mark run-begun", "once run-y hang", *STEPS)
    house.begin("001")
    wait_until((house.root / "run-begun").exists)
    run = house.latest("001")
    kill(run.agent_process)
    kill(run.owner)
    at_rest(house, "001")
    run = house.latest("001")
    assert house.repo.text("show", f"{run.snapshot}:b.txt") == "made by an agent"
    assert (Path(run.worktree) / "b.txt").exists()
    assert_comes_to_its_end(house)


SCHEDULER_CALLS = [
    ("clew.work.journal.schedules:update_schedule", "before"),
    ("clew.work.scheduling.scheduler:Scheduler._fill", "before"),
    ("clew.work.scheduling.scheduler:start_work", "before"),
    ("clew.work.scheduling.scheduler:start_work", "after"),
    ("clew.work.scheduling.scheduler:Scheduler._conclude", "before"),
    ("clew.work.scheduling.scheduler:Scheduler._begin_merge", "before"),
    ("clew.work.scheduling.scheduler:Scheduler._collect_merges", "before"),
    ("clew.work.merging.queue:move_main", "before"),
    ("clew.work.merging.queue:move_main", "after"),
    ("clew.work.journal.schedules:end_schedule", "before"),
    ("clew.work.journal.schedules:end_schedule", "after"),
]


@pytest.mark.parametrize(("place", "when"), SCHEDULER_CALLS)
def test_the_scheduler_is_killed_at_any_step(house, fault, place, when):
    mark = fault(SCHEDULER, place, when)
    house.spec("a", "edit a.txt", "commit a.txt", "tick")
    house.spec("b", "edit b.txt", "commit b.txt", "tick", fields="depends_on: [a]")
    with suppress(ClewError):
        house.begin("a", chain=True)
    wait_until(mark.exists)
    at_rest(house, "a", "b")
    if house.status("b") != "completed":
        again = house.begin("b", chain=True)
        assert house.ended(again.schedule_id).status == "completed"
        at_rest(house)
    assert (house.status("a"), house.status("b")) == ("completed", "completed")
    from clew.work.merging.queue import Merger

    Merger(house.work, house.work.config()).merge(["a", "b"])
    files = set(house.repo.text("ls-tree", "--name-only", "main").split())
    assert {"a.txt", "b.txt", "README.md"} <= files
    house.repo.git("fsck", "--strict")
