"""The original systems' ways find what ours find, on the same data."""

import random

import pytest
from benchmarks.subjects.commits import REPOSITORY, grow
from benchmarks.subjects.originals import list_specs, ready_specs
from benchmarks.subjects.projects import specs_of

from clew.history.lookup import get_commit
from clew.history.questions.file_history import find_touches
from clew.history.search.search import search_commits
from clew.kit.call import Call
from clew.specs.tools import ready, spec_list

SPECS = 60


@pytest.fixture
def grown(bench_of):
    made = grow(bench_of(), 120)
    yield made
    made.store.close()
    made.original.connection.close()


def test_listing_specs_finds_the_same_ones(bench_of):
    root = specs_of(bench_of(), SPECS)
    ours = spec_list({"limit": 50}, Call(settings={"project": str(root)})).data
    theirs = list_specs(root, 50)
    assert ours["total"] == SPECS
    assert [one["id"] for one in ours["specs"]] == [one["id"] for one in theirs]
    assert [one["title"] for one in ours["specs"]] == [one["title"] for one in theirs]


def test_ready_specs_are_the_same(bench_of):
    root = specs_of(bench_of(), SPECS)
    ours = ready({"limit": 50}, Call(settings={"project": str(root)})).data["specs"]
    theirs = ready_specs(root, 50)
    assert 0 < len(theirs) < SPECS
    assert sorted(one["id"] for one in ours) == sorted(one["id"] for one in theirs)


def test_touches_are_the_same(grown):
    for number in range(0, 200, 17):
        fragment = f"module{number}/"
        ours = [(one["sha"], one["path"]) for one in find_touches(grown.store, fragment)]
        theirs = [(one["sha"], one["path"]) for one in grown.original.touches(fragment)]
        assert sorted(ours) == sorted(theirs)
    assert grown.original.touches("src/module")


def test_a_commit_is_found_by_its_sha(grown):
    sha = random.Random(1).choice(grown.shas)
    ours, theirs = get_commit(grown.store, REPOSITORY, sha), grown.original.get_commit(sha)
    assert theirs["subject"] == ours["subject"]
    assert [one["path"] for one in theirs["changed_files"]] == sorted(
        one["path"] for one in ours["changed_files"]
    )
    assert grown.original.get_commit("f" * 40) is None


def test_a_search_finds_messages_newest_first(grown):
    words = get_commit(grown.store, REPOSITORY, grown.shas[60])["subject"].split()
    phrase = f'"{" ".join(words[:4])}"'
    theirs = grown.original.search(phrase)
    ours = search_commits(grown.store, phrase)
    assert [one["sha"] for one in theirs] == [one["sha"] for one in ours] == [grown.shas[60]]
    dates = [one["date"] for one in grown.original.search(words[0], 1000)]
    assert dates == sorted(dates, reverse=True)
    assert theirs[0]["matched_paths"]
