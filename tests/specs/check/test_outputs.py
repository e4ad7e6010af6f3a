"""JSON in logs, and JSON against schemas."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from clew.specs.check.output_schema import find_json, schema_errors

LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text("ab", max_size=3))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMES = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
SCHEMAS = st.recursive(
    st.one_of(
        st.just({}),
        st.booleans(),
        st.builds(lambda name: {"type": name}, NAMES),
        st.builds(lambda a, b: {"type": [a, b]}, NAMES, NAMES).filter(
            lambda schema: len(set(schema["type"])) == 2
        ),
        st.builds(lambda value: {"const": value}, st.text("ab", max_size=2)),
        st.just({"minimum": 1}),
        st.just({"maximum": 0, "maxLength": 1, "minItems": 1}),
    ),
    lambda inner: st.one_of(
        st.builds(
            lambda part, more: {
                "properties": {"x": part},
                "required": ["y"],
                "additionalProperties": more,
            },
            inner,
            inner,
        ),
        st.builds(lambda part: {"items": part}, inner),
        st.builds(lambda part: {"not": part}, inner),
        st.builds(
            lambda word, a, b: {word: [a, b]},
            st.sampled_from(["anyOf", "allOf", "oneOf"]),
            inner,
            inner,
        ),
    ),
    max_leaves=5,
)


@given(SCHEMAS, VALUES)
def test_it_agrees_with_a_complete_validator(schema, value):
    assert (not schema_errors(schema, value)) == Draft202012Validator(schema).is_valid(value)


def test_references_and_endless_schemas():
    schema = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert schema_errors(schema, {"a": 1}) == []
    assert schema_errors(schema, {"a": "x"}) == ["at '/a': \"x\" is not of type integer"]
    endless = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}
    assert "too deep" in schema_errors(endless, 1)[0] or "anyOf" in schema_errors(endless, 1)[0]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"b": 0}\n```\n{"a": 1}\n```\n```json\n{"c": 2}\n```', {"c": 2}),
        (' {"a": 1} ', {"a": 1}),
        ('done: {"a": {"b": [1]}} ok', {"a": {"b": [1]}}),
        ("list: [1, 2]", [1, 2]),
        ("{not json} [3]", [3]),
    ],
)
def test_the_likeliest_json_comes_first(text, first):
    assert next(find_json(text)) == first


def test_text_without_json():
    assert list(find_json("{{{{ [[[ nothing")) == []
