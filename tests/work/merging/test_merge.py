"""Branches through the merge queue: main moves, nothing of the user's does."""

from __future__ import annotations

import pytest

from clew.kit.errors import Cancelled, Conflict
from clew.work.merging.queue import merge_finished, merge_id
from clew.work.paths import worktree_home
from clew.work.processes.identity import processes_of_run
from clew.work.worktrees.worktrees import path_of
from tests.work.merging.making import status_of


def test_a_branch_is_merged_and_the_clean_checkout_follows(shop):
    shop.finished("001", {"new.txt": "new\n"})
    result = shop.merge("001")
    assert (result.status, result.note) == ("merged", None)
    assert shop.main() == result.commit == shop.repo.head()
    assert (shop.root / "new.txt").read_text() == "new\n"
    assert shop.repo.git("status", "--porcelain") == b""
    assert shop.merge("001").note == "chant/001 was merged already"


def test_two_branches_from_one_base_end_in_a_merge_commit(shop):
    shop.finished("001", {"one.txt": "1\n"})
    shop.finished("002", {"two.txt": "2\n"})
    first, second = shop.merge("001", "002")
    parents = shop.repo.text("rev-list", "--parents", "-1", "main").split()[1:]
    assert parents == [first.commit, shop.repo.text("rev-parse", "chant/002")]
    assert shop.repo.text("log", "-1", "--format=%s", "main") == "Merge chant/002: Spec 002"
    assert second.commit == shop.main()
    assert {"one.txt", "two.txt"} <= {path.name for path in shop.root.iterdir()}


def test_rebasing_makes_a_straight_line_and_leaves_the_branch_alone(shop):
    shop.finished("001", {"one.txt": "1\n"})
    shop.finished("002", {"two.txt": "2\n"})
    shop.merge("001")
    tip = shop.repo.text("rev-parse", "chant/002")
    assert shop.merge("002", strategy="rebase").status == "merged"
    assert shop.repo.text("rev-list", "--merges", "--count", "main") == "0"
    assert shop.repo.text("rev-parse", "chant/002") == tip
    assert shop.merge("002").note == "chant/002 was merged already"


def test_what_the_user_is_doing_stays_byte_for_byte(shop):
    shop.finished("001", {"new.txt": "new\n", "a.txt": "a\nmore\n"})
    shop.repo.write("b.txt", "mine, not staged\n")
    shop.repo.write("staged.txt", "mine, staged\n")
    shop.repo.write("loose.txt", "mine, untracked\n")
    shop.repo.git("add", "staged.txt")
    before = shop.repo.git("status", "--porcelain")
    staged = shop.repo.git("diff", "--cached", "--", "staged.txt")
    assert shop.merge("001").status == "merged"
    assert shop.repo.git("status", "--porcelain") == before
    assert shop.repo.git("diff", "--cached", "--", "staged.txt") == staged
    assert (shop.root / "b.txt").read_text() == "mine, not staged\n"
    assert (shop.root / "a.txt").read_text() == "a\nmore\n"


@pytest.mark.parametrize("how", ["changed", "staged", "untracked", "ignored", "deleted"])
def test_a_file_in_the_way_keeps_main_and_the_checkout_as_they_are(shop, how):
    name = {"untracked": "new.txt", "ignored": "ignored/new.txt"}.get(how, "a.txt")
    shop.finished("001", {name: "theirs\n"})
    if how == "deleted":
        (shop.root / name).unlink()
    else:
        shop.repo.write(name, "mine\n")
    if how == "staged":
        shop.repo.git("add", "a.txt")
    before, main = shop.picture(), shop.main()
    result = shop.merge("001")
    assert result.status == "waiting"
    assert name in result.note
    assert "Commit, stash or move" in result.hint
    assert (shop.picture(), shop.main()) == (before, main)
    if how == "staged":
        shop.repo.git("reset", "-q", "a.txt")
    shop.repo.git("checkout", "-q", "--", "a.txt")
    (shop.root / name).unlink() if name != "a.txt" else None
    (done,) = shop.merger().work_off()
    assert (done.status, shop.shown(name)) == ("merged", "theirs\n")


