"""A team shares requests by notes on commits: nothing secret leaves, and what comes in is marked."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from clew.sessions.attribution.files import Repository
from clew.sessions.index.sqlite import opened_index
from clew.sessions.model import Filter
from clew.sessions.sharing import CLEW
from clew.sessions.sharing.export import commits_of, markdown, shared_sessions, write_notes
from clew.sessions.sharing.foreign import READERS
from clew.sessions.sharing.imports import import_notes
from clew.thread.rooms import open_rooms
from clew.thread.why.why import why
from tests.sessions.test_privacy import KEY, SECRET, _asked, _claude, _result, _said

CODE = "def total(prices):\n    return sum(prices) * 3\n\n\ndef count(prices):\n    return len(prices)\n"
ASKED = f"Write shop.py with total and count; the token is {SECRET}, see {{home}}/notes\n{KEY}"


@pytest.fixture
def ada(user):
    """A machine whose agent wrote a commit."""
    edit = {
        "type": "tool_use", "id": "t2", "name": "Write",
        "input": {"file_path": str(user.root / "shop.py"), "content": CODE},
    }  # fmt: skip
    asked = ASKED.format(home=user.home)
    _claude(user, _asked(asked), _said(edit), _result("t2", "ok"))
    user.commit("Begin", **{"README.md": "hello\n"})
    user.commit("Add the shop", **{"shop.py": CODE, "by_hand.py": "import os\nprint(os.name)\n"})
    return user


def _exported(user):
    with user.index() as index:
        return shared_sessions(index, user.root, commits_of(user.root, commit="HEAD", between=None))


def _moved(user, monkeypatch, tmp_path):
    """The same user object on another machine, with a clone that has the notes."""
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(user.root), str(clone)], check=True)
    home = tmp_path / "bob"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLEW_HOME", str(home / ".clew"))
    user.home, user.root = home, clone.resolve()
    user.git("config", "user.name", "Bob")
    user.git("config", "user.email", "bob@example.com")
    user.git("fetch", "-q", "origin", "refs/notes/*:refs/notes/*")
    return user


def _imported(user, *refs):
    with opened_index() as index:
        return import_notes(index, user.root, refs or tuple(READERS))


def _blame(user, path="shop.py"):
    with opened_index() as index:
        lines = Repository(index, user.root).blame(path)
        found = []
        for line in lines:
            origin = line.origin
            turns = index.turns(origin.session, (origin.turn,)) if origin else []
            found.append((line.text, turns[0].request if turns else None))
            assert origin is None or origin.is_imported
        return found


def test_nothing_secret_is_exported(ada):
    write_notes(ada.root, _exported(ada))
    note = ada.git("notes", "--ref", CLEW, "show", "HEAD")
    text = markdown(ada.root, _exported(ada))
    for said in (note, text):
        assert "Write shop.py with total and count" in said.replace("\\_", "_")
        assert SECRET not in said
        assert "MIIE" not in said
        assert str(ada.home) not in said
        assert "by_hand" not in said
        assert "return sum" not in said
    data = json.loads(note)
    assert data["form"] == "clew-sessions/1"
    (turn,) = data["sessions"][0]["turns"]
    assert turn["files"]["shop.py"]["lines"] == [[1, 6]]


def test_looking_writes_no_notes(ada):
    _exported(ada)
    rooms = open_rooms({"project": str(ada.root)})
    why(rooms, "shop.py:2")
    assert ada.git("for-each-ref", "refs/notes") == ""


def test_markdown_is_only_text(ada):
    found = _exported(ada)
    (sessions,) = found.values()
    hostile = "![x](http://evil)<script>alert(1)</script> @team #1"
    turn = sessions[0].turns[0]
    turn.__dict__["request"] = hostile
    said = markdown(ada.root, found)
    assert "<script>" not in said
    assert "![x](" not in said
    assert " @team" not in said


def test_a_teammate_sees_the_request_after_a_rebase(ada, monkeypatch, tmp_path):
    write_notes(ada.root, _exported(ada))
    bob = _moved(ada, monkeypatch, tmp_path)
    done = _imported(bob)
    assert (done.notes, len(done.sessions), done.turns, done.lines) == (1, 1, 1, 6)
    lines = _blame(bob)
    assert [text for text, asked in lines if asked is None] == []
    assert "total and count" in lines[1][1]
    assert {asked for _, asked in _blame(bob, "by_hand.py")} == {None}
    again = _imported(bob)
    assert again.turns == 1
    with opened_index() as index:
        (session,) = index.sessions(Filter(str(bob.root)), 10)
        assert (session.turns, session.origin) == (1, CLEW)
    bob.git("mv", "shop.py", "market.py")
    bob.git("commit", "-q", "--amend", "--reset-author", "-m", "Another name")
    assert [asked is not None for _, asked in _blame(bob, "market.py")] == [True] * 6
    told = why(open_rooms({"project": str(bob.root)}), "market.py:2").statements
    asked = next(one.text for one in told if one.section == "request")
    assert "total and count" in asked
    assert "imported from refs/notes/clew" in asked
    assert any("imported from" in one.text for one in told if one.section == "session")


def test_a_note_on_other_lines_says_nothing(ada, monkeypatch, tmp_path):
    write_notes(ada.root, _exported(ada))
    note = ada.git("notes", "--ref", CLEW, "show", "HEAD")
    ada.commit("By a person", **{"shop.py": CODE.replace("3", "4")})
    ada.git("notes", "--ref", CLEW, "add", "-m", note, "HEAD")
    ada.git("notes", "--ref", CLEW, "remove", "HEAD~1")
    bob = _moved(ada, monkeypatch, tmp_path)
    done = _imported(bob)
    assert (done.changed, done.lines) == (1, 0)
    assert {asked for _, asked in _blame(bob)} == {None}


def test_own_sessions_are_not_imported(ada):
    write_notes(ada.root, _exported(ada))
    done = _imported(ada)
    assert (done.own, done.turns) == (1, 0)


def test_two_people_write_one_note(ada):
    write_notes(ada.root, _exported(ada))
    other = json.loads(ada.git("notes", "--ref", CLEW, "show", "HEAD"))
    other["sessions"][0]["id"] = "of-bob"
    ada.git("notes", "--ref", CLEW, "add", "-f", "-m", json.dumps(other), "HEAD")
    write_notes(ada.root, _exported(ada))
    note = json.loads(ada.git("notes", "--ref", CLEW, "show", "HEAD"))
    assert [one["id"] for one in note["sessions"]] == ["of-bob", "s1"]


GIT_AI = """shop.py
  s_c9883b05a2487d::t_9f8e7d6c5b4a32 1-2
  h_a1b2c3d4e5f678 3-4
