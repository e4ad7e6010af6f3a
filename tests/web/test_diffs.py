"""Diffs on pages: the real files and what became of them, whatever git is set up to print."""

from __future__ import annotations

import os

import pytest

from clew.kit.errors import NotFound
from clew.specs.store.config import load_config
from clew.web.pages.commit import _from_git
from clew.web.views.diffs import read_diff
from clew.web.views.spec import branch_view
from tests.web.test_security import ask, enter

SPEC = "2026-03-02-005-mno"
PREFERENCES = ("diff.noprefix", "diff.mnemonicPrefix")


@pytest.mark.parametrize("key", PREFERENCES)
def test_the_files_of_a_branch_have_their_real_names(shop, key):
    shop.specs()
    shop.repo.git("config", key, "true")
    found = branch_view(shop.root, load_config(shop.root), shop.store.load(SPEC))
    assert [file.path for file in found.diff.files] == ["src/cart.py", "src/customers.py"]
    assert (found.diff.added, found.diff.removed) == (7, 0)


def test_a_branch_below_the_name_of_a_specs_branch_is_not_shown(shop):
    shop.spec("001")
    shop.repo.commit("Write it down")
    shop.branch("001/sub")
    assert branch_view(shop.root, load_config(shop.root), shop.store.load("001")) is None


@pytest.mark.parametrize("key", PREFERENCES)
def test_a_commit_that_is_not_indexed_tells_what_became_of_each_file(shop, key):
    shop.repo.commit("before", {"b/gone.py": "x\n", "b/old.py": "one\ntwo\nthree\n", "run": "x\n"})
    shop.repo.git("rm", "-q", "b/gone.py")
    shop.repo.git("mv", "b/old.py", "b/new.py")
    (shop.root / "run").chmod(0o755)
    files = {"b/a b.py": "1\n", "b/é.py": "2\n", "README.md": "# S\n", "c.bin": b"\0"}
    sha = shop.repo.commit("after\n\nbecause", files)
    shop.repo.git("config", key, "true")
    commit, patch = _from_git(shop.root, sha[:8])
    assert (commit["sha"], commit["subject"], commit["body"]) == (sha, "after", "because")
    wanted = {
        "b/a b.py": ("A", None),
        "b/é.py": ("A", None),
        "c.bin": ("A", None),
        "README.md": ("M", None),
        "run": ("M", None),
        "b/gone.py": ("D", None),
        "b/new.py": ("R", "b/old.py"),
    }
    told = {one["path"]: (one["status"], one["old_path"]) for one in commit["changed_files"]}
    assert told == wanted
    assert {file.path for file in read_diff(patch).files} == set(wanted)


def test_a_commits_page_shows_names_that_are_no_text(shop):
    name = os.fsdecode(b"odd\xff.py")
    sha = shop.repo.commit("odd", {name: "x\n", "new.py": "y\n"})
    later = shop.repo.commit("more", {"README.md": "# S\n"})
    with shop.serve() as server:
        cookie, _ = enter(server)
        status, _, page = ask(server, f"/commits/{sha}", Cookie=cookie)
        assert status == 200
        assert page.count('<span class="tag">new</span> <code>') == 2
        assert r"odd\xff.py" in page
        _, _, page = ask(server, f"/commits/{later}", Cookie=cookie)
        assert '<span class="tag">changed</span> <code>README.md</code>' in page


def test_a_merge_repeats_no_lines_and_what_is_no_commit_is_not_found(shop):
    shop.repo.git("checkout", "-q", "-b", "side")
    shop.repo.commit("side", {"src/cart.py": "items = [1]\n"})
    shop.repo.git("checkout", "-q", "main")
    shop.repo.commit("main", {"README.md": "# S\n"})
    shop.repo.git("merge", "-q", "--no-ff", "-m", "join", "side")
    commit, patch = _from_git(shop.root, shop.repo.head())
    assert (commit["subject"], commit["changed_files"], patch) == ("join", [], "")
    for sha in ("0" * 40, shop.repo.text("rev-parse", "HEAD:README.md"), "-p", "main"):
        with pytest.raises(NotFound):
            _from_git(shop.root, sha)