def test_a_checkout_of_another_branch_is_not_touched_at_all(shop_beside):
    shop = shop_beside
    shop.finished("001", {"a.txt": "theirs\n"})
    shop.repo.write("a.txt", "mine\n")
    before = shop.picture()
    assert shop.merge("001").status == "merged"
    assert shop.picture() == before
    assert shop.shown("a.txt") == "theirs\n"


def test_a_main_branch_in_another_worktree_moves_with_that_worktree(shop_beside, tmp_path):
    shop = shop_beside
    elsewhere = tmp_path / "elsewhere"
    shop.repo.git("worktree", "add", "-q", str(elsewhere), "main")
    shop.finished("001", {"new.txt": "new\n"})
    assert shop.merge("001").status == "merged"
    assert (elsewhere / "new.txt").read_text() == "new\n"
    assert not (shop.root / "new.txt").exists()


def test_a_main_branch_that_is_being_rebased_is_left_alone(shop):
    shop.finished("001", {"new.txt": "new\n"})
    shop.repo.commit("mine", {"a.txt": "mine\n"})
    shop.repo.git("checkout", "-q", "-b", "side", "HEAD~")
    shop.repo.commit("side", {"a.txt": "side\n"})
    shop.repo.git("checkout", "-q", "main")
    shop.repo.git("rebase", "side", check=False)
    main = shop.main()
    result = shop.merge("001")
    assert (result.status, "in the middle of a rebase" in result.note) == ("waiting", True)
    assert shop.main() == main
    shop.repo.git("rebase", "--abort")
    assert shop.merge("001").status == "merged"


def test_a_repository_whose_main_branch_has_another_name(shop):
    shop.repo.git("branch", "-m", "main", "trunk")
    shop.spec("001")
    shop.branch("001", {"new.txt": "new\n"}, base="trunk")
    assert shop.merge("001").status == "merged"
    assert shop.shown("new.txt", "trunk") == "new\n"
    shop.configure("defaults:", "  main_branch: gone")
    assert "`defaults.main_branch` names" in shop.merge("001").note


def test_checks_do_not_know_the_git_that_called(shop, monkeypatch):
    shop.configure("merge:", "  checks:", "    - git rev-parse --git-dir | grep -q worktrees")
    shop.finished("001", {"new.txt": "new\n"})
    monkeypatch.setenv("GIT_DIR", str(shop.root / ".git"))
    assert shop.merge("001").status == "merged"


def test_failing_checks_keep_main(shop):
    shop.configure("merge:", "  checks:", "    - test -f a.txt", "    - grep -q good new.txt")
    work = shop.finished("001", {"new.txt": "bad\n"})
    before, main = shop.picture(), shop.main()
    result = shop.merge("001")
    assert result.status == "failed"
    assert result.note.splitlines()[0].endswith("grep -q good new.txt")
    assert shop.main() == main
    assert status_of(shop, "001") == "needs_attention"
    assert shop.picture()[1:] == before[1:]
    work.commit("chant(001): better", {"new.txt": "good\n"})
    assert shop.merge("001").status == "merged"
    assert status_of(shop, "001") == "completed"


def test_checks_see_both_sides_and_are_bound_in_time(shop):
    shop.configure(
        "merge:", "  check_seconds: 1", "  checks:", "    - test -f one.txt -a -f two.txt"
    )
    shop.finished("001", {"one.txt": "1\n"})
    shop.finished("002", {"two.txt": "2\n"})
    first, second, third = shop.merger().merge(["001", "002", "001"])
    assert [first.status, second.status, third.status] == ["failed", "failed", "failed"]
    shop.configure("merge:", "  check_seconds: 1", "  checks: [sleep 60]")
    assert "Stopped after 1 s" in shop.merge("001").note


def test_a_merge_that_is_stopped_stays_in_the_queue(shop):
    shop.configure("merge:", "  checks: [touch started; sleep 60]")
    shop.finished("001", {"new.txt": "new\n"})
    started = worktree_home(shop.root) / ".integration" / "started"
    main = shop.main()
    with pytest.raises(Cancelled):
        shop.merger(stop=started.exists).merge(["001"])
    entry = shop.entry("001")
    assert (entry.status, shop.main()) == ("queued", main)
    assert processes_of_run(merge_id(shop.root, entry)) == []


