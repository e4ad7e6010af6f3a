"""What people type, and when: queries, dates, and the lines that are shown."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.history.search.dates import moment
from clew.history.search.filters import Filters
from clew.history.search.query import FIELDS, folded, parse_query
from clew.history.search.search import SearchRequest, find
from clew.history.search.snippets import marks, snippets
from clew.history.store.sqlite import SqliteHistory
from clew.kit.errors import ClewError, Invalid

NOW = 1_700_000_000
PIECES = [
    *FIELDS,
    ":",
    '"',
    "-",
    "*",
    "OR",
    "AND",
    "NOT",
    "(",
    ")",
    "NEAR",
    "^",
    "a",
    "ab*",
    "x/y.rs",
]


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    store = SqliteHistory.create(tmp_path_factory.mktemp("empty") / "db")
    yield store
    store.close()


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(
        st.text(max_size=80),
        st.lists(st.sampled_from(PIECES), max_size=12).map(" ".join),
        st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    )
)
def test_any_plain_reading_is_understood_by_the_index(empty, text):
    """Whatever is typed: an error that says so, or a query whose plain form has no syntax error."""
    try:
        query = parse_query(text)
    except ClewError:
        return
    run = empty.connection.execute
    run(
        "SELECT rowid FROM search_fts WHERE search_fts MATCH ?",
        (query.fallback or query.expression,),
    )
    assert all(term.words for term in query.terms)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("src/main.rs", '("src/main.rs")'),
        ("#482", '("482")'),
        ("fix: bug", '("fix:") AND ("bug")'),
        ("added:foo", '({added} : "foo")'),
        ("-path:src x", '("x") NOT {paths} : "src"'),
        ('removed:"two words"*', '({removed} : "two words"*)'),
        ("message:a diff:b", '({subject body} : "a") AND ({added removed context} : "b")'),
        ("path:src/*.rs", '({paths} : "src/") AND ({paths} : "rs")'),
        ("http://x", '("http://x")'),
        ('foo:"bar baz"', '("foo bar baz")'),
        ("path:", '("path:")'),
    ],
)
def test_plain_queries(text, expression):
    query = parse_query(text)
    assert (query.expression, query.fallback) == (expression, None)


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("added:foo OR path:bar", "{added} :foo OR {paths} :bar"),
        ("patch_preview : foo", "{added removed} : foo"),
        ('"path: x" AND y', '"path: x" AND y'),
    ],
)
def test_the_indexs_own_syntax_is_kept(text, expression):
    query = parse_query(text)
    assert query.expression == expression
    assert query.fallback


@pytest.mark.parametrize("text", ["w*", "foo w*", '"a b"*', "(w *)", "added:w*", "x AND y*"])
def test_a_single_letter_and_star_is_refused(text):
    with pytest.raises(Invalid, match="One letter"):
        parse_query(text)


def test_wrong_words_for_sort_and_place(empty):
    with pytest.raises(Invalid, match="relevance, date"):
        find(empty, SearchRequest("x", sort="newest"))
    with pytest.raises(Invalid, match="message"):
        find(empty, SearchRequest("x", place="title"))
    for status in ("X", "", "A;M", "é"):
        with pytest.raises(Invalid, match="status"):
            find(empty, SearchRequest("x", Filters(status=status)))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2 weeks ago", NOW - 14 * 86400),
        ("2.weeks.ago", NOW - 14 * 86400),
        ("1 day ago", NOW - 86400),
        ("an hour ago", NOW - 3600),
        ("last month", NOW - 30 * 86400),
        ("3d", NOW - 3 * 86400),
        ("90min", NOW - 5400),
        ("yesterday", NOW - 86400),
        ("Now", NOW),
        ("1700000001", NOW + 1),
        ("-5", -5),
        ("2023-11-14", 1_699_920_000),
        ("2023-11-14T22:13:20Z", NOW),
        ("2023-11-14 23:13:20+01:00", NOW),
    ],
)
def test_dates(text, seconds):
    assert moment(text, now=NOW) == seconds
    assert moment(7) == 7
    assert moment(None) is None


@given(st.text(max_size=30) | st.from_regex(r"-?[0-9]{1,6000}", fullmatch=True))
def test_any_date_is_a_number_or_refused(text):
    try:
        assert isinstance(moment(text), int)
    except Invalid as error:
        if "Not a date" not in error.message:
            raise


PATCH = (
    "diff --git a/old b/old\nindex 1..2\n--- a/old\n+++ b/old\n@@ -10,4 +10,4 @@ def old foo\n"
    " keep café\n-gone foo-bar\n+come foo bar baz\n \n\\ No newline at end of file\n"
    '@@ -30 +30 @@\n-x\n+++ plus\ndiff --git "a/b\\303\\244" "b/b\\303\\244"\nnew file mode 1\n'
    '--- /dev/null\n+++ "b/b\\303\\244"\n@@ -0,0 +1,2 @@\n+FOO\n+food ' + "z" * 500 + " foo\n"
)


def lines(text, most=9):
    found = snippets(PATCH, parse_query(text), most=most)
    return [(line["path"], line["line"], line["kind"], line["text"][:20]) for line in found]


def test_lines_have_their_file_and_number():
    assert lines("cafe") == [("old", 10, "context", "keep café")]
    assert lines("plus") == [("old", 30, "added", "++ plus")]
    assert lines("gone") == [("old", 11, "removed", "gone foo-bar")]
    assert lines("come added:baz") == [("old", 11, "added", "come foo bar baz")]
    assert ("bä", 1, "added", "FOO") in lines("foo")
    assert lines("removed:foo") == [("old", 11, "removed", "gone foo-bar")]
    assert len(lines("foo", most=2)) == 2
    assert lines("foo", most=0) == lines("nothing") == lines("message:foo") == []
    assert lines('"foo bar baz"') == [("old", 11, "added", "come foo bar baz")]


def test_long_lines_are_cut_around_the_match():
    (line,) = [x for x in snippets(PATCH, parse_query("foo zzz*"), most=9) if x["line"] == 2]
    assert len(line["text"]) <= 200
    assert line["text"] in PATCH
    (last,) = [x for x in snippets(PATCH, parse_query('"foo"'), most=9) if x["line"] == 2]
    assert last["text"].endswith("foo")


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("a foo and Foo", "foo", ["foo", "Foo"]),
        ("food foo-bar", "foo*", ["foo", "foo"]),
        ("x foo_bar y", "foo-bar", ["foo_bar"]),
        ("nothing", "foo", []),
        ("café", "cafe", ["café"]),
    ],
)
def test_what_is_made_bold(text, query, marked):
    assert [text[a:b] for a, b in marks(text, parse_query(query).terms)] == marked


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60), st.text(max_size=200))
def test_marks_and_snippets_never_fail(query, text):
    try:
        parsed = parse_query(query)
    except Invalid:
        return
    for begin, end in marks(text, parsed.terms):
        assert text[begin:end]
    patch = PATCH + "".join(f"+{line}\n" for line in re.split(r"[\r\n]", text))
    for line in snippets(patch, parsed, most=5):
        assert line["text"] in patch


# Letters with signs, signs of their own, letters that grow when folded, and other writing.
MIXED = st.text(st.sampled_from("aeKkS <=>\n\u0301\u0338éÉåÅḁ\u212a\u212b\u2260\u1feeİßǆпйЙ日本가"))


@settings(max_examples=400, deadline=None)
@given(st.text() | MIXED)
def test_text_is_folded_as_if_it_were_in_one_piece(text):
    bare = re.sub("[\u0300-\u036f]+", "", unicodedata.normalize("NFD", text.lower()))

    assert folded(text) == unicodedata.normalize("NFC", bare)


@settings(max_examples=400, deadline=None)
@given(MIXED)
def test_what_a_line_is_marked_for_is_among_the_lines(text):
    line = "+" + re.sub(r"\s", " ", f"п {text} éк")
    patch = f"diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -0,0 +1 @@\n{line}\n"
    for word in re.findall(r"[^\W_]+", folded(line)):
        query = parse_query(f'"{word}"')
        if marks(line, query.terms):
            assert snippets(patch, query, most=1)[0]["text"] == line[1:201]


def test_plain_words_are_found_between_other_writing():
    hunk = "".join(f"+日本 {word} йод\n" for word in ("Kelvin", "\u212aelvin", "kelvin", "elvin"))
    patch = f"diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -0,0 +1,4 @@\n{hunk}"

    assert [x["line"] for x in snippets(patch, parse_query("kelvin"), most=9)] == [1, 2, 3]