"by hand.py"
  c9883b05a2487d6d 1,3
---
{
  "schema_version": "authorship/3.0.0",
  "base_commit_sha": "",
  "prompts": {
    "c9883b05a2487d6d": {
      "agent_id": {"tool": "cursor", "id": "c-1", "model": "gpt-5"},
      "human_author": "Ada <ada@example.com>",
      "messages": [{"type": "user", "text": "Print the name \\u001b[31mred", "timestamp": null},
                   {"type": "assistant", "text": "Done"}],
      "total_additions": 2, "total_deletions": 0, "accepted_lines": 2, "overriden_lines": 0
    }
  },
  "humans": {"h_a1b2c3d4e5f678": {"author": "Ada"}},
  "sessions": {
    "s_c9883b05a2487d": {
      "agent_id": {"tool": "github-copilot", "id": "x-1", "model": "m"}, "human_author": "Ada"
    }
  }
}
"""


def _clew(user, *words):
    done = subprocess.run(
        [sys.executable, "-m", "clew", *words],
        cwd=user.root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_notes_of_git_ai(user):
    own = "import os\n\nprint(os.name)\n"
    user.commit("Begin", **{"shop.py": CODE, "by hand.py": own})
    user.git("notes", "--ref", "refs/notes/ai", "add", "-m", GIT_AI, "HEAD")
    done = _imported(user)
    assert (done.notes, done.turns, done.lines, done.unreadable) == (1, 2, 4, [])
    assert [asked for _, asked in _blame(user)] == ["", "", None, None, None, None]
    asked = [asked for _, asked in _blame(user, "by hand.py")]
    assert asked[0] == asked[2] == "Print the name \x1b[31mred"
    shown = _clew(user, "sessions", "list")
    assert "copilot:x-1" in shown
    assert "imported from refs/notes/ai" in shown
    said = _clew(user, "why", "by hand.py:1")
    assert "imported from refs/notes/ai" in said
    assert "\x1b[31m" not in said
    assert "\\x1b[31m" in said


def test_notes_of_agent_note_speak_of_the_whole_commit(user):
    user.commit("Begin", **{"shop.py": CODE})
    note = {
        "v": 1, "agent": "claude", "session_id": "a1b2c3d4", "timestamp": "2026-04-02T10:30:00Z",
        "model": "sonnet",
        "interactions": [
            {"prompt": "How is it?", "response": "Fine"},
            {"prompt": f"Write the shop with {SECRET}", "response": "I do",
             "files_touched": ["shop.py"], "tools": ["Write"]},
        ],
        "files": [{"path": "shop.py", "by_ai": True}],
        "attribution": {"ai_ratio": 73, "method": "line"},
    }  # fmt: skip
    user.git("notes", "--ref", "refs/notes/agentnote", "add", "-m", json.dumps(note), "HEAD")
    done = _imported(user)
    assert (done.turns, done.lines) == (1, 0)
    told = why(open_rooms({"project": str(user.root)}), "shop.py:2").statements
    (asked,) = [one.text for one in told if one.section == "request"]
    assert "Write the shop with [redacted" in asked
    assert "about the whole commit" in asked
    assert "How is it" not in asked


@pytest.mark.parametrize("ref", sorted(READERS))
@pytest.mark.parametrize(
    "note",
    [
        "", "---", "{}", "[]", "null", "[" * 100_000, '{"form": "clew-sessions/1"}', "x\n---\n[]",
        '{"form":"clew-sessions/1","sessions":[{"id":{"a":1},"turns":[{"number":1,"time":1e400}]}]}',
        'a\n  k 9-1\n---\n{"schema_version":"authorship/3.0.0","prompts":{"k":{"agent_id":{}}}}',
        'a\n  k 1-99999999999\n---\n{"schema_version":"authorship/3.0.0","prompts":{"k":7}}',
        '{"v":1,"interactions":[7]}', '{"v":1,"interactions":"x","session_id":[]}',
    ],
)  # fmt: skip
def test_a_broken_note_breaks_nothing(user, ref, note):
    user.commit("Begin", **{"shop.py": CODE})
    user.git("notes", "--ref", ref, "add", "--allow-empty", "-m", note or " ", "HEAD")
    done = _imported(user)
    assert done.lines == 0
    assert {asked for _, asked in _blame(user)} == {None}
