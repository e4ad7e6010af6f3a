"""update-repo and sync --full."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from clew.history.store.sqlite import SqliteHistory


def subjects(store, name="app"):
    repo = store.find_repo(name)
    return [commit.meta.subject for commit, _ in store.stored_commits(repo.repo_id)]


def content(store, name="app"):
    repo = store.find_repo(name)
    return list(store.stored_commits(repo.repo_id)), store.tips(repo.repo_id)


def test_no_option_changes_nothing(cm, synced):
    assert cm("update-repo", "app").out == "Updated repo 'app' (no changes)\n"


def test_a_setting_that_is_so_already_is_no_change(cm, synced):
    assert "(no changes)" in cm("update-repo", "app", "--no-author", "--default-only").out


def test_rename(cm, synced):
    said = cm("update-repo", "app", "--name", "tool")

    assert said.out.startswith("Updated repo 'tool'\n")
    assert "0 indexed, 3 already indexed" in cm("sync", "--repo", "tool").out
    assert "Repo 'app' not found" in cm("update-repo", "app", code=1).err


@pytest.mark.parametrize("name", ["../../x", "", "a\nb", "/abs", "a/../b"])
def test_a_bad_new_name_is_refused(cm, synced, name):
    assert "Not a usable repository name" in cm("update-repo", "app", "--name", name, code=1).err


def test_a_name_that_is_taken_is_refused(cm, synced, new_repo):
    cm("add-repo", new_repo("other").root)

    assert "already exists" in cm("update-repo", "app", "--name", "other", code=1).err
    assert cm("update-repo", "app", "--name", "app").out.endswith("(no changes)\n")


def test_a_repository_that_moved(cm, synced, tmp_path):
    synced.root.rename(tmp_path / "moved")
    assert "No repository at" in cm("sync", code=1).out

    cm("update-repo", "app", "--path", tmp_path / "moved")

    assert "0 indexed, 3 already" in cm("sync").out
    assert "No such directory" in cm("update-repo", "app", "--path", tmp_path / "no", code=1).err


@pytest.mark.parametrize(
    "words",
    [
        ("--author", "a@b", "--no-author"),
        ("--exclude", "x/", "--clear-exclude"),
        ("--default-branch", "x", "--no-default-branch"),
    ],
)
def test_opposites_exclude_each_other(cm, synced, words):
    assert "exclude each other" in cm("update-repo", "app", *words, code=2).err


@pytest.mark.parametrize("words", [("--author", ""), ("--exclude", ""), ("--author", "  ")])
def test_filters_that_would_leave_nothing_are_refused(cm, synced, words, new_repo):
    assert "An empty" in cm("update-repo", "app", *words, code=1).err
    assert "An empty" in cm("add-repo", new_repo("other").root, *words, code=1).err


def test_a_branch_that_is_not_there_is_refused(cm, synced):
    assert "no commit at nope" in cm("update-repo", "app", "--default-branch", "nope", code=1).err
    assert cm("update-repo", "app", "--default-branch", "--upload-pack=x", code=1).err


def test_another_branch_and_back(cm, synced, store):
    synced.git("switch", "--quiet", "--create", "side")
    synced.commit("c.txt", "c\n", "Side work")
    synced.git("switch", "--quiet", "main")

    cm("update-repo", "app", "--default-branch", "side")
    assert "1 indexed" in cm("sync").out
    cm("update-repo", "app", "--no-default-branch")
    cm("sync")

    assert store.commit_count(store.find_repo("app").repo_id) == 3
    cm("update-repo", "app", "--all-refs")
    cm("sync")
    assert store.commit_count(store.find_repo("app").repo_id) == 4


def test_a_new_exclude_acts_after_a_full_sync(cm, synced, store):
    said = cm("update-repo", "app", "--exclude", "src/")
    assert "Run 'commitmux sync --full --repo app' to re-read" in said.out
    assert "src/b.py" in cm("touches", "b.py").out

    assert "3 indexed, 0 already indexed" in cm("sync", "--full", "--repo", "app").out

    assert "Nothing found" in cm("touches", "b.py").out
    assert "Nothing found" in cm("search", "unusualword").out
    cm("update-repo", "app", "--clear-exclude")
    cm("sync", "--full")
    assert "Add b" in cm("search", "unusualword").out
    assert cm("verify").code == 0


def test_a_new_author_acts_after_a_full_sync(cm, synced, store):
    cm("update-repo", "app", "--author", "other@example.com")
    assert "2 filtered by author" in cm("sync", "--full").out
    assert subjects(store) == ["Change a"]
    cm("verify")

    cm("update-repo", "app", "--no-author")
    cm("sync", "--full")
    assert subjects(store) == ["First", "Add b", "Change a"]


def test_a_full_sync_equals_a_first_one(cm, synced, store):
    before = content(store)

    cm("sync", "--full")

    assert content(store) == before
    assert "0 indexed, 3 already" in cm("sync").out
    assert len(cm("search", "unusualword", "--json").data["commits"]) == 1
    store.connection.execute("INSERT INTO commits_fts (commits_fts) VALUES ('integrity-check')")
    store.connection.execute("INSERT INTO paths_fts (paths_fts) VALUES ('integrity-check')")


def test_a_full_sync_keeps_other_repositories(cm, synced, store, new_repo):
    other = new_repo("other")
    other.commit("a.txt", "one\n", "First")
    cm("add-repo", other.root)
    cm("sync")
    before = content(store, "other")

    cm("sync", "--full", "--repo", "app")

    assert content(store, "other") == before
    cm("verify")


def test_a_full_sync_that_fails_keeps_the_old(cm, synced, store, db, monkeypatch):
    before = content(store)

    def fail(*_):
        raise OSError("no room")

    monkeypatch.setattr(SqliteHistory, "sweep_patches", fail)
    cm("sync", "--full", code=1)

    assert content(store) == before
    assert not list(db.parent.glob(".db*"))


def test_a_full_sync_of_a_damaged_repository_keeps_the_old(cm, synced, store):
    before = content(store)[0]
    tree = synced.git("rev-parse", "HEAD~1^{tree}")
    file = synced.root / ".git" / "objects" / tree[:2] / tree[2:]
    file.chmod(0o600)
    file.write_bytes(b"junk")

    assert "what was indexed is kept" in cm("sync", "--full", code=1).out
    assert content(store)[0] == before


KILLED = """
import os, signal, sys
from clew.history.store.sqlite import SqliteHistory
def killed(*_):
    os.kill(os.getpid(), signal.SIGKILL)
SqliteHistory.sweep_patches = killed
from clew.cli.faces import run_face
run_face("commitmux", ["sync", "--full", "--db", sys.argv[1]])
"""


def test_a_full_sync_that_is_killed_keeps_the_old(cm, synced, store, db):
    before = content(store)

    done = subprocess.run([sys.executable, "-c", KILLED, str(db)], timeout=60, check=False)

    assert done.returncode == -signal.SIGKILL
    assert content(store) == before
    assert list(db.parent.glob(".db*"))
    cm("sync", "--full")
    assert content(store) == before
    assert not list(db.parent.glob(".db*"))
