"""YAML as texts: the quick reader says what the careful one says, and nothing gets out of hand."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.kit.text.yaml_edit import field_lines, flow_text, scalar_text
from clew.kit.text.yaml_text import YamlError, _NotQuick, read_carefully, read_fields, read_quick

NAMES = st.sampled_from(["type", "status", "labels", "depends_on", "a", "b-c", "_x", "null", "y"])
SOUP = st.text(alphabet="abZ019 :#-_'\"[]{},.~&*!|>%@`?\n/\\é\t\r\u2028\ufeff", max_size=40)
LINES = st.sampled_from(
    [
        "type: code",
        "status: pending # note",
        "status: 'in''quotes'",
        'prompt: "double"',
        "at: 2026-01-01T00:00:00Z",
        "labels: [a, 'b c', d e]",
        "labels: []",
        "labels: [~, null, 1]",
        "labels:",
        "- one",
        "- two: three",
        "  four: 'x'",
        "- two: ",
        'esc: "a\\tb\\"c"',
        'pair: "\\ud83d\\ude00"',
        "dotted.key: a",
        "minus: -x",
        "map: {}",
        "labels: [\"a\", 'b', -c, d#e]",
        "  - deep",
        "-",
        "approval:",
        "  required: true",
        "  status: approved",
        "    by: someone",
        "# comment",
        "  # inner comment",
        "",
        "   ",
        "long: a",
        "  continued",
        "text: |",
        "  block",
        "empty:",
        "n: ~",
        "colon: a:b",
        "hash: a#b",
        "url: http://x/y?z=1",
        "...",
        "--- x",
        "? complex",
        ": value",
        "x: - y",
        "e: [a",
        "f: {a: b}",
        "anchor: &a b",
        "alias: *a",
        "type: again",
        "t:\ttab",
    ]
)


def outcome(reader, text):
    try:
        return reader(text)
    except YamlError:
        return "refused"


@given(st.lists(LINES, max_size=9).map("\n".join))
@example("labels:\n- one\n  - deep")
@example("labels:\n-")
@example("a:\n  b:\n    c: d\n  e: f\ng: h")
def test_quick_and_careful_agree_on_lines(text):
    try:
        quick = read_quick(text)
    except _NotQuick:
        return
    assert quick == outcome(read_carefully, text)


@given(st.lists(st.tuples(NAMES, SOUP), max_size=4))
def test_quick_and_careful_agree_on_any_value(pairs):
    text = "".join(f"{name}: {value}\n" for name, value in pairs)
    try:
        quick = read_quick(text)
    except _NotQuick:
        return
    assert quick == outcome(read_carefully, text)


@given(SOUP, st.integers(0, 4))
def test_quick_and_careful_agree_on_list_items(value, indent):
    text = f"labels:\n{' ' * indent}- {value}\nnext: x\n"
    try:
        quick = read_quick(text)
    except _NotQuick:
        return
    assert quick == outcome(read_carefully, text)


TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30)
VALUES = st.one_of(
    TEXTS,
    st.lists(TEXTS, max_size=4),
    st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), TEXTS, max_size=3),
    st.dictionaries(TEXTS, st.lists(TEXTS, max_size=2), max_size=2),
)


@given(NAMES, VALUES, st.booleans())
def test_what_is_written_reads_as_it_was(name, value, flow):
    text = "\n".join([*field_lines(name, value, flow=flow), "after: x", ""])
    assert read_fields(text) == {name: value, "after": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "No",
        "null",
        "~",
        "",
        " padded ",
        "a: b",
        "# c",
        "- d",
        "---",
        "...",
        "x\ny",
        "&a",
        "é",
    ],
)
def test_words_with_a_meaning_stay_words(text):
    assert read_carefully(f"a: {scalar_text(text)}\n") == {"a": text}
    assert read_carefully(f"a: {flow_text([text])}\n") == {"a": [text]}


def test_typed_scalars_are_plain_alone_and_quoted_in_lists():
    assert scalar_text(value=True) == "true"
    assert scalar_text(3) == "3"
    assert scalar_text("2026-01-01T00:00:00Z") == "2026-01-01T00:00:00Z"
    assert flow_text(["1234567", "12e4567", "true"]) == "['1234567', '12e4567', 'true']"
    assert flow_text(["2026-01-22-001-x7m"]) == "[2026-01-22-001-x7m]"


def test_nothing_is_made_of_a_scalar():
    text = "a: 1\nb: true\nc: 2026-01-01\nd: 0x10\ne: 1.5\nf: null\ng: 'null'\nh:\n"
    expected = {"a": "1", "b": "true", "c": "2026-01-01", "d": "0x10", "e": "1.5"}
    assert (
        read_carefully(text) == read_quick(text) == expected | {"f": None, "g": "null", "h": None}
    )


def test_aliases_cannot_grow_without_end():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(YamlError, match="expands too far"):
        read_fields("\n".join(lines))


@pytest.mark.parametrize("text", ["a: &a\n  b: *a\n", "a: " + "[" * 5000, "{" * 3000])
def test_deep_and_endless_texts_are_refused(text):
    with pytest.raises(YamlError):
        read_fields(text)


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        ("a: b\na: c\n", 1, "twice"),
        ("a: b\n  c: d\n", 1, "mapping values"),
        ("- a\n", 0, "key: value"),
        ("a: [b\n", 1, ""),
        ("x: y\n? [a]\n: b\n", 1, "plain word"),
        ("a: \x01\n", 0, ""),
    ],
)
def test_refusals_name_line_and_cause(text, line, cause):
    with pytest.raises(YamlError, match=cause or None) as caught:
        read_fields(text)
    assert caught.value.line == line
