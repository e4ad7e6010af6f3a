"""kill -9 of every actor at every step: nothing is lost, nothing stays stuck."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clew.kit.errors import Unavailable
from clew.kit.locks import try_lock
from clew.work.journal.active import IS_ACTIVE, has_active_runs
from clew.work.model import AT_REST, Phase, Request, RunPlan, WorktreeSettings, new_run_id
from clew.work.processes.identity import is_alive, processes_of_run
from clew.work.runs.prepare import continuation, start_run
from clew.work.runs.reconcile import reconcile
from clew.work.workspace import Workspace
from tests.support.journals import open_journal
from tests.support.waiting import wait_until
from tests.work.conftest import kill
from tests.work.journal.test_runs import CLAIM


def settled(project, run):
    """The run after its owner is gone and the next command came by."""
    wait_until(lambda: not is_alive(project.run(run.run_id).owner))
    wait_until(lambda: reconcile(project.work) or not project.run(run.run_id).is_open)
    return project.run(run.run_id)


def assert_can_go_on(project, run):
    """The spec is free, and a further run has the earlier one's work."""
    assert processes_of_run(run.run_id) == []
    assert reconcile(project.work) == []
    following = continuation(project.request("edit=after.txt", "commit=after.txt"), run)
    after = project.ended(start_run(project.work, following, seconds=20))
    assert (after.phase, after.attempt) == ("finished", run.attempt + 1)


