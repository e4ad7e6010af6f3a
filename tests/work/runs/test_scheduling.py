"""Many specs: slots that are filled again, dependencies, files in common, failures."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import datetime

import pytest

from clew.kit.errors import Conflict, Invalid, NotFound
from clew.work.journal.schedules import stop_schedules
from clew.work.journal.status_files import list_processes
from clew.work.model import FailureClass
from clew.work.processes.identity import identity_of, is_alive
from clew.work.runs.reconcile import reconcile
from clew.work.runs.stop import pause
from clew.work.scheduling.ready import Policy, retry_time, share_files
from tests.support.journals import open_journal
from tests.support.waiting import wait_until
from tests.work.runs.conftest import end_scheduler


def working(spec_id, *, seconds="0.2"):
    """The steps of an agent that does its work, and notes from when to when."""
    return (
        "note_span run-spans", f"sleep {seconds}", f"edit {spec_id}.txt", f"commit {spec_id}.txt",
        "tick", "note_span run-spans",
    )  # fmt: skip


def spans(house):
    """From when to when each spec was worked on."""
    found = {}
    for line in (house.root / "run-spans").read_text("utf-8").splitlines():
        name, moment = line.split()
        found.setdefault(name, []).append(float(moment))
    return found


def most_at_once(house):
    """How many specs had a run at the same time."""
    with open_journal(house.paths) as journal:
        runs = [(run.created_at, run.ended_at) for run in journal.runs()]
    return max(sum(a <= moment < b for a, b in runs) for moment, _ in runs)


NEEDS = {
    "s01": "", "s02": "", "s03": "", "s04": "s01", "s05": "s01, s02", "s06": "s03",
    "s07": "s04, s05", "s08": "", "s09": "s06, s08", "s10": "s07, s09",
}  # fmt: skip


def test_ten_specs_with_dependencies_go_through_three_slots_and_the_merge_queue(house):
    first = ("s01", "s02", "s03")  # each of them waits until all three are at work
    meet = {
        name: [f"mark run-{name}", *(f"wait_for run-{other}" for other in first)] for name in first
    }
    for name, needs in NEEDS.items():
        steps = [*meet.get(name, ()), *working(name)]
        house.spec(name, *steps, fields=f"depends_on: [{needs}]")
    begun = house.begin("s01", parallel=3)
    assert begun.record["mode"] == "parallel(3)"
    assert begun.record["process_id"] == f"s01-{begun.record['pid']}"
    done = house.ended(begun.schedule_id, 400)
    assert (done.status, done.note) == ("completed", "10 completed")
    assert {house.status(name) for name in NEEDS} == {"completed"}
    files = set(house.repo.text("ls-tree", "--name-only", "main").split())
    assert {f"{name}.txt" for name in NEEDS} <= files
    found = spans(house)
    assert most_at_once(house) == 3
    for name, needs in NEEDS.items():
        for needed in filter(None, needs.split(", ")):
            assert found[needed][1] <= found[name][0], (needed, name)
            # What a spec builds on was there when its own work began.
            base = house.latest(name).base_commit
            assert f"{needed}.txt" in house.repo.text("ls-tree", "--name-only", base)


def test_a_chain_works_one_after_the_other_and_takes_what_becomes_ready(house):
    house.spec("a", *working("a"))
    house.spec("b", *working("b"), fields="depends_on: [a]")
    house.spec("c", *working("c"))
    begun = house.begin("c", chain=True)
    assert begun.record["mode"] == "chain"
    assert house.ended(begun.schedule_id).note == "3 completed"
    found = spans(house)
    assert most_at_once(house) == 1
    assert sorted(found, key=found.get) == ["c", "a", "b"]
    processes = list_processes(house.work.journal, include_completed=True)["processes"]
    assert [p["status"] for p in processes if p["process_id"] == begun.record["process_id"]] == [
        "completed"
    ]


def test_files_in_common_are_worked_on_one_after_the_other(house):
    for name in ("a", "b", "c"):
        fields = "target_files: [src/]" if name != "c" else "target_files: [docs/x.md]"
        house.spec(name, *working(name, seconds="0.6"), fields=fields)
    house.ended(house.begin(parallel=3).schedule_id)
    found = spans(house)
    (a, a_end), (b, b_end) = found["a"], found["b"]
    assert a_end <= b or b_end <= a


def test_a_driver_stands_for_its_members(house):
    house.spec("d", criteria=(), fields="type: group")
    house.spec("d.1", *working("d.1"))
    house.spec("d.2", *working("d.2"))
    house.spec("other", *working("other"))
    begun = house.begin("d")
    assert (begun.record["spec_id"], begun.record["mode"]) == ("d", "chain")
    assert house.ended(begun.schedule_id).note == "2 completed"
    assert house.status("d") == "completed"
    assert house.status("other") == "pending"


def test_a_chain_stops_at_a_failure_and_parallel_work_passes_it_by(house):
    house.spec("a", "leave 1")
    house.spec("b", *working("b"))
    house.spec("c", *working("c"), fields="depends_on: [a]")
    done = house.ended(house.begin("a", chain=True).schedule_id)
    assert (done.status, house.status("b")) == ("failed", "pending")
    assert done.note.startswith("1 failed; stopped: a failed: The agent exited with status 1")
    done = house.ended(house.begin("a", parallel=2).schedule_id)
    assert (done.note, house.status("b"), house.status("c")) == (
        "1 completed, 1 failed", "completed", "pending",
    )  # fmt: skip


def test_what_failed_is_tried_again_and_the_agent_is_told_why(house):
    house.spec(
        "a", "once run-a leave 9", "keep_prompt run-prompt", "edit a.txt", "commit a.txt", "tick"
    )
    begun = house.begin("a", chain=True, on_failure="retry", retries=2)
    assert house.ended(begun.schedule_id).note == "1 completed"
    first, second = house.attempts("a")
    assert (first.failure_class, second.phase) == ("agent", "finished")
    assert "exited with status 9" in (house.root / "run-prompt").read_text("utf-8")


def test_retries_are_bounded(house):
    house.spec("a", "edit a.txt", "commit a.txt")
    begun = house.begin("a", chain=True, on_failure="retry", retries=2)
    assert house.ended(begun.schedule_id).status == "failed"
    assert [run.failure_class for run in house.attempts("a")] == ["criteria"] * 3
    assert house.status("a") == "needs_attention"


def test_a_busy_service_is_asked_again_when_it_says_so(house):
    house.configure("watch:\n  failure:\n    retry_delay_ms: 10")
    house.spec(
        "a",
        "once run-said complain 429 Too Many Requests, Retry-After: 2",
        "once run-a leave 1",
        *working("a"),
    )
    begun = house.begin("a", chain=True)
    assert house.ended(begun.schedule_id).note == "1 completed"
    first, second = house.attempts("a")
    assert first.failure_class == "rate_limit"
    assert second.created_at >= first.retry_at


def test_what_the_project_calls_passing_is_tried_again(house):
    house.configure(
        "watch:\n  failure:\n    retry_delay_ms: 10\n"
        "    retryable_patterns: ['licen[cs]e server', 'not (a pattern']"
    )
    house.spec(
        "a", "once run-said complain License Server away", "once run-a leave 1", *working("a")
    )
    assert house.ended(house.begin("a", chain=True).schedule_id).note == "1 completed"
    assert [run.failure_class for run in house.attempts("a")] == ["agent", None]


class Failed:
    """A run that failed."""

    def __init__(self, kind, ended_at="2026-02-02T10:00:00.000Z", retry_at=None, said=None):
        self.failure_class = kind
        self.failure = said
        self.ended_at = ended_at
        self.retry_at = retry_at


TEN = 1770026400.0


@pytest.mark.parametrize(
    ("policy", "failed", "wanted"),
    [
        (Policy("skip"), [Failed("agent")], None),
        (Policy("skip"), [Failed("network")], TEN + 60),
        (Policy("skip"), [Failed("network"), Failed("network")], TEN + 120),
        (Policy("stop"), [Failed("rate_limit", retry_at="2026-02-02T12:00:00.000Z")], TEN + 7200),
        (Policy("skip", retries=1), [Failed("network"), Failed("network")], None),
        (
            Policy("skip", patterns=("disk .* quota",)),
            [Failed("agent", said="Disk X quota")],
            TEN + 60,
        ),
        (Policy("skip", patterns=("disk .* quota",)), [Failed("agent", said="other")], None),
        (Policy("retry"), [Failed("checks")], TEN + 5),
        (Policy("retry", retries=0), [Failed("checks")], None),
        (Policy("retry"), [Failed(FailureClass.AUTH)], None),
        (Policy("retry"), [Failed(FailureClass.COST)], None),
    ],
)
def test_when_a_failure_is_tried_again(policy, failed, wanted):
    assert retry_time(policy, failed, TEN + 5) == wanted


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        (["a.py"], ["a.py"], True),
        (["./a.py"], ["b.py", "a.py"], True),
        (["src/"], ["src/x/y.py"], True),
        (["src"], ["srcs/x.py"], False),
        (["src/*.py"], ["src/a.py"], True),
        (["docs/*.md"], ["src/a.py"], False),
        ([], ["a.py"], False),
    ],
)
def test_which_files_are_in_common(one, other, wanted):
    assert share_files(one, other) is wanted
    assert share_files(other, one) is wanted


def test_one_scheduler_works_for_a_project(house):
    house.spec("a", "mark run-a", "hang")
    house.spec("b", "hang")
    first = house.begin("a", chain=True)
    wait_until((house.root / "run-a").exists)
    with pytest.raises(Conflict) as refused:
        house.begin("b", chain=True)
    pid = first.record["pid"]
    assert refused.value.message == (
        f"Another work process is already running (spec: a, PID: {pid})"
    )


def test_a_paused_spec_ends_its_chain_and_keeps_its_work(house):
    house.spec("a", "edit a.txt", "mark run-a", "hang")
    house.spec("b", *working("b"))
    begun = house.begin("a", chain=True)
    wait_until((house.root / "run-a").exists)
    pause(house.work, "a")
    done = house.ended(begun.schedule_id)
    assert done.note == "1 left; stopped: a was paused"
    assert (house.status("a"), house.status("b")) == ("in_progress", "pending")


def test_a_scheduler_that_is_asked_to_stop_starts_nothing_more(house):
    house.spec("a", "mark run-a", "hang")
    house.spec("b", *working("b"))
    begun = house.begin("a", chain=True)
    wait_until((house.root / "run-a").exists)
    stop_schedules(house.paths, house.work.journal)
    done = house.ended(begun.schedule_id)
    assert done.note == "nothing was ready; stopped: as asked; a still at work"
    assert house.run(house.latest("a").run_id).phase == "started"
    assert house.status("b") == "pending"


def test_a_scheduler_that_is_killed_leaves_its_runs_at_work_and_nothing_stuck(house):
    house.spec("a", "mark run-a", "wait_for run-go", *working("a"))
    house.spec("b", *working("b"))
    begun = house.begin("a", chain=True)
    wait_until((house.root / "run-a").exists)
    scheduler = identity_of(begun.record["pid"])
    os.kill(begun.record["pid"], signal.SIGKILL)
    wait_until(lambda: not is_alive(scheduler))
    reconcile(house.work)
    (schedule,) = house.work.journal.schedules()
    assert schedule.status == "failed"
    assert "its scheduler was killed" in schedule.note
    (house.root / "run-go").write_text("")
    assert house.settled("a").phase == "finished"
    again = house.begin("b", chain=True)
    assert house.ended(again.schedule_id).note == "1 completed"


def test_somebody_elses_run_is_left_to_them(house):
    house.spec("a", "mark run-a", "wait_for run-go", *working("a"))
    house.spec("b", *working("b"))
    house.begin("a")
    wait_until((house.root / "run-a").exists)
    done = house.ended(house.begin("b", parallel=2).schedule_id)
    assert (done.note, len(house.attempts("a"))) == ("1 completed", 1)
    (house.root / "run-go").write_text("")


def test_what_a_spec_builds_on_is_merged_before_it_starts(house):
    house.spec("a", *working("a"))
    house.spec("b", *working("b"), fields="depends_on: [a]")
    house.done("a")
    with pytest.raises(Conflict, match="Spec 'b' builds on a, whose work is not in main yet"):
        house.begin("b", merge=False)
    assert house.ended(house.begin("b").schedule_id).note == "1 completed"
    files = house.repo.text("ls-tree", "--name-only", house.latest("b").base_commit)
    assert "a.txt" in files


def test_what_cannot_be_begun_is_told(house):
    house.spec("a", fields="status: completed")
    house.spec("b")
    with pytest.raises(NotFound, match="Spec not found: zz"):
        house.begin("zz", chain=True)
    with pytest.raises(Conflict, match="Spec 'a' is completed"):
        house.begin("a", chain=True)
    with pytest.raises(Invalid, match="parallel must be from 1 to 64: 0"):
        house.begin("b", parallel=0)
    with pytest.raises(Invalid, match="Several specs need a mode"):
        house.begin("b", "b")
    house.spec("b", fields="status: cancelled")
    with pytest.raises(NotFound, match="No spec is ready"):
        house.begin(parallel=2)


def test_each_agent_has_as_many_runs_as_it_may_have(house):
    import json

    from tests.work.runs.conftest import AGENT

    command = json.dumps(f"{sys.executable} {AGENT}")
    house.configure(
        f"parallel:\n  agents:\n    - name: only\n      command: {command}\n      max_concurrent: 1"
    )
    for name in ("a", "b", "c"):
        house.spec(name, *working(name))
    assert house.ended(house.begin(parallel=3).schedule_id).note == "3 completed"
    assert most_at_once(house) == 1


def test_parallel_work_starts_one_after_the_other(house):
    house.configure("parallel:\n  stagger_delay_ms: 1500\n  stagger_jitter_ms: 100")
    for name in ("a", "b"):
        house.spec(name, *working(name))
    assert house.ended(house.begin(parallel=2).schedule_id).note == "2 completed"
    with open_journal(house.paths) as journal:
        first, second = sorted(datetime.fromisoformat(run.created_at) for run in journal.runs())
    assert (second - first).total_seconds() >= 1.4


def test_the_start_is_answered_before_the_worktree_is_ready(house):
    house.configure("worktree:\n  setup: ['sleep 5']")
    house.spec("a", *working("a"))
    house.begin("a")
    assert house.latest("a").phase in {"prepared", "worktree"}
    assert house.settled("a").phase == "finished"


def test_end_scheduler_leaves_other_processes_alone():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        end_scheduler(bystander.pid)
        bystander.communicate(b"Good morning\n")
    assert bystander.returncode == 0
