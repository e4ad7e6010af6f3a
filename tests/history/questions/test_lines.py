"""Pickaxe, blame and line history against git's own answers."""

from __future__ import annotations

import re
import shlex

import pytest

from clew.history.questions import pickaxe as pickaxe_module
from clew.history.questions.blame import blame, line_history
from clew.history.questions.grep import grep
from clew.history.questions.pickaxe import find_changes
from clew.history.search.needles import Needles
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register
from clew.kit.errors import Invalid, NotFound
from tests.history.index import LARGEST, new_index
from tests.history.questions.conftest import Story, shas
from tests.support.repos import Repository

LITERALS = [
    "alpha", "lph", "parse_config", "_config(path)", "frobnicate", "helper():", "needle",
    "xneedle = alpha", "VERSION = ", "VERSION = 3", "number 7", "(", "nowhere at all", "quick brown",
]  # fmt: skip


@pytest.mark.parametrize("text", LITERALS)
def test_a_literal_finds_what_git_log_s_finds(store, story, text):
    found = find_changes(store, text, limit=100)

    assert sorted(shas(found)) == sorted(story.lines("log", "--format=%H", f"-S{text}"))
    assert found["total"] == len(found["commits"])
    assert found["complete"]


@pytest.mark.parametrize("text", ["alpha", "fro.*te", "^def ", "VERSION = [34]$", "nowhere"])
def test_a_pattern_finds_what_git_log_g_finds(store, story, text):
    found = find_changes(store, text, regex=True, limit=100)

    assert sorted(shas(found)) == sorted(story.lines("log", "--format=%H", f"-G{text}"))


def test_first_last_and_direction(store, story):
    found = find_changes(store, "frobnicate(value)")
    added = find_changes(store, "frobnicate(value)", direction="added")
    removed = find_changes(store, "frobnicate(value)", direction="removed")

    assert (shas(found)[0], shas(found)[-1]) == (story["needle"], story["frob"])
    assert shas(find_changes(store, "frobnicate(value)", limit=2)) == [
        story["needle"],
        story["frob"],
    ]
    assert set(shas(added)) == {story["frob"], story["picked"]}
    assert shas(removed) == [story["needle"], story["revert"]]
    assert removed["commits"][1]["lines"] == [
        {"path": "src/core.py", "line": 8, "sign": "-", "text": "def frobnicate(value):"}
    ]


def test_filters_and_bounds(store, story):
    by_path = find_changes(store, "frobnicate", paths=["util"])
    assert {line["path"] for hit in by_path["commits"] for line in hit["lines"]} == {"src/util.py"}
    assert find_changes(store, "frobnicate", paths=["docs"])["commits"] == []
    newest = int(story.git("show", "--no-patch", "--format=%ct", story["needle"]))
    assert shas(find_changes(store, "VERSION", regex=True, since=newest)) == [story["needle"]]
    before = find_changes(store, "VERSION", regex=True, until=newest - 1)
    assert story["needle"] not in shas(before)
    one = find_changes(store, "VERSION", regex=True, limit=1)
    assert (one["total"], len(one["commits"]), one["limit"]) == (5, 1, 1)
    assert find_changes(store, "alpha", limit=-3)["commits"] == []


@pytest.fixture
def moving(tmp_path):
    """A story of a line that moves, and then changes where it is."""
    story = Story(tmp_path / "demo")
    rest = [f"line {number}" for number in range(20)]
    for name, lines in {
        "came": ["needle = 1", *rest],
        "moved": [*rest, "    needle = 1"],
        "changed": [*rest, "    needle = 2"],
    }.items():
        story.write("file.py", *lines)
        story.commit(name, name)
    return story


def index_of(story, path):
    store = new_index(path)
    sync_repo(store, register(store, story.root, name="demo"))
    return store


def test_a_move_is_told_as_one(moving, tmp_path):
    store = index_of(moving, tmp_path / "db")
    found = find_changes(store, "needle")

    counted = [(hit["sha"], hit["added"], hit["removed"]) for hit in found["commits"]]
    assert counted == [(moving["moved"], 1, 1), (moving["came"], 1, 0)]
    assert [(line["sign"], line["line"]) for line in found["commits"][0]["lines"]] == [
        ("-", 1),
        ("+", 21),
    ]
    assert shas(find_changes(store, "needle", paths=["file"])) == shas(found)
    assert shas(find_changes(store, "needle", direction="added")) == [moving["came"]]
    assert shas(find_changes(store, "needle", direction="removed")) == []
    assert shas(find_changes(store, "needle", limit=1)) == [moving["moved"]]


