"""What the real programs wrote, read into the index."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from clew.sessions.attribution.files import Repository
from clew.sessions.index.sqlite import database_path, opened_index
from clew.sessions.model import Filter, Header, Request
from clew.sessions.readers.changes import edit_of_texts
from clew.thread.brief.brief import brief
from clew.thread.rooms import open_rooms
from clew.thread.why.why import why
from tests.sessions.recorded import PROGRAMS, put, recordings
from tests.sessions.recording import CALC, FIRST, NEW, OLD, SECOND


@pytest.fixture(params=PROGRAMS)
def program(request):
    return request.param


def _sessions(index, user):
    return index.sessions(Filter(str(user.root)), 10)


def test_every_program_is_recorded(program):
    assert recordings(program)


def test_requests_edits_commands_and_use_are_kept(program, user):
    put(program, user.home, user.root)
    with user.index() as index:
        sessions = _sessions(index, user)
        turns = [turn for one in sessions for turn in index.turns(one.id)]
    assert user.report.unreadable == []
    assert sorted(turn.request for turn in turns) == sorted([FIRST, SECOND])
    assert {turn.files for turn in turns} == {("calc.py",)}
    assert all("Step" in turn.words or "I change it" in turn.words for turn in turns)
    assert all(one.model and one.started and one.input_tokens for one in sessions)
    if program != "aider":
        failed = [one for turn in turns for one in turn.commands if one.exit_code]
        assert [one.text.startswith("git add calc.py") for one in failed] == [True]


def test_each_line_leads_to_the_request_that_asked_for_it(program, user):
    put(program, user.home, user.root)
    user.commit("Add numbers", **{"calc.py": CALC.replace(OLD, NEW)})
    with user.index() as index:
        lines = Repository(index, user.root).blame("calc.py")
        asked = [index.turns(line.origin.session, (line.origin.turn,))[0].request for line in lines]
    assert asked == [FIRST] * 3 + [SECOND] * 3
    assert {line.origin.kind for line in lines} == {"exact"}


def test_a_second_look_reads_nothing(program, user):
    put(program, user.home, user.root)
    with user.index():
        assert user.report.read
    with user.index():
        assert (user.report.read, user.report.bytes) == (0, 0)


def test_a_growing_file_gives_the_same_as_a_whole_one(program, user):
    """Cut at every line: what is read in pieces is what is read at once."""
    if program == "opencode":
        pytest.skip("opencode keeps a database, which is read anew")
    files = put(program, user.home, user.root)
    with user.index() as index:
        whole = [index.turns(one.id) for one in _sessions(index, user)]
    database_path().unlink()
    texts = {file: file.read_bytes() for file in files}
    for file in files:
        file.write_bytes(b"")
    for file, text in texts.items():
        for line in text.splitlines(keepends=True):
            for piece in (line[: len(line) // 2], line[len(line) // 2 :]):
                with file.open("ab") as stream:
                    stream.write(piece)
                with user.index():
                    assert user.report.unreadable == []
    with user.index() as index:
        pieces = [index.turns(one.id) for one in _sessions(index, user)]
        counts = [(one.turns, one.edits, one.input_tokens) for one in _sessions(index, user)]
    assert [[replace(one, session=0) for one in some] for some in pieces] == [
        [replace(one, session=0) for one in some] for some in whole
    ]
    assert all(edits for _, edits, _ in counts)


def test_the_index_has_no_text_of_files_and_is_its_owners(program, user):
    put(program, user.home, user.root)
    with user.index() as index:
        index.set("x", "y")
    assert database_path().stat().st_mode & 0o777 == 0o600
    assert b"return a + b + c" not in database_path().read_bytes()
    with closing(sqlite3.connect(database_path())) as database:
        words = database.execute("SELECT group_concat(words) FROM turns").fetchone()[0]
    assert "return a + b" not in words


def test_another_project_is_left_alone(program, user, tmp_path):
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    put(program, user.home, other)
    with user.index() as index:
        assert _sessions(index, user) == []
        assert index.sessions(Filter(), 10) == []
    with user.index(takes_all=True) as index:
        found = index.sessions(Filter(os.path.realpath(other)), 10)
        assert bool(found) == (program != "aider")  # aider's is in the project itself


def test_why_a_line_is_there_begins_with_the_request(program, user):
    put(program, user.home, user.root)
    user.commit("Add numbers", **{"calc.py": CALC.replace(OLD, NEW)})
    pack = why(open_rooms({"project": str(user.root)}), "calc.py:6")
    said = {one.section: one.text for one in pack.statements}
    assert said["request"] == f"“{SECOND}”"
    assert program in said["session"]
    assert "clew sessions show" in said["session"]
    if program != "aider":
        assert "failed with exit code 1" in said["tried before"]


def test_a_brief_has_earlier_requests_about_the_same_files(user):
    put("codex", user.home, user.root)
    user.commit("Add numbers", **{"calc.py": CALC.replace(OLD, NEW)})
    pack = brief(open_rooms({"project": str(user.root)}), "let calc.py add four numbers")
    said = [one.text for one in pack.statements if one.section == "requests"]
    assert [text.partition(": ")[2] for text in said] == [f"“{SECOND}”", f"“{FIRST}”"]


def test_what_was_taken_back_is_told(user):
    put("codex", user.home, user.root)
    user.commit("Add numbers", **{"calc.py": CALC.replace(OLD, NEW)})
    with opened_index() as index:
        project = str(user.root)
        session = index.begin("qwen", Header("tried", project), project)
        asked = Request("r", 1e9, "Try it")
        tries = [
            ("c1", "", "first = attempt(one)\n"),
            ("c2", "first = attempt(one)\n", "second = attempt(two)\n"),
        ]
        edits = [edit_of_texts(call, 1e9 + 1, "calc.py", *texts) for call, *texts in tries]
        index.add(session, "qwen", [asked, *edits], is_side=False)
        user.commit("More", **{"calc.py": CALC.replace(OLD, NEW) + "second = attempt(two)\n"})
    pack = why(open_rooms({"project": str(user.root)}), "calc.py:7")
    said = {one.section: one.text for one in pack.statements}
    assert said["request"] == "“Try it”"
    assert said["tried before"] == "1 line of turn 1 in these files taken back again"