def test_the_starter_is_killed_after_its_claim(project):
    done = subprocess.run(
        [sys.executable, "-c", CLAIM, str(project.root)],
        input="go\n", capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == "won\n"
    (found,) = reconcile(project.work)
    assert (found.run.phase, found.run.failure_class) == ("interrupted", "supervisor")
    assert project.ended(project.start("edit", "commit")).phase == "finished"


def test_the_supervisor_is_killed_while_the_worktree_is_set_up(project):
    settings = WorktreeSettings(setup=("echo half > half.txt; kill -9 $PPID; sleep 600",))
    with pytest.raises(Unavailable, match="supervisor ended at once"):
        project.start("edit", worktree=settings)
    with open_journal(project.paths) as journal:
        run = journal.latest("001")
    run = settled(project, run)
    assert (run.phase, run.failure_class) == ("interrupted", "supervisor")
    assert project.repo.text("show", f"{run.snapshot}:half.txt") == "half"
    assert_can_go_on(project, run)


@pytest.mark.parametrize(
    "before", [(), ("edit",), ("edit", "commit"), ("edit", "commit", "edit=b")]
)
def test_the_supervisor_is_killed_while_its_agent_works(project, before):
    run = project.start(*before, "edit=mark", "hang")
    mark = Path(run.worktree) / "mark"
    wait_until(mark.exists)
    kill(run.owner)
    run = settled(project, run)
    assert (run.phase, run.failure_class) == ("interrupted", "supervisor")
    kept = project.repo.text("ls-tree", "--name-only", run.snapshot).split()
    assert {"README.md", "mark", *(["made.txt"] if before else [])} <= set(kept)
    assert "state: run interrupted" in project.log()
    assert_can_go_on(project, run)


def test_the_supervisor_is_killed_as_the_agent_ends(project):
    try:
        run = project.start("edit", "end_parent")
    except Unavailable:  # it may die before it answers
        with open_journal(project.paths) as journal:
            run = journal.latest("001")
    run = settled(project, run)
    assert run.phase == "interrupted"
    assert project.repo.text("show", f"{run.snapshot}:made.txt").startswith("made by")
    assert_can_go_on(project, run)


def test_the_agent_is_killed(project):
    run = project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    kill(run.agent_process)
    run = project.ended(run)
    assert (run.phase, run.failure_class, run.exit_code) == ("failed", "killed", -9)
    assert run.snapshot
    assert_can_go_on(project, run)


def test_supervisor_and_agent_are_killed_together(project):
    run = project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    kill(run.owner)
    kill(run.agent_process)
    run = settled(project, run)
    assert run.phase == "interrupted"
    assert "made.txt" in project.repo.text("ls-tree", "--name-only", run.snapshot)
    assert_can_go_on(project, run)


def test_a_run_whose_agent_ended_is_concluded_by_what_was_recorded(project):
    run = project.ended(project.start("edit", "commit"))
    with open_journal(project.paths) as journal:
        again = journal.claim("002", run.plan, mode="single")
        for phase in (Phase.WORKTREE, Phase.STARTED, Phase.AGENT_EXITED):
            journal.move(again.run_id, phase)
        journal.update(again.run_id, owner=replace(again.owner, started="ticks-1"))
    (found,) = reconcile(project.work)
    assert found.run.phase == "finished"


def test_a_pid_that_another_process_has_now_does_not_keep_a_run_alive(project):
    run = project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    kill(run.owner)
    wait_until(lambda: not is_alive(run.owner))
    with open_journal(project.paths) as journal:
        own = journal.claim("002", RunPlan(), mode="single").owner
        # This test's own pid, as if the supervisor had had it before.
        journal.update(run.run_id, owner=replace(own, started="ticks-1"))
        journal.move(journal.open_run("002").run_id, Phase.CANCELLED)
    (found,) = reconcile(project.work)
    assert found.run.phase == "interrupted"
    assert processes_of_run(run.run_id) == []


def test_a_restart_of_the_machine_is_told_apart(project):
    with open_journal(project.paths) as journal:
        run = journal.claim("001", RunPlan(), mode="single")
        journal.update(run.run_id, owner=replace(run.owner, boot="an earlier one"))
    (found,) = reconcile(project.work)
    assert (found.run.phase, found.run.failure_class) == ("interrupted", "reboot")


def test_a_living_run_is_left_alone_and_so_is_one_that_is_being_started(project):
    run = project.start("say", "hang")
    starting = new_run_id()
    lock = try_lock(project.paths.run_lock(starting))
    with open_journal(project.paths) as journal:
        journal.claim("002", RunPlan(), mode="single", run_id=starting)
    assert reconcile(project.work) == []
    assert project.run(run.run_id).phase == "started"
    lock.release()
    (found,) = reconcile(project.work)  # the starter gave up without a word
    assert found.run.phase == "interrupted"


def test_a_deleted_lock_file_does_not_make_a_living_run_an_orphan(project):
    run = project.start("say", "hang")
    project.paths.run_lock(run.run_id).unlink()
    assert reconcile(project.work) == []


def test_the_lock_is_held_by_the_supervisor_alone(project):
    run = project.start("say", "background", "hang")
    wait_until(lambda: "hello" in project.log())
    assert try_lock(project.paths.run_lock(run.run_id)) is None
    kill(run.owner)
    wait_until(lambda: not is_alive(run.owner))
    lock = try_lock(project.paths.run_lock(run.run_id))
    assert lock is not None  # though the agent and its children live on
    lock.release()


def test_a_wish_is_kept_though_the_supervisor_was_killed(project):
    run = project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    with open_journal(project.paths) as journal:
        kill(run.owner)
        journal.ask(run.run_id, Request.PAUSE)
    run = settled(project, run)
    assert (run.phase, run.failure_class) == ("paused", None)
    assert run.snapshot


def test_a_vanished_worktree_is_made_again_from_branch_and_snapshot(project):
    import shutil

    run = project.start("edit", "commit", "edit=unsaved.txt", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    kill(run.owner)
    run = settled(project, run)
    shutil.rmtree(run.worktree)
    following = continuation(project.request("say=again"), run)
    after = project.ended(start_run(project.work, following, seconds=20))
    assert after.phase == "finished"
    assert (Path(after.worktree) / "made.txt").exists()
    assert (Path(after.worktree) / "unsaved.txt").read_text(encoding="utf-8").startswith("made by")


def test_two_commands_that_reconcile_at_once_do_it_once(project):
    run = project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    kill(run.owner)
    wait_until(lambda: not is_alive(run.owner))
    code = (
        "import sys; from pathlib import Path; from clew.work.workspace import Workspace;"
        "from clew.work.runs.reconcile import reconcile;"
        "print(len(reconcile(Workspace(Path(sys.argv[1])))))"
    )
    racers = [
        subprocess.Popen([sys.executable, "-c", code, str(project.root)], stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    counts = [int(racer.communicate(timeout=60)[0]) for racer in racers]
    assert sum(counts) == 1
    assert project.history(run.run_id).count("interrupted") == 1


def test_whoever_looks_while_another_process_repairs_waits_for_it(project, monkeypatch):
    run, held = project.start("edit", "say", "hang"), []
    wait_until(lambda: "hello" in project.log())
    kill(run.owner)
    wait_until(lambda: not is_alive(run.owner))
    wait_until(lambda: held.append(try_lock(project.paths.run_lock(run.run_id))) or held[-1])

    def refused_once(path):
        lock = try_lock(path)
        if lock is None:
            held[-1].release()
        return lock

    monkeypatch.setattr("clew.work.runs.reconcile.try_lock", refused_once)
    reconcile(project.work)
    assert project.run(run.run_id).phase == "interrupted"


def test_one_query_says_whether_there_is_anything_to_reconcile(project):
    for phase in Phase:
        assert (f"'{phase}'" in IS_ACTIVE) == (phase in AT_REST)
    assert not has_active_runs(project.root)
    run = project.start("say", "hang")
    assert has_active_runs(project.root)
    kill(run.owner)
    settled(project, run)
    assert not has_active_runs(project.root)
    for file in project.paths.store.glob("runs.sqlite3*"):
        file.unlink()
    project.paths.journal.write_bytes(b"not a database" * 100)
    assert has_active_runs(project.root)
    with (
        Workspace(project.root) as work,
        pytest.raises(Unavailable, match="cannot be used: file is not a database"),
    ):
        reconcile(work)
    project.paths.journal.unlink()
