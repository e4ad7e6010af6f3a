"""What other rooms ask the index for, many commits at once, compared with git."""

from __future__ import annotations

import pytest

from clew.history.questions.activity import WEEK, weekly_commits
from clew.history.questions.file_history import recent_heads
from clew.history.questions.touches import paths_of
from clew.history.search.candidates import Candidates
from clew.history.search.messages import messages_with, newest_sized_messages
from clew.history.store.lookup import body_of, get_patch, small_patch
from tests.history.questions.conftest import DAY, START

NO_COMMIT = 1 << 50


@pytest.fixture
def repo(store):
    return store.find_repo("demo")


@pytest.fixture
def number(store, story, repo):
    return lambda name: store.known(repo.repo_id, [story[name]])[story[name]]


def lines_of(story, *arguments):
    return [line for line in story.git(*arguments).split("\n") if line]


def test_messages_with_a_word_come_with_their_text_oldest_first(store, story, repo):
    found = messages_with(store, repo, ("frobnicate", "aside"))

    assert [sha for sha, _ in found] == [story[n] for n in ("frob", "revert", "picked", "side")]
    assert found[0][1].startswith("Frobnicate values\n\nFixes #12")
    assert messages_with(store, repo, ("needle",)) == []  # it is in a diff, not in a message


def test_the_newest_messages_tell_how_much_was_added(store, story, repo):
    found = newest_sized_messages(store, repo, 100, besides="many/")
    by_name = {story.name_of(one.sha): one for one in found}

    assert "merge" not in by_name
    assert [one.sha for one in found[:2]] == [story["fixup"], story["needle"]]
    assert by_name["start"].lines == 9
    assert by_name["many"].lines == 1
    assert by_name["frob"].body.startswith("Fixes #12")
    assert [one.sha for one in newest_sized_messages(store, repo, 1, besides="")] == [
        story["fixup"]
    ]


def test_weeks_end_with_the_newest_commit_and_count_all(store, story):
    weeks, counts = weekly_commits(store, 10)

    assert len(weeks) == 10
    assert weeks[-1] == (START + story.days * DAY) // WEEK
    times = map(int, story.lines("log", "--all", "--format=%at"))
    assert sorted(counts["demo"].elements()) == sorted(time // WEEK for time in times)


def test_weeks_before_the_first_commit_are_not_counted(store):
    (week,), counts = weekly_commits(store, 1)

    assert set(counts["demo"]) == {week}


def test_paths_of_commits_are_those_that_git_lists(store, story, number):
    names = ("start", "many", "side")
    found = paths_of(store, [number(name) for name in names])

    listed = [
        (number(name), path)
        for name in names
        for path in lines_of(story, "show", "--format=", "--name-only", story[name])
    ]
    assert sorted(found) == sorted(listed)
    assert paths_of(store, []) == []


def test_recent_heads_of_a_path_are_the_newest(store, story, repo):
    found = recent_heads(store, repo, "src/core.py", 2)

    assert [row["sha"].hex() for row in found] == [story["fixup"], story["needle"]]
    assert found[0]["subject"] == "fixup! Mend the config"
    assert recent_heads(store, repo, "never/was.py", 2) == []


def test_a_patch_is_given_unless_it_is_large(store, story, number):
    whole = get_patch(store, "demo", story["many"])["patch_text"]

    assert small_patch(store, number("many"), len(whole)) == whole
    assert small_patch(store, number("many"), len(whole) - 1) == ""
    assert small_patch(store, NO_COMMIT, 100) == ""


def test_the_body_of_a_commit(store, number):
    assert body_of(store, number("frob")).startswith("Fixes #12")
    assert body_of(store, number("start")) == ""
    assert body_of(store, NO_COMMIT) == ""


def test_candidates_by_word_are_in_messages_or_anywhere(store, repo, number):
    candidates = Candidates(store, [repo])

    assert candidates.having("xxxneedle", 9, in_message=True) == []
    assert candidates.having("xxxneedle", 9, in_message=False) == [
        number("fixup"),
        number("needle"),
    ]
    assert candidates.having("xxxneedle", 1, in_message=False) == [number("fixup")]


def test_candidates_are_counted_and_told_from_newer_ones(store, story, repo, number):
    candidates = Candidates(store, [repo])
    newest = max(number(name) for name in story.made)
    count = len(story.lines("log", "--all", "--format=%H"))

    assert candidates.size in {count, count + 1}
    assert candidates.newer(newest) == 1
    assert candidates.newer(number("start")) == count


def test_only_candidates_that_count_are_read(store, story, repo, number):
    names = ("start", "merge", "fixup")
    numbers = [number(name) for name in names]
    begun = START + 2 * DAY

    def read(*times):
        found = Candidates(store, [repo], *times).messages(numbers, 5)
        return {story.name_of(sha.hex()) for _, _, _, sha in found}

    assert read() == {"start", "fixup"}
    assert read(begun) == {"fixup"}
    assert read(None, begun) == {"start"}
    (frob,) = Candidates(store, [repo]).messages([number("frob")], 5)
    assert frob[:3] == (number("frob"), "Frobnicate values", "Fixes")


def test_candidates_that_share_files_tell_how_many(store, repo, number):
    shared = Candidates(store, [repo]).sharing(["src/core.py", "src/util.py", "no\udcff"], 99)
    by_number = {one: (count, size) for one, count, size in shared}

    assert by_number[number("frob")] == (2, 2)
    assert by_number[number("many")] == (1, 61)
    assert number("side") not in by_number
    assert number("merge") not in by_number
    assert [one for one, _, _ in shared] == sorted(by_number, reverse=True)
