"""Pausing, holding and cancelling from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.kit.errors import Conflict, NotFound
from clew.work.model import Limits, Phase, Request, WorktreeSettings
from clew.work.processes.identity import is_alive, processes_of_run
from clew.work.runs.prepare import continuation, start_run
from clew.work.runs.stop import stop_run
from tests.support.journals import open_journal
from tests.support.waiting import wait_until
from tests.work.conftest import kill


def test_pausing_keeps_uncommitted_edits_and_resuming_goes_on_with_them(project):
    run = project.start("edit", "commit", "edit=unsaved.txt", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    paused = stop_run(project.work, "001", Request.PAUSE)
    assert (paused.phase, paused.failure_class) == ("paused", None)
    assert processes_of_run(run.run_id) == []
    assert (Path(paused.worktree) / "unsaved.txt").exists()
    assert "unsaved.txt" in project.repo.text("ls-tree", "--name-only", paused.snapshot)
    following = continuation(project.request("commit=unsaved.txt"), paused)
    after = project.ended(start_run(project.work, following, seconds=20))
    assert (after.phase, after.worktree) == ("finished", paused.worktree)
    assert project.repo.text("rev-list", "--count", f"{after.base_commit}..chant/001") == "2"
    assert project.repo.text("status", "--porcelain") == ""


def test_an_agent_that_will_not_listen_is_ended_by_force(project):
    run = project.start("edit", "stubborn", limits=Limits(stop_grace_seconds=0.3))
    wait_until(lambda: "ignoring" in project.log())
    paused = stop_run(project.work, "001", Request.PAUSE)
    assert paused.phase == "paused"
    assert not is_alive(run.agent_process)


def test_a_taken_over_spec_is_held_until_it_is_given_back(project):
    project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    held = stop_run(project.work, "001", Request.HOLD)
    assert (held.phase, held.is_open) == ("held", True)
    with pytest.raises(Conflict, match="taken over"):
        project.start("edit")
    with open_journal(project.paths) as journal:
        journal.move(held.run_id, Phase.PAUSED)
    assert project.ended(project.start("edit")).phase == "finished"


def test_cancelling_keeps_the_work_too(project):
    project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    cancelled = stop_run(project.work, "001", Request.CANCEL)
    assert cancelled.phase == "cancelled"
    assert cancelled.snapshot


def test_a_run_can_be_paused_while_its_worktree_is_set_up(project):
    slow = WorktreeSettings(setup=("echo begun; sleep 600",))
    started = start_run(project.work, project.request("edit", worktree=slow), seconds=0.1)
    wait_until(lambda: project.paths.log_file("001").exists() and "begun" in project.log())
    assert stop_run(project.work, "001", Request.PAUSE).phase == "paused"
    assert processes_of_run(started.run_id) == []


def test_stopping_works_though_the_supervisor_is_dead(project):
    run = project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    kill(run.owner)
    assert stop_run(project.work, "001", Request.PAUSE).phase == "paused"


def test_there_must_be_something_to_stop(project):
    with pytest.raises(NotFound, match="No running process found"):
        stop_run(project.work, "001", Request.PAUSE)


def test_a_plain_signal_interrupts_the_run_and_keeps_its_work(project):
    import signal

    from clew.work.processes.identity import send_signal

    run = project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    send_signal(run.owner, signal.SIGTERM)
    run = project.ended(run)
    assert run.phase == "interrupted"
    assert run.snapshot
