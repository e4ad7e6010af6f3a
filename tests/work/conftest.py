"""A project with a repository, and agents that do what a test tells them."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from clew.work.model import AgentChoice, Limits, RunPlan, RunRequest, WorktreeSettings
from clew.work.processes.identity import processes_of_run
from clew.work.runs.prepare import start_run
from clew.work.workspace import Workspace
from tests.support.journals import open_journal
from tests.support.repos import Repository, trust_everything
from tests.support.waiting import LIMIT_SECONDS, wait_until

SCRIPT = Path(__file__).with_name("agent.py")


class Project:
    """A project under test."""

    def __init__(self, path):
        self.repo = Repository(path)
        self.repo.commit("first", {"README.md": "hello\n", ".gitignore": "ignored/\n.env\n"})
        self.root = self.repo.path
        self.work = Workspace(self.root)
        self.paths = self.work.paths

    def request(
        self, *steps, spec_id="001", prompt="Do it.\n", limits=None, worktree=None, **settings
    ):
        """A run of the scripted agent."""
        command = (sys.executable, str(SCRIPT), *steps)
        plan = RunPlan(
            agent=settings.pop("agent", AgentChoice("command", command=command)),
            limits=limits or Limits(stop_grace_seconds=2),
            worktree=worktree or WorktreeSettings(),
            **settings,
        )
        return RunRequest(spec_id, prompt, plan)

    def start(self, *steps, **settings):
        """Start a run."""
        return start_run(self.work, self.request(*steps, **settings), seconds=20)

    def run(self, run_id):
        """The run as it is now."""
        return self.work.journal.get(run_id)

    def history(self, run_id):
        """The phases a run went through."""
        return [move.after for move in self.work.journal.history(run_id)]

    def ended(self, run, seconds=LIMIT_SECONDS):
        """The run once its supervisor is done with it."""

        def look():
            now = self.run(run.run_id)
            return now if not now.is_open or now.phase == "held" else None

        return wait_until(look, seconds)

    def log(self, spec_id="001"):
        """The spec's log."""
        return self.paths.log_file(spec_id).read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def trusting_user(private_home):
    """A user who lets every command of a project run; `runs/test_consent.py` has another one."""
    trust_everything(private_home)


@pytest.fixture
def project(tmp_path):
    """A project; whatever it still runs at the end is ended."""
    made = Project(tmp_path / "house")
    with made.work:
        yield made
        end_runs(made.work)


def end_runs(work):
    """End whatever a project still runs."""
    if work.paths.journal.exists():
        with open_journal(work.paths) as journal:  # a test may have moved the other one away
            runs = journal.runs()
        for run in runs:
            for process in [*processes_of_run(run.run_id), run.owner]:
                if process is not None and process.pid != os.getpid():
                    kill(process)


def kill(process):
    """kill -9 exactly this process."""
    from clew.work.processes.identity import send_signal

    send_signal(process, signal.SIGKILL)