def test_a_text_of_any_writing_is_found_in_the_file_that_has_it(tmp_path):
    repository = Repository(tmp_path / "repository")
    files = {"a.txt": b"diff --git a/a b/a\nna\xefve\n", "b.txt": "naïve 日本\n".encode()}
    made = repository.commit("Write", files)
    store = new_index(tmp_path / "db.sqlite3", repository)

    def found(text):
        return [
            (line["path"], line["line"])
            for commit in find_changes(store, text)["commits"]
            for line in commit["lines"]
            if commit["sha"] == made
        ]

    assert found("naïve") == found("日本") == found("ïve 日") == [("b.txt", 1)]
    assert found("na\ufffdve") == [("a.txt", 2)]
    assert found("diff --git a/a") == [("a.txt", 1)]
    assert found("diff --git a/b") == found("na\udcefve") == []


def test_what_was_too_large_to_search_is_named_where_it_may_be_what_is_looked_for(moving, tmp_path):
    count = LARGEST // 8
    moving.write("large.txt", *(f"needle {number}" for number in range(count)))
    moving.commit("large", "large")
    store = index_of(moving, tmp_path / "db")
    looked_for = f"needle {count // 2}"
    found = find_changes(store, looked_for)
    assert (found["unsearched"], found["complete"], found["commits"]) == (1, False, [])
    assert found["unsearched_commits"] == [moving["large"][:12]]
    command = shlex.split(found["unsearched_look"])
    assert command[:4] == ["git", "log", "--no-walk", "-S"]
    assert moving["large"] in moving.git(*command[1:])
    by_pattern = find_changes(store, f"need+le {count // 2}$", regex=True)
    assert moving["large"] in moving.git(*shlex.split(by_pattern["unsearched_look"])[1:])

    elsewhere = find_changes(store, looked_for, paths=["file.py"])
    assert (elsewhere["unsearched"], elsewhere["complete"]) == (0, True)
    for number in (7, count - 7):  # the ends are searched, with the numbers of their lines
        (hit,) = find_changes(store, f"needle {number}", paths=["large.txt"])["commits"]
        assert hit["sha"] == moving["large"]
        assert f"needle {number}" in hit["lines"][0]["text"]
        assert hit["lines"][0]["line"] == int(hit["lines"][0]["text"].split()[1]) + 1
    assert find_changes(store, f"needle {count - 7}")["complete"] is True


def test_what_cannot_be_looked_for(store):
    for text in ("", "a\nb"):
        with pytest.raises(Invalid):
            find_changes(store, text)
    with pytest.raises(Invalid, match="regular expression"):
        find_changes(store, "(", regex=True)
    with pytest.raises(NotFound):
        find_changes(store, "a", repos=["nope"])
    assert find_changes(store, 'x" OR added:"y')["commits"] == []
    assert find_changes(store, "\ud800 a")["commits"] == []


def test_a_pattern_that_never_ends_is_ended(store, monkeypatch):
    monkeypatch.setattr(pickaxe_module, "_LONGEST_WAIT", 1.5)

    with pytest.raises(Invalid, match="took more than"):
        find_changes(store, "(a+)+$", regex=True)


@pytest.mark.parametrize(
    ("text", "known", "unknown"),
    [
        ("nowherex", [], None),
        ("_config(path)", ['("config path")'], ['("config path")']),
        ("_config(path", ['("config path" *)'], ['("config path" *)']),
        ("fig(path)", ['("config path")'], ['("path")']),
        ("(", None, None),
        ("é", None, None),
    ],
)
def test_the_index_is_asked_only_for_what_must_be_there(store, text, known, unknown):
    knows_words = store.words_with("config", 9) is not None
    assert Needles.of_text(text).expressions(store) == (known if knows_words else unknown)


@pytest.mark.parametrize(
    ("pattern", "groups", "is_exact"),
    [
        (r"\bfoo\w*\s*[(=]", [["foo"]], True),
        (r"foo(?:bar)+ba?z", [["foo"], ["bar"], ["b"], ["z"]], True),
        (r"(?i)foo.bar", [["foo"], ["bar"]], False),
        (r"(one two|three)x", [["one two", "three"], ["x"]], True),
        (r"one|.*", [], True),
        (r"(?:foo)*|x{0,2}", [], True),
        (r"(?=foo)[a-z]+", [], True),
        (r"a(?i:foo)", [["a"], ["foo"]], False),
    ],
)
def test_a_pattern_needs_what_it_cannot_match_without(pattern, groups, is_exact):
    found = Needles.of_pattern(pattern)
    assert (found.groups, found.is_exact) == (groups, is_exact)


def test_lines_of_the_files_are_gits(store, story):
    found = grep(store, "demo", ["alpha", "fox"])
    listed = [(line["path"], line["number"]) for line in found["lines"]]
    said = [
        row.split(":")[:2]
        for row in story.git("grep", "-n", "-e", "alpha", "-e", "fox").splitlines()
    ]
    assert sorted(listed) == sorted((path, int(number)) for path, number in said)
    assert found["total"] == len(listed) > 0
    within = {line["number"]: line["within"] for line in found["lines"] if "core" in line["path"]}
    assert within[4] == within[5] == "def parse_config(path):"
    (head,) = grep(store, "demo", ["def unrelated_helper"])["lines"]
    assert head["within"] == ""


