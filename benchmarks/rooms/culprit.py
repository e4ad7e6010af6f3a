"""The commit behind a bug: is the one that a fix's message blames found by its lines alone."""

from __future__ import annotations

import random

from benchmarks.bench import Bench
from benchmarks.results.report import Claim
from benchmarks.subjects.histories import index_of
from clew.history.questions.culprit import suspects_of
from clew.history.questions.links import named_commits
from clew.history.store.sqlite import SqliteHistory

NAME = "culprit"
TITLE = "The commit behind a bug, found by the lines of its fix"
FULL = {"rounds": 1, "queries": 60}
QUICK = {"rounds": 1, "queries": 5}
NOTES = [
    "A query is a fix whose message blames a commit: Fixes:, regression in, broken by.",
    "The answer is made of the fix's lines; what its message says is not used.",
]
_BLAMING = ("fixes", "fixes_regression_in")
_DEPTHS = (1, 3, 5, 10)


def run(bench: Bench) -> Claim:
    """Measure on the repository that was named; a generated one has no bugs."""
    if bench.workshop.repository is None:
        why = "it needs a real history: --repository DIR"
        return Claim(NAME, TITLE, notes=NOTES, skipped={NAME: why})
    with SqliteHistory.read(index_of(bench, bench.workshop.repository)) as store:
        (repo,) = store.repos()
        pairs = blamed(store)
    chosen = random.Random(7).sample(pairs, min(len(pairs), bench["queries"]))
    places = []
    for fix, cause in chosen:
        found = suspects_of(repo, fix)
        places.append(found.index(cause) if cause in found else len(found) + max(_DEPTHS))
        bench.say(f"{len(places)} of {len(chosen)}")
    shares = [
        f"{sum(place < depth for place in places) / max(len(places), 1):.2f}" for depth in _DEPTHS
    ]
    title = f"recall at {', '.join(map(str, _DEPTHS))} ({len(chosen)} of {len(pairs)} fixes)"
    return Claim(NAME, TITLE, {title: " / ".join(shares)}, NOTES)


def blamed(store: SqliteHistory) -> list[tuple[str, str]]:
    """Fixes with the commit that their message blames, where that is known."""
    (repo,) = store.repos()
    found = []
    for commit, _ in store.stored_commits(repo.repo_id):
        for kind, sha, _ in named_commits(commit.meta.body or ""):
            known = store.commits_by_prefix(repo.repo_id, sha, 2) if kind in _BLAMING else []
            if len(known) == 1 and len(commit.meta.parents) == 1:
                found.append((commit.meta.sha, known[0].sha))
                break
    return found
