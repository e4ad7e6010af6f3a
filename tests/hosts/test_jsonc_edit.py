import json
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.hosts.files.jsonc import JsoncError, parse
from clew.hosts.files.jsonc_edit import load, put, refuse_doubles, remove

ENTRY = {"type": "stdio", "command": "clew", "args": ["serve"]}
PATH = ("mcpServers", "clew")


def test_comments_and_trailing_commas_are_read():
    text = '// top\n{"a": [1, 2,], /* b */ "c": {"d": "//no /*comment*/"},}\n'
    assert load(text) == {"a": [1, 2], "c": {"d": "//no /*comment*/"}}


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ('{"a": 1\n "b": 2}', "expected ',' or the end", 2, 2),
        ('{\n  "a": tru\n}', "expected a value", 2, 8),
        ("{'a': 1}", 'expected a "key"', 1, 2),
        ('{"a": 1} x', "text after the end", 1, 10),
        ('{"a": ', "unexpected end", 1, 7),
        ('{"a": "x\n"}', "line break or control character in a string", 1, 9),
        ('{"a" 1}', "expected ':'", 1, 6),
        ('{"a": 01}', "expected ',' or the end", 1, 8),
        ('{"a": 1 /* open', "comment without an end", 1, 9),
        ('{"a": "\\x"}', "invalid escape", 1, 8),
        ('{"a": "x', "string without an end", 1, 7),
        ('{"a": [1, NaN]}', "expected a value", 1, 11),
        ('{"b": "NaN", "a": -Infinity, }', "expected a value", 1, 19),
        ('// c\n{"a": [,]}', "expected a value", 2, 8),
        ('{"a": [1,,]}', "expected a value", 1, 10),
        ("{,}", 'expected a "key"', 1, 2),
        ("{'a': 1} // c", 'expected a "key"', 1, 2),
        ("[" * 300_000, "nested too deeply", 1, 1),
    ],
)
def test_what_no_host_would_read_is_refused_with_its_place(text, reason, line, column):
    with pytest.raises(JsoncError) as caught:
        parse(text)
    assert reason in caught.value.reason
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{\n  "mcpServers": {}\n}\n',
            '{\n  "mcpServers": {\n    "clew": {\n      "x": 1\n    }\n  }\n}\n',
        ),
        ('{"a": 1}', '{"a": 1, "mcpServers": {"clew": {"x": 1}}}'),
        ('{"a":1}', '{"a":1,"mcpServers":{"clew":{"x":1}}}'),
        (
            '{\n\t"a": 1 // one\n}',
            '{\n\t"a": 1, // one\n\t"mcpServers": {\n\t\t"clew": {\n\t\t\t"x": 1\n\t\t}\n\t}\n}',
        ),
        (
            '{\r\n  "a": 1,\r\n}\r\n',
            '{\r\n  "a": 1,\r\n  "mcpServers": {\r\n    "clew": {\r\n      "x": 1\r\n    }\r\n  },\r\n}\r\n',
        ),
        ("", '{\n  "mcpServers": {\n    "clew": {\n      "x": 1\n    }\n  }\n}\n'),
    ],
)
def test_an_entry_is_added_in_the_files_own_style(before, after):
    assert put(before, PATH, {"x": 1}).text == after


@pytest.mark.parametrize(
    "text",
    [
        "{}", "{ }", "{\n}", "{\n\n\n}\n", "{ /* c */ }", "{ // c\n}", '{"mcpServers": { }}',
        '{"mcpServers": {\n}}', '{"mcpServers":{}}', '{\n  "mcpServers": {\n    // none yet\n  }\n}',
        '{"a": "http://x"}', '{ "a": 1 }', '{"a": 1 /* x */}', '{"a": 1 /* x */ , }',
        '{\n  "mcpServers": {\n    "b": {}, // c\n    // "d": {},\n  },\n}\n',
        '{\n  "mcpServers": {\n    "b": {} // c\n    // "d": {}\n  }\n}\n',
    ],
)  # fmt: skip
def test_an_entry_added_and_removed_leaves_the_same_text(text):
    edit = put(text, PATH, ENTRY)
    assert load(edit.text)["mcpServers"]["clew"] == ENTRY
    assert remove(edit.text, PATH, edit.trace) == text


def test_what_was_added_beside_the_entry_stays_when_it_goes():
    edit = put('{\n  "a": 1\n}\n', PATH, ENTRY)
    more = put(edit.text, ("mcpServers", "other"), {"command": "x"}).text
    assert load(remove(more, PATH, edit.trace)) == {
        "a": 1,
        "mcpServers": {"other": {"command": "x"}},
    }


def test_what_follows_on_the_line_never_falls_into_a_comment():
    text = '{ // c\n "clew": 1, "b": 2}'
    assert load(remove(text, ("clew",), {})) == {"b": 2}
    text = '{"a": 0, // c\n "clew": 1}'
    assert load(remove(text, ("clew",), {})) == {"a": 0}


