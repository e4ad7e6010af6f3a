"""Runs of agents: whatever ends or stops, work is kept, the spec is free again, nobody is stuck."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from clew.kit.errors import ClewError
from clew.work.model import Phase, Request, RunPlan
from clew.work.processes.identity import is_alive, own_identity, processes_of_run, send_signal
from clew.work.runs.prepare import continuation, start_run
from clew.work.runs.reconcile import reconcile
from clew.work.runs.stop import stop_run
from tests.support.faults import (
    EIO,
    KILL,
    chosen,
    clock,
    need_strace,
    python,
    run,
    run_with,
    small_disk,
    steps_of,
)
from tests.support.journals import open_journal
from tests.support.proof import amount
from tests.support.waiting import wait_until
from tests.work.conftest import SCRIPT, Project, kill

# Starts a run and waits until it is over; what it starts is traced with it.
START = """
import sys, time
from pathlib import Path
from clew.kit.errors import ClewError
from clew.work.runs.prepare import start_run
from clew.work.model import AgentChoice, Limits, RunPlan, RunRequest
from clew.work.workspace import Workspace
root, *command = sys.argv[1:]
work = Workspace(Path(root))
plan = RunPlan(agent=AgentChoice("command", command=tuple(command)),
               limits=Limits(stop_grace_seconds=2))
try:
    run = start_run(work, RunRequest("001", "Do it.", plan), seconds=20)
    while not sys.stdin.closed:
        run = work.journal.get(run.run_id)
        if not run.is_open or not Path(f"/proc/{run.owner.pid}").exists():
            break
        time.sleep(0.05)
except (ClewError, OSError) as error:
    sys.exit(f"refused: {error}")
"""


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path / "house")
    yield made
    end_everything(made)


def end_everything(project):
    """kill -9 whatever a project's runs still have, and close its journal."""
    project.work.__exit__()
    if not project.paths.journal.exists():
        return
    with open_journal(project.paths) as journal:
        runs = journal.runs()
    for one in runs:
        for process in [*processes_of_run(one.run_id), one.owner]:
            if process is not None and process.pid != os.getpid():
                kill(process)


def agent(*steps):
    return (sys.executable, SCRIPT, *steps)


def settled(project):
    """The newest run once nobody owns it, or None if none was ever claimed."""
    with open_journal(project.paths) as journal:
        found = journal.latest("001")
    if found is None:
        return None
    wait_until(lambda: reconcile(project.work) or not project.run(found.run_id).is_open)
    return project.run(found.run_id)


def assert_can_go_on(project, before=None):
    """No process is left, and the spec can be worked on again, with what was done."""
    request = project.request("edit=after.txt", "commit=after.txt")
    if before is not None:
        assert processes_of_run(before.run_id) == []
        request = continuation(request, before)
    after = project.ended(start_run(project.work, request, seconds=20))
    assert after.phase == "finished", (after.phase, after.failure)
    assert (Path(after.worktree) / "after.txt").exists()
    return after


@pytest.mark.parametrize("fault", amount([KILL], [KILL, EIO]))
def test_a_fault_at_any_step_of_starter_supervisor_or_agent(tmp_path, dice, faults, fault):
    need_strace()
    calm = Project(tmp_path / "calm")
    steps = steps_of(python(START, calm.root, *agent("edit", "commit", "say")), tmp_path)
    for number, step in enumerate(chosen(dice, steps, amount(1, 6))):
        project = Project(tmp_path / f"house{number}")
        try:
            run_with(fault, step, python(START, project.root, *agent("edit", "commit", "say")))
            before = settled(project)
            after = assert_can_go_on(project, before)
            if (
                before is not None
                and before.snapshot
                and "made.txt" in project.repo.text("ls-tree", "--name-only", before.snapshot)
            ):
                assert (Path(after.worktree) / "made.txt").exists()
            project.repo.git("fsck", "--no-dangling")
        finally:
            end_everything(project)
        faults.survived()


def stop_between_writes(project, process):
    """Stop a process; one that has the journal's lock at that moment goes on for a while."""

    def is_stopped():
        send_signal(process, signal.SIGSTOP)
        with closing(
            sqlite3.connect(project.paths.journal, timeout=0.5, isolation_level=None)
        ) as journal:
            try:
                journal.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                send_signal(process, signal.SIGCONT)
                return False
            journal.execute("ROLLBACK")
        return True

    wait_until(is_stopped)


def test_a_stopped_supervisor_is_no_orphan_and_can_be_killed(project, faults):
    started = project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    stop_between_writes(project, started.owner)
    assert reconcile(project.work) == []
    assert project.run(started.run_id).is_open
    with pytest.raises(ClewError):
        start_run(project.work, project.request("say"))
    with open_journal(project.paths) as journal:
        journal.ask(started.run_id, Request.PAUSE)
    kill(started.owner)
    wait_until(lambda: not is_alive(started.owner))
    found = settled(project)
    assert found.phase == "paused"
    assert_can_go_on(project, found)
    faults.survived()


