"""Queries, globs, names and numbers as people and programs write them."""

from __future__ import annotations

import itertools
import re
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.history.lookup import get_commit
from clew.history.questions.file_history import find_touches
from clew.history.search.pathmatch import glob_pattern, matching_paths
from clew.history.search.search import (
    SearchRequest,
    marked_commits,
    page_of_commits,
    search_commits,
)
from clew.history.sync.repositories import check_name, without_password
from clew.kit.errors import Invalid, NotFound
from clew.kit.text.redact import redact_patch
from tests.history.index import new_index
from tests.support.repos import Repository

SUBJECTS = {
    "main": "Rework src/main.rs",
    "dash": "Teach foo-bar new tricks",
    "issue": "Close #482 at last",
    "fix": "fix: bug in parser",
    "cpp": "Port to c++",
    "quote": "Now it's fast",
    "unicode": "Grüße an 日本語 café",
    "snake": "Rename snake_case_name",
    "and": "This AND that NOT there",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """An index of commits with signs in their subjects."""
    home = tmp_path_factory.mktemp("asking")
    with pytest.MonkeyPatch.context() as patched:
        for role in ("AUTHOR", "COMMITTER"):
            patched.setenv(f"GIT_{role}_NAME", "Test")
            patched.setenv(f"GIT_{role}_EMAIL", "test@example.com")
        r = Repository(home / "r")
        for number, subject in enumerate(SUBJECTS.values()):
            r.commit(subject, {f"src/deep/f{number}.rs": "x\n", "100%_done.txt": f"{number}\n"})
        r.commit("Lines", {"src/new\nline.rs": "1\n", "SRC/Upper.RS": "1\n", "[a].txt": "1\n"})
        index = new_index(home / "db", r)
    yield index
    index.close()


def subjects(store, query):
    return [hit["subject"] for hit in search_commits(store, query)]


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("src/main.rs", "main"),
        ("main.rs", "main"),
        ("foo-bar", "dash"),
        ("#482", "issue"),
        ("fix: bug", "fix"),
        ("c++", "cpp"),
        ("it's", "quote"),
        ('"unterminated', None),
        ("日本語", "unicode"),
        ("cafe", "unicode"),
        ("cafe\u0301", "unicode"),
        ("GRÜSSE", None),
        ("grüße", "unicode"),
        ("snake_case_name", "snake"),
        ("snake_ca*", "snake"),
        ('"new tricks"', "dash"),
        ('"tricks new"', None),
        ("tricks -foo", None),
        ("tricks -x", None),
        ("tricks -xyzzy", "dash"),
        ("(tricks", "dash"),
        ("tricks)", "dash"),
        ("NOT there", "and"),
        ("this AND that", "and"),
        ("tricks OR xyzzy", "dash"),
        ("xyzzy OR tricks", "dash"),
        ("subject:tricks", "dash"),
        ("tricks AND", "dash"),
        ("OR tricks", "dash"),
        ('tricks" OR "x', None),
        ("NEAR(new tricks)", "dash"),
        ("^teach", "dash"),
        ("main() {", None),
        ("parser NOT zzz", "fix"),
        ("--all", None),
        ("100%", "dash"),
        ("f3.rs", "fix"),
    ],
)
def test_words_just_work(store, query, key):
    found = subjects(store, query)
    if key is not None:
        assert SUBJECTS[key] in found
    else:
        assert SUBJECTS.get("dash") not in found


def test_what_has_more_of_the_words_comes_first(store):
    found, any_word = marked_commits(store, "new tricks zebras")
    assert found[0]["subject"] == SUBJECTS["dash"]
    assert any_word == len(found)


@pytest.mark.parametrize("query", ["nosuchcolumn:tricks", "tricks;DROP TABLE repos"])
def test_where_no_commit_has_all_words_any_will_do_and_that_is_said(store, query):
    found, any_word = marked_commits(store, query)
    assert [one["subject"] for one in found] == [SUBJECTS["dash"]]
    assert any_word == 1
    page = page_of_commits(store, SearchRequest(query))
    assert (page["any_word"], page["next_cursor"], page["total"]) == (1, None, 0)
    assert "any_word" not in page_of_commits(store, SearchRequest("new tricks"))
    report = f'{query}: "not a phrase of any commit" (see below) -nothing'
    assert page_of_commits(store, SearchRequest(report))["any_word"] >= 1


