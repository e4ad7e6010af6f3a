"""What other rooms ask the index for, many commits at once, compared with git."""

from __future__ import annotations

import pytest

from clew.history.questions.file_history import recent_commits
from clew.history.questions.hotspots import WEEK, weekly_commits
from clew.history.search.candidates import Candidates
from tests.history.questions.conftest import DAY, START


@pytest.fixture
def repo(store):
    return store.find_repo("demo")


@pytest.fixture
def number(store, story, repo):
    return lambda name: store.known(repo.repo_id, [story[name]])[story[name]]


def test_weeks_end_with_the_newest_commit_and_count_all(store, story):
    weeks, counts = weekly_commits(store, 10)

    assert len(weeks) == 10
    assert weeks[-1] == (START + story.days * DAY) // WEEK
    times = map(int, story.lines("log", "--all", "--format=%at"))
    assert sorted(counts["demo"].elements()) == sorted(time // WEEK for time in times)


def test_weeks_before_the_first_commit_are_not_counted(store):
    (week,), counts = weekly_commits(store, 1)

    assert set(counts["demo"]) == {week}


def test_recent_commits_of_a_path_are_the_newest(store, story, repo):
    found = recent_commits(store, repo, "src/core.py", 2)

    assert [commit.sha for commit in found] == [story["fixup"], story["needle"]]
    assert found[0].subject == "fixup! Mend the config"
    assert recent_commits(store, repo, "never/was.py", 2) == []


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
        return {story.name_of(sha.hex()) for _, _, _, sha, *_ in found}

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