@pytest.mark.thorough
def test_a_stopped_agent_can_be_cancelled(project, faults):
    started = project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    send_signal(project.run(started.run_id).agent_process, signal.SIGSTOP)
    stop_run(project.work, "001", Request.CANCEL, seconds=20)
    assert project.ended(started).phase == "cancelled"
    assert processes_of_run(started.run_id) == []
    faults.survived()


@pytest.mark.parametrize("place", amount(["started"], ["prepared", "started", "agent_exited"]))
def test_forged_owners_neither_hold_a_spec_nor_get_innocents_killed(project, faults, place):
    """A pid that another process has now, an earlier boot, and another machine's."""
    own = own_identity()
    forged = [
        replace(own, started="ticks-1"),
        replace(own, boot="another machine"),
        replace(own, pid=1, started="ticks-0"),
        replace(own, pid=2**22 - 1),
    ]
    order = (Phase.PREPARED, Phase.WORKTREE, Phase.STARTED, Phase.AGENT_EXITED)
    for number, owner in enumerate(forged):
        with open_journal(project.paths) as journal:
            spec = f"10{number}"
            one = journal.claim(spec, RunPlan(), mode="single")
            for phase in order[1 : order.index(Phase(place)) + 1]:
                journal.move(one.run_id, phase)
            journal.update(one.run_id, owner=owner, agent_process=owner)
        reconcile(project.work)
        assert not project.run(one.run_id).is_open
        assert is_alive(own)
        faults.survived()
    assert_can_go_on(project)


@pytest.mark.thorough
def test_a_run_of_another_machine_is_left_alone_while_it_holds_its_lock(project, tmp_path, faults):
    started = project.start("edit", "say", "hang")
    wait_until(lambda: "hello" in project.log())
    with open_journal(project.paths) as journal:
        journal.update(started.run_id, owner=replace(started.owner, boot="another machine"))
    code = (
        "import sys; from pathlib import Path; from clew.work.workspace import Workspace;"
        "from clew.work.runs.reconcile import reconcile; print(reconcile(Workspace(Path(sys.argv[1]))))"
    )
    other = {"CLEW_HOME": str(tmp_path / "other")}
    assert run(python(code, project.root), env=other).stdout == "[]\n"
    assert project.run(started.run_id).is_open
    kill(started.owner)
    wait_until(lambda: not is_alive(started.owner))
    assert "interrupted" in run(python(code, project.root), env=other).stdout
    assert (Path(started.worktree) / "made.txt").exists()
    faults.survived()


@pytest.mark.thorough
@pytest.mark.parametrize("offset", [-(10**9), 10**9])
def test_the_clock_jumps(project, faults, offset):
    done = run(python(START, project.root, *agent("edit", "commit")), env=clock(offset))
    assert (done.returncode, done.stderr) == (0, "")
    found = settled(project)
    assert found.phase == "finished"
    assert_can_go_on(project, found)
    faults.survived()


@pytest.mark.thorough
def test_the_disk_is_read_only_from_the_start_or_from_the_middle_on(tmp_path, faults, monkeypatch):
    with small_disk(tmp_path / "disk") as disk:
        monkeypatch.setenv("CLEW_HOME", str(disk.path / "home"))
        project = Project(disk.path / "house")
        try:
            with disk.read_only():
                done = run(python(START, project.root, *agent("edit")))
                assert "Traceback" not in done.stderr, done.stderr
                assert "Read-only file system" in done.stderr
            assert_can_go_on(project, settled(project))
            faults.survived()
            started = project.start("edit=kept.txt", "say", "wait_for=go", "commit=kept.txt")
            wait_until(lambda: "hello" in project.log())
            worktree = os.open(started.worktree, os.O_RDONLY)
            with disk.read_only():
                os.close(os.open("go", os.O_CREAT, dir_fd=worktree))
                wait_until(lambda: not processes_of_run(started.run_id))
            os.close(worktree)
            found = settled(project)
            after = assert_can_go_on(project, found)
            assert (Path(after.worktree) / "kept.txt").exists()
            faults.survived()
        finally:
            end_everything(project)


def test_the_disk_is_full_from_the_start_or_from_the_middle_on(tmp_path, faults, monkeypatch):
    with small_disk(tmp_path / "disk") as disk:
        monkeypatch.setenv("CLEW_HOME", str(disk.path / "home"))
        project = Project(disk.path / "house")
        try:
            disk.leave(0)
            done = run(python(START, project.root, *agent("edit")))
            assert "Traceback" not in done.stderr, done.stderr
            assert done.returncode
            disk.empty()
            assert_can_go_on(project, settled(project))
            faults.survived()
            started = project.start("edit=kept.txt", "say", "wait_for=go", "commit=kept.txt")
            wait_until(lambda: "hello" in project.log())
            disk.leave(0)
            Path(started.worktree, "go").touch()
            wait_until(
                lambda: not is_alive(started.owner) or not project.run(started.run_id).is_open
            )
            disk.empty()
            found = settled(project)
            assert not found.is_open
            after = assert_can_go_on(project, found)
            assert (Path(after.worktree) / "kept.txt").exists()
            faults.survived()
        finally:
            disk.empty()
            end_everything(project)
