"""Repositories for tests: made with real git, every date fixed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

START = 1_700_000_000


class Repository:
    """A repository under construction."""

    def __init__(self, path, *options):
        self.path = Path(path)
        self.clock = START
        if not (self.path / ".git").exists():
            subprocess.run(["git", "init", "-q", "-b", "main", *options, str(path)], check=True)

    def copy(self, path):
        """The same repository at another place, for a test that changes it."""
        shutil.copytree(self.path, path, symlinks=True)
        made = type(self)(path)
        made.clock = self.clock
        return made

    def git(self, *arguments, env=None, data=None, check=True):
        """What git printed, as bytes."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env={**os.environ, **(env or {})},
            input=data,
            capture_output=True,
            check=False,
        )
        assert not check or done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def text(self, *arguments, **options):
        """What git printed, as one line of text."""
        return self.git(*arguments, **options).decode().strip()

    def write(self, name, content=""):
        """Put a file there."""
        file = self.path / os.fsdecode(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def dates(self, author=None, committer=None):
        """Environment with a time of its own for each commit."""
        self.clock += 60
        return {
            "GIT_AUTHOR_DATE": author or f"{self.clock} +0000",
            "GIT_COMMITTER_DATE": committer or f"{self.clock} +0000",
        }

    def commit(self, message="change", files=None, *, env=None, options=()):
        """Commit all that changed; returns the commit's id."""
        for name, content in (files or {}).items():
            self.write(name, content)
        self.git("add", "-A")
        raw = message if isinstance(message, bytes) else message.encode()
        settings = ("--allow-empty", "--allow-empty-message", "--cleanup=verbatim", "-q")
        self.git(
            "commit", *settings, *options, "-F", "-", data=raw, env={**self.dates(), **(env or {})}
        )
        return self.head()

    def raw_commit(self, header, message, parent=None, tree=None):
        """A commit object written byte by byte, and HEAD moved to it."""
        tree = tree or self.text("rev-parse", "HEAD^{tree}")
        parent = parent or self.head()
        lines = [b"tree " + tree.encode(), b"parent " + parent.encode(), *header]
        data = b"\n".join(lines) + b"\n\n" + message
        sha = self.text("hash-object", "-t", "commit", "-w", "--stdin", "--literally", data=data)
        self.git("reset", "-q", "--hard", sha)
        return sha

    def head(self):
        """Where HEAD is."""
        return self.text("rev-parse", "HEAD")

    def all_shas(self, *what):
        """Every commit that is reachable, oldest first."""
        listed = self.text("rev-list", "--reverse", "--topo-order", *(what or ("HEAD",)))
        return listed.split()

    def object_path(self, sha):
        """The file of a loose object."""
        return self.path / ".git" / "objects" / sha[:2] / sha[2:]


def generate(path, count, *, seed=1, files=40, lines=6):
    """A repository of many commits with branches and merges, made in one go."""
    import random

    dice = random.Random(seed)
    repository = Repository(path)
    stream = []
    for number in range(1, count + 1):
        message = f"Change number{number} part{dice.randrange(50)}\n\nBody of {number}\n"
        author = f"Dev{number % 7} <dev{number % 7}@example.com> {START + number * 60} +0000"
        stream.append(f"commit refs/heads/main\nmark :{number}\nauthor {author}\n")
        stream.append(f"committer {author}\ndata {len(message)}\n{message}")
        if number > 1:
            stream.append(f"from :{number - 1}\n")
        if number > 9 and number % 10 == 0:
            stream.append(f"merge :{number - 5}\n")
        for _ in range(dice.randrange(1, 4)):
            content = "".join(
                f"line {dice.randrange(1000)} word{dice.randrange(200)}\n" for _ in range(lines)
            )
            name = f"dir{dice.randrange(5)}/file{dice.randrange(files)}.txt"
            stream.append(f"M 100644 inline {name}\ndata {len(content)}\n{content}\n")
    repository.git("fast-import", "--quiet", "--force", data="".join(stream).encode())
    repository.git("reset", "-q", "--hard", "main")
    return repository


def trust_everything(home):
    """Let every command of every project run, as the user's own settings can."""
    file = home / ".config" / "chant" / "config.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("---\nwork:\n  trust_checks: true\n---\n", encoding="utf-8")
