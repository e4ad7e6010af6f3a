"""How patches are stored and read in: packs, merges with a twin, older indexes, giving up."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from clew.history.git.stream import DiffReader, read_commits
from clew.history.store.sqlite import SqliteHistory, migrations
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.history.sync.sync import bring_up_to_date
from clew.kit.git import GitError
from clew.kit.sqlite import open_database
from tests.history.index import (
    assert_commit_equals_git,
    assert_equals_git,
    check_text_indexes,
    content,
    hits,
    new_index,
    patch_of,
    sync,
)
from tests.support.repos import Repository, generate


@pytest.fixture
def repository(tmp_path):
    return generate(tmp_path / "r", 60)


def merge(repository, name, files, *options):
    """A branch of one commit, and its merge."""
    repository.git("checkout", "-q", "-b", name)
    commit = repository.commit(f"On {name}", files)
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "--no-edit", *options, name, env=repository.dates())
    return commit, repository.head()


def test_a_merge_that_changes_what_its_commit_does(tmp_path):
    r = Repository(tmp_path / "r")
    r.git("config", "user.name", "Test")
    r.git("config", "user.email", "test@example.com")
    r.commit("Start", {"a.txt": "a\n", "vendor/x": "x\n"})
    commit, twin = merge(r, "one", {"a.txt": "unusualword\n", "b.txt": "b\n"})
    r.git("checkout", "-q", "-b", "two")
    r.commit("On two", {"c.txt": "c\n"})
    r.git("checkout", "-q", "main")
    r.commit("Meanwhile", {"d.txt": "d\n"})
    r.git("merge", "-q", "--no-ff", "--no-edit", "two", env=r.dates())
    merge(r, "empty", {})
    merge(r, "left", {"vendor/y": "y\n"})
    merge(r, "dropped", {"e.txt": "e\n"}, "-s", "ours")

    store = new_index(tmp_path / "db", r)

    assert patch_of(store, twin) == patch_of(store, commit)
    for sha in r.all_shas():
        if "vendor/" not in r.text("show", "--stat", "-m", "--first-parent", sha):
            assert_commit_equals_git(r, store, sha)
    assert hits(store, "unusualword") == [[commit]]
    check_text_indexes(store)
    store.close()


def test_packs_lose_only_the_patches_that_go(repository, tmp_path):
    store = new_index(tmp_path / "db", repository)
    before = dict(store.connection.execute("SELECT sha, patch_blob FROM commit_patches").fetchall())
    rows = store.connection.execute("SELECT id, lower(hex(sha)) AS sha FROM commit_rows").fetchall()
    assert store.connection.execute("SELECT count(*) FROM patch_packs").fetchone()[0] < 10

    with store.writing():
        store.delete_commits([row["id"] for row in rows[::2]])
        dropped = store.sweep_patches()

    gone = {row["sha"] for row in rows[::2]}
    after = dict(store.connection.execute("SELECT sha, patch_blob FROM commit_patches").fetchall())
    assert after == {sha: blob for sha, blob in before.items() if sha not in gone}
    assert dropped == len(before) - len(after) > 0
    kept = store.connection.execute(
        "SELECT sum(length(frames)), (SELECT sum(length) FROM patch_places) FROM patch_packs"
    ).fetchone()
    assert kept[0] == kept[1]
    with store.writing():
        store.delete_commits([row["id"] for row in rows[1::2]])
        store.sweep_patches()
    assert store.connection.execute("SELECT count(*) FROM patch_packs").fetchone()[0] == 0
    store.close()


def test_an_index_of_an_older_layout_keeps_everything(repository, tmp_path):
    wanted = new_index(tmp_path / "new", repository)
    wanted.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    old = open_database(tmp_path / "made", migrations()[:2])
    old.execute("ATTACH ? AS filled", (str(wanted.path),))
    old.execute("INSERT INTO patch_rows SELECT patch_id, digest, size, blob FROM filled.patch_rows")
    for table in (
        "repos",
        "people",
        "paths",
        "commit_rows",
        "file_rows",
        "ingest_state",
        "ref_tips",
    ):
        old.execute(f"INSERT INTO {table} SELECT * FROM filled.{table}")
    old.execute("INSERT INTO commits_fts (commits_fts) VALUES ('rebuild')")
    old.execute("INSERT INTO paths_fts (paths_fts) VALUES ('rebuild')")
    old.close()
    reader = SqliteHistory.read(tmp_path / "made")
    assert patch_of(reader, repository.head()) == patch_of(wanted, repository.head())
    reader.close()

    migrated = SqliteHistory.open(tmp_path / "made")

    assert content(migrated) == content(wanted)
    assert sync(migrated).indexed == 0
    sha = repository.commit("More", {"more.txt": "more\n"})
    assert sync(migrated).indexed == 1
    assert_commit_equals_git(repository, migrated, sha)
    migrated.close()
    wanted.close()


def test_other_programs_see_plain_rows(repository, tmp_path):
    new_index(tmp_path / "db", repository).close()
    connection = sqlite3.connect(tmp_path / "db")
    count, kinds = connection.execute(
        "SELECT count(*), count(DISTINCT typeof(patch_blob) || hex(substr(patch_blob, 1, 4)))"
        " FROM commit_patches"
    ).fetchone()
    connection.close()
    assert (count, kinds) == (60, 1)


def test_one_patch_is_read_without_the_others(repository, tmp_path):
    store = new_index(tmp_path / "db", repository)
    steps = store.connection.execute(
        "EXPLAIN QUERY PLAN SELECT p.blob FROM commit_rows c"
        " LEFT JOIN patch_rows p ON p.patch_id = c.patch_id WHERE c.id = 1"
    ).fetchall()
    told = [step["detail"] for step in steps]
    assert not [line for line in told if line.startswith(("SCAN", "MATERIALIZE"))], told
    store.close()


def test_a_reader_that_is_stopped_ends_and_starts_no_more(repository):
    batch = list(read_commits(repository.path, [repository.head()]))
    reader = DiffReader(repository.path)
    outcome = []

    def read():
        try:
            while True:
                outcome.append(reader.receive(batch, reader.send(batch)))
        except GitError as error:
            outcome.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    while not outcome:
        pass
    reader.stop()
    thread.join(120)

    assert not thread.is_alive()
    assert isinstance(outcome[-1], GitError)
    assert None not in outcome[0]
    reader.close()


def test_a_sync_that_fails_in_the_middle_leaves_no_thread(repository, tmp_path, monkeypatch):
    store = SqliteHistory.create(tmp_path / "db")
    repo = register(store, repository.path, name="r")
    before = threading.active_count()
    monkeypatch.setattr("clew.history.sync.diffs._BATCH", 3)

    def fail(*_):
        raise OSError("full")

    with monkeypatch.context() as patched:
        patched.setattr(store, "write_commits", fail)
        with pytest.raises(OSError, match="full"):
            sync_repo(store, repo)

    assert threading.active_count() == before
    sync(store)
    assert_equals_git(repository, store)
    store.close()


def test_a_sync_that_may_skip_leaves_when_another_one_waits(repository, tmp_path, monkeypatch):
    store = SqliteHistory.create(tmp_path / "db")
    repo = register(store, repository.path, name="r")
    waits, take = threading.Event(), SqliteHistory.locked

    def noted_lock(of, repo_id=None):
        waits.set()
        return take(of, repo_id)

    def wait():
        other = SqliteHistory.open(tmp_path / "db")
        bring_up_to_date(other, repo, may_skip=True)
        other.close()

    monkeypatch.setattr(SqliteHistory, "locked", noted_lock)
    with take(store):
        thread = threading.Thread(target=wait)
        thread.start()
        assert waits.wait(120)
        sha = repository.commit("Late", {"late.txt": "late\n"})
        skipped = bring_up_to_date(store, repo, may_skip=True)
    thread.join(60)

    assert (skipped.indexed, skipped.tip) == (0, None)
    assert store.known(repo.repo_id, [sha])
    assert bring_up_to_date(store, repo, may_skip=True).tip == sha
    store.close()
