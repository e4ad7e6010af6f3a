"""Worktrees: made, attached again, made anew, removed; nothing that is work is destroyed."""

from __future__ import annotations

import shutil

import pytest

from clew.kit.errors import ClewError, Conflict, Invalid, NotFound
from clew.kit.project import find_project
from clew.work.model import WorktreeSettings
from clew.work.paths import keep_out_of_git, worktree_home
from clew.work.worktrees.worktrees import (
    copy_included,
    dirty_files,
    is_merged,
    owners,
    path_of,
    prepare,
    remove,
    restore_snapshot,
    take_snapshot,
)
from tests.support.repos import Repository

SETTINGS = WorktreeSettings()


def made(project, spec_id="001", settings=SETTINGS):
    tree = prepare(project.root, spec_id, settings)
    return tree, Repository(tree.path)


def test_a_worktree_is_named_by_project_and_spec_and_leads_to_the_project(project, private_home):
    tree, _ = made(project)
    assert tree.path.name == "001"
    assert tree.path.parent.name.startswith("house-")
    assert tree.path.is_relative_to(private_home)
    assert find_project(str(tree.path)) == project.root
    assert (tree.branch, tree.base_commit, tree.is_new) == ("chant/001", project.repo.head(), True)


def test_projects_of_one_name_do_not_share_worktrees(project, tmp_path):
    other = Repository(tmp_path / "elsewhere" / "house")
    assert worktree_home(other.path) != worktree_home(project.root)


def test_the_base_is_chosen_and_not_what_happens_to_be_checked_out(project):
    base = project.repo.head()
    project.repo.commit("later", {"later.txt": ""})
    tree, _ = made(project, settings=WorktreeSettings(base_ref=base, branch_prefix="bot/"))
    assert not (tree.path / "later.txt").exists()
    assert (tree.branch, tree.base_commit) == ("bot/001", base)
    with pytest.raises(NotFound, match="nowhere"):
        made(project, "002", WorktreeSettings(base_ref="nowhere"))


def test_a_worktree_that_is_there_is_attached_with_all_that_is_in_it(project):
    tree, inside = made(project)
    inside.commit("work", {"a.txt": "a"})
    inside.write("unsaved.txt", "b")
    project.repo.commit("main goes on", {"c.txt": "c"})
    again, _ = made(project)
    assert (again.is_new, again.path, again.base_commit) == (False, tree.path, tree.base_commit)
    assert (tree.path / "unsaved.txt").exists()


def test_a_vanished_worktree_is_made_again_from_its_branch(project):
    tree, inside = made(project)
    tip = inside.commit("work", {"a.txt": "a"})
    shutil.rmtree(tree.path)
    again, inside = made(project)
    assert (again.is_new, again.base_commit) == (True, tree.base_commit)
    assert inside.head() == tip


def test_a_strange_directory_in_the_way_is_set_aside(project):
    place = path_of(project.root, "001")
    place.mkdir(parents=True)
    (place / "precious.txt").write_text("mine", encoding="utf-8")
    made(project)
    (aside,) = place.parent.glob(".aside-001-*")
    assert (aside / "precious.txt").read_text(encoding="utf-8") == "mine"


def test_a_branch_that_the_user_has_checked_out_is_not_taken_away(project):
    project.repo.git("checkout", "-q", "-b", "chant/001")
    with pytest.raises(Conflict, match="checked out somewhere else"):
        made(project)


def test_another_branch_in_the_worktree_is_told(project):
    _, inside = made(project)
    inside.git("checkout", "-q", "-b", "own")
    with pytest.raises(Conflict, match="has branch own checked out"):
        made(project)


def test_a_repository_without_commits_or_none_at_all_is_told(tmp_path):
    empty = Repository(tmp_path / "empty")
    with pytest.raises(Invalid, match="no commits yet"):
        prepare(empty.path, "001", SETTINGS)
    (tmp_path / "none").mkdir()
    with pytest.raises(Invalid, match="Not a git repository"):
        prepare(tmp_path / "none", "001", SETTINGS)