def test_main_that_moves_meanwhile_is_merged_again_on_the_new_one(shop):
    other = shop.repo.text("commit-tree", "main^{tree}", "-p", "main", "-m", "other")
    mark = shop.root / "ignored" / "moved"
    mark.parent.mkdir()
    move = f"test -e {mark} || git update-ref refs/heads/main {other}; touch {mark}"
    shop.repo.git("checkout", "-q", "-b", "mine")
    shop.configure("merge:", "  checks:", f"    - {move}")
    shop.finished("001", {"new.txt": "new\n"})
    said = []
    (result,) = shop.merger(say=said.append).merge(["001"])
    assert result.status == "merged"
    assert shop.repo.text("rev-list", "--count", other, "^main") == "0"
    assert any("has moved" in line for line in said)


def test_a_commit_of_the_user_meanwhile_is_kept_too(shop):
    mark = shop.root / "ignored" / "moved"
    commit = f"git -C {shop.root} commit -q --allow-empty -m mine"
    shop.configure("merge:", "  checks:", f"    - test -e {mark} || {commit}; mkdir -p {mark}")
    shop.finished("001", {"new.txt": "new\n"})
    assert shop.merge("001").status == "merged"
    assert "mine" in shop.repo.text("log", "--format=%s", "main")
    assert shop.repo.git("status", "--porcelain") == b""


def test_ten_branches_through_the_queue(shop):
    shop.configure("merge:", "  checks: [test -f a.txt]")
    ids = [f"{number:03d}" for number in range(10)]
    for spec_id in ids:
        shop.finished(spec_id, {f"file-{spec_id}.txt": f"{spec_id}\n"})
    results = shop.merge(*ids, delete_branch=True)
    assert [result.status for result in results] == ["merged"] * 10
    assert all((shop.root / f"file-{spec_id}.txt").exists() for spec_id in ids)
    assert shop.repo.text("branch", "--list", "chant/*") == ""
    assert not any(path_of(shop.root, spec_id).exists() for spec_id in ids)
    assert shop.repo.git("status", "--porcelain") == b""


def test_spec_files_of_the_project_are_left_out_of_a_merge(shop):
    (shop.root / ".git" / "info" / "exclude").write_text("")
    shop.spec("001")
    shop.spec("002", status="pending")
    shop.repo.commit("specs")
    own = shop.root / ".chant" / "specs" / "001.md"
    shop.branch(
        "001",
        {"new.txt": "new\n", ".chant/specs/001.md": "mine now\n", ".chant/specs/002.md": None},
    )
    own.write_text(own.read_text().replace("completed", "completed\nmodel: m"))
    result = shop.merge("001")
    assert result.status == "merged"
    assert set(result.left_out) == {".chant/specs/001.md", ".chant/specs/002.md"}
    assert "model: m" in own.read_text()
    assert "Spec 002" in shop.shown(".chant/specs/002.md")
    assert shop.shown("new.txt") == "new\n"
    assert shop.repo.text("status", "--porcelain").split() == ["M", ".chant/specs/001.md"]


def test_what_is_not_whole_is_refused(shop):
    work = shop.finished("001", {"new.txt": "new\n"})
    work.write("loose.txt", "not committed\n")
    refused = shop.merge("001")
    assert (refused.status, "loose.txt" in refused.note) == ("refused", True)
    shop.spec("002")
    assert "has no branch" in shop.merge("002").note
    assert shop.merge("nothing-like-it").note.startswith("Spec not found")
    with pytest.raises(Conflict, match="uncommitted changes"):
        merge_finished(shop.work, "001")
    assert shop.entry("001") is None


def test_what_was_merged_and_cleaned_up_counts_as_merged(shop):
    shop.finished("001", {"new.txt": "new\n"})
    first = shop.merge("001", delete_branch=True)
    assert shop.repo.text("branch", "--list", "chant/*") == ""
    assert merge_finished(shop.work, "001").commit == first.commit


def test_an_approval_that_is_missing_is_asked_for(shop):
    shop.finished("001", {"new.txt": "new\n"})
    path = shop.root / ".chant" / "specs" / "001.md"
    text = path.read_text().replace("---\n\n", "approval:\n  required: true\n---\n\n", 1)
    path.write_text(text)
    assert "is not approved" in shop.merge("001").note
