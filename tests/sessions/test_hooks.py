"""The real programs run the hook: their session is known without anybody asking."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from clew.hosts.capture import add_hook
from clew.hosts.table import HOSTS
from clew.sessions.index.sqlite import opened_index
from clew.sessions.model import Filter
from tests.sessions.programs import Desk, missing
from tests.support.models.editor import Step
from tests.support.models.service import model_service
from tests.support.proof import FULL
from tests.support.waiting import wait_until

PROGRAMS = {"claude-code": "claude"} | {
    key: key for key in ("codex", "gemini", "copilot", "qwen") if HOSTS[key].capture
}


@pytest.mark.parametrize("key", PROGRAMS)
def test_a_real_program_runs_the_hook(key, tmp_path, monkeypatch):
    name = PROGRAMS[key]
    if missing((name,)) or not FULL:
        pytest.skip(f"needs PROOF=full and {name}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home" / ".clew"))
    with model_service() as service:
        desk = Desk(tmp_path, service, (name,))
        desk.make()
        with opened_index() as index:
            index.open_project(os.path.realpath(desk.root))
        add_hook(HOSTS[key], desk.root)
        request = "Write calc.py, please"
        desk.ask(
            name, request, [Step("write", "calc.py", new="def add(a, b):\n    return a + b\n")]
        )
        found = wait_until(_sessions)
    assert [(one.program, one.turns, one.edits) for one in found] == [(name, 1, 1)]
    shown = subprocess.run(
        [sys.executable, "-m", "clew", "sessions", "show", found[0].name],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert request in shown


def _sessions():
    with opened_index() as index:
        return index.sessions(Filter(), 10)