def test_sparse_worktrees_have_only_what_they_name(project):
    project.repo.commit("more", {"src/a.txt": "a", "docs/b.txt": "b"})
    tree, _ = made(project, settings=WorktreeSettings(sparse=("src",)))
    assert (tree.path / "src/a.txt").exists()
    assert not (tree.path / "docs").exists()
    assert dirty_files(tree.path) == []
    assert take_snapshot(tree.path, "20260101T000000-00000001", "x") is None


def test_named_ignored_files_come_along_and_nothing_else(project):
    project.repo.commit("wishes", {".worktreeinclude": ".env\nignored/keep/**\nREADME.md\nplain\n"})
    for name in (".env", "ignored/keep/a b.txt", "ignored/other.txt", "plain"):
        project.repo.write(name, name)
    tree, _ = made(project)
    copied = copy_included(project.root, tree.path)
    assert sorted(copied) == [".env", "ignored/keep/a b.txt"]
    assert (tree.path / "ignored/keep/a b.txt").read_text(encoding="utf-8")
    assert not (tree.path / "plain").exists()  # not ignored, so not private to this machine
    (tree.path / ".env").write_text("changed", encoding="utf-8")
    assert copy_included(project.root, tree.path) == []
    assert (tree.path / ".env").read_text(encoding="utf-8") == "changed"


def test_copies_do_not_follow_links_out_of_the_worktree(project, tmp_path):
    (tmp_path / "outside").mkdir()
    project.repo.commit("wishes", {".worktreeinclude": "ignored/**\n"})
    project.repo.write("ignored/a.txt", "a")
    tree, _ = made(project)
    (tree.path / "ignored").symlink_to(tmp_path / "outside")
    assert copy_included(project.root, tree.path) == []
    assert list((tmp_path / "outside").iterdir()) == []


def test_run_state_never_shows_in_git(project):
    keep_out_of_git(project.root)
    keep_out_of_git(project.root)
    for name in (".chant/.store/x", ".chant/logs/x", ".chant/processes/x", ".chant-status.json"):
        project.repo.write(name, "")
    assert project.repo.text("status", "--porcelain") == ""
    exclude = (project.root / ".git/info/exclude").read_text(encoding="utf-8")
    assert exclude.count("Clew's run state") == 1


def test_a_dirty_or_unmerged_worktree_is_not_removed(project):
    tree, inside = made(project)
    inside.write("unsaved.txt", "b")
    with pytest.raises(Conflict, match=r"uncommitted changes: unsaved\.txt"):
        remove(project.root, "001")
    inside.commit("work")
    with pytest.raises(Conflict, match="not in HEAD"):
        remove(project.root, "001")
    assert tree.path.exists()
    project.repo.git("merge", "-q", "--ff-only", "chant/001")
    assert remove(project.root, "001") == []
    assert not tree.path.exists()
    assert owners(project.root) == []
    assert project.repo.text("branch", "--list", "chant/*") == ""


def test_removing_by_force_keeps_what_would_be_lost(project):
    tree, inside = made(project)
    inside.commit("work", {"a.txt": "a"})
    inside.write("unsaved.txt", "b")
    kept = remove(project.root, "001", force=True)
    assert len(kept) == 2
    assert not tree.path.exists()
    refs = project.repo.text("for-each-ref", "--format=%(refname)", "refs/chant").split()
    files = {n for ref in refs for n in project.repo.text("ls-tree", "--name-only", ref).split()}
    assert {"a.txt", "unsaved.txt"} <= files


def test_a_branch_below_the_name_is_not_taken_for_the_branch(project):
    tree, inside = made(project)
    inside.git("checkout", "-q", "--detach")
    project.repo.git("branch", "-D", "chant/001")
    inside.git("checkout", "-q", "-b", "chant/001/sub")
    below = inside.commit("work", {"a.txt": "a"})
    assert remove(project.root, "001", force=True) == []
    assert not tree.path.exists()
    assert project.repo.text("rev-parse", "chant/001/sub") == below
    with pytest.raises(ClewError, match="chant/001/sub"):
        made(project)


def test_only_what_was_made_here_is_removed(project, tmp_path):
    project.repo.git("worktree", "add", "-q", str(tmp_path / "users"), "-b", "users")
    with pytest.raises(NotFound, match="No worktree of spec 'users' was made here"):
        remove(project.root, "users")
    assert (tmp_path / "users").exists()


