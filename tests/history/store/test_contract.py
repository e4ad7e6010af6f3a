"""What every implementation of HistoryStore must do, operation by operation."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from clew.history.model import Repo
from clew.history.store.interface import (
    ALWAYS,
    CommitFilter,
    HistoryStore,
    SyncState,
)
from clew.kit.errors import Conflict, NotFound
from tests.history.store.conftest import (
    DAY,
    HISTORY,
    START,
    args,
    commit,
    names,
    path_ids,
    sha_of,
    unread,
    whole,
)

# Transactions and what is remembered.


def test_what_fails_leaves_nothing(store, repo):
    def fail():
        with store.writing():
            store.write_commits(repo.repo_id, [commit("Lost", ("new.py", "A", {}), day=9)])
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        fail()

    assert store.known(repo.repo_id, [sha_of("Lost")]) == {}
    with store.writing():
        store.write_commits(repo.repo_id, [commit("Kept", ("new.py", "A", {}), day=9)])
    assert path_ids(store, "new.py")


def test_what_is_discarded_leaves_nothing(store, repo):
    with store.writing(discard=True):
        assert store.delete_repo_commits(repo.repo_id) == len(HISTORY)

    assert store.commit_count(repo.repo_id) == len(HISTORY)


def test_a_snapshot_is_one_state(make_store, store, repo):
    reader = make_store()
    with reader.snapshot() as seen:
        assert seen.commit_count(repo.repo_id) == len(HISTORY)
        with store.writing():
            store.remove_repo(repo.repo_id)
        with seen.snapshot() as again:
            assert again.commit_count(repo.repo_id) == len(HISTORY)

    assert reader.commit_count(repo.repo_id) == 0


def test_what_is_remembered_is_made_again_after_a_change(make_store, store, repo):
    reader = make_store()
    made = []

    def ask():
        return reader.remembered("key", lambda: made.append(1) or len(made))

    assert [ask(), ask()] == [1, 1]
    with store.writing():
        store.set_tips(repo.repo_id, {"HEAD": sha_of("Empty")})
    assert ask() == 2


def test_one_at_a_time_writes_commits_of_a_repository(make_store, store, repo, other):
    second = make_store()
    entered = threading.Event()

    def enter():
        with second.locked(repo.repo_id):
            entered.set()

    thread = threading.Thread(target=enter)
    with store.locked(repo.repo_id):
        thread.start()
        assert not entered.wait(0.2)
    thread.join(60)
    assert entered.is_set()


# Repositories.


def test_repositories_are_added_found_changed_and_removed(store, repo, other):
    wanted = Repo(
        0, "third", "/nowhere/third", "https://example.com/t", "main",
        all_refs=True, exclude_prefixes=("gen/",), author_filter="a@b.c", managed_clone=True,
    )  # fmt: skip
    added = store.add_repo(wanted)

    assert replace(added, repo_id=0) == wanted
    assert store.repos() == [repo, other, added]
    assert store.find_repo("third") == added
    store.update_repo(replace(added, name="last", all_refs=False))
    assert store.find_repo("last") == replace(added, name="last", all_refs=False)
    with pytest.raises(NotFound):
        store.find_repo("third")
    with pytest.raises(Conflict):
        store.add_repo(replace(wanted, name="demo"))


def test_a_removed_repository_leaves_nothing(store, repo, other):
    with store.writing():
        store.set_tips(repo.repo_id, {"HEAD": sha_of("Empty")})
        store.set_state(repo.repo_id, 1, sha_of("Empty"), None)
        assert store.remove_repo(repo.repo_id) == len(HISTORY)

    assert store.repos() == [other]
    assert store.state(repo.repo_id) == SyncState()
    assert store.tips(repo.repo_id) == {}
    assert list(path_ids(store).values()) == ["src/core.py"]
    assert store.commits_saying("needle", [repo, other]) == []
    assert store.add_repo(replace(repo, repo_id=0)).repo_id > other.repo_id


def test_sizes_tell_about_how_many_commits_there_are(store, repo, other):
    assert store.commit_count(repo.repo_id) == len(HISTORY)
    places = store.places()
    assert set(places) == {repo.repo_id, other.repo_id}
    assert places[repo.repo_id] - places[other.repo_id] == len(HISTORY) - 1


def test_a_state_keeps_what_is_not_said(store, repo):
    assert store.state(repo.repo_id) == SyncState(None, None, None)
    store.set_state(repo.repo_id, 5, "ab", None)
    store.set_state(repo.repo_id, None, None, "cut off")
    assert store.state(repo.repo_id) == SyncState(5, "ab", "cut off")
    store.set_state(repo.repo_id, 6, None, None)
    assert store.state(repo.repo_id) == SyncState(6, "ab", None)


def test_tips_are_replaced_as_a_whole(store, repo):
    with store.writing():
        store.set_tips(repo.repo_id, {"HEAD": "a", "refs/heads/x": "b"}, "of both")
    assert store.tips(repo.repo_id) == {"HEAD": "a", "refs/heads/x": "b"}
    assert store.tips_mark(repo.repo_id) == "of both"
    with store.writing():
        store.set_tips(repo.repo_id, {"HEAD": "c"})
    assert store.tips(repo.repo_id) == {"HEAD": "c"}
    assert store.tips_mark(repo.repo_id) is None


# Writing and deleting.


def test_commits_come_back_as_they_were_written(store, repo):
    found = list(store.stored_commits(repo.repo_id))

    assert [one for one, _ in found] == list(HISTORY)
    assert all(is_reachable for _, is_reachable in found)
    one, patch = store.stored_commit(repo.repo_id, sha_of("Start"))
    assert one == HISTORY[0]
    assert patch.startswith(b"diff --git a/src/core.py")
    assert store.stored_commit(repo.repo_id, sha_of("nobody")) is None


def test_ids_follow_the_order_of_writing(store, repo, id_of):
    ids = [id_of(one.meta.subject) for one in HISTORY]
    assert ids == sorted(ids)
    assert whole(repo)[0] <= ids[0] < ids[-1] <= whole(repo)[1]
    with pytest.raises(NotFound), store.writing():
        store.write_commits(99, HISTORY[:1])


def test_a_commit_that_could_not_be_read_is_replaced(store, repo):
    with store.writing():
        store.write_commits(repo.repo_id, [unread("Broken", day=7)])
    (broken,) = store.unread_commits(repo.repo_id)
    assert (broken.sha, broken.reachable) == (sha_of("Broken"), True)
    assert "could not read" in broken.problem

    with store.writing():
        mended = commit("Broken", ("mended.txt", "A", {"added": ["mending"]}), day=7)
        store.rewrite_commit(broken.id, mended, reachable=False)

    assert store.unread_commits(repo.repo_id) == []
    assert store.known(repo.repo_id, [sha_of("Broken")]) == {sha_of("Broken"): broken.id}
    assert store.stored_commit(repo.repo_id, sha_of("Broken"))[0] == mended
    assert not store.commits([broken.id])[broken.id].reachable
    assert store.saying("mending", (0, ALWAYS), 9) == [broken.id]


def test_reachability_is_set_for_all_or_for_some(store, repo):
    kept = [sha_of("Start"), sha_of("Rename the core"), sha_of("not indexed")]
    with store.writing():
        assert store.mark_reachable(repo.repo_id, kept) == 4
    assert list(store.reachable_shas(repo.repo_id)) == kept[:2]
    with store.writing():
        store.hide_commits(repo.repo_id, [sha_of("Start")])
    assert list(store.reachable_shas(repo.repo_id)) == kept[1:2]
    with store.writing():
        everything = [one.meta.sha for one in HISTORY]
        assert store.mark_reachable(repo.repo_id, everything) == 0
    assert list(store.reachable_shas(repo.repo_id)) == everything


def test_deleted_commits_are_found_by_nothing(store, repo, other, id_of):
    gone = id_of("Tune main")
    with store.writing():
        assert store.delete_commits([gone, gone]) == 1
        assert store.sweep_patches() == 1

    assert store.commits([gone]) == {}
    assert store.patch(gone) is None
    assert store.saying("delta", (0, ALWAYS), 9) == []
    assert not [one for one in store.path_changes(*args(repo, "src/main.py")) if one.id == gone]
    assert list(store.commits_without_text(repo.repo_id)) == []
    with store.writing():
        assert store.delete_repo_commits(repo.repo_id) == len(HISTORY) - 1
        swept = store.sweep()
    assert (swept.paths, swept.people) == (3, 1)
    assert store.commit_count(other.repo_id) == 1
    assert store.stored_commit(other.repo_id, sha_of("Start of another"))[1]


def test_unreachable_commits_are_listed_by_age(store, repo, id_of):
    with store.writing():
        store.hide_commits(repo.repo_id, [sha_of("Start"), sha_of("Empty")])
    assert store.unreachable_before(START + DAY) == [id_of("Start")]
    assert store.unreachable_before(START) == []


def test_an_index_gives_space_back(store, repo):
    with store.writing():
        lines = [f"word{number}" for number in range(20_000)]
        store.write_commits(repo.repo_id, [commit("Huge", ("h.txt", "A", {"added": lines}), day=8)])
    before = store.size()
    with store.writing():
        store.remove_repo(repo.repo_id)
    store.compact()
    assert 0 < store.size() < before


# Single commits.


def test_commits_are_read_by_id(store, repo, id_of):
    number = id_of("Rename the core")
    found = store.commits([number, 1 << 60])

    assert list(found) == [number]
    one = found[number]
    assert (one.id, one.sha, one.subject) == (number, sha_of("Rename the core"), "Rename the core")
    assert (one.body, one.author) == ("Long and\nwide", "Ben")
    assert (one.date, one.commit_time, one.reachable) == (START + DAY, START + DAY, True)
    assert one.preview.startswith("diff --git")
    assert store.commits([id_of("Empty")])[id_of("Empty")].body is None
    assert store.commits([]) == {}


def test_commits_are_found_by_a_beginning(store, repo, other):
    sha = sha_of("Start")
    assert [one.sha for one in store.commits_by_prefix(repo.repo_id, sha[:6], 9)] == [sha]
    assert store.commits_by_prefix(other.repo_id, sha[:6], 9) == []
    every = [store.commits_by_prefix(repo.repo_id, digit, 9) for digit in "0123456789abcdef"]
    assert sum(map(len, every)) == len(HISTORY)
    with store.writing():
        store.hide_commits(repo.repo_id, [sha])
    assert store.commits_by_prefix(repo.repo_id, sha, 9) == []
    assert store.commits_by_prefix(repo.repo_id, sha, 9, with_unreachable=True)
    assert store.known(repo.repo_id, [sha, sha_of("nobody")]).keys() == {sha}


def test_files_are_sorted_and_know_where_they_came_from(store, repo, id_of):
    numbers = [id_of("Rename the core"), id_of("Empty")]
    found = store.files(numbers)

    assert [(f.path, f.status, f.old_path) for f in found[numbers[0]]] == [
        ("docs/a_b.md", "A", None),
        ("src/main.py", "R", "src/core.py"),
    ]
    assert found[numbers[1]] == []
    assert {f.path_id for f in found[numbers[0]]} == path_ids(store, "a_b").keys() | path_ids(
        store, "main"
    ).keys()


def test_only_paths_that_were_asked_for_are_matched(store, repo, id_of):
    number = id_of("Rename the core")
    main = path_ids(store, "main").keys()

    assert store.matched_paths([number], CommitFilter(repos=[repo])) == {
        number: ["docs/a_b.md", "src/main.py"]
    }
    by_path = CommitFilter(repos=[repo], paths=dict.fromkeys(main, "src/main.py"))
    assert store.matched_paths([number], by_path)[number] == ["src/main.py"]
    by_status = CommitFilter(repos=[repo], statuses="A")
    assert store.matched_paths([number], by_status)[number] == ["docs/a_b.md"]


def test_a_patch_is_given_unless_it_is_large(store, repo, id_of):
    patch = store.patch(id_of("Start"))
    assert patch.endswith(b"+alpha\n+beta\n")
    assert store.patch(id_of("Start"), len(patch)) == patch
    assert store.patch(id_of("Start"), len(patch) - 1) is None
    assert store.patch(id_of("Empty")) is None
    assert store.patch(1 << 60) is None


def test_patches_are_read_in_bulk(store, repo, id_of):
    asked = [id_of("Tune main"), 1 << 60, id_of("Empty"), id_of("Start")]
    found = list(store.patches(asked))
    assert [number for number, _ in found] == [asked[0], asked[3]]
    assert all(patch == store.patch(number) for number, patch in found)


# All commits of a repository.


def test_ancestry_has_every_commit_with_its_parents(store, repo, id_of):
    found = {number: (sha, parents) for number, sha, parents in store.ancestry(repo.repo_id)}

    assert len(found) == len(HISTORY)
    sha, parents = found[id_of("Merge the side")]
    assert sha.hex() == sha_of("Merge the side")
    assert parents.hex() == sha_of("Rename the core") + sha_of("On the side")
    assert found[id_of("Start")][1] == b""


def test_commits_that_count_are_reachable_and_no_merges(store, repo, id_of):
    with store.writing():
        store.hide_commits(repo.repo_id, [sha_of("Start")])
    found = list(store.counted_commits(repo.repo_id))

    assert names(store, (number for number, _ in found)) == [
        "Rename the core",
        "On the side",
        "Tune main",
        "Empty",
    ]
    assert found[0][1].hex() == sha_of("Rename the core")
    assert list(store.counted_commits(repo.repo_id, id_of("On the side"))) == found[2:]


def test_redactions_are_listed_with_their_commit(store, repo):
    kept = replace(commit("Leak", day=9), redactions=(("key", "AKIA"), ("token", "ghp_")))
    with store.writing():
        store.write_commits(repo.repo_id, [kept])
    found = store.redactions(repo.repo_id)

    assert [(one.kind, one.hint) for one in found] == [("key", "AKIA"), ("token", "ghp_")]
    assert found[0][:3] == (sha_of("Leak"), START + 9 * DAY, "Leak")
    assert found[0].reachable
    assert store.stored_commit(repo.repo_id, sha_of("Leak"))[0].redactions == kept.redactions


def test_the_newest_messages_tell_how_much_was_added(store, repo):
    found = store.newest_messages(repo.repo_id, 3, "docs/")

    assert [(one.subject, one.lines) for one in found] == [
        ("Empty", 0),
        ("Tune main", 2),
        ("On the side", 1),
    ]
    assert (found[0].body, found[0].date) == ("", START + 5 * DAY)
    lines = {one.subject: one.lines for one in store.newest_messages(repo.repo_id, 9, "none/")}
    assert lines["Rename the core"] == 2


def test_every_operation_is_held_to_the_contract():
    operations = {name for name in vars(HistoryStore) if not name.startswith("_")}
    written = "".join(file.read_text() for file in Path(__file__).parent.glob("*.py"))
    called = set(re.findall(r"\b(?:store|reader|seen)\.(\w+)\(", written))
    assert operations - called - {"path", "visible", "address", "seen_by"} == set()
