"""The one ranking: what a question is, which commits are candidates, and what comes first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.history.ranking.features import FEATURES
from clew.history.ranking.question import KINDS, Question, either, stem, words_of_stem
from clew.history.ranking.ranking import Ranker
from clew.history.ranking.weights import weights
from clew.history.search.filters import Filters, between, resolve_filters
from clew.history.search.search import SearchRequest, page_of_commits
from clew.kit.errors import Unavailable
from tests.history.index import new_index
from tests.support.repos import Repository

START = 1_700_000_000
MESSAGES = {
    "pool": "Reuse connections of the database pool",
    "leak": "Fix a leak of sockets when a request times out\n\nThe pool kept them open.",
    "parser": "Teach the parser about nested quotes\n\nFixes #482.",
    "colours": "Use softer colours in the sidebar",
}


@pytest.fixture
def story(tmp_path):
    repository = Repository(tmp_path / "repository")
    made = {}
    for number, (name, message) in enumerate(MESSAGES.items()):
        files = {f"src/{name}.py": f"def {name}_handler():\n    return {number}\n"}
        made[name] = repository.commit(message, files, env=_on(repository, number))
    made["use"] = repository.commit(
        "Call it", {"src/use.py": "pool_handler()\n"}, env=_on(repository, 9)
    )
    return repository, made


def _on(repository, day):
    moment = f"{START + day * 86_400} +0000"
    return repository.dates(moment, moment)


@pytest.fixture
def store(story, tmp_path):
    return new_index(tmp_path / "db.sqlite3", story[0])


def ranked(store, text, wanted=None, **how):
    chosen = wanted or between(store, store.repos(), None, None)
    return Ranker(store, chosen, **how).rank(text, 9)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("parse_query", "name"),
        ("HttpServer::listen", "name"),
        ("leak of sockets", "words"),
        ("the server leaks sockets whenever requests time out early", "sentence"),
        (" ".join(f"word{number}" for number in range(30)), "report"),
    ],
)
def test_kinds_of_questions(text, kind):
    assert Question.read(text).kind == kind


def test_a_question_has_words_names_and_mentions():
    question = Question.read("Since 1a2b3c4 fooBar() breaks, see #482 and src/main.py")
    assert question.names == ("fooBar", "src/main.py")
    assert (question.issues, question.shas) == (("482",), ("1a2b3c4",))
    assert {"foo", "bar", "foobar", "breaks"} <= set(question.words)


def test_forms_of_words_are_alike():
    assert either("leak") == '"leak" OR "leaks"'
    assert stem("crashed") == stem("crashing") == stem("crashes") == "crash"
    assert stem("bus") == "bus"


def test_every_kind_has_a_weight_of_every_feature():
    for kind in KINDS:
        assert len(weights(kind)) == len(FEATURES)
        assert any(weights(kind))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("leaking sockets after timeouts", "leak"),
        ("parser_handler", "parser"),
        ("pool_handler", "pool"),
        ("#482", "parser"),
        ("softer sidebar of the zebra", "colours"),
    ],
)
def test_the_wanted_commit_comes_first(store, story, text, first):
    found = ranked(store, text)
    assert found[0].sha == story[1][first]
    assert all(0 < one.score <= 1 for one in found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_a_commit_is_found_by_its_sha(store, story):
    assert ranked(store, story[1]["leak"][:9])[0].sha == story[1]["leak"]


def test_filters_hold_before_anything_is_left_out(store, story):
    made = story[1]
    only = resolve_filters(store, Filters(paths=["src/leak.py"]))
    assert [one.sha for one in ranked(store, "pool of sockets", only)] == [made["leak"]]
    early = between(store, store.repos(), None, START)
    assert [one.sha for one in ranked(store, "pool", early)] == [made["pool"]]
    committed = resolve_filters(store, Filters(until=START))
    assert [one.sha for one in ranked(store, "pool", committed)] == [made["pool"]]


def test_commits_that_touched_the_same_files_are_candidates(store, story):
    found = Ranker(store, between(store, store.repos(), None, None)).rank(
        "zebra", 9, ["src/colours.py"]
    )
    assert [(one.sha, one.found_by) for one in found] == [(story[1]["colours"], ("files",))]


def test_what_meaning_cannot_say_is_told(store):
    def refuse(*_given, **_settings):
        raise Unavailable("There are no vectors", "Make some.")

    ranker = Ranker(store, between(store, store.repos(), None, None), refuse)
    assert ranker.rank("sockets", 9)
    assert ranker.skipped == ["meaning: There are no vectors. Make some."]


@pytest.mark.parametrize("text", ["", "?!", "the of", '"', "\x00", "x" * 9000, "NEAR(a", "日本"])
def test_odd_questions_have_answers_or_none(store, text):
    assert isinstance(ranked(store, text), list)


def test_pages_of_what_matches_follow_the_ranking(story, store):
    _, made = story
    request = SearchRequest("pool_handler")
    first = page_of_commits(store, request, limit=1)
    rest = page_of_commits(store, request, cursor=first["next_cursor"])
    shown = [one["sha"] for one in [*first["commits"], *rest["commits"]]]
    assert shown == [made["pool"], made["use"]]
    assert (first["total"], rest["next_cursor"]) == (2, None)


@given(st.from_regex(r"[a-z]{0,4}(ing|ed|es|s|e|é){0,3}", fullmatch=True))
def test_the_words_of_a_stem_are_those_that_have_it(word):
    assert word in words_of_stem(stem(word))
    assert {stem(one) for one in words_of_stem(word)} <= {word}