def test_the_users_own_missing_worktrees_stay_registered(project, tmp_path):
    project.repo.git("worktree", "add", "-q", str(tmp_path / "users"), "-b", "users")
    shutil.rmtree(tmp_path / "users")
    tree, _ = made(project)
    shutil.rmtree(tree.path)
    made(project)
    assert str(tmp_path / "users") in project.repo.text("worktree", "list")


def test_teardown_runs_before_a_worktree_goes_and_its_failure_keeps_it(project, tmp_path):
    tree, _ = made(project)
    bad = WorktreeSettings(teardown=("echo no >&2; exit 3",))
    with pytest.raises(Conflict, match=r"teardown command failed.*: no"):
        remove(project.root, "001", settings=bad)
    assert tree.path.exists()
    remove(project.root, "001", settings=WorktreeSettings(teardown=(f"touch {tmp_path}/gone",)))
    assert (tmp_path / "gone").exists()
    assert not tree.path.exists()


def branch_with_two_commits(project):
    _, inside = made(project)
    inside.commit("one", {"a.txt": "a\n"})
    inside.commit("two", {"b.txt": "b\n"})


def test_work_is_merged_by_ancestry_by_picks_and_squashed(project):
    branch_with_two_commits(project)
    repo = project.repo
    start = repo.head()
    assert not is_merged(project.root, "chant/001", "main")
    repo.commit("main goes on", {"c.txt": "c\n"})
    forked = repo.head()
    for how in (("merge", "-q", "--no-edit", "chant/001"), ("cherry-pick", f"{start}..chant/001")):
        repo.git("reset", "-q", "--hard", forked)
        repo.git(*how)
        assert is_merged(project.root, "chant/001", "main")
    repo.git("reset", "-q", "--hard", forked)
    repo.git("cherry-pick", "chant/001~1")
    assert not is_merged(project.root, "chant/001", "main")


def test_a_squashed_branch_is_merged_even_when_main_changed_the_same_lines_later(project):
    branch_with_two_commits(project)
    project.repo.git("merge", "-q", "--squash", "chant/001")
    project.repo.commit("squashed")
    assert is_merged(project.root, "chant/001", "main")
    project.repo.commit("later", {"a.txt": "changed\n"})
    assert is_merged(project.root, "chant/001", "main")
    assert remove(project.root, "001") == []


def test_a_snapshot_touches_neither_worktree_nor_index(project):
    tree, inside = made(project)
    inside.write("README.md", "changed\n")
    inside.write("new file.txt", "new")
    inside.write("staged.txt", "staged")
    inside.git("add", "staged.txt")
    (tree.path / ".env").write_text("secret", encoding="utf-8")
    before = inside.text("status", "--porcelain=v2")
    commit = take_snapshot(tree.path, "20260101T000000-00000001", "why")
    assert inside.text("status", "--porcelain=v2") == before
    names = inside.text("diff", "--name-only", "HEAD", commit).splitlines()
    assert names == ["README.md", "new file.txt", "staged.txt"]  # what git ignores stays out
    assert inside.text("log", "-1", "--format=%an", commit) == "Clew"
    inside.git("stash", "-q", "--include-untracked")
    assert restore_snapshot(tree.path, commit)
    assert (tree.path / "new file.txt").read_text(encoding="utf-8") == "new"


def test_a_snapshot_is_taken_in_the_middle_of_a_merge_and_under_a_dead_lock(project):
    tree, inside = made(project)
    inside.commit("ours", {"README.md": "ours\n"})
    project.repo.commit("theirs", {"README.md": "theirs\n"})
    inside.git("merge", "-q", "main", check=False)
    index = inside.text("rev-parse", "--path-format=absolute", "--git-path", "index")
    with open(f"{index}.lock", "w", encoding="utf-8"):
        commit = take_snapshot(tree.path, "20260101T000000-00000001", "why")
    assert "<<<<<<<" in inside.text("show", f"{commit}:README.md")


def test_commits_without_a_branch_are_kept_too(project):
    tree, inside = made(project)
    assert take_snapshot(tree.path, "20260101T000000-00000001", "x") is None
    inside.git("checkout", "-q", "--detach")
    loose = inside.commit("loose", {"a.txt": "a"})
    assert take_snapshot(tree.path, "20260101T000000-00000001", "x") == loose
    assert not restore_snapshot(tree.path, loose)
