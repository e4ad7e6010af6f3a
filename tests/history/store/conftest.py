"""Stores that must keep the contract, empty and with a small made-up history."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
import zstandard

from clew.history.model import CommitMeta, Repo, first_id, last_id
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.diffs import index_commit, unread_commit
from clew.team.history.store import PostgresHistory

DAY = 86_400
START = 1_000 * DAY
ANN = ("Ann", "ann@example.com")
BEN = ("Ben", "Ben@example.com")

# Whoever adds an implementation of HistoryStore adds it here, and every test runs on it.
ENGINES = ("sqlite", "postgres")


@pytest.fixture(params=ENGINES)
def make_store(request, tmp_path):
    """Opens the same store as often as wanted; all are closed in the end."""
    opened = []
    if request.param == "postgres":
        address = request.getfixturevalue("team_database")

    def make():
        made = (
            PostgresHistory.create(address)
            if request.param == "postgres"
            else SqliteHistory.create(tmp_path / "db")
        )
        opened.append(made)
        return made

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def store(make_store):
    return make_store()


def sha_of(name):
    return hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()


def diff_of(path, status="M", added=(), removed=(), old=None):
    """A change of one file: its raw line, and its part of the patch."""
    names = f"{old}\t{path}" if old else path
    score = "100" if old else ""
    lines = [*(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
    head = [f"diff --git a/{old or path} b/{path}", f"--- a/{old or path}", f"+++ b/{path}"]
    hunk = f"@@ -1,{len(removed)} +1,{len(added)} @@"
    raw = f":100644 100644 {sha_of(path)[:7]} {sha_of(status)[:7]} {status}{score}\t{names}"
    return raw, "\n".join([*head, hunk, *lines]) + "\n"


def commit(name, *changes, day=0, parents=(), body=None, author=ANN, committed=None):
    """A commit whose SHA follows from its subject, as the sync hands it over."""
    meta = CommitMeta(
        sha=sha_of(name),
        parents=tuple(sha_of(parent) for parent in parents),
        author_name=author[0],
        author_email=author[1],
        author_time=START + day * DAY,
        author_zone="+0000",
        committer_name=ANN[0],
        committer_email=ANN[1],
        commit_time=START + (day if committed is None else committed) * DAY,
        subject=name,
        body=body,
    )
    diffs = [diff_of(*change[:2], **change[2]) for change in changes]
    raw = "\n".join(line for line, _ in diffs)
    diff = f"{raw}\n\n{''.join(part for _, part in diffs)}".encode() if diffs else b""
    return index_commit(meta, diff, (), zstandard.ZstdCompressor())


def unread(name, **options):
    """A commit whose diff git could not read."""
    return unread_commit(commit(name, **options).meta)


HISTORY = (
    commit("Start", ("src/core.py", "A", {"added": ["alpha", "beta"]}), body="Fixes #1"),
    commit(
        "Rename the core",
        ("src/main.py", "R", {"old": "src/core.py", "added": ["gamma"], "removed": ["beta"]}),
        ("docs/a_b.md", "A", {"added": ["words about alpha"]}),
        day=1, parents=["Start"], author=BEN, body="Long and\nwide",
    ),
    commit("On the side", ("lib/x.c", "A", {"added": ["needle"]}), day=2, parents=["Start"]),
    commit(
        "Merge the side", ("lib/x.c", "A", {"added": ["needle"]}),
        day=3, parents=["Rename the core", "On the side"],
    ),
    commit(
        "Tune main",
        ("src/main.py", "M", {"added": ["delta", "needle"], "removed": ["alpha"]}),
        ("docs/a_b.md", "D", {"removed": ["words about alpha"]}),
        day=4, parents=["Merge the side"],
    ),
    commit("Empty", day=5, parents=["Tune main"], author=BEN),
)  # fmt: skip


@pytest.fixture
def repo(store):
    """A repository with the history above."""
    found = store.add_repo(Repo(0, "demo", "/nowhere/demo"))
    with store.writing():
        store.write_commits(found.repo_id, HISTORY)
    return found


@pytest.fixture
def other(store):
    """A second repository, with one commit that says the same."""
    found = store.add_repo(Repo(0, "other", "/nowhere/other"))
    twin = replace(HISTORY[0], meta=replace(HISTORY[0].meta, sha=sha_of("Start of another")))
    with store.writing():
        store.write_commits(found.repo_id, [twin])
    return found


@pytest.fixture
def id_of(store, repo):
    """The id of a commit by its subject."""
    return lambda name: store.known(repo.repo_id, [sha_of(name)])[sha_of(name)]


def names(store, ids):
    """The subjects of these commits, in their order."""
    wanted = list(ids)
    found = store.commits(wanted)
    return [found[one].subject for one in wanted]


def whole(repo):
    return first_id(repo.repo_id), last_id(repo.repo_id)


def path_ids(store, *parts):
    return dict(store.paths_with(list(parts)))


def args(repo, path):
    return repo.repo_id, path, last_id(repo.repo_id)
