"""The one validator of arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from clew.catalog.validate import ArgumentError, check_arguments
from clew.program import all_tools

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "minLength": 1},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10},
        "ratio": {"type": "number"},
        "force": {"type": "boolean"},
        "paths": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "note": {"type": ["string", "null"]},
        "options": {
            "type": "object",
            "properties": {"depth": {"type": "integer"}},
            "required": ["depth"],
        },
    },
    "required": ["id"],
}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Missing required parameter: id"),
        ({"id": None}, "Missing required parameter: id"),
        ({"id": 5}, "Invalid parameter: id must be a string, got integer"),
        ({"id": ""}, "Invalid parameter: id must be at least 1 characters"),
        ({"id": "x", "limit": "5"}, "Invalid parameter: limit must be an integer, got string"),
        ({"id": "x", "limit": True}, "Invalid parameter: limit must be an integer, got boolean"),
        ({"id": "x", "limit": 2.5}, "Invalid parameter: limit must be an integer, got number"),
        ({"id": "x", "limit": 0}, "Invalid parameter: limit must be at least 1"),
        ({"id": "x", "limit": 11}, "Invalid parameter: limit must be at most 10"),
        ({"id": "x", "force": 1}, "Invalid parameter: force must be a boolean, got integer"),
        ({"id": "x", "paths": "a"}, "Invalid parameter: paths must be an array, got string"),
        ({"id": "x", "paths": ["a", 5]}, "Invalid parameter: paths[1] must be a string"),
        ({"id": "x", "paths": ["a"] * 3}, "Invalid parameter: paths must be at most 2 items"),
        ({"id": "x", "mode": "c"}, "Invalid parameter: mode must be one of a, b"),
        ({"id": "x", "options": []}, "Invalid parameter: options must be an object, got array"),
        ({"id": "x", "options": {}}, "Missing required parameter: options.depth"),
        ({"id": "x", "options": {"depth": "1"}}, "Invalid parameter: options.depth must be"),
        ({"id": "x", "limt": 5}, "Unknown parameter: limt. Did you mean limit?"),
    ],
)
def test_what_is_wrong_is_named(arguments, message):
    with pytest.raises(ArgumentError) as error:
        check_arguments(SCHEMA, arguments)
    assert error.value.message.startswith(message)


def test_what_is_right_passes_and_nulls_count_as_absent():
    given = {"id": "x", "limit": 5.0, "ratio": 1, "note": "n", "force": None, "stranger": [1]}
    checked = check_arguments(SCHEMA, given)
    assert checked == {"id": "x", "limit": 5, "ratio": 1, "note": "n", "stranger": [1]}
    assert isinstance(checked["limit"], int)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(st.sampled_from(all_tools()), st.data())
def test_it_agrees_with_the_reference_validator(tool, data):
    keys = st.sampled_from([*tool.input_schema["properties"], "zzzzzz"])
    arguments = data.draw(st.dictionaries(keys, VALUES, max_size=5))
    required = tool.input_schema.get("required", [])
    present = {k: v for k, v in arguments.items() if v is not None or k in required}
    valid = Draft202012Validator(tool.input_schema).is_valid(present)
    try:
        check_arguments(tool.input_schema, arguments)
    except ArgumentError:
        assert not valid
    else:
        assert valid
