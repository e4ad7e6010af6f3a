"""snapshot and attach: one repository's index as a file."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from clew.cli.faces import run_face
from clew.history.store.sqlite import SqliteHistory


@pytest.fixture
def other(tmp_path, cm):
    """A second index, and the command line on it."""
    path = tmp_path / "other.sqlite3"

    def run(*words):
        return run_face("commitmux", [*map(str, words), "--db", str(path)])

    run("init")
    return path, run


def commits(path, name="app"):
    store = SqliteHistory.read(path)
    repo = store.find_repo(name)
    try:
        return list(store.stored_commits(repo.repo_id)), store.tips(repo.repo_id)
    finally:
        store.close()


@pytest.fixture
def file(cm, synced, tmp_path):
    """A snapshot of the repository, which has an unreachable commit too."""
    synced.git("commit", "--quiet", "--amend", "--message", "Amended")
    cm("sync")
    made = tmp_path / "app.snapshot"
    said = cm("snapshot", "app", made)
    assert said.out == f"Wrote 4 commits of 'app' to {made}\n"
    return made


def test_there_and_back(cm, synced, file, db, other, new_repo, capfd):
    path, run = other
    twin = new_repo("twin")
    twin.commit("a.txt", "one\n", "First")
    run("add-repo", twin.root)
    run("sync")

    assert run("attach", file) == 0

    assert commits(path) == commits(db)
    assert run("verify") == 0
    assert run("sync") == 0
    capfd.readouterr()
    assert run("search", "unusualword") == 0
    assert "Add b" in capfd.readouterr().out
    assert run("gc") == 0


def test_under_another_name(cm, file):
    assert "already exists" in cm("attach", file, code=1).err

    assert cm("attach", file, "--name", "copy").out == "Attached repo 'copy' (4 commits)\n"
    assert "Not a usable" in cm("attach", file, "--name", "../x", code=1).err
    cm("verify")


def test_it_is_one_file(file):
    assert [f.name for f in file.parent.iterdir() if "snapshot" in f.name] == [file.name]
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete"


def test_a_file_that_is_there_is_not_replaced(cm, synced, file):
    before = file.read_bytes()

    assert "exists already" in cm("snapshot", "app", file, code=1).err
    assert file.read_bytes() == before
    assert "No such directory" in cm("snapshot", "app", file.parent / "no" / "x", code=1).err
    assert "not found" in cm("snapshot", "nobody", file.parent / "x", code=1).err


def test_where_the_repository_is_not(cm, file, synced, tmp_path):
    synced.root.rename(tmp_path / "moved")

    said = cm("attach", file, "--name", "copy")

    assert "Say where it is: commitmux update-repo copy --path PATH" in said.out
    cm("update-repo", "copy", "--path", tmp_path / "moved")
    assert "0 indexed" in cm("sync", "--repo", "copy").out


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("PRAGMA user_version = 1", "has schema 1"),
        ("PRAGMA user_version = 99", "has schema 99"),
        ("DELETE FROM repos", "holds 0 repositories"),
        ("UPDATE repos SET name = '../x'", "Not a usable repository name"),
        ("UPDATE patch_packs SET frames = x'00'", "is damaged"),
        ("UPDATE repos SET exclude_prefixes = 'x'", "is damaged"),
        ("DROP TABLE people", "is damaged"),
    ],
)
def test_a_file_that_is_not_right_changes_nothing(cm, file, other, capfd, change, words):
    path, run = other
    connection = sqlite3.connect(file)
    connection.execute(change)
    connection.commit()
    connection.close()

    assert run("attach", file) == 1

    assert words in capfd.readouterr().err
    with SqliteHistory.read(path) as store:
        assert store.repos() == []


def test_a_file_that_is_no_index(cm, tmp_path):
    (tmp_path / "text").write_text("hello, this is no database at all\n", encoding="utf-8")

    assert "Cannot read the database" in cm("attach", tmp_path / "text", code=1).err
    assert "not found" in cm("attach", tmp_path / "absent", code=1).err