@pytest.mark.parametrize(
    "asked",
    [
        SearchRequest("tricks zebras", sort="date"),
        SearchRequest("tricks zebras", place="message"),
        SearchRequest("+tricks -foo zebras"),
        SearchRequest('"tricks zebras"'),
        SearchRequest("tricks zebr*"),
        SearchRequest("zebras"),
    ],
)
def test_what_asks_for_more_than_words_is_taken_at_its_word(store, asked):
    assert page_of_commits(store, asked)["commits"] == []


@pytest.mark.parametrize(
    "query", ["", "  ", "*", '"', '""', "AND", "OR", "-", "()", "🚀", "-x", "\x00", "((("]
)
def test_nothing_to_look_for(store, query):
    with pytest.raises(Invalid, match="no words"):
        search_commits(store, query)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from(
                [
                    "AND",
                    "OR",
                    "NOT",
                    "NEAR(",
                    ")",
                    "(",
                    '"',
                    "*",
                    "^",
                    ":",
                    "{",
                    "}",
                    "subject",
                    "added",
                    "x",
                    "main",
                    "-",
                    "+",
                    ",",
                    "\x00",
                    "5",
                    "\ud800",
                ]
            ),
            max_size=14,
        ).map(" ".join),
    )
)
def test_any_text_gives_a_list_or_no_words(store, text):
    try:
        assert isinstance(search_commits(store, text), list)
    except Invalid as error:
        if "no words" not in error.message and "One letter" not in error.message:
            raise


@pytest.mark.parametrize(
    "query",
    [
        "word " * 20_000,
        "x" * 500_000,
        "a OR " * 5000 + "b",
        '"' + "p " * 50_000 + '"',
        "(" * 9000 + "x" + ")" * 9000,
    ],
)
def test_long_queries_end_soon(store, query):
    started = time.thread_time()  # other processes may slow this one down
    assert isinstance(search_commits(store, query), list)
    assert time.thread_time() - started < 5


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("100%_d", {"100%_done.txt"}),
        ("100%x", set()),
        ("1%", set()),
        ("%", {"100%_done.txt"}),
        ("_", {"100%_done.txt"}),
        ("[a]", {"[a].txt"}),
        ("*.RS", None),
        ("src/*1.rs", {"src/deep/f1.rs"}),
        ("src/**/*.rs", None),
        ("**/f1.rs", {"src/deep/f1.rs"}),
        ("f?.rs", None),
        ("src/deep/f1*", {"src/deep/f1.rs"}),
        ("", None),
        ("\x00", set()),
        ("a\x00b", set()),
        ("\ud800abc", set()),
        ('"', set()),
        ("x" * 100_000, set()),
        ("DEEP/F1", {"src/deep/f1.rs"}),
        ("' OR 1=1", set()),
    ],
)
def test_patterns(store, pattern, paths):
    found = set(matching_paths(store, [pattern]).values())
    assert found if paths is None else found == paths
    assert isinstance(find_touches(store, pattern), list)


@pytest.mark.parametrize(
    "glob", ["*a" * 40 + "b", "?*" * 40 + "b", "**a**b**c", "*" * 5000, "a*" * 2000]
)
def test_globs_end_soon(glob):
    matches = re.compile(glob_pattern(glob), re.IGNORECASE | re.DOTALL).fullmatch
    started = time.thread_time()
    matches("a" * 300 + "/" + "a" * 300)
    assert time.thread_time() - started < 2


def test_too_many_crossing_globs_are_refused(store):
    with pytest.raises(Invalid, match=r"\*\*"):
        matching_paths(store, ["**a" * 9])


def plain_glob(pattern, text):
    """The meaning of a glob, spelt out."""
    if not pattern:
        return not text
    if pattern.startswith("**/"):
        ends = [0, *(n + 1 for n, c in enumerate(text) if c == "/")]
        return any(plain_glob(pattern[3:], text[n:]) for n in ends)
    if pattern[0] == "*":
        return any(plain_glob(pattern[1:], text[n:]) for n in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and plain_glob(pattern[1:], text[1:])


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "/", "*", "?", "**/"]), max_size=7).map("".join),
    st.text("ab/", max_size=8),
)
def test_globs_mean_what_they_say(glob, path):
    if "***" in glob or len(re.findall(r"\*\*", glob)) > 3:
        return
    wanted = plain_glob(glob if "/" in glob else f"**/{glob}", path)
    assert bool(re.fullmatch(glob_pattern(glob), path, re.DOTALL)) == wanted


