"""Words, stems and slips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.commands.search.tokens import bigrams, parts_of, pieces, split_compound, stem
from clew.commands.search.vocabulary import Spelling, synonyms, translations


@pytest.mark.parametrize(
    "family",
    [
        "commit commits committed committing",
        "branch branches",
        "merge merges merged merging",
        "create creates created creating creation",
        "generate generated generator generation",
        "optimize optimise optimization optimisation optimizing",
        "dependency dependencies",
        "format formats formatter formatting",
        "translate translation translations translating",
        "deploy deploys deployment deployed",
        "document documents documentation documented",
        "cache caches cached caching",
        "fix fixes fixed fixing",
        "analyze analysis analyses",
        "pull pulls pulled pulling",
        "index indexes indices indexing",
        "class classes",
    ],
)
def test_a_family_of_words_has_one_stem(family):
    assert len({stem(word) for word in family.split()}) == 1


@pytest.mark.parametrize(
    "words",
    ["format form", "production product", "specific specification", "string str", "test text"],
)
def test_strangers_do_not_become_one(words):
    assert len({stem(word) for word in words.split()}) == len(words.split())


@pytest.mark.parametrize(
    ("compound", "parts"),
    [
        ("groupCommit", ["group", "commit"]),
        ("group-commit", ["group", "commit"]),
        ("GROUP_COMMIT", ["group", "commit"]),
        ("OpenAPISpec", ["open", "api", "spec"]),
        ("TLSCertificate", ["tls", "certificate"]),
        ("PRs", ["prs"]),
        ("2FA", ["2fa"]),
        ("k8s", ["k8s"]),
        ("e2eScenario", ["e2e", "scenario"]),
        ("README", ["readme"]),
        ("utf8", ["utf8"]),
    ],
)
def test_compounds_come_apart(compound, parts):
    assert split_compound(compound) == parts


def test_scripts_are_told_apart():
    assert pieces("READMEを書いて") == ["README", "を書いて"]
    assert pieces("\uff43\uff4f\uff4d\uff4d\uff49\uff54 ｺﾐｯﾄ") == ["commit", "コミット"]
    assert pieces("résumé Größe") == ["resume", "grosse"]
    assert bigrams("変更を") == ["変更", "更を"]
    assert bigrams("する") == []


def test_a_misspelt_word_has_near_neighbours():
    spelling = Spelling(["branch", "brunch", "commit", "test", "hook", "text"])
    assert spelling.nearest("brnch") == [("branch", 5 / 6), ("brunch", 5 / 6)]
    assert spelling.nearest("comit")[0][0] == "commit"
    assert spelling.nearest("tset")[0][0] == "test"
    assert spelling.nearest("book") == []
    assert spelling.nearest("elephant") == []
    assert spelling.nearest("x" * 50) == []


@given(st.lists(st.text(max_size=12), max_size=8), st.text(max_size=12))
def test_neighbours_are_known_words_that_are_alike(known, word):
    for other, alike in Spelling(known).nearest(word):
        assert other in known
        assert 0 < alike <= 1


@given(st.text(max_size=40))
def test_any_text_can_be_taken_apart(text):
    for piece in pieces(text):
        assert piece
        for part in parts_of(piece):
            assert stem(part)
            assert stem(part) == stem(part)


def test_synonyms_go_both_ways_or_one():
    assert ("remov",) in synonyms().of(("delet",))
    assert ("delet",) in synonyms().of(("remov",))
    assert ("pull", "request") in synonyms().of(("pr",))
    assert synonyms().phrase_at(["open", "pull", "request"], 1) == 2
    assert synonyms().of(("elephant",)) == []


def test_the_longest_japanese_word_wins():
    words = [(word, bool(english)) for word, english in translations().segments("変更履歴を見る")]
    assert words == [("変更履歴", True), ("を見る", False)]
    assert translations().segments("サーバ")[0][1] == translations().segments("サーバー")[0][1]
