"""A project with specs, a repository, and an agent that does what its spec says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from clew.daemons import WIRING
from clew.work.runs.reconcile import reconcile
from clew.work.scheduling.start import Mode, begin_work
from clew.work.scheduling.watch import is_watched, stop_watch
from clew.work.workspace import Workspace
from tests.support.journals import open_journal
from tests.support.repos import Repository
from tests.support.waiting import wait_until
from tests.work.conftest import SCRIPT as AGENT
from tests.work.conftest import end_runs

CONFIG = """---
project:
  name: house
defaults:
  provider: command
  command: {command}
{more}---
"""


class House:
    """A project under test."""

    def __init__(self, path):
        self.repo = Repository(path)
        self.root = self.repo.path
        self.configure()
        self.repo.commit("first", {"README.md": "hello\n", ".gitignore": ".env\n/run-*\n"})
        self.work = Workspace(self.root, WIRING)
        self.paths, self.store = self.work.paths, self.work.store

    def configure(self, more=""):
        """Write the configuration; `more` are further lines of YAML."""
        command = json.dumps([sys.executable, str(AGENT)])
        if "parallel:" not in more:
            more += "\nparallel:\n  stagger_delay_ms: 0\n  stagger_jitter_ms: 0"
        text = CONFIG.format(command=command, more=more.strip("\n") + "\n" if more else "")
        self.repo.write(".chant/config.md", text)
        (self.root / ".chant" / "specs").mkdir(exist_ok=True)

    def spec(self, spec_id, *steps, criteria=("It works",), checks=(), fields=""):
        """Write a spec whose agent does these steps."""
        boxes = []
        for number, text in enumerate(criteria):
            boxes.append(f"- [ ] {text}")
            if number < len(checks) and checks[number]:
                boxes.append(f"  check: `{checks[number]}`")
        usual = [line for line in ("type: code", "status: pending") if line[:6] not in fields]
        lines = ["---", *usual, *fields.strip().splitlines(), "---", ""]
        lines += [f"# Build {spec_id}", "", "Some words about it.", ""]
        lines += [
            "## Acceptance Criteria",
            "",
            *boxes,
            "",
            "## Steps",
            "",
            "```",
            *steps,
            "```",
            "",
        ]
        (self.root / ".chant" / "specs" / f"{spec_id}.md").write_text("\n".join(lines), "utf-8")
        return spec_id

    def begin(self, *ids, options=None, **mode):
        """Begin work."""
        return begin_work(self.work, ids, Mode(**mode), options)

    def run(self, run_id):
        """The run as it is now."""
        return self.work.journal.get(run_id)

    def latest(self, spec_id):
        """The newest run of a spec."""
        return self.work.journal.latest(spec_id)

    def attempts(self, spec_id):
        """All runs of a spec, the oldest first."""
        return self.work.journal.runs(spec_id=spec_id)[::-1]

    def status(self, spec_id):
        """The stored status of a spec."""
        return self.store.load(spec_id).status

    def settled(self, spec_id, seconds=40):
        """The newest run of a spec once it is over and the spec knows."""

        def look():
            run = self.latest(spec_id)
            return run if run is not None and run.settled_at else None

        return wait_until(look, seconds)

    def ended(self, schedule_id, seconds=120):
        """A schedule once it is over."""

        def look():
            schedule = self.work.journal.schedule(schedule_id)
            return schedule if schedule.ended_at else None

        return wait_until(look, seconds)

    def done(self, *ids, **settings):
        """Work on one spec until it is over."""
        self.begin(*ids, **settings)
        return self.settled(ids[0])

    def log(self, spec_id):
        """The spec's log."""
        return self.paths.log_file(spec_id).read_text(encoding="utf-8")

    def body(self, spec_id):
        """The spec's text."""
        return self.store.load(spec_id).body

    def reconciled(self, spec_id):
        """The newest run of a spec after its owner is gone and another command came by."""

        def look():
            reconcile(self.work)
            run = self.latest(spec_id)
            return run if run.settled_at else None

        return wait_until(look)


@pytest.fixture
def house(tmp_path):
    """A project; whatever it still runs at the end is ended."""
    made = House(tmp_path / "house")
    with made.work:
        yield made
        if is_watched(made.paths):  # tools that start work start one
            stop_watch(made.paths, 120)
        if made.paths.journal.exists():
            with open_journal(made.paths) as journal:
                found = journal.schedules(running=True)
            for schedule in found:
                if schedule.pid:
                    end_scheduler(schedule.pid)
        end_runs(made.work)


def end_scheduler(pid):
    """kill -9 a process if it is a scheduler of ours."""
    import signal

    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return
    if b"clew.daemons" in words:
        os.kill(pid, signal.SIGKILL)
