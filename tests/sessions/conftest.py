"""A user with a home of their own and a project with a repository."""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.sessions.index.sqlite import opened_index
from clew.sessions.index.update import Updater


@dataclass
class User:
    """Where a user works, and the index of their sessions."""

    home: Path
    root: Path

    @contextmanager
    def index(self, *, update=True, **options):
        """The index, brought up to date."""
        with opened_index() as index:
            if update:
                self.report = Updater(index, {}, self.home, **options).update(self.root)
            yield index

    def git(self, *words):
        """Run git in the project; what it prints."""
        done = subprocess.run(
            ["git", "-C", str(self.root), *words], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, message, **files):
        """Write files and commit them."""
        for name, text in files.items():
            (self.root / name).write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user of their own."""
    home, root = tmp_path / "home", tmp_path / "shop"
    home.mkdir()
    root.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLEW_HOME", str(home / ".clew"))
    for name in ("CLEW_PROJECT", "CLAUDE_PROJECT_DIR", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    made = User(home, root.resolve())
    made.git("init", "-q", "-b", "main")
    made.git("config", "user.name", "Ada")
    made.git("config", "user.email", "ada@example.com")
    return made
