"""Cleaning up: what has arrived goes, everything else is refused or kept."""

from __future__ import annotations

import pytest

from clew.kit.errors import NotFound
from clew.work.merging.preconditions import clean_up
from clew.work.model import RunPlan
from clew.work.worktrees.worktrees import path_of


def cleaned(shop, *ids, **options):
    return {c.spec_id: c for c in clean_up(shop.work, shop.work.config(), ids, **options)}


def test_merged_goes_and_unmerged_stays(shop):
    shop.finished("001", {"one.txt": "1\n"})
    shop.finished("002", {"two.txt": "2\n"})
    shop.merge("001")
    found = cleaned(shop)
    assert (found["001"].deed, found["002"].deed) == ("removed", "refused")
    assert "has work that is not in" in found["002"].note
    assert not path_of(shop.root, "001").exists()
    assert shop.repo.text("branch", "--list", "chant/*").split() == ["+", "chant/002"]


def test_a_squashed_branch_counts_as_merged(shop):
    work = shop.finished("001", {"one.txt": "1\n"})
    work.commit("more", {"one.txt": "1\n2\n"})
    shop.repo.git("merge", "--squash", "-q", "chant/001")
    shop.repo.git("commit", "-q", "-m", "squashed")
    shop.repo.commit("further", {"one.txt": "1\n2\n3\n"})
    assert cleaned(shop, dry_run=True)["001"].deed == "would remove"
    assert path_of(shop.root, "001").exists()
    assert cleaned(shop)["001"].deed == "removed"


def test_dirty_is_refused_and_kept_when_forced(shop):
    work = shop.finished("001", {"one.txt": "1\n"})
    shop.merge("001")
    work.write("loose.txt", "precious\n")
    assert "loose.txt" in cleaned(shop)["001"].note
    assert cleaned(shop, dry_run=True)["001"].deed == "refused"
    forced = cleaned(shop, "001", force=True)["001"]
    assert forced.deed == "removed"
    assert shop.repo.text("show", f"{forced.kept[0]}:loose.txt") == "precious"


def test_unmerged_work_that_is_forced_away_is_under_a_ref(shop):
    shop.finished("001", {"one.txt": "1\n"})
    forced = cleaned(shop, "001", force=True)["001"]
    assert shop.repo.text("show", f"{forced.kept[0]}:one.txt") == "1"


def test_a_branch_rebased_with_spec_files_left_out_counts_by_our_record(shop):
    (shop.root / ".git" / "info" / "exclude").write_text("")
    shop.spec("001")
    shop.repo.commit("specs")
    shop.branch("001", {"one.txt": "1\n", ".chant/specs/001.md": "mine\n"})
    shop.repo.commit("meanwhile", {"b.txt": "more\n"})
    assert shop.merge("001", strategy="rebase").left_out == (".chant/specs/001.md",)
    assert cleaned(shop)["001"].deed == "removed"


def test_a_spec_at_work_is_not_even_forced(shop):
    shop.finished("001", {"one.txt": "1\n"})
    shop.merge("001")
    shop.work.journal.claim("001", RunPlan(), mode="single")
    assert cleaned(shop, "001", force=True)["001"].deed == "refused"
    assert path_of(shop.root, "001").exists()


def test_a_name_that_has_no_worktree_is_told(shop):
    with pytest.raises(NotFound, match="No worktree of these specs"):
        cleaned(shop, "404")
