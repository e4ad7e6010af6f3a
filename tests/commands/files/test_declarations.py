"""What frontmatter declares, and that what is written reads back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.commands.authoring.templates import frontmatter_text
from clew.commands.files.declarations import declared_variables, is_true, names_of
from clew.kit.text.frontmatter import read_leniently


@pytest.mark.parametrize(
    "uv",
    [
        [{"target": "What"}],
        {"target": "What"},
        {"uv-target": {"description": "What"}},
        [{"name": "target", "description": "What"}],
    ],
)
def test_variables_in_every_form(uv):
    for meta in ({"uv": uv}, {"options": {"uv": uv}}):
        (found,) = declared_variables(meta)
        assert (found.name, found.description, found.secret) == ("target", "What", False)


def test_odd_declarations_declare_nothing():
    assert declared_variables({"uv": ""}) == ()
    assert declared_variables({"uv": [1, None, []]}) == ()
    assert declared_variables({"uv": "x", "options": "y"}) == ()
    assert [v.secret for v in declared_variables({"uv": ["api-key", "API_TOKEN", "x"]})] == [
        True,
        True,
        False,
    ]
    assert names_of("one") == ("one",)
    assert names_of({"a": 1}) == ()
    assert is_true("True")
    assert not is_true("yes")


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30)


@given(
    st.fixed_dictionaries(
        {
            "title": TEXTS,
            "on": st.booleans(),
            "list": st.lists(TEXTS, max_size=3),
            "options": st.fixed_dictionaries({"stdin": st.booleans(), "text": TEXTS}),
            "uv": st.lists(st.fixed_dictionaries({"a": TEXTS}), min_size=1, max_size=2),
        }
    )
)
def test_what_is_written_reads_back(meta):
    text = frontmatter_text(meta)
    found, body, problem = read_leniently(text)

    def shown(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, dict):
            return {key: shown(item) for key, item in value.items()}
        if isinstance(value, list):
            return [shown(item) if isinstance(item, dict) else item for item in value]
        return " ".join(value.split())

    assert (found, body, problem) == (shown(meta), "", "")
