"""History: building the index against git's own time, and asking it."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.measurement.peers import COMMITMUX, PeerFailed, of_commitmux, programs, sync_with
from benchmarks.measurement.sampling import Sample, Series, asked, compare, interleave
from benchmarks.results.report import Claim, Figure, Goal
from benchmarks.rooms.ingest_growth import GIT_LOG, git_log
from benchmarks.subjects.histories import keep_index, repository_of, sync
from clew.history.lookup import get_commit, get_patch
from clew.history.questions.file_history import find_touches
from clew.history.search.search import search_commits
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.kit.git import run_git

NAME = "history_index"
TITLE = "History: first sync, nothing new, size, and questions"
FULL = {
    "rounds": 3,
    "syncs": 3,
    "real_syncs": 3,
    "peer_syncs": 2,
    "commits": 6000,
    "questions": 200,
}
QUICK = {
    "rounds": 2,
    "syncs": 2,
    "real_syncs": 1,
    "peer_syncs": 1,
    "commits": 2000,
    "questions": 40,
}
REV_PARSE = "git rev-parse HEAD"
OURS, PEER = "our commitmux sync", "peer commitmux sync"
NOTES = [
    "The first sync also reads diffs of merges, which the git command beside it leaves out.",
    "cpu is the processor time of the process and of the git processes it started.",
    "Questions run in this process on a warm index; their baseline is one empty query.",
    (
        "A peer commitmux, on PATH or named by --peer, syncs the same repository into an index of its "
        "own by its own init, add-repo and sync; only sync is timed, as it is of ours beside it."
    ),
]


def run(bench: Bench) -> Claim:
    """Measure on the repository that was named, or on a generated one."""
    real = bench.workshop.repository
    repository = real or repository_of(bench, bench["commits"])
    fresh = bench.home / "fresh" / "db.sqlite3"
    syncs: dict[str, Callable[[], Sample]] = {
        GIT_LOG: partial(_timed, lambda: git_log(repository)),
        "first sync": partial(_timed, lambda: sync([repository], fresh)),
    }
    bench.say("first sync")
    series = interleave(syncs, bench["real_syncs" if real else "syncs"])
    index = keep_index(bench, repository, fresh)
    store = bench.workshop.keep(SqliteHistory.read(index))
    series |= interleave(_variants(bench, repository, index, store), bench["rounds"], say=bench.say)
    claim = Claim(NAME, TITLE, _sizes(repository, index, store), NOTES, {}, _figures(series))
    _add_peer(bench, repository, claim)
    return claim


def _add_peer(bench: Bench, repository: Path, claim: Claim) -> None:
    """The same sync by another commitmux, where there is one."""
    peers = programs(bench)
    command = of_commitmux(peers.commands)
    if command is None:
        why = peers.skipped.get(COMMITMUX, "none is on PATH, and --peer names none")
        claim.skipped["peer commitmux"] = why
        return
    ours = [str(Path(sys.executable).with_name(COMMITMUX)), "serve"]
    home = bench.home / "peers"
    variants: dict[str, Callable[[], Sample]] = {
        OURS: lambda: {"s": sync_with(ours, home / "our-sync", repository)},
        PEER: lambda: {"s": sync_with(command, home / "peer-sync", repository)},
    }
    try:
        series = interleave(variants, bench["peer_syncs"], say=bench.say)
    except PeerFailed as error:
        claim.skipped["peer commitmux"] = str(error)
        return
    compared = compare(series[OURS], series[PEER], "s")
    claim.figures.append(Figure("first sync", OURS, PEER, "s", compared))


def _variants(
    bench: Bench, repository: Path, index: Path, store: SqliteHistory
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
        REV_PARSE: partial(_timed, lambda: _git(repository, "rev-parse", "HEAD")),
        "sync, nothing new": partial(_nothing_new, index),
        **{title: partial(asked, ask, questions) for title, ask in asks.items()},
    }


def _timed(work: Callable[[], object]) -> Sample:
    begun, used = time.perf_counter(), _processor_time()
    work()
    taken = time.perf_counter() - begun
    return {"ms": taken * 1000, "cpu": (_processor_time() - used) * 1000}


def _processor_time() -> float:
    """Seconds that this process and the children it has waited for have used."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _nothing_new(index: Path) -> Sample:
    store = SqliteHistory.open(index)
    (repo,) = store.repos()
    sample = _timed(lambda: sync_repo(store, repo))
    store.close()
    return sample


def _git(repository: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=repository, stdout=subprocess.DEVNULL, check=True)


def _common_word(store: SqliteHistory) -> str:
    subjects = store.connection.execute("SELECT subject FROM commit_rows LIMIT 2000")
    words = [w.lower() for row in subjects for w in row[0].split() if w.isalpha() and len(w) > 3]
    return max(set(words), key=words.count) if words else "change"


def _sizes(repository: Path, index: Path, store: SqliteHistory) -> dict[str, str]:
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
