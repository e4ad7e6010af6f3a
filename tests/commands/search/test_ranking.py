"""Searching commands: what is found, how the scores read, and that nothing can break it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.commands.model import Command, Variable
from clew.commands.search.meaning import meaning_of
from clew.commands.search.ranking import ALGORITHMS, CommandIndex

COMMANDS = [
    Command("git", "decide-branch", "working-branch", "Decide whether to create a new branch"),
    Command("git", "find-oldest", "descendant-branch", "Search and merge oldest related branch"),
    Command("git", "group-commit", "unstaged-changes", "Commit changes in semantic units"),
    Command("git", "list-select", "pr-branch", "Select next target from PR-attached branches"),
    Command("git", "merge-up", "base-branch", "Merge derived branch to parent branch"),
    Command("meta", "build", "frontmatter", "Generate C3L v0.5 compliant frontmatter"),
    Command("meta", "create", "instruction", "Create new instruction file"),
    Command("code", "remove", "dead-code", "Find code that nothing calls and take it out"),
    Command("test", "run", "specific", "Execute the tests of one file"),
]
INDEX = CommandIndex(COMMANDS)


def test_initials_are_those_of_a_name_as_it_is_written():
    index = CommandIndex(
        [
            Command("web", "audit", "seo", "Check how pages are found"),
            Command("risk", "draw", "tree", "Show how things may go wrong"),
        ]
    )
    assert index.search("search engine optimization")[0].command.c3 == "seo"
    hits = index.search("You must follow these rules exactly.", explain=True)
    assert not any("initials" in reason for hit in hits for reason in hit.why)


def found(query, **settings):
    return [hit.command.label for hit in INDEX.search(query, **settings)]


def best(query, **settings):
    hits = INDEX.search(query, **settings)
    return (hits[0].command.label, hits[0].score) if hits else ("", 0.0)


@pytest.mark.parametrize(
    ("query", "label"),
    [
        ("group changes and commit", "git group-commit unstaged-changes"),
        ("groupCommit", "git group-commit unstaged-changes"),
        ("group_commit", "git group-commit unstaged-changes"),
        ("GROUP-COMMIT!", "git group-commit unstaged-changes"),
        ("\uff47\uff52\uff4f\uff55\uff50 commits", "git group-commit unstaged-changes"),
        ("gruop comit chnages", "git group-commit unstaged-changes"),
        ("変更をグループ化してコミット", "git group-commit unstaged-changes"),
        ("merging into the parent", "git merge-up base-branch"),
        ("mergeup", "git merge-up base-branch"),
        ("親ブランチにマージする", "git merge-up base-branch"),
        ("delete unused functions", "code remove dead-code"),
        ("使われていないコードを削除", "code remove dead-code"),
        ("pull request", "git list-select pr-branch"),
        ("プルリクエスト", "git list-select pr-branch"),
        ("instruct", "meta create instruction"),
        ("frontmater", "meta build frontmatter"),
        ("run tests", "test run specific"),
    ],
)
def test_what_people_say_finds_what_they_mean(query, label):
    assert found(query)[0] == label


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.label)
def test_the_whole_address_is_a_very_high_match(command):
    label, score = best(command.label)
    assert label == command.label
    assert score >= 0.8


def test_scores_fall_from_band_to_band():
    name = {hit.command.label: hit.score for hit in INDEX.search("merge up base branch")}
    assert name["git merge-up base-branch"] >= 0.8
    _, in_description = best("nothing calls")
    assert 0.5 <= in_description < 0.8
    _, one_word_of_many = best("frontmatter of a jazz concert in Paris tonight")
    assert 0 < one_word_of_many < 0.5


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "?!",
        "zzz qqq",
        "quantum entanglement",
        "天気はどうですか",
        "привет",
        "\x00",
    ],
)
def test_what_matches_nothing_finds_nothing(query):
    assert found(query) == []


def test_small_words_count_where_a_query_has_no_others():
    index = CommandIndex([*COMMANDS, Command("a", "b", "c", "help me please")])
    for query in ("help me", "please", "Help me, please!"):
        assert [hit.command.label for hit in index.search(query)] == ["a b c"], query
    assert index.search("help me with the frontmatter")[0].command.c3 == "frontmatter"
    assert INDEX.search("me please") == []


def test_little_is_almost_unrelated_but_shown():
    little = INDEX.search("a file for elephants, giraffes, penguins, walruses and wombats")
    assert little
    assert little[0].score < 0.2


def test_meaning_finds_what_shares_no_word():
    if meaning_of(COMMANDS) is None:
        pytest.skip("the packaged embedding is not installed: pip install 'clew[semantic]'")
    hits = INDEX.search("software nobody uses")
    assert hits[0].command.c3 == "dead-code"
    assert any(line.startswith("meaning: ") for line in explained(hits[0].command.label))


def explained(label):
    hits = INDEX.search("software nobody uses", explain=True)
    return next(hit.why for hit in hits if hit.command.label == label)


def test_words_are_enough_where_the_embedding_is_missing(monkeypatch):
    monkeypatch.setattr("clew.commands.search.ranking.meaning_of", lambda _: None)
    hits = CommandIndex(COMMANDS).search("merge into the parent")
    assert hits[0].command.c2 == "merge-up"


def test_the_text_of_a_template_is_a_witness():
    body = "Look for the invoice, then book it in the ledger."
    index = CommandIndex([*COMMANDS, Command("a", "do", "it", "Do it", body=body)])
    hits = index.search("book an invoice in the ledger")
    assert hits[0].command.c2 == "do"
    assert hits[0].score < 0.5


def test_three_by_default_and_as_many_as_wanted():
    assert len(found("branch")) == 3
    assert len(found("branch", limit=4)) == 4
    assert len(found("branch", limit=1)) == 1
    assert found("branch", limit=0) == []


def test_of_one_address_only_the_first_record_counts():
    first = Command("a", "b", "c", "walk the dog")
    hits = CommandIndex([first, Command("a", "b", "c", "walk the cat")]).search("walk", limit=9)
    assert [hit.command for hit in hits] == [first]


def test_equal_scores_stay_in_the_order_of_the_registry():
    twins = [Command("git", "push", f"target{letter}", "Send it") for letter in "cab"]
    for algorithm in ALGORITHMS:
        hits = CommandIndex(twins).search("push", algorithm=algorithm)
        assert [hit.command for hit in hits] == twins


def test_a_domain_can_be_asked_for():
    assert found("create", c1="git") == ["git decide-branch working-branch"]
    assert found("create", c1="nope") == []
    assert found("create", c1="meta", algorithm="cosine") == ["meta create instruction"]


def test_an_action_and_a_target_are_looked_for_in_their_places():
    turned = [
        Command("x", "branch", "merge", "One way round"),
        Command("x", "merge", "branch", "The other way round"),
    ]
    index = CommandIndex(turned)
    assert index.search("", action="merge", target="branch")[0].command is turned[1]
    assert index.search("", action="branch", target="merge")[0].command is turned[0]
    assert found("", action="integrate", target="parent branch")[0] == "git merge-up base-branch"


def test_an_explanation_names_the_words_and_the_fields():
    (hit, *_) = INDEX.search("comit 変更 quickly", explain=True)
    assert hit.why[:3] == (
        "comit -> commit (spelling): c2, description",
        "変更 -> changes (translation): c3, description",
        "quickly: nowhere",
    )
    assert INDEX.search("commit")[0].why == ()


def test_japanese_descriptions_are_found_in_both_languages():
    index = CommandIndex(
        [
            Command("x", "one", "thing", "不要なブランチを削除する"),
            Command("x", "other", "thing", "設定ファイルを読み込む"),
        ]
    )
    for query in ("ブランチを削除", "delete branches", "不要なブランチ"):
        assert index.search(query)[0].command.c2 == "one", query


def test_titles_tags_and_variables_are_searched_too():
    command = Command(
        "x", "y", "z", title="Harvest", tags=("orchard",), variables=(Variable("ladder"),)
    )
    for word in ("harvest", "orchard", "ladders"):
        assert CommandIndex([command]).search(word), word


def test_an_empty_registry_finds_nothing():
    for algorithm in ALGORITHMS:
        assert CommandIndex([]).search("anything", algorithm=algorithm) == []


def test_growth_does_not_hide_a_command():
    many = [Command("pad", f"action{n}", f"target{n}", "Filler text, branch") for n in range(3000)]
    index = CommandIndex([*many, *COMMANDS])
    assert index.search("merge into parent branch")[0].command.label == "git merge-up base-branch"
    assert index.search("gruop comit")[0].command.label == "git group-commit unstaged-changes"


def test_two_indexes_answer_alike():
    again = CommandIndex(COMMANDS)
    for query in ("branch", "merge branch", "gruop comit", "ブランチ", "create file"):
        assert again.search(query, limit=9) == INDEX.search(query, limit=9)


NAMES = st.text(max_size=12)
ANY_COMMANDS = st.lists(
    st.builds(Command, c1=NAMES, c2=NAMES, c3=NAMES, description=st.text(max_size=60)), max_size=6
)
WORDS = st.sampled_from(
    ["merge", "branch", "変更", "comit", "PRs", "\x00", "é", "ー", "--", "\uff41"]
)
QUERIES = st.one_of(st.text(max_size=40), st.lists(WORDS, max_size=6).map(" ".join))


@given(ANY_COMMANDS, QUERIES, st.sampled_from(ALGORITHMS), st.integers(-1, 5))
def test_no_text_breaks_the_search(commands, query, algorithm, limit):
    hits = CommandIndex(commands).search(query, algorithm=algorithm, limit=limit, explain=True)
    addresses = [hit.command.address for hit in hits]
    assert len(addresses) == len(set(addresses)) <= max(limit, 0)
    assert all(hit.command in commands for hit in hits)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    highest = 1 + 1e-9 if algorithm != "bm25" else float("inf")
    assert all(0 < score <= highest for score in scores)


@given(QUERIES, QUERIES, QUERIES)
def test_ranked_scores_are_within_their_bands(query, action, target):
    hits = INDEX.search(query, action=action, target=target, limit=99)
    assert all(0 < hit.score <= 1 for hit in hits)
    assert INDEX.search(query, action=action, target=target) == hits[:3]


def test_hostile_sizes_are_cut():
    long = CommandIndex([Command("a" * 9000, "b" * 9000, "c", "word " * 100_000)])
    assert long.search("word " * 100_000)
    assert long.search("x" * 1_000_000) == []
    assert INDEX.search(" ".join(f"w{n}" for n in range(10_000))) == []
