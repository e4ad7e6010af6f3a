"""A machine of one's own: empty home, own git configuration, no inherited project."""

import subprocess

import pytest


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    """An empty home directory that every check sees."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("CLEW_HOME", "CLEW_PROJECT", "CLAUDE_PROJECT_DIR", "CLEW_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.delenv(f"GIT_{role}_NAME", raising=False)
        monkeypatch.delenv(f"GIT_{role}_EMAIL", raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def git():
    """Run git in a directory."""

    def run(directory, *words):
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
        done = subprocess.run(
            ["git", *identity, *words], cwd=directory, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    return run


@pytest.fixture
def repository(tmp_path, git):
    """A repository with two commits."""
    root = tmp_path / "project"
    git(tmp_path, "init", "-b", "trunk", str(root))
    for number in (1, 2):
        git(root, "commit", "--allow-empty", "-m", f"commit {number}")
    return root


@pytest.fixture
def program(tmp_path):
    """Put an executable shell script into a directory of its own and return the directory."""

    def write(name, body):
        folder = tmp_path / "programs"
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
        return folder

    return write
