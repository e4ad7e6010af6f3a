"""watch: what moves is synced, one watcher for each index, Ctrl-C ends it cleanly."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest

from clew.history.sync.watch import Watcher
from tests.history.sync.test_hooks import indexed
from tests.support.waiting import wait_until


@pytest.fixture
def watching(db):
    """Starts watchers, and ends them when the test does."""
    started = []

    def start(*words):
        process = subprocess.Popen(
            [sys.executable, "-m", "clew", "history", "watch", "--db", str(db), *words],
            env=os.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_once(cm, repo):
    cm("add-repo", repo.root)

    said = cm("watch", "--once")

    assert said.out == "Watched: 3 commits indexed in 1 syncs.\n"
    assert "app: 3 indexed" in said.err
    assert cm("watch", "--once").out == "Watched: 0 commits indexed in 0 syncs.\n"


def test_once_with_a_repository_that_is_gone(cm, synced, new_repo, tmp_path):
    other = new_repo("other")
    other.commit()
    cm("add-repo", other.root)
    synced.root.rename(tmp_path / "elsewhere")

    said = cm("watch", "--once", "--json", code=1)

    assert said.data == {"looks": 1, "syncs": 1, "commits": 1, "failed": 1}
    assert "app: No repository at" in said.err


def test_what_moves_is_synced_until_told_to_stop(cm, synced, db, watching, new_repo):
    process = watching("--interval", "0.1")
    sha = synced.commit("n.txt", "n\n", "New")
    wait_until(lambda: indexed(db, sha))
    synced.git("pack-refs", "--all")
    synced.git("commit", "--quiet", "--amend", "--message", "Amended")
    amended = synced.git("rev-parse", "HEAD")
    wait_until(lambda: indexed(db, amended))
    later = new_repo("later")
    first = later.commit()
    cm("add-repo", later.root)
    wait_until(lambda: indexed(db, first, "later"))

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)

    assert process.returncode == 0, err
    assert re.fullmatch(r"Watched: [23] commits indexed in [23] syncs.\n", out)
    assert "Traceback" not in err
    assert "app: 1 indexed, 1 no longer reached" in err


def test_one_watcher_for_each_index(cm, synced, watching, db):
    process = watching()
    lock = db.with_name("db.sqlite3.watch.lock")
    wait_until(lock.exists)
    wait_until(lambda: cm("watch", "--once", code=None).code == 1)
    assert "Another 'commitmux watch' is watching" in cm("watch", "--once", code=1).err

    process.kill()
    process.wait()

    # A child that it had just forked has the lock until it is a program of its own.
    wait_until(lambda: cm("watch", "--once", code=None).code == 0)


def test_a_lasting_failure_is_told_once(synced, store, tmp_path):
    synced.root.rename(tmp_path / "elsewhere")
    told = []
    watcher = Watcher(store, told.append)

    assert [watcher.look() for _ in range(3)] == [1, 1, 1]
    (line,) = told
    assert line.startswith("app: No repository at")


def test_syncs_at_the_same_time_write_each_commit_once(cm, repo, db, store):
    for number in range(30):
        repo.commit("a.txt", f"{number}\n", f"Commit {number}")
    cm("add-repo", repo.root)
    words = [sys.executable, "-m", "clew", "history", "sync", "--db", str(db)]
    several = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for _ in range(4)]

    assert [process.wait(60) for process in several] == [0] * 4

    assert store.connection.execute("SELECT count(*) FROM commit_rows").fetchone()[0] == 33
    cm("verify")
