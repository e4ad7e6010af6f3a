"""A project with specs to divide, and an agent that answers what a test says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from clew.kit.paths import ProjectPaths
from clew.specs.store.store import SpecStore
from clew.work.split.split import SplitOptions, split_spec
from clew.work.workspace import Workspace
from tests.specs.tools.project import make_project, write_spec

ASKED = Path(__file__).with_name("asked.py")
SPEC = "2026-01-22-001-x7m"


class Desk:
    """A project whose specs are divided."""

    def __init__(self, directory):
        self.root = make_project(directory)
        self.paths = ProjectPaths(self.root)
        self.answers = directory / "answers"
        self.answers.mkdir()

    @property
    def store(self):
        return SpecStore(self.root)

    def spec(self, criteria, files=(), **fields):
        lines = ["Some words before.", "", "## Acceptance Criteria", ""]
        lines += [f"- [ ] {text}" for text in criteria]
        lines += ["", "## Notes", "", "Some words after."]
        if files:
            fields["target_files"] = list(files)
        return write_spec(self.root, SPEC, "The whole", body="\n".join(lines) + "\n", **fields)

    def ask(self, *answers):
        """Configure an agent that gives these answers."""
        for number, answer in enumerate(answers, start=1):
            text = answer if isinstance(answer, str) else json.dumps(answer)
            (self.answers / f"answer-{number}.txt").write_text(text)
        words = [sys.executable, str(ASKED), str(self.answers)]
        lines = ["---", "defaults:", "  provider: command", "  command:"]
        lines += [f"    - {word}" for word in words]
        (self.root / ".chant" / "config.md").write_text("\n".join([*lines, "---", ""]))

    def prompt(self, number=1):
        return (self.answers / f"prompt-{number}.md").read_text()

    def split(self, call=None, **options):
        with Workspace(self.root) as work:
            return split_spec(work, SPEC, SplitOptions(**options), call=call)

    def files(self):
        home = self.root / ".chant" / "specs"
        return {path.name: path.read_bytes() for path in sorted(home.iterdir())}


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)
