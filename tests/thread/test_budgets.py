"""Budgets are kept to the token, in text and in data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit import jsontext
from clew.kit.errors import Invalid
from clew.thread.brief.brief import brief, for_prompt
from clew.thread.budget import LARGEST, SMALLEST, fitted, pack_data, pack_text, tokens_of
from clew.thread.model import Statement
from clew.thread.why.why import why
from tests.thread.story import OPEN, SPEC

STATEMENTS = st.lists(
    st.builds(
        Statement,
        st.sampled_from(["line", "commit", "message", "spec"]),
        st.text(max_size=900),
        st.text(min_size=1, max_size=60),
        st.integers(0, 9),
        st.booleans(),
    ),
    max_size=25,
)


@given(STATEMENTS, st.integers(SMALLEST, 900), st.text(max_size=400))
def test_no_pack_is_ever_over_its_budget(statements, budget, title):
    pack = fitted(title, statements, budget, {"repo": "shop"})
    data = pack_data(pack)
    assert tokens_of(pack_text(pack)) <= budget
    assert tokens_of(jsontext.dumps(data)) <= budget
    assert data["tokens"] == tokens_of(pack_text(pack))
    assert len(pack.statements) + sum(pack.left_out.values()) == len(statements)


@given(STATEMENTS, st.integers(SMALLEST, 900))
def test_the_same_statements_give_the_same_pack(statements, budget):
    assert fitted("x", statements, budget) == fitted("x", list(statements), budget)


def test_what_matters_comes_first_and_what_is_left_out_is_counted():
    long = [Statement("message", "m" * 600, "commit:1", 5) for _ in range(5)]
    pack = fitted("t", [*long, Statement("vision", "the vision", "vision:1", 0)], SMALLEST)
    assert [one.section for one in pack.statements] == ["vision"]
    assert pack.left_out == {"message": 5}
    assert f"Left out to stay within {SMALLEST} tokens: message 5" in pack_text(pack)


def test_a_long_text_is_cut_where_it_may_be():
    pack = fitted(
        "t", [Statement("message", "word " * 1000, "commit:1", can_shrink=True)], SMALLEST
    )
    assert pack.statements[0].text.endswith("[…]")
    assert tokens_of(pack_text(pack)) <= SMALLEST
    assert pack.left_out == {}


@pytest.mark.parametrize("budget", [0, -5, SMALLEST - 1, LARGEST + 1])
def test_an_impossible_budget_is_refused(budget):
    with pytest.raises(Invalid, match="budget"):
        fitted("t", [], budget)


@pytest.mark.parametrize("budget", [200, 237, 300, 411, 700, 1500])
def test_answers_keep_their_budgets(story, budget):
    for pack in (
        why(story.rooms(), "tests/test_orders.py:1", budget=budget),
        brief(story.rooms(), SPEC, budget=budget),
        brief(story.rooms(), "make retries wait longer", budget=budget),
    ):
        assert tokens_of(pack_text(pack)) <= budget
        assert tokens_of(jsontext.dumps(pack_data(pack))) <= budget


@pytest.mark.parametrize("budget", [260, 400, 2500])
def test_the_prompt_keeps_its_budget_too(story, budget):
    text = for_prompt(story.root, OPEN, budget)
    assert tokens_of(text) <= budget
    assert "no instruction" in text
