"""Strict JSON, and that the quick codec says what the standard one says."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit import jsontext
from clew.kit.jsontext import JsonError, dumps, dumps_bytes, loads, loads_bytes, pretty

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=25
)


@given(VALUES)
def test_what_is_written_is_read_back(value):
    assert loads_bytes(dumps_bytes(value)) == value
    assert json.loads(dumps(value)) == value
    assert pretty(value) == json.dumps(value, indent=2, ensure_ascii=False)


@given(VALUES)
def test_both_codecs_agree(value):
    scan, encode, quote = jsontext._standard_codec()
    assert encode(value) == dumps(value)
    assert quote(str(value)) == jsontext._quote(str(value))
    text = json.dumps(value, indent=1)
    assert scan(text, 0)[0] == loads(text)


@given(st.text(max_size=40))
def test_any_text_is_a_value_or_a_json_error(text):
    try:
        value = loads(text)
    except JsonError:
        return
    assert value == json.loads(text)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_a_json_error(data):
    try:
        value = loads_bytes(data)
    except JsonError:
        return
    assert value == json.loads(data)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "expected value at line 1 column 1"),
        ("invalid json", "expected value at line 1 column 1"),
        ('{\n "a": }', "expected value at line 2 column 7"),
        ("[1] 2", "extra text after the value at line 1 column 5"),
        ("NaN", "NaN is not a JSON number"),
        ("-Infinity", "-Infinity is not a JSON number"),
        ("1e999", "number out of range"),
        ('"\\ud800"', "lone surrogate in a string"),
        ('{"\\udfff": 1}', "lone surrogate in a string"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "invalid number"),
    ],
)
def test_what_is_refused_and_why(text, reason):
    with pytest.raises(JsonError) as error:
        loads(text)
    assert str(error.value) == reason


def test_pairs_of_surrogate_escapes_are_fine():
    assert loads('"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, object(), {(1,): 2}, "\ud800", {"a": {1, 2}}]
)
def test_what_json_cannot_say_is_refused(value):
    with pytest.raises(JsonError):
        dumps_bytes(value)


def test_the_fallback_codec_refuses_the_same(monkeypatch):
    scan, encode, _ = jsontext._standard_codec()
    monkeypatch.setattr(jsontext, "_scan", scan)
    monkeypatch.setattr(jsontext, "_encode", encode)
    for text in ("", "NaN", "1e999", "[1,", '{"a" 1}', "[" * 100_000):
        with pytest.raises(JsonError):
            loads(text)
    with pytest.raises(JsonError):
        dumps(math.nan)
    assert loads(dumps({"é": [1, 2.5, None]})) == {"é": [1, 2.5, None]}
