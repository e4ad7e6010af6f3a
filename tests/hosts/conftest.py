"""A machine of its own for each test: home, project, and servers that answer."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

FAKE_SERVER = Path(__file__).with_name("fake_server.py")
FACES = ("clew", "chant", "commitmux", "climpt", "clariad")


@dataclass(frozen=True)
class Machine:
    home: Path
    project: Path
    programs: Path

    def program(self, name: str, text: str) -> Path:
        path = self.programs / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def server(self, name: str, *behaviour: str) -> Path:
        words = " ".join(behaviour)
        return self.program(
            name, f'#!/bin/sh\nexec {REAL_PYTHON} {FAKE_SERVER} {name} {words} "$@"\n'
        )


REAL_PYTHON = sys.executable


@pytest.fixture
def machine(tmp_path, monkeypatch):
    home, project, programs = tmp_path / "home", tmp_path / "project", tmp_path / "bin"
    for directory in (home, project, programs):
        directory.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    for name in ("CLEW_PROJECT", "CLAUDE_PROJECT_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME",
                 "COPILOT_HOME", "APPDATA"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLEW_HOME", str(home / ".clew"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), "/usr/bin", "/bin"]))
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.chdir(project)
    made = Machine(home, project, programs)
    for face in FACES:
        made.server(face)
    return made
