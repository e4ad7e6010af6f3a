"""Sessions in the thread: recall finds turns, trace counts lines by origin."""

from __future__ import annotations

from clew.sessions.index.sqlite import opened_index
from clew.sessions.index.update import OFF
from clew.thread.recall.recall import RecallRequest, recall
from clew.thread.rooms import open_rooms
from clew.thread.trace.trace import trace
from tests.sessions.recorded import put
from tests.sessions.recording import CALC, NEW, OLD, SECOND


def _rooms(user):
    return open_rooms({"project": str(user.root)})


def test_recall_finds_what_agents_were_asked(user):
    put("codex", user.home, user.root)
    user.commit("Begin", **{"README.md": "hello\n"})
    found = recall(_rooms(user), RecallRequest("let add take three numbers"))
    first = next(hit for hit in found.hits if hit.kind == "session")
    assert first.title == SECOND
    assert first.call.startswith("clew sessions show codex:")
    assert first.tool["name"] == "session_show"
    only = recall(_rooms(user), RecallRequest("three numbers", kinds=("session",), until=10))
    assert only.hits == []


def test_recall_says_nothing_of_sessions_that_are_turned_off(user):
    put("codex", user.home, user.root)
    with opened_index() as index:
        index.set(OFF, "1")
    user.commit("Begin", **{"README.md": "hello\n"})
    assert recall(_rooms(user), RecallRequest("three numbers", kinds=("session",))).hits == []


def test_trace_counts_lines_by_origin(user):
    put("codex", user.home, user.root)
    user.commit("Begin", **{"README.md": "hello\nthere\n"})
    user.commit("Add numbers", **{"calc.py": CALC.replace(OLD, NEW)})
    user.commit("chant(2026-01-01-001-abc): Say more", **{"more.txt": "one\ntwo\nthree\n"})
    counts = trace(_rooms(user)).share()["lines_by_origin"]
    assert counts == {"spec": 3, "session": 6, "person": 2}