def test_globs_match_what_git_matches(tmp_path):
    made = Repository(tmp_path / "demo")
    paths = ("doc/a.txt", "doc/user/b.txt", "doc/user/c.md", "src/doc/d.txt")
    made.commit("Start", dict.fromkeys(paths, "x\n"))
    for glob in ("doc/*", "doc/*.txt", "doc/?ser/*", "src/*.txt"):
        matches = re.compile(glob_pattern(glob)).fullmatch
        assert [path for path in paths if matches(path)] == made.text("ls-files", glob).split()


@pytest.mark.parametrize("since", [2**70, -(2**70), 2**63, 0])
@pytest.mark.parametrize("limit", [2**70, -(2**70), 0, 1])
def test_extreme_numbers(store, since, limit):
    for found in (
        search_commits(store, "src", since=since, limit=limit),
        find_touches(store, "src", since=since, limit=limit),
    ):
        assert len(found) <= max(limit, 0)
        assert not found or since <= found[0]["date"]


@pytest.mark.parametrize(
    "sha",
    [
        "",
        "%",
        "_" * 40,
        "abc",
        "g" * 40,
        "0" * 41,
        "0" * 1000,
        "\x00",
        "HEAD",
        "é" * 10,
        "' OR 1=1 --",
        "\u0660" * 40,
    ],
)
def test_hostile_shas(store, sha):
    with pytest.raises(NotFound, match="not found"):
        get_commit(store, "r", sha)


def test_an_ambiguous_sha_names_the_candidates(tmp_path):
    r = Repository(tmp_path / "r")
    stream = "".join(
        f"commit refs/heads/main\ncommitter A <a@b> {n} +0000\ndata 1\nx" for n in range(1, 1200)
    )
    r.git("fast-import", "--quiet", data=stream.encode())
    index = new_index(tmp_path / "db", r, default_branch="main")
    shas = sorted(r.all_shas("main"))
    pair = next((a, b) for a, b in itertools.pairwise(shas) if a[:4] == b[:4])
    with pytest.raises(Invalid, match="is ambiguous") as caught:
        get_commit(index, "r", pair[0][:4])
    assert pair[0][:12] in caught.value.message
    assert get_commit(index, "r", f"  {pair[0].upper()} ")["sha"] == pair[0]
    index.close()


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/../b",
        "/abs",
        "a/",
        "a//b",
        "-rf",
        "~x",
        "a\nb",
        "a\x00b",
        "x" * 201,
        "\ud800",
        "a\tb",
        "*",
    ],
)
def test_unusable_names(name):
    with pytest.raises(Invalid, match="usable repository name"):
        check_name(name)


@pytest.mark.parametrize(
    "name", ["api-server", "a.b_c", "org/repo", "grün", "日本", "with space", "v1+2"]
)
def test_usable_names(name):
    assert check_name(name) == name


def test_secrets_are_replaced_and_lines_stay():
    key = b"AKIA" + b"A" * 16
    patch = b"@@ -1 +1 @@\n-x\n+key = " + key + b"\n"
    clean, found = redact_patch(patch)
    assert key not in clean
    assert found == (("aws access key", "AKIA…"),)
    assert clean.count(b"\n") == patch.count(b"\n")
    block = b"".join(
        b"+" + line + b"\n"
        for line in [
            b"-----BEGIN RSA PRIVATE KEY-----",
            *[b"M" * 64] * 3,
            b"-----END RSA PRIVATE KEY-----",
            b"after",
        ]
    )
    clean, found = redact_patch(b"@@ -0,0 +1,6 @@\n" + block)
    assert b"MMMM" not in clean
    assert clean.count(b"\n") == block.count(b"\n") + 1
    assert all(line[:1] in b"+@" for line in clean.split(b"\n"))
    assert found[0][0] == "private key"
    assert redact_patch(b"+ask-me task-x sk-short") == (b"+ask-me task-x sk-short", ())


def test_secrets_are_found_in_any_line_and_in_their_order():
    key, token = b"AK" + b"IA" + b"FAKE" * 4, b"gh" + b"p_" + b"fake" * 9
    patch = b"%s\n+plain\n+a %s b %s\n+AKIA too short\n+last %s" % (key, token, key, token)
    names = [b"[redacted %s]" % kind for kind in (b"aws access key", b"github token")]

    clean, found = redact_patch(patch)

    assert clean == patch.replace(key, names[0]).replace(token, names[1])
    assert [kind.split()[0] for kind, _ in found] == ["aws", "github", "aws", "github"]


def test_addresses_lose_their_passwords():
    assert without_password("https://u:tok@example.com/x.git") == "https://example.com/x.git"
    assert without_password("https://tok@example.com/x") == "https://example.com/x"
    assert without_password("https://example.com/a@b") == "https://example.com/a@b"
