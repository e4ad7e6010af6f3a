"""Searching by meaning, by words and by both."""

from __future__ import annotations

import pytest

from clew.history.semantic.search import any_word, fused, search_semantic
from clew.history.store.sqlite import SqliteHistory
from clew.history.store.vectors import vectors_path
from clew.kit.errors import Invalid, NotFound, Unavailable
from clew.models.embedding import MODEL, URL
from tests.history.semantic.conftest import MESSAGES
from tests.models.endpoint import running


def names(found, made):
    back = {sha: name for name, sha in made.items()}
    return [back[commit["sha"]] for commit in found["commits"]]


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("program fails if a settings document cannot be found", "crash"),
        ("performance of SQL", "speed"),
        ("authentication timeout", "login"),
        ("visual design", "colours"),
    ],
)
def test_meaning_finds_what_words_do_not(store, story, asked, wanted):
    found = search_semantic(store, asked, mode="semantic")
    assert names(found, story[1])[0] == wanted
    assert found["model"] == "wordllama-l2-supercat-256"
    assert found["commits"][0]["found_by"] == ["meaning"]
    assert wanted in names(search_semantic(store, asked), story[1])[:2]


def test_words_need_no_vectors(store, story):
    vectors_path(store.path).unlink()
    found = search_semantic(store, "the spelling of PASSWORDS and the manual", mode="words")
    assert names(found, story[1])[0] == "typo"
    assert (found["mode"], found["model"], found["skipped"]) == ("words", None, [])


def test_without_vectors_words_must_do_and_that_is_said(store, story):
    vectors_path(store.path).unlink()
    found = search_semantic(store, "spelling")
    assert names(found, story[1]) == ["typo"]
    assert (found["mode"], found["model"]) == ("words", None)
    assert found["skipped"] == ["meaning: There are no vectors yet. Run 'commitmux embed'."]
    with pytest.raises(Unavailable, match="no vectors yet"):
        search_semantic(store, "spelling", mode="semantic")


def test_both_are_fused_and_say_so(store, story):
    found = search_semantic(store, "spelling mistake")
    assert found["mode"] == "hybrid"
    assert found["commits"][0]["found_by"] == ["meaning", "words"]
    assert names(found, story[1])[0] == "typo"
    scores = [commit["score"] for commit in found["commits"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


@pytest.mark.parametrize("mode", ["hybrid", "semantic", "words"])
def test_filters_come_before_the_ranking(store, story, mode):
    made = story[1]
    every = "configuration colours database spelling password parser wip"
    assert len(search_semantic(store, every, mode=mode)["commits"]) == len(MESSAGES)
    found = search_semantic(store, every, mode=mode, paths=["docs/*.md"], limit=50)
    assert set(names(found, made)) == {"crash", "speed", "login", "short"}
    dates = {c["sha"]: c["date"] for c in search_semantic(store, every, mode=mode)["commits"]}
    found = search_semantic(store, every, mode=mode, since=dates[made["login"]])
    assert set(names(found, made)) == {"login", "tests", "short"}
    assert search_semantic(store, every, mode=mode, repos=[])["commits"] == []
    assert search_semantic(store, every, mode=mode, paths=["nope"])["commits"] == []
    assert search_semantic(store, every, mode=mode, limit=0)["commits"] == []
    with pytest.raises(NotFound, match="'nope'"):
        search_semantic(store, every, mode=mode, repos=["nope"])


@pytest.mark.parametrize("query", ["", "  ", "?!", "\x00", "__"])
def test_nothing_to_look_for(store, query):
    with pytest.raises(Invalid, match="no words"):
        search_semantic(store, query)


@pytest.mark.parametrize("query", ["a" * 9000, 'x" OR "y', "NEAR(a b)", "\ud800 x", "the of a"])
def test_odd_queries_are_just_words(store, query):
    assert search_semantic(store, query)["total"] >= 0


def test_an_unknown_mode_is_refused(store):
    with pytest.raises(Invalid, match="Unknown mode: fuzzy"):
        search_semantic(store, "x", mode="fuzzy")


def test_an_endpoint_is_used_when_it_is_named(store, monkeypatch):
    with running() as endpoint:
        monkeypatch.setenv(URL, endpoint.address)
        monkeypatch.setenv(MODEL, "mine")
        found = search_semantic(store, "spelling")
        assert found["mode"] == "words"
        assert "another model" in found["skipped"][0]
        assert not endpoint.asked, "a text is not sent for vectors that cannot be compared"


def test_an_empty_index_has_empty_answers(tmp_path):
    store = SqliteHistory.create(tmp_path / "db")
    assert search_semantic(store, "anything")["commits"] == []
    store.close()


def test_fusion_counts_words_for_more():
    best = fused({"words": [1, 2], "meaning": [3, 2]})
    assert [number for number, _, _ in best] == [2, 1, 3]
    assert best[0][2] == ["meaning", "words"]
    assert fused({"words": [], "meaning": [7]}) == [(7, 1.0, ["meaning"])]
    assert fused({}) == []


def test_telling_words_are_taken():
    assert any_word("The speed of the_index, of THE index") == '"speed" OR "index"'
    assert any_word("to be or not to be") == '"to" OR "be" OR "or" OR "not"'
