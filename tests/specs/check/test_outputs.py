"""JSON in logs, and JSON against schemas."""

import pytest

from clew.specs.check import output_schema
from clew.specs.check.output_schema import find_json, schema_errors


def test_references_stay_within_the_schema():
    schema = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert schema_errors(schema, {"a": 1}) == []
    assert schema_errors(schema, {"a": "x"}) == ["at '/a': 'x' is not of type 'integer'"]
    (error,) = schema_errors({"$ref": "http://localhost:1/schema.json"}, 1)
    assert error.startswith("the schema refers to what it does not contain: ")


def test_patterns_are_checked():
    schema = {"properties": {"name": {"pattern": "^[a-z]+$"}}}
    assert schema_errors(schema, {"name": "abc"}) == []
    assert schema_errors(schema, {"name": "A"}) == ["at '/name': 'A' does not match '^[a-z]+$'"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"pattern": "^(a+)+$"}, "a" * 60 + "b"),
        ({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, 1),
    ],
)
def test_schemas_without_end_are_given_up(schema, value, monkeypatch):
    monkeypatch.setattr(output_schema, "_SECONDS", 5.0)
    (error,) = schema_errors(schema, value)
    assert "not finished within 5 s" in error or "too deep" in error


def test_a_schema_that_is_none_is_told():
    assert schema_errors({"type": "nonsense"}, 1)[0].startswith("the schema is not valid: ")
    assert schema_errors(False, 1) == ["at '': False schema does not allow 1"]


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