def test_lines_come_with_their_commits_if_asked(store, story):
    (line,) = grep(store, "demo", ["VERSION = 5"], blame=True)["lines"]
    assert line["sha"] == story.lines("blame", "-l", "-L2,2", "src/core.py")[0]
    assert (line["subject"], line["path"]) == ("Mend the config", "src/core.py")
    (line,) = grep(store, "demo", ["VERSION = [0-9]"], regex=True)["lines"]
    assert (line["text"], line["path"], line["sha"]) == ("VERSION = 5", "src/core.py", None)


def test_a_few_lines_of_each_file_and_what_is_left_out(store):
    found = grep(store, "demo", ["number"], limit=3)
    assert (found["total"], len(found["lines"]), len(found["files"])) == (60, 3, 12)
    assert found["more_files"] == 48
    narrowed = grep(store, "demo", ["number"], paths=["file1?.txt"])
    assert {line["path"] for line in narrowed["lines"]} == {f"many/file1{n}.txt" for n in range(10)}
    assert grep(store, "demo", ["nowhere at all"])["lines"] == []


@pytest.mark.parametrize(
    ("texts", "options"), [([], {}), ([""], {}), (["a\nb"], {}), (["(("], {"regex": True})]
)
def test_what_no_line_can_have(store, texts, options):
    with pytest.raises(Invalid):
        grep(store, "demo", texts, **options)


def test_blame_is_gits_blame(store, story):
    printed = story.git("blame", "-w", "-M", "-C", "-l", "--root", "HEAD", "--", "src/core.py")
    wanted = [line.split()[0].lstrip("^") for line in printed.splitlines()]
    found = blame(store, "demo", "src/core.py")

    by_line = {
        number: entry["sha"]
        for entry in found["lines"]
        for number in range(entry["start"], entry["end"] + 1)
    }
    assert [by_line[number + 1] for number in range(len(wanted))] == wanted
    assert all(entry["indexed"] for entry in found["lines"])


def test_blame_of_one_line_tells_what_was_before(store, story):
    found = blame(store, "demo", "src/core.py", start=2)

    (entry,) = found["lines"]
    assert (entry["start"], entry["end"], entry["sha"]) == (2, 2, story["needle"])
    assert (entry["author"], entry["email"]) == ("Alice", "alice@example.com")
    assert entry["previous"] == story["merge"]
    assert found["rev"] == story["fixup"]
    older = blame(store, "demo", "src/app.py", start=2, end=2, rev=story["util"])
    assert older["lines"][0]["author"] == "Bob"


def test_line_history_is_gits_log_of_lines(store, story):
    found = line_history(store, "demo", "src/core.py", 2, limit=3)
    wanted = story.lines("log", "--no-patch", "--format=%H", "-L2,2:src/core.py")

    assert shas(found) == wanted[:3]
    assert found["total"] == len(wanted) > 3


HOSTILE_PATHS = [
    "/etc/passwd", "../demo/src/core.py", "src/../src/core.py", "--output=x", "-x", "", ".", "src",
    "src/core.py\n", ":(glob)**", "src/\x00", "nope.py", "./src/core.py", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE_PATHS)
def test_only_tracked_paths_are_read(store, path):
    with pytest.raises((Invalid, NotFound)):
        blame(store, "demo", path)
    with pytest.raises((Invalid, NotFound)):
        line_history(store, "demo", path, 1)


@pytest.mark.parametrize("rev", ["--all", "-n1", "nope", "HEAD\n", "HEAD:src", "", "a b", "\ud800"])
def test_only_commits_are_revisions(store, rev):
    with pytest.raises((Invalid, NotFound)):
        blame(store, "demo", "src/core.py", rev=rev)


@pytest.mark.parametrize(("start", "end"), [(0, 1), (5, 4), (-1, None), (10**6, None)])
def test_ranges_have_to_be_there(store, start, end):
    with pytest.raises(Invalid):
        blame(store, "demo", "src/core.py", start=start, end=end)
    with pytest.raises(Invalid):
        line_history(store, "demo", "src/core.py", start, end=end)


def test_no_program_of_the_repository_is_run(store, story, tmp_path):
    trace = tmp_path / "ran"
    config = story.root / ".git" / "config"
    before = config.read_text(encoding="utf-8")
    attributes = story.root / ".git" / "info" / "attributes"
    script = f"touch {trace};cat"
    try:
        for key in ("diff.evil.textconv", "diff.evil.command", "core.pager"):
            story.git("config", key, script)
        attributes.parent.mkdir(exist_ok=True)
        attributes.write_text("*.py diff=evil\n", encoding="utf-8")
        blame(store, "demo", "src/core.py")
        line_history(store, "demo", "src/core.py", 2)
    finally:
        config.write_text(before, encoding="utf-8")
        attributes.unlink()
    assert not trace.exists()
    assert re.search("evil", before) is None
