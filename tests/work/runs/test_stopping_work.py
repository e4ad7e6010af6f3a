"""Pausing, taking over, handing back: whatever is stopped, nothing is lost."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from clew.daemons import WIRING
from clew.kit.errors import ClewError, Conflict, NotFound
from clew.work.agents.options import WorkOptions
from clew.work.journal.status_files import list_processes
from clew.work.processes.identity import processes_of_run
from clew.work.runs.reconcile import reconcile
from clew.work.runs.stop import (
    cancel_spec,
    delete_spec,
    pause,
    release,
    release_finished,
    reset_spec,
    take_over,
)
from clew.work.scheduling.start import Mode, begin_work
from clew.work.workspace import Workspace
from tests.support.journals import open_journal
from tests.support.waiting import wait_until
from tests.work.conftest import kill
from tests.work.runs.conftest import AGENT

HANGS = ("once run-stopped hang",)


def at_work(house, *steps, spec_id="001", criteria=("It works",)):
    """A spec whose agent did these steps and then hangs, in its first attempt only."""
    (house.root / f"run-{spec_id}").unlink(missing_ok=True)
    house.spec(spec_id, *steps, f"mark run-{spec_id}", *HANGS, "keep_prompt run-prompt",
               "commit", "tick", criteria=criteria)  # fmt: skip
    house.begin(spec_id)
    wait_until((house.root / f"run-{spec_id}").exists)
    return house.latest(spec_id)


def test_a_paused_spec_stays_in_progress_and_goes_on_with_its_uncommitted_edits(house):
    run = at_work(house, "session s-42", "edit done.txt", "commit done.txt", "edit half.txt")
    paused = pause(house.work, "001")
    assert (paused.run_id, paused.phase) == (run.run_id, "paused")
    assert house.status("001") == "in_progress"
    worktree = Path(paused.worktree)
    assert (worktree / "half.txt").read_text("utf-8") == "made by an agent\n"
    (worktree / "by-hand.txt").write_text("a correction\n", "utf-8")
    after = house.done("001")
    assert (after.phase, after.worktree, after.branch) == ("finished", run.worktree, run.branch)
    assert after.continues == run.run_id
    assert house.status("001") == "completed"
    names = house.repo.text("ls-tree", "--name-only", "chant/001").split()
    assert {"done.txt", "half.txt", "by-hand.txt"} <= set(names)
    prompt = (house.root / "run-prompt").read_text("utf-8")
    assert "It was paused; it did not fail." in prompt


def test_an_agent_that_can_goes_on_with_its_own_session(house, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    words = f'echo "$@" >> "$CLEW_PROJECT/run-words"\nexec {sys.executable} {AGENT}\n'
    program.write_text(f"#!/bin/sh\n{words}", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    house.spec("001", "session s-42", "edit a.txt", "mark run-1", *HANGS, "commit a.txt", "tick",
               fields="provider: claude\nmodel: sonnet")  # fmt: skip
    unfenced = WorkOptions(sandbox="off")  # it tells the test in the project how far it is
    house.begin("001", options=unfenced)
    wait_until((house.root / "run-1").exists)
    assert pause(house.work, "001").session_id == "s-42"
    assert house.done("001", options=unfenced).phase == "finished"
    first, second = (house.root / "run-words").read_text("utf-8").splitlines()
    assert "--model sonnet" in first
    assert "--resume" not in first
    assert second.endswith("--resume s-42")
    assert house.store.load("001").text("model") == "sonnet"


@pytest.mark.parametrize(
    ("give_up", "status"), [(cancel_spec, "cancelled"), (reset_spec, "pending")]
)
def test_the_agent_of_a_spec_that_is_given_up_is_stopped(house, give_up, status):
    run = at_work(house, "edit half.txt")
    give_up(house.work, "001", actor="t")
    after = house.latest("001")
    assert (after.run_id, after.phase) == (run.run_id, "cancelled")
    assert not processes_of_run(run.run_id)
    assert house.status("001") == status
    assert (Path(after.worktree) / "half.txt").exists()
    if status == "pending":
        assert house.done("001").phase == "finished"


def test_a_deleted_spec_has_no_agent(house):
    run = at_work(house)
    delete_spec(house.work, "001", actor="t")
    assert not processes_of_run(run.run_id)
    assert house.latest("001").phase == "cancelled"


def test_a_spec_nobody_works_on_cannot_be_paused(house):
    house.spec("001")
    text = "Failed to pause work for spec '001': No running process found"
    with pytest.raises(NotFound, match=text):
        pause(house.work, "001")


def test_a_spec_is_paused_while_its_checks_run(house):
    house.spec(
        "001", "edit a.txt", "commit a.txt", "tick",
        criteria=("One", "Two"), checks=("touch $CLEW_PROJECT/run-check; sleep 2", "sleep 600"),
    )  # fmt: skip
    house.begin("001")
    wait_until((house.root / "run-check").exists)
    assert pause(house.work, "001").phase == "paused"
    assert house.status("001") == "in_progress"


def test_whoever_takes_over_gets_the_facts_and_nobody_else_gets_the_spec(house):
    run = at_work(
        house,
        "tool Bash make_test bad 2_failed",
        "tool Edit half.txt",
        "edit done.txt",
        "commit done.txt",
        "edit half.txt",
        criteria=("One", "Two"),
    )
    taken = take_over(house.work, "001").as_json()
    assert taken["spec_id"] == "001"
    assert taken["worktree_path"] == run.worktree
    facts = taken["facts"]
    assert len(facts["commits"]) == 1
    assert "done.txt" in facts["diffstat"]
    assert facts["dirty_files"] == ["half.txt"]
    assert facts["criteria"] == {"total": 2, "checked": 0, "open": ["One", "Two"]}
    assert facts["last_tool"].startswith("Edit")
    assert facts["last_test"]["ok"] is False
    assert "0/2 acceptance criteria are checked." in taken["analysis"]
    assert "Complete the remaining acceptance criteria: One, Two." in taken["suggestion"]
    assert "tool: Edit" in taken["log_tail"]
    assert house.status("001") == "in_progress"
    with pytest.raises(Conflict, match="has been taken over"):
        house.begin("001")


def test_a_spec_nobody_works_on_is_taken_over_only_by_force(house):
    house.spec("001")
    text = "Failed to take over spec '001': Spec not currently being worked"
    with pytest.raises(NotFound, match=text):
        take_over(house.work, "001")
    taken = take_over(house.work, "001", force=True).as_json()
    assert taken["worktree_path"] is None
    assert "No agent has worked on this spec yet" in taken["analysis"]


def test_a_failed_run_is_taken_over_by_force_and_finished_by_hand(house):
    house.spec("001", "edit a.txt", "leave 3")
    run = house.done("001")
    assert take_over(house.work, "001", force=True).run.phase == "held"
    worktree = Path(run.worktree)
    house.repo.git("-C", str(worktree), "add", "a.txt")
    house.repo.git("-C", str(worktree), "commit", "-m", "by hand")
    path = house.root / ".chant" / "specs" / "001.md"
    path.write_text(path.read_text("utf-8").replace("- [ ]", "- [x]"), "utf-8")
    assert house.status("001") == "in_progress"
    release_finished(house.work, "001")
    done = house.settled("001")
    assert (done.run_id, done.phase, done.failure) == (run.run_id, "finished", None)
    assert house.status("001") == "completed"


def test_what_is_handed_back_is_gone_on_with_from_the_persons_commits(house):
    run = at_work(house, "edit a.txt")
    take_over(house.work, "001")
    worktree = Path(run.worktree)
    (worktree / "mine.txt").write_text("by a person\n", "utf-8")
    house.repo.git("-C", str(worktree), "add", "mine.txt")
    house.repo.git("-C", str(worktree), "commit", "-m", "mine")
    assert release(house.work, "001").phase == "paused"
    after = house.done("001")
    assert (after.phase, after.attempt) == ("finished", 2)
    names = house.repo.text("ls-tree", "--name-only", "chant/001").split()
    assert {"a.txt", "mine.txt"} <= set(names)


def test_only_what_was_taken_over_can_be_handed_back(house):
    house.spec("001")
    with pytest.raises(NotFound, match="has not been taken over"):
        release(house.work, "001")


def test_of_two_starters_one_gets_the_spec(house):
    house.spec("001", "mark run-001", "hang")
    results = []

    def start():
        with Workspace(house.root, WIRING) as work:
            try:
                results.append(begin_work(work, ("001",), Mode()))
            except ClewError as error:
                results.append(error)

    racers = [threading.Thread(target=start) for _ in range(2)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    errors = [result for result in results if isinstance(result, ClewError)]
    assert len(errors) == 1
    assert "already being worked" in errors[0].message or "in progress" in errors[0].message
    assert len(house.attempts("001")) == 1


def test_the_list_of_processes_survives_and_can_be_narrowed(house):
    house.spec("001", "edit a.txt", "commit a.txt", "tick")
    house.spec("002", "leave 2")
    house.done("001")
    house.done("002")
    run = at_work(house, "edit c.txt", spec_id="003")
    for file in house.paths.processes.glob("*.json"):
        file.unlink()
    running = list_processes(house.work.journal)
    assert [process["spec_id"] for process in running["processes"]] == ["003"]
    assert running["summary"] == {"running": 1, "completed": 1, "failed": 1}
    found = list_processes(house.work.journal, include_completed=True)["processes"]
    assert {(p["spec_id"], p["status"]) for p in found} == {
        ("001", "completed"), ("002", "failed"), ("003", "running"),
    }  # fmt: skip
    narrowed = list_processes(house.work.journal, process_id=f"003-{run.owner.pid}")
    assert narrowed["processes"][0]["pid"] == run.owner.pid
    assert list_processes(house.work.journal, process_id="no-such")["processes"] == []


def test_a_pid_that_somebody_else_has_now_is_not_taken_for_the_run(house):
    run = at_work(house, "edit a.txt")
    kill(run.owner)
    with open_journal(house.paths) as journal:
        from clew.work.processes.identity import own_identity

        journal.update(run.run_id, owner=replace(own_identity(), started="ticks-1"))
    run = house.reconciled("001")
    assert (run.phase, house.status("001")) == ("interrupted", "failed")
    assert reconcile(house.work) == []
