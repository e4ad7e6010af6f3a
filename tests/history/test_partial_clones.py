"""Clones that lack objects: indexed as far as they go, said in one line, remembered, never fetched."""

from __future__ import annotations

import pytest

from clew.history.questions.blame import blame
from clew.history.questions.file_history import find_touches
from clew.history.questions.grep import grep
from clew.history.questions.hunks import commit_hunks
from clew.history.questions.pickaxe import find_changes
from clew.history.search.filters import Filters
from clew.history.search.unsearched import unsearched
from clew.history.sync.freshness import freshness, freshness_lines
from clew.history.sync.repositories import register
from clew.kit.errors import NotFound, Unavailable
from tests.history.index import assert_equals_git, content, new_index, stored_files, sync
from tests.history.test_kinds_of_repository import at, damage
from tests.support.repos import Repository

COMMITS = 150  # more than are asked of git at once


@pytest.fixture(scope="module")
def long_history(tmp_path_factory):
    """A history that may be cloned in part."""
    repository = Repository(tmp_path_factory.mktemp("long") / "source")
    for number in range(COMMITS):
        repository.commit(f"Change {number}", {f"f{number % 3}.txt": f"word{number}\n" * 3})
    repository.git("config", "uploadpack.allowFilter", "true")
    repository.git("config", "uploadpack.allowAnySHA1InWant", "true")
    return repository


@pytest.fixture
def source(long_history, tmp_path):
    """That history, to be changed."""
    return long_history.copy(tmp_path / "source")


def partial(source, path, kind):
    """A bare clone without some of the objects."""
    source.git("clone", "-q", "--bare", f"--filter={kind}", f"file://{source.path}", str(path))
    return at(path)


def objects(repository):
    """How many objects a repository has."""
    return len(repository.text("cat-file", "--batch-all-objects", "--batch-check").splitlines())


@pytest.mark.parametrize("kind", ["blob:none", "tree:0"])
def test_a_partial_clone_is_told_in_one_line_and_remembered(source, tmp_path, kind):
    clone = partial(source, tmp_path / "p.git", kind)
    before = objects(clone)
    store = new_index(tmp_path / "db")
    register(store, clone.path, name="r")
    first = sync(store)
    assert first.indexed == COMMITS
    (line,) = first.problems
    assert line.startswith(f"{COMMITS} diffs could not be read (")
    assert "'git fetch --refetch --no-filter' brings them" in line
    assert sync(store).problems == first.problems
    assert objects(clone) == before
    told = freshness(store, store.repos())
    assert told["limits"] == {"r": ["partial"]}
    unseen = unsearched(store, Filters(), ["word7"])
    assert unseen["unsearched"] == COMMITS
    assert f" and {COMMITS - 3} more. Look with: git log" in freshness_lines(told | unseen)[-1]
    assert unsearched(store, Filters(paths=["f1.txt"], author="nobody"), ["word7"]) == {}
    assert unsearched(store, Filters(), []) == {}
    assert find_changes(store, "word7")["complete"] is False


def test_a_clone_without_contents_still_knows_which_files_changed(source, tmp_path):
    clone = partial(source, tmp_path / "p.git", "blob:none")
    store = new_index(tmp_path / "db", clone)
    assert stored_files(store, clone.all_shas()[-1]) == [("M", "f2.txt", None)]
    assert len(find_touches(store, "f1.txt", limit=COMMITS)) == COMMITS // 3


def test_what_a_clone_lacks_is_told_and_not_denied(source, tmp_path):
    clone = partial(source, tmp_path / "p.git", "blob:none")
    store = new_index(tmp_path / "db", clone)
    with pytest.raises(NotFound, match="without the content of f1"):
        blame(store, "r", "f1.txt")
    with pytest.raises(NotFound, match="has no file f99"):
        blame(store, "r", "f99.txt")
    with pytest.raises(Unavailable, match="partial clone"):
        grep(store, "r", ["word7"])
    (told,) = commit_hunks(store, "r", [clone.all_shas()[-1]])["commits"]
    assert told["files"] == ["f2.txt (not read: too large, or not in the clone)"]


def test_new_commits_come_in_beside_what_is_remembered_and_all_after_the_remedy(source, tmp_path):
    clone = partial(source, tmp_path / "p.git", "blob:none")
    store = new_index(tmp_path / "db", clone)
    source.commit("One more", {"new.txt": "fresh\n"})
    clone.git("fetch", "-q", "origin", "+HEAD:refs/heads/main", "HEAD:refs/heads/master")
    added = sync(store)
    assert added.indexed == 1
    assert added.problems[0].startswith(f"{COMMITS + 1} diffs could not be read")
    clone.git("fetch", "-q", "--refetch", "--no-filter", "origin")
    assert sync(store).problems == ()
    assert_equals_git(clone, store)
    assert content(new_index(tmp_path / "clean", clone)) == content(store)


def test_lost_commits_are_remembered_while_new_ones_come_in(source, tmp_path):
    lost = source.all_shas()[70]
    repair = damage(source, lost)
    store = new_index(tmp_path / "db", source)
    assert store.commit_count(1) == COMMITS - 71
    again = sync(store)
    assert again.indexed == 0
    assert again.problems[0].startswith(f"1 commits could not be read ({lost[:12]}): ")
    assert again.problems[1].startswith("1 diffs could not be read (")  # the one after it
    source.commit("One more", {"new.txt": "fresh\n"})
    assert sync(store).indexed == 1
    assert sync(store).problems == again.problems
    repair()
    assert sync(store).indexed == 71
    assert sync(store).problems == ()
    assert_equals_git(source, store)
