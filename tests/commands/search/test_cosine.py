"""The documented formulas, to six digits, against figures and against the slow way."""

from collections import Counter
from math import log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.commands.model import Command
from clew.commands.search.cosine import compound_words, cosine_words, cosines
from clew.commands.search.ranking import CommandIndex

GROUP = (
    "git group-commit unstaged-changes "
    "Group file changes by semantic proximity and execute multiple commits sequentially"
)
DECIDE = "Analyze task content and decide whether to create a new branch"
COMMANDS = [
    Command("git", "group-commit", "unstaged-changes", GROUP.split(" ", 3)[3]),
    Command("git", "decide-branch", "working-branch", DECIDE),
    Command("git", "merge-up", "base-branch", "Merge derived branch to parent branch"),
    Command("meta", "create", "instruction", "Create new instruction file"),
]


def cosine_of(one, other):
    counts = Counter(cosine_words(one)), [Counter(cosine_words(other))]
    return cosines(*counts, lambda _: 1.0).get(0, 0.0)


@pytest.mark.parametrize(
    ("one", "other", "cosine"),
    [
        ("group changes and commit", GROUP, 0.400892),
        ("commit changes to git", GROUP, 0.267261),
        (
            "merge branch",
            "git merge-up base-branch Merge derived branch to parent branch",
            0.639602,
        ),
        ("same words", "WORDS same", 1.0),
        ("a a b", "a b b", 0.8),
        ("nothing", "shared", 0.0),
    ],
)
def test_word_cosine_to_six_digits(one, other, cosine):
    assert cosine_of(one, other) == pytest.approx(cosine, abs=5e-7)


def test_words_are_what_stands_between_blanks():
    assert cosine_words(" Group-Commit,\tnow ") == ["", "group-commit,", "now", ""]
    assert compound_words("Group-Commit snake_case plain") == [
        "group-commit",
        "group",
        "commit",
        "snake_case",
        "snake",
        "case",
        "plain",
    ]


def scores(query, algorithm):
    hits = CommandIndex(COMMANDS).search(query, algorithm=algorithm, limit=9)
    return {hit.command.c2: round(hit.score, 6) for hit in hits}


def test_the_search_has_the_same_figures():
    assert scores("group changes and commit", "cosine") == {
        "group-commit": 0.400892,
        "decide-branch": 0.133631,
    }
    assert scores("zzz", "cosine") == {}
    assert scores("  ", "cosine") == {}


def slow_text(command):
    return f"{command.c1} {command.c2} {command.c3} {command.description}".lower()


def slow_tfidf(query, commands):
    texts = [compound_words(slow_text(command)) for command in commands]
    having = Counter(word for text in texts for word in set(text))

    def vector(words):
        return {
            w: n * (log((1 + len(texts)) / (1 + having[w])) + 1) for w, n in Counter(words).items()
        }

    asked = vector(compound_words(query))
    found = {}
    for command, text in zip(commands, texts, strict=True):
        theirs = vector(text)
        dot = sum(value * theirs.get(word, 0) for word, value in asked.items())
        if dot:
            norms = [sqrt(sum(v * v for v in side.values())) for side in (asked, theirs)]
            found[command.c2] = round(dot / norms[0] / norms[1], 6)
    return found


def slow_bm25(query, commands):
    texts = [compound_words(slow_text(command)) for command in commands]
    usual = sum(map(len, texts)) / len(texts)
    found = {}
    for command, text in zip(commands, texts, strict=True):
        score = 0.0
        for word in compound_words(query):
            having = sum(word in other for other in texts)
            times = text.count(word)
            rarity = log((len(texts) - having + 0.5) / (having + 0.5) + 1)
            score += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * len(text) / usual))
        if score:
            found[command.c2] = round(score, 6)
    return found


QUERIES = ["group changes and commit", "create a branch", "merge-up now", "create create new"]


@pytest.mark.parametrize("query", QUERIES)
def test_tfidf_and_bm25_agree_with_the_slow_way(query):
    assert scores(query, "tfidf") == slow_tfidf(query, COMMANDS)
    assert scores(query, "bm25") == slow_bm25(query, COMMANDS)


def test_tfidf_and_bm25_have_their_figures():
    query = "group changes and commit"
    assert scores(query, "tfidf") == {"group-commit": 0.650045, "decide-branch": 0.072161}
    assert scores(query, "bm25") == {"group-commit": 4.763242, "decide-branch": 0.620609}


@given(st.text(max_size=40), st.text(max_size=40))
def test_cosine_is_symmetric_and_never_above_one(one, other):
    value = cosine_of(one, other)
    assert value == pytest.approx(cosine_of(other, one))
    assert 0 <= value <= 1 + 1e-9
