"""What git said before is not asked again, and never told when it is no longer so."""

from __future__ import annotations

import pytest

from clew.history.git.answers import answers_file
from clew.kit.git import run_git
from clew.thread.budget import pack_data
from clew.thread.rooms import open_rooms
from clew.thread.why.why import why
from tests.support.repos import Repository

ASKED = ("src/orders.py", "src/orders.py:1-3", "src")


@pytest.fixture
def processes(monkeypatch):
    """The commands that git is asked in a repository."""
    asked = []

    def counted(*words, **options):
        asked.append(words[2:])
        return run_git(*words, **options)

    monkeypatch.setattr("clew.history.repo_git.run_git", counted)
    return asked


@pytest.fixture
def shop(tmp_path):
    """A file of three lines that two commits wrote."""
    repo = Repository(tmp_path / "shop")
    repo.write("src/orders.py", "first = 1\nsecond = 2\n")
    repo.commit("Add orders")
    repo.write("src/orders.py", "first = 1\nsecond = 2\nthird = 3\n")
    repo.commit("Count a third order\n\nA customer asked for it.")
    return repo


def told(repo, target):
    """The statements of an answer."""
    return pack_data(why(open_rooms(project=str(repo.path)), target))["statements"]


@pytest.mark.parametrize("target", ASKED)
def test_the_second_time_git_is_asked_nothing(shop, processes, target):
    first = told(shop, target)
    assert processes
    processes.clear()
    assert told(shop, target) == first
    assert not processes
    answers_file().unlink()
    assert told(shop, target) == first


def changed_head(repo):
    repo.write("src/orders.py", "first = 1\nsecond = 20\nthird = 3\n")
    repo.commit("Count the second order ten times")


def changed_file(repo):
    repo.write("src/orders.py", "zeroth = 0\nfirst = 1\nsecond = 2\nthird = 3\n")


def added_note(repo):
    repo.git("notes", "add", "-m", "measured by hand")


def added_tag(repo):
    repo.git("tag", "v1.0")


def packed_tag(repo):
    repo.git("tag", "v1.1")
    repo.git("pack-refs", "--all")


def listed_revision(repo):
    sha = repo.text("rev-parse", "HEAD")
    repo.write(".git-blame-ignore-revs", f"{sha}\n")


def renamed_author(repo):
    repo.write(".mailmap", "Somebody Else <test@example.com>\n")


def changed_settings(repo):
    repo.git("config", "mailmap.file", "names")


@pytest.mark.parametrize(
    "change",
    [
        changed_head, changed_file, added_note, added_tag, packed_tag, listed_revision,
        renamed_author, changed_settings,
    ],
)  # fmt: skip
@pytest.mark.parametrize("target", ASKED)
def test_what_changed_is_told(shop, change, target):
    told(shop, target)
    change(shop)
    after = told(shop, target)
    answers_file().unlink()
    assert after == told(shop, target)


def test_a_note_and_a_version_are_told_at_once(shop):
    before = told(shop, "src/orders.py:3")
    added_note(shop)
    added_tag(shop)
    new = [one["text"] for one in told(shop, "src/orders.py:3") if one not in before]
    assert any("measured by hand" in text for text in new)
    assert any("v1.0" in text for text in new)


def test_a_damaged_file_of_answers_is_no_loss(shop):
    first = told(shop, "src/orders.py:3")
    answers_file().write_bytes(b"this is no database" * 500)
    assert told(shop, "src/orders.py:3") == first
