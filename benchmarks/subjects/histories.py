"""Repositories to measure on, and their indexes: each made once in a run, however many ask."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench import Bench
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.kit.git import run_git
from clew.models.embedding import packaged_embedder

NAME = "measured"


@dataclass(frozen=True)
class Vectors:
    """What making the vectors of an index took."""

    count: int
    model: str
    seconds: float
    size: int


def repository_of(bench: Bench, commits: int) -> Path:
    """A generated repository of so many commits, without files in its worktree."""

    def make() -> Path:
        bench.say(f"generating {commits:,} commits")
        return generate(bench.home / f"repository-{commits}", commits)

    return bench.workshop.once(f"repository of {commits}", make)


def index_of(bench: Bench, repository: Path) -> Path:
    """The index of a repository."""

    def make() -> Path:
        bench.say("indexing a repository")
        place = bench.home / f"index-of-{repository.name}" / "db.sqlite3"
        sync([repository], place)
        return place

    return bench.workshop.once(_index_name(repository), make)


def keep_index(bench: Bench, repository: Path, index: Path) -> Path:
    """Let others use an index that was made for a measurement; the one that is kept."""
    return bench.workshop.once(_index_name(repository), lambda: index)


def _index_name(repository: Path) -> str:
    return f"index of {repository}"


def sync(repositories: list[Path], index: Path) -> None:
    """Make the index of these repositories anew."""
    shutil.rmtree(index.parent, ignore_errors=True)
    store = SqliteHistory.create(index)
    for number, repository in enumerate(repositories):
        name = f"{number}-{repository.parent.name}" if len(repositories) > 1 else NAME
        sync_repo(store, register(store, repository, name=name))
    store.close()


def with_vectors(bench: Bench, repository: Path) -> tuple[SqliteHistory, Vectors]:
    """The index of a repository, with vectors, open for reading."""
    index = index_of(bench, repository)
    made = bench.workshop.once(f"vectors of {repository}", lambda: embed(index))
    return bench.workshop.keep(SqliteHistory.read(index)), made


def embed(index: Path) -> Vectors:
    """Make the vectors of an index."""
    embedder = packaged_embedder()  # before numpy is imported: it keeps that to one thread
    from clew.history.semantic.vectors import embed_commits
    from clew.history.store.vectors import vectors_path

    store = SqliteHistory.read(index)
    begun = time.perf_counter()
    done = embed_commits(store, embedder, store.repos())
    spent = time.perf_counter() - begun
    store.close()
    return Vectors(done.total, done.model, spent, vectors_path(index).stat().st_size)


def generate(root: Path, commits: int) -> Path:
    """A repository made by `git fast-import`: many small edits of growing files."""
    root.mkdir(parents=True)
    run_git("init", "-q", cwd=root)
    words = ["git", "fast-import", "--quiet"]
    with subprocess.Popen(words, cwd=root, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.writelines(_stream(commits))
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    run_git("symbolic-ref", "HEAD", "refs/heads/main", cwd=root)
    return root


def _stream(commits: int) -> Iterator[bytes]:
    rng = random.Random(7)
    words = [f"word{n}" for n in range(400)]
    texts: dict[str, list[str]] = {}
    for number in range(1, commits + 1):
        path = f"src/module{rng.randrange(80)}/file{rng.randrange(6)}.py"
        lines = texts.setdefault(path, [])
        for _ in range(rng.randrange(1, 12)):
            lines.insert(rng.randrange(len(lines) + 1), " ".join(rng.choices(words, k=7)))
        del lines[400:]
        body = ("\n".join(lines) + "\n").encode()
        message = f"Change {' '.join(rng.choices(words, k=5))} in {path}".encode()
        stamp = 1_600_000_000 + number * 600
        yield b"commit refs/heads/main\nmark :%d\n" % number
        yield b"committer A U Thor <author@example.com> %d +0000\n" % stamp
        yield b"data %d\n%s\n" % (len(message), message)
        yield b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(body), body)
