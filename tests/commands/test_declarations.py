"""Frontmatter: the plain reader agrees with YAML, or leaves it to YAML."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from clew.commands.authoring.templates import frontmatter_text
from clew.commands.files import frontmatter
from clew.commands.files.declarations import declared_variables, is_true, names_of


def by_library(block):
    try:
        return YAML(typ="base", pure=True).load(block) or {}
    except (YAMLError, ValueError):
        return "unreadable"


PLAIN = """\
c1: git
description: Group changes, then commit them
usage: "climpt git: \\"x\\""
# a comment
options:
  edition: ["default", bug]
  adaptation: []
  stdin: true
empty:
note: 'it''s'
uv:
  - target: What to test
  - name: tone
    enum: [dry, warm]
tags:
- one
- two
"""


def test_what_people_write_is_read_without_the_library():
    assert frontmatter._plain(PLAIN) == by_library(PLAIN)


@pytest.mark.parametrize(
    "block",
    [
        "a: |\n  x\n  y\n",
        "a: {b: c}\n",
        "a: &x 1\nb: *x\n",
        "a: x\n  continued\n",
        "a: 'x\n  y'\n",
        'a: "\\x41"\n',
        "? a\n: b\n",
        "a: [b, [c]]\n",
        "a: [b,\n  c]\n",
        "a: b # note\n",
        "- a\n- b\n",
        "a: b: c\n",
        "a:\n\tb: c\n",
    ],
)
def test_what_is_not_plain_goes_to_the_library(block):
    try:
        found = frontmatter.read_mapping(block)
    except frontmatter.FrontmatterError:
        found = "unreadable"
    expected = by_library(block)
    assert found == (expected if isinstance(expected, dict) or expected == "unreadable" else None)


LINES = st.lists(
    st.sampled_from(
        ["a: b", "a:", "b: c", "  a: b", "  b:", "    c: d", "- a", "  - a", "- a: b", "  - b: c",
         "    d: e", "c: [a, b]", "d: []", "e: {}", 'f: "x"', "g: 'y'", "h: a:b", "i: a # b", "#",
         "", "j: -", "k: - x", "l: ~", "m: é", " n: x", "a b: c", "o: 1.5", "p: !x y", "q: ,"]
    ),
    max_size=8,
).map("\n".join)  # fmt: skip


@given(LINES | st.text(alphabet="ab:-[]{},'\"# \n", max_size=30))
def test_the_plain_reader_agrees_with_yaml_or_refuses(block):
    try:
        found = frontmatter._plain(block)
    except frontmatter._NotPlain:
        return
    assert found == by_library(block)


@given(st.text(max_size=200))
def test_splitting_never_raises_and_loses_nothing(text):
    meta, body, _ = frontmatter.split(text)
    assert text.endswith(body)
    assert meta is not None or body == text


def test_a_broken_block_is_taken_away_and_told():
    meta, body, problem = frontmatter.split('---\ntitle: "open\n---\nBody\n')
    assert (meta, body) == ({}, "Body\n")
    assert "not readable YAML" in problem


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
    found, body, problem = frontmatter.split(text)

    def shown(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, dict):
            return {key: shown(item) for key, item in value.items()}
        if isinstance(value, list):
            return [shown(item) if isinstance(item, dict) else item for item in value]
        return " ".join(value.split())

    assert (found, body, problem) == (shown(meta), "", "")
