"""History: building the index against git's own time, and asking it."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measure import Sample, Series, compare, interleave
from benchmarks.report import Claim, Figure, Goal
from clew.history.ingest import sync_repo
from clew.history.lookup import get_commit, get_patch
from clew.history.repositories import register
from clew.history.search import search_commits
from clew.history.store import HistoryStore
from clew.history.touches import find_touches
from clew.kit.git import run_git

NAME = "history_index"
TITLE = "History: first sync, nothing new, size, and questions"
FULL = {"rounds": 3, "commits": 6000, "questions": 200}
QUICK = {"rounds": 2, "commits": 600, "questions": 40}
GIT_LOG = "git log --raw -p -M"
REV_PARSE = "git rev-parse HEAD"
NOTES = [
    "The first sync also reads diffs of merges, which the git command beside it leaves out.",
    "cpu is the processor time of the process and of the git processes it started.",
    "Questions run in this process on a warm index; their baseline is one empty query.",
]


def run(bench: Bench) -> Claim:
    """Measure on the repository that was named, or on a generated one."""
    repository = bench.workshop.repository or generate(bench.home / "generated", bench["commits"])
    index = bench.home / "index" / "db.sqlite3"
    _build(repository, index)
    store = HistoryStore.read(index)
    series = interleave(_variants(bench, repository, index, store), bench["rounds"], say=bench.say)
    return Claim(NAME, TITLE, _sizes(repository, index, store), NOTES, {}, _figures(series))


def _variants(
    bench: Bench, repository: Path, index: Path, store: HistoryStore
) -> dict[str, Callable[[], Sample]]:
    questions = bench["questions"]
    newest = find_touches(store, "", limit=1)
    sha, name = newest[0]["sha"], newest[0]["repo"]
    word = _common_word(store)
    asks: dict[str, Callable[[], object]] = {
        "empty query": lambda: store.connection.execute("SELECT 1").fetchone(),
        "search one word": lambda: search_commits(store, word),
        "search two words": lambda: search_commits(store, f"{word} test"),
        "touches": lambda: find_touches(store, "src"),
        "get_commit": lambda: get_commit(store, name, sha),
        "get_patch": lambda: get_patch(store, name, sha),
    }
    return {
        GIT_LOG: partial(_timed, lambda: _git(repository, "log", "--raw", "-p", "-M", "HEAD")),
        "first sync": partial(_timed, lambda: _build(repository, bench.home / "fresh" / "db")),
        REV_PARSE: partial(_timed, lambda: _git(repository, "rev-parse", "HEAD")),
        "sync, nothing new": partial(_nothing_new, index),
        **{title: partial(asked, ask, questions) for title, ask in asks.items()},
    }


def _timed(work: Callable[[], object]) -> Sample:
    begun, used = time.perf_counter(), sum(os.times()[:4])
    work()
    taken = time.perf_counter() - begun
    return {"ms": taken * 1000, "cpu": (sum(os.times()[:4]) - used) * 1000}


def asked(ask: Callable[[], object], times: int) -> Sample:
    """Ask so many times; the median of many, in milliseconds."""
    taken = sorted(_timed(ask)["ms"] for _ in range(times))
    return {"ms": taken[len(taken) // 2]}


def _nothing_new(index: Path) -> Sample:
    store = HistoryStore.open(index)
    (repo,) = store.repos()
    sample = _timed(lambda: sync_repo(store, repo))
    store.close()
    return sample


def _build(repository: Path, index: Path) -> None:
    shutil.rmtree(index.parent, ignore_errors=True)
    store = HistoryStore.create(index)
    sync_repo(store, register(store, repository, name="measured"))
    store.close()


def _git(repository: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=repository, stdout=subprocess.DEVNULL, check=True)


def _common_word(store: HistoryStore) -> str:
    subjects = store.connection.execute("SELECT subject FROM commit_rows LIMIT 2000")
    words = [w.lower() for row in subjects for w in row[0].split() if w.isalpha() and len(w) > 3]
    return max(set(words), key=words.count) if words else "change"


def _sizes(repository: Path, index: Path, store: HistoryStore) -> dict[str, str]:
    counted = run_git("count-objects", "-v", cwd=repository).decode().split()
    packed = int(counted[counted.index("size-pack:") + 1]) * 1024
    commits = store.commit_count(store.repos()[0].repo_id)
    size = index.stat().st_size
    share = f" ({size / packed:.2f} of the packed objects; goal 1.30)" if packed else ""
    return {
        "commits": str(commits),
        "packed objects": f"{packed / 1e6:.1f} MB",
        "index": f"{size / 1e6:.1f} MB{share}",
    }


def _figures(series: dict[str, Series]) -> list[Figure]:
    def against(title: str, baseline: str, goal: Goal | None, of: str = "ms") -> Figure:
        compared = compare(series[title], series[baseline], of)
        return Figure("time" if of == "ms" else of, title, baseline, "ms", compared, goal)

    goals = {
        "search one word": 5.0,
        "search two words": 5.0,
        "touches": 5.0,
        "get_commit": 1.0,
        "get_patch": 2.0,
    }
    return [
        against("first sync", GIT_LOG, Goal(1.3)),
        against("first sync", GIT_LOG, None, of="cpu"),
        against("sync, nothing new", REV_PARSE, Goal(2.0)),
        *(against(title, "empty query", Goal(limit, "ms")) for title, limit in goals.items()),
    ]


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
