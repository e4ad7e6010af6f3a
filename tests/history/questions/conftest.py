"""One small real repository with a known story, and its index."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.program import offer_engines
from clew.team.history.moving import import_index
from clew.team.history.store import PostgresHistory

ALICE = ("Alice", "alice@example.com")
BOB = ("Bob", "bob@example.com")
START = 1_600_000_000
DAY = 86400


class Story:
    """A repository whose commits are made one day after the other."""

    def __init__(self, root):
        self.root = root
        self.days = 0
        self.made = {}
        root.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments, author=ALICE):
        """What git prints."""
        date = f"{START + self.days * DAY} +0000"
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": author[0],
            "GIT_AUTHOR_EMAIL": author[1],
            "GIT_COMMITTER_NAME": author[0],
            "GIT_COMMITTER_EMAIL": author[1],
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
        }
        command = ["git", *arguments]
        done = subprocess.run(
            command, cwd=self.root, env=environment, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "replace")

    def lines(self, *arguments):
        """What git prints, line by line."""
        return self.git(*arguments).split()

    def write(self, path, *lines):
        """Write a file of these lines."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    def commit(self, name, message, author=ALICE):
        """Commit everything; the name is how tests call it."""
        self.days += 1
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message, author=author)
        return self.mark(name)

    def mark(self, name):
        """Give the current commit a name."""
        self.made[name] = self.git("rev-parse", "HEAD").strip()
        return self.made[name]

    def __getitem__(self, name):
        return self.made[name]

    def name_of(self, sha):
        """How tests call a commit."""
        return next(name for name, made in self.made.items() if made == sha)


def app(version, *more):
    """The lines of a file that changes in one place."""
    return [
        "import os",
        f"VERSION = {version}",
        "def parse_config(path):",
        "    alpha = os.path.join(path, 'alpha.ini')",
        "    return open(alpha).read()",
        "def unrelated_helper():",
        "    return 'the quick brown fox jumps'",
        *more,
    ]


def tell(root):
    """The story."""
    story = Story(root)
    story.write("src/app.py", *app(1))
    story.write("docs/guide.md", "# Guide", "text")
    story.commit("start", "Start the app")
    story.write("src/app.py", *app(2))
    story.write("src/util.py", "def helper(): pass")
    story.commit("util", "Add helper", BOB)
    story.git("tag", "--annotate", "v1", "--message", "One")
    story.git("mv", "src/app.py", "src/core.py")
    story.write("src/core.py", *app(3))
    story.write("src/util.py", "def helper(): return 1")
    story.commit("rename", "Rename app to core")
    story.write("src/core.py", *app(3, "def frobnicate(value):", "    return value * 2"))
    story.write("src/util.py", "def helper(): return frobnicate(2)")
    body = "Fixes #12, see GH-34.\n\nSee https://github.com/a/demo/issues/77 and PROJ-9, not UTF-8."
    story.commit("frob", f"Frobnicate values\n\n{body}", BOB)
    story.days += 1
    story.git("revert", "--no-edit", story["frob"])
    story.mark("revert")
    story.git("switch", "--quiet", "--create", "feature", story["rename"])
    story.days += 1
    story.git("cherry-pick", "-x", story["frob"])
    story.mark("picked")
    story.write("docs/side.md", "aside")
    story.commit("side", "Write aside", BOB)
    story.git("switch", "--quiet", "main")
    for number in range(60):
        story.write(f"many/file{number}.txt", f"number {number}")
    story.write("src/core.py", *app(4))
    story.commit("many", "Add many files and touch core")
    story.days += 1
    story.git("merge", "--quiet", "--no-ff", "--message", "Merge feature", "feature")
    story.mark("merge")
    story.write("src/core.py", *app(5, "x" * 3 + "needle = alpha", "a" * 40 + "!"))
    story.commit("needle", f'Mend the config\n\nFixes: {story["rename"][:12]} ("Rename")\nPROJ-9')
    story.write("src/core.py", *app(5, "a" * 40 + "!"))
    story.commit("fixup", "fixup! Mend the config", BOB)
    return story


@pytest.fixture(scope="session")
def story(tmp_path_factory):
    return tell(tmp_path_factory.mktemp("story") / "demo")


@pytest.fixture(scope="session")
def database(story, tmp_path_factory):
    """The index of the story; read-only by agreement."""
    path = tmp_path_factory.mktemp("index") / "db.sqlite3"
    store = SqliteHistory.create(path)
    sync_repo(store, register(store, Path(story.root), name="demo"))
    store.close()
    return path


@pytest.fixture(scope="session")
def address(database, request):
    """The same index in PostgreSQL."""
    address = request.getfixturevalue("postgres").new_place()
    with PostgresHistory.create(address) as made:
        import_index(made, database)
    return address


@pytest.fixture(params=["sqlite", "postgres"])
def store(request, database):
    if request.param == "sqlite":
        opened = SqliteHistory.read(database)
    else:
        offer_engines()
        opened = PostgresHistory.read(request.getfixturevalue("address"))
    yield opened
    opened.close()


def shas(found, key="commits"):
    """The commits of an answer."""
    return [entry["sha"] for entry in found[key]]
