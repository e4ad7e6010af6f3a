"""What other rooms ask the index for, many commits at once, compared with git."""

from __future__ import annotations

import pytest

from clew.history.questions.file_history import recent_commits
from clew.history.questions.hotspots import WEEK, weekly_commits
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