def test_a_replaced_value_comes_back_as_it_was_written():
    text = '{"mcpServers": {"clew": {"command" : "other"  }}}'
    edit = put(text, PATH, ENTRY)
    assert load(edit.text)["mcpServers"]["clew"] == ENTRY
    assert remove(edit.text, PATH, edit.trace) == text


def test_a_container_that_is_no_object_is_refused_with_its_place():
    with pytest.raises(JsoncError, match="mcpServers is not an object") as caught:
        put('{\n  "mcpServers": null\n}', PATH, ENTRY)
    assert (caught.value.line, caught.value.column) == (2, 17)


def test_of_double_keys_the_last_counts():
    text = '{"mcpServers": {}, "mcpServers": {"a": {}}}'
    assert load(put(text, PATH, ENTRY).text)["mcpServers"] == {"a": {}, "clew": ENTRY}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"mcpServers": {\n"clew": 1,\n"clew": 2}}', '"clew" occurs 2 times, in lines 2 and 3'),
        ('{"mcpServers": {"clew": 1},\n"mcpServers": {"clew": 2}}', "in lines 1 and 2"),
        ('{"mcpServers": {"clew": 1},\n"mcpServers": {}}', '"mcpServers" occurs 2 times'),
    ],
)
def test_our_entry_twice_is_refused(text, reason):
    with pytest.raises(JsoncError, match=reason):
        refuse_doubles(text, PATH)


@pytest.mark.parametrize(
    "text",
    ["", "// c", '{"mcpServers": {}, "mcpServers": {"clew": 1}}', '{"a": 1, "a": {"clew": 1}}'],
)
def test_other_keys_may_stand_twice(text):
    refuse_doubles(text, PATH)


HUGE = {
    "members": '{"mcpServers": {' + ", ".join(f'"s{n}": {{}}' for n in range(60_000)) + "}\n}",
    "comments": '{"a": 1 %s}' % ("/* x */ // y\n" * 60_000),
    "quotes": '{ // c\n"a": "%s"}' % ('\\"' * 500_000),
    "open quotes": '{ // c\n"a": "%s' % ('\\"' * 500_000),
    "open comments": ",/*" * 300_000,
    "commas": "// c\n[%s" % (", \n" * 300_000),
    "nested": '{"a": ' + "[ " * 300 + "1" + ",]" * 300 + "}",
}


@pytest.mark.parametrize("kind", HUGE)
def test_no_text_takes_long(kind):
    started = time.process_time()
    with suppress(JsoncError):
        edit = put(HUGE[kind], PATH, ENTRY)
        assert remove(edit.text, PATH, edit.trace) == HUGE[kind]
    assert time.process_time() - started < 5


KEYS = st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), max_size=6).filter(
    lambda key: key != "clew"
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=8) | st.just("https://x/*y*/"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
BLANKS = st.sampled_from(["", "", " ", "\n", "\n  ", "\t", "\r\n    "])
COMMENTS = st.sampled_from(["", "", "", "// note, {\n", '/* "x": 1, } */', "//\n"])


@st.composite
def documents(draw):
    value = draw(st.dictionaries(KEYS, VALUES, max_size=4))
    if draw(st.booleans()):
        value["mcpServers"] = draw(st.dictionaries(KEYS, VALUES, max_size=3))

    def gap():
        return draw(BLANKS) + draw(COMMENTS) + draw(BLANKS)

    def listed(items, closing):
        commas = gap() + "," if items and draw(st.booleans()) else ""
        return (gap() + ",").join(items) + commas + gap() + closing

    def written(item):
        if isinstance(item, dict):
            pairs = [
                f"{gap()}{json.dumps(key)}{gap()}:{gap()}{written(inner)}"
                for key, inner in item.items()
            ]
            return "{" + listed(pairs, "}")
        if isinstance(item, list):
            return "[" + listed([gap() + written(inner) for inner in item], "]")
        return json.dumps(item, ensure_ascii=draw(st.booleans()))

    return gap() + written(value) + gap(), value


@given(documents())
def test_any_document_survives_an_entry_and_its_removal(document):
    text, value = document
    assert load(text) == value
    edit = put(text, PATH, ENTRY)
    expected = {**value, "mcpServers": {**value.get("mcpServers", {}), "clew": ENTRY}}
    assert load(edit.text) == expected
    assert remove(edit.text, PATH, edit.trace) == text


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.sampled_from([None, 1, 2, 4, "\t"]))
def test_any_pretty_printed_document_survives(value, indent):
    text = json.dumps(value, indent=indent) + "\n"
    edit = put(text, PATH, ENTRY)
    assert remove(edit.text, PATH, edit.trace) == text
