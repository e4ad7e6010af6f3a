"""install-hook: real commits by plain git reach the index, and other hooks stay."""

from __future__ import annotations

import os
import shutil
import stat

import pytest

from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.hooks import HOOKS
from tests.support.waiting import wait_until


def indexed(db, sha, name="app"):
    """Whether a commit is in the index."""
    store = SqliteHistory.read(db)
    try:
        return bool(store.known(store.find_repo(name).repo_id, [sha]))
    finally:
        store.close()


def hook_of(repo, name="post-commit"):
    return repo.root / ".git" / "hooks" / name


def test_a_commit_reaches_the_index(cm, synced, db):
    cm("install-hook", "app")

    sha = synced.commit("n.txt", "n\n", "New")

    wait_until(lambda: indexed(db, sha))
    wait_until(lambda: "1 indexed" in (db.parent / "hooks.log").read_text("utf-8"))


def test_an_amended_commit_and_a_merge_reach_the_index(cm, synced, db):
    cm("install-hook", "app")
    synced.git("commit", "--quiet", "--amend", "--message", "Amended")
    amended = synced.git("rev-parse", "HEAD")
    wait_until(lambda: indexed(db, amended))
    synced.git("switch", "--quiet", "--create", "side", "HEAD~1")
    synced.commit("s.txt", "s\n", "Side")
    synced.git("switch", "--quiet", "main")

    synced.git("merge", "--quiet", "--no-edit", "side")

    merge = synced.git("rev-parse", "HEAD")
    wait_until(lambda: indexed(db, merge))
    wait_until(lambda: cm("verify", code=None).code == 0)


def test_twice_is_once(cm, synced):
    cm("install-hook", "app")
    first = {hook: hook_of(synced, hook).read_bytes() for hook in HOOKS}

    said = cm("install-hook", "app", "--json")

    assert {entry["deed"] for entry in said.data["hooks"]} == {"unchanged"}
    assert {hook: hook_of(synced, hook).read_bytes() for hook in HOOKS} == first
    cm("install-hook", "app", "--remove")
    assert not any(hook_of(synced, hook).exists() for hook in HOOKS)
    assert "absent" in cm("install-hook", "app", "--remove").out


@pytest.mark.parametrize(
    "old",
    [
        b"#!/bin/sh\necho mine >> ran.txt\nexit 0\n",
        b"#!/usr/bin/env bash\nset -e\necho mine >> ran.txt",
        b"#!/bin/sh -e\necho mine >> ran.txt\nexec true\n",
        b"echo mine >> ran.txt\n",
        b"#!/bin/sh\n",
        b"#!/bin/sh",
        b"",
        b"#!/bin/sh\n# \xff\xfe not text\necho mine >> ran.txt\n",
    ],
)
def test_a_hook_that_is_there_stays_and_runs(cm, synced, db, old):
    file = hook_of(synced)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(old)
    file.chmod(0o750)

    cm("install-hook", "app")
    assert file.stat().st_mode & 0o777 == 0o750
    sha = synced.commit("n.txt", "n\n", "New")

    wait_until(lambda: indexed(db, sha))
    if b"mine" in old:
        assert (synced.root / "ran.txt").read_text("utf-8") == "mine\n"
    cm("install-hook", "app", "--remove")
    assert file.read_bytes() == old


def test_a_hook_that_is_no_shell_script_is_not_touched(cm, synced):
    file = hook_of(synced, "post-merge")
    file.parent.mkdir(exist_ok=True)
    file.write_text("#!/usr/bin/env python3\nprint()\n", encoding="utf-8")
    file.chmod(0o755)

    assert "not a shell script" in cm("install-hook", "app", code=1).err
    assert not hook_of(synced).exists()
    assert file.read_text(encoding="utf-8").endswith("print()\n")


def test_a_hook_that_is_turned_off_is_not_turned_on(cm, synced):
    file = hook_of(synced)
    file.parent.mkdir(exist_ok=True)
    file.write_text("#!/bin/sh\nfalse\n", encoding="utf-8")
    file.chmod(0o644)

    assert "turned off" in cm("install-hook", "app", code=1).err


