"""Syncs that are killed anywhere, and readers while one runs."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time

import pytest

from clew.history.questions.file_history import find_touches
from clew.history.search.search import search_commits
from clew.history.store.sqlite import SqliteHistory
from tests.history.index import check_text_indexes, content, hits, new_index, sync
from tests.support.client import BIN
from tests.support.repos import generate

QUERIES = ("number7", "word17", "part3", "file5", "dir1", "body")
# Small transactions, so that a kill has many places to hit.
SYNC = """
import sys
from pathlib import Path
from clew.history.sync import ingest
from clew.history.store.sqlite import SqliteHistory
ingest._BATCH = 4
ingest._TRANSACTION_COMMITS = 20
store = SqliteHistory.open(Path(sys.argv[1]))
for repo in store.repos():
    ingest.sync_repo(store, repo)
"""


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """A repository of 700 commits and its clean index."""
    home = tmp_path_factory.mktemp("big")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        repository = generate(home / "big", 700)
        clean = new_index(home / "clean", repository)
    yield repository, clean
    clean.close()


def start_sync(path):
    return subprocess.Popen([sys.executable, "-c", SYNC, str(path)])


@pytest.mark.parametrize("seed", range(4))
def test_killed_anywhere_then_synced_equals_a_clean_index(big, tmp_path, seed):
    repository, clean = big
    dice = random.Random(seed)
    store = SqliteHistory.create(tmp_path / "db")
    from clew.history.sync.repositories import register

    register(store, repository.path, name="r")
    kills = 0
    for wanted_count in sorted(dice.sample(range(400), 4)):
        process = start_sync(store.path)
        while process.poll() is None and store.commit_count(1) < wanted_count:
            time.sleep(0.001)
        time.sleep(dice.random() * 0.02)
        process.send_signal(signal.SIGKILL)
        assert process.wait() in (0, -signal.SIGKILL)
        kills += process.returncode != 0
        check_text_indexes(store)
        for row in store.connection.execute("SELECT sha FROM commits ORDER BY random() LIMIT 3"):
            wanted = [entry for entry in content(clean)["files"] if entry[0] == row["sha"]]
            assert [e for e in content(store)["files"] if e[0] == row["sha"]] == wanted
    sync(store)
    assert kills > 0
    assert content(store) == content(clean)
    assert hits(store, *QUERIES) == hits(clean, *QUERIES)
    check_text_indexes(store)
    again = sync(store)
    assert (again.indexed, again.problems) == (0, ())
    assert content(store) == content(clean)
    store.close()


def test_killed_then_rewritten_shows_nothing_of_what_was_lost(big, tmp_path):
    repository, _ = big
    repository.git("clone", "-q", str(repository.path), str(tmp_path / "r"))
    from clew.history.sync.repositories import register

    store = SqliteHistory.create(tmp_path / "db")
    repo = register(store, tmp_path / "r", name="r")
    process = start_sync(store.path)
    while store.commit_count(repo.repo_id) == 0 and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    process.wait()
    repository.git("-C", str(tmp_path / "r"), "checkout", "-q", "--orphan", "new")
    repository.git(
        "-C",
        str(tmp_path / "r"),
        "-c",
        "user.name=a",
        "-c",
        "user.email=b",
        "commit",
        "-q",
        "-m",
        "Start anew",
    )
    sync(store)
    assert store.commit_count(repo.repo_id) == 1
    assert hits(store, "body") == [[]]
    store.close()


def test_two_syncs_at_once_index_everything_once(big, tmp_path):
    repository, clean = big
    command = [str(BIN / "commitmux")]
    db = ["--db", str(tmp_path / "db")]
    for words in (["init"], ["add-repo", str(repository.path), "--name", "r"]):
        subprocess.run([*command, *words, *db], check=True, capture_output=True)
    running = [subprocess.Popen([*command, "sync", *db], stdout=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate() and process.returncode for process in running] == [0, 0, 0]
    store = SqliteHistory.open(tmp_path / "db")
    assert content(store) == content(clean)
    store.close()


def test_sixteen_readers_during_a_sync(big, tmp_path):
    repository, clean = big
    from clew.history.sync.repositories import register

    store = SqliteHistory.create(tmp_path / "db")
    register(store, repository.path, name="r")
    final = {query: set(found) for query, found in zip(QUERIES, hits(clean, *QUERIES), strict=True)}
    errors, answers, done = [], [], threading.Event()

    def read(number):
        reader = SqliteHistory.read(tmp_path / "db")
        try:
            before = 0
            while not done.is_set():
                query = QUERIES[number % len(QUERIES)]
                found = search_commits(reader, query, limit=10_000)
                assert {hit["sha"] for hit in found} <= final[query]
                assert len(found) >= before
                assert all(hit["matched_paths"] for hit in found)
                before = len(found)
                find_touches(reader, f"file{number}.txt")
                answers.append(len(found))
        except BaseException as error:
            errors.append(error)
            raise
        finally:
            reader.close()

    threads = [threading.Thread(target=read, args=(number,)) for number in range(16)]
    process = start_sync(store.path)
    for thread in threads:
        thread.start()
    assert process.wait(60) == 0
    done.set()
    for thread in threads:
        thread.join(120)
    assert errors == []
    assert len(answers) >= 16
    assert hits(store, *QUERIES) == hits(clean, *QUERIES)
    store.close()
