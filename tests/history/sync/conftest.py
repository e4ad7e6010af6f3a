"""Real repositories, and the command line on an index of their own."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from clew.cli.faces import run_face
from clew.history.store.sqlite import SqliteHistory

LOCATIONS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")


class GitRepo:
    """A repository, used with plain git as its owner would; hooks are on."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = 1_700_000_000

    def git(self, *words, **settings):
        done = self.git_result(*words, **settings)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def git_result(self, *words, **settings):
        environment = {k: v for k, v in os.environ.items() if k not in LOCATIONS}
        self.clock += 60
        stamp = f"{self.clock} +0000"
        environment |= {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp, **settings}
        return subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def commit(self, path="a.txt", text="one\n", message="First", **settings):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message, **settings)
        return self.git("rev-parse", "HEAD")


@dataclass
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def data(self):
        return json.loads(self.out)["data"]


@pytest.fixture
def new_repo(tmp_path):
    """Makes repositories by name."""

    def make(name="app", *options):
        root = tmp_path / name
        root.mkdir(parents=True)
        repo = GitRepo(root)
        repo.git("init", "--quiet", *options)
        return repo

    return make


@pytest.fixture
def repo(new_repo):
    """A repository with three commits by two people."""
    made = new_repo()
    made.commit("a.txt", "one\n", "First")
    made.commit("src/b.py", "def unusualword():\n    pass\n", "Add b")
    other = {"GIT_AUTHOR_NAME": "Other", "GIT_AUTHOR_EMAIL": "other@example.com"}
    made.commit("a.txt", "two\n", "Change a", **other)
    return made


@pytest.fixture
def db(tmp_path):
    """Where the index is."""
    return tmp_path / "index" / "db.sqlite3"


@pytest.fixture
def cm(db, capfd):
    """The command line `commitmux`, on this index."""

    def run(*words, code=0):
        capfd.readouterr()
        got = run_face("commitmux", [*map(str, words), "--db", str(db)])
        printed = capfd.readouterr()
        said = Said(got, printed.out, printed.err)
        assert code is None or got == code, said
        return said

    run("init")
    return run


@pytest.fixture
def synced(cm, repo):
    """The repository, registered as `app` and synced."""
    cm("add-repo", repo.root)
    cm("sync")
    return repo


@pytest.fixture
def store(db, cm):
    """The index, open for reading and writing."""
    opened = SqliteHistory.open(db)
    yield opened
    opened.close()