def test_hooks_path_is_honoured(cm, synced, db, tmp_path, new_repo):
    shared = tmp_path / "my hooks"
    synced.git("config", "core.hooksPath", str(shared))
    cm("install-hook", "app")
    assert sorted(p.name for p in shared.iterdir()) == sorted(HOOKS)
    assert not hook_of(synced).exists()

    sha = synced.commit("n.txt", "n\n", "New")
    wait_until(lambda: indexed(db, sha))


def test_repositories_that_share_hooks_do_not_disturb_each_other(
    cm, synced, db, tmp_path, new_repo, private_home
):
    shared = tmp_path / "hooks"
    with (private_home / "gitconfig").open("a", encoding="utf-8") as stream:
        stream.write(f"[core]\n\thooksPath = {shared}\n")
    other = new_repo("other")
    other.commit()
    cm("add-repo", other.root)
    cm("sync")
    cm("install-hook", "app")
    cm("install-hook", "other")

    sha = other.commit("n.txt", "n\n", "New")
    wait_until(lambda: indexed(db, sha, "other"))
    log = db.parent / "hooks.log"
    wait_until(lambda: "'other'" in log.read_text("utf-8"))
    assert "'app'" not in log.read_text("utf-8")
    cm("install-hook", "other", "--remove")
    sha = synced.commit("n.txt", "n\n", "New")
    wait_until(lambda: indexed(db, sha))


def test_a_relative_hooks_path(cm, synced, db):
    synced.git("config", "core.hooksPath", ".githooks")

    cm("install-hook", "app")

    assert (synced.root / ".githooks" / "post-commit").exists()
    sha = synced.commit("n.txt", "n\n", "New")
    wait_until(lambda: indexed(db, sha))


def test_a_linked_worktree(cm, repo, db, tmp_path):
    repo.git("worktree", "add", "--quiet", "-b", "tree", str(tmp_path / "tree"))
    cm("add-repo", tmp_path / "tree")
    cm("sync")
    cm("install-hook", "tree")

    repo.root = tmp_path / "tree"
    sha = repo.commit("n.txt", "n\n", "New")

    wait_until(lambda: indexed(db, sha, "tree"))


def test_a_bare_repository(cm, repo, tmp_path):
    bare = tmp_path / "bare.git"
    repo.git("clone", "--quiet", "--bare", str(repo.root), str(bare))
    cm("add-repo", bare)

    cm("install-hook", "bare")

    assert (bare / "hooks" / "post-commit").stat().st_mode & stat.S_IXUSR


def test_names_and_places_that_a_shell_would_take_apart(repo, tmp_path, capfd, monkeypatch):
    from clew.cli.faces import run_face

    odd = tmp_path / 'it\'s $(touch pwned) `x` "q"'
    db = odd / "db.sqlite3"
    monkeypatch.setenv("COMMITMUX_DB", str(db))
    assert run_face("commitmux", ["init"]) == 0
    assert run_face("commitmux", ["add-repo", str(repo.root), "--name", "my app"]) == 0
    assert run_face("commitmux", ["install-hook", "my app"]) == 0
    monkeypatch.delenv("COMMITMUX_DB")

    sha = repo.commit("n.txt", "n\n", "New")

    wait_until(lambda: indexed(db, sha, "my app"))
    assert not list(tmp_path.rglob("pwned"))


def test_a_commit_does_not_wait(cm, synced):
    cm("install-hook", "app")
    file = hook_of(synced)
    slow = file.read_text("utf-8").replace("nohup ", "nohup sh -c 'sleep 2; echo > slept' ")
    file.write_text(slow, encoding="utf-8")

    synced.git("commit", "--allow-empty", "--message", "Quick")

    assert not (synced.root / "slept").exists()
    wait_until((synced.root / "slept").exists)


def test_a_commit_does_not_fail_when_all_is_gone(cm, synced, db):
    cm("install-hook", "app")
    shutil.rmtree(db.parent)

    done = synced.git_result("commit", "--quiet", "--allow-empty", "--message", "Alone")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_hooks_that_are_turned_off_for_all(cm, synced):
    synced.git("config", "core.hooksPath", os.devnull)

    assert "turned off" in cm("install-hook", "app", code=1).err
