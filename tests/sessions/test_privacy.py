"""Nothing is kept that should not be: secrets, other projects, what was turned off or forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from clew.sessions.index.sqlite import database_path, opened_index
from clew.sessions.index.update import EXCLUDED, OFF
from clew.sessions.model import Filter
from tests.sessions.recorded import put

SECRET = "ghp_" + "a1B2c3D4e5" * 4
KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEAx8mYq\n" * 3


def _claude(user, *records):
    path = user.home / ".claude/projects/-shop/one.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    base = {"sessionId": "s1", "cwd": str(user.root), "version": "2"}
    lines = [
        json.dumps(base | {"uuid": f"u{n}", "timestamp": f"2026-01-01T00:00:{n:02}Z"} | record)
        for n, record in enumerate(records)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _asked(text):
    return {"type": "user", "message": {"role": "user", "content": text}}


def _said(*blocks):
    return {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}}


def _result(name, text):
    block = {"type": "tool_result", "tool_use_id": name, "content": text}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def test_secrets_are_gone_before_anything_is_written(user):
    command = {
        "type": "tool_use",
        "id": "t1",
        "name": "Bash",
        "input": {"command": f"curl -H {SECRET}"},
    }
    edit = {
        "type": "tool_use", "id": "t2", "name": "Write",
        "input": {"file_path": str(user.root / "k.py"), "content": f"TOKEN = '{SECRET}'\n{KEY}"},
    }  # fmt: skip
    _claude(
        user, _asked(f"Use {SECRET} and\n{KEY}"), _said({"type": "text", "text": f"I use {SECRET}"}, command, edit),
        _result("t1", SECRET), _result("t2", "ok"),
    )  # fmt: skip
    with user.index() as index:
        turn = index.turns(index.sessions(Filter(), 1)[0].id)[0]
        assert "[redacted github token]" in turn.request + turn.words + turn.commands[0].text
        assert turn.files == ("k.py",)
    raw = b"".join(path.read_bytes() for path in database_path().parent.glob("sessions.sqlite3*"))
    assert SECRET.encode() not in raw
    assert b"MIIEowIBAAKCAQEAx8mYq" not in raw


def test_off_reads_nothing_and_removes_what_was_known(user):
    put("claude", user.home, user.root)
    with user.index() as index:
        assert index.sessions(Filter(), 5)
        index.clear()
        index.set(OFF, "1")
    with user.index() as index:
        assert user.report.is_off
        assert index.sessions(Filter(), 5) == []


def test_what_is_forgotten_does_not_come_back(user):
    put("claude", user.home, user.root)
    with user.index() as index:
        one, other = index.sessions(Filter(), 5)
        assert index.forget(session=one.id) == 1
    for path in user.home.glob(".claude/projects/*/*.jsonl"):
        path.touch()
        path.write_bytes(path.read_bytes() + b"{}\n")
    with user.index() as index:
        assert [found.uid for found in index.sessions(Filter(), 5)] == [other.uid]
        assert index.search("numbers", Filter(), 5)
        assert index.forget(before=4e9) == 1
        assert index.search("numbers", Filter(), 5) == []


def test_an_excluded_directory_is_not_read(user):
    put("codex", user.home, user.root)
    with opened_index() as index:
        index.set(EXCLUDED, str(user.root))
    with user.index() as index:
        assert index.sessions(Filter(), 5) == []


def test_the_file_is_its_owners_even_if_it_was_not(user):
    with user.index():
        pass
    database_path().chmod(0o644)
    with user.index():
        assert database_path().stat().st_mode & 0o777 == 0o600


def test_a_resumed_copy_tells_nothing_twice(user):
    write = {
        "type": "tool_use", "id": "t2", "name": "Write",
        "input": {"file_path": str(user.root / "k.py"), "content": "import os\n"},
    }  # fmt: skip
    first = (_asked("Write k"), _said(write), _result("t2", "ok"))
    path = _claude(user, *first)
    copied = path.read_text().replace('"s1"', '"s2"')
    more = json.dumps(
        {
            "sessionId": "s2",
            "cwd": str(user.root),
            "uuid": "new",
            "timestamp": "2026-01-02T00:00:00Z",
        }
        | _asked("And now?")
    )
    path.with_name("two.jsonl").write_text(copied + more + "\n", encoding="utf-8")
    with user.index() as index:
        turns = [t.request for one in index.sessions(Filter(), 5) for t in index.turns(one.id)]
        assert sorted(turns) == ["And now?", "Write k"]
        assert len(index.edits(str(user.root), ["k.py"])) == 1


def test_a_sub_agents_edits_belong_to_the_request_that_led_to_them(user):
    write = {
        "type": "tool_use", "id": "t9", "name": "Write",
        "input": {"file_path": str(user.root / "k.py"), "content": "import os\n"},
    }  # fmt: skip
    side = {"isSidechain": True}
    _claude(
        user, _asked("Do it all"), _asked("You are a helper: write k") | side,
        _said(write) | side, _result("t9", "ok") | side,
    )  # fmt: skip
    with user.index() as index:
        (session,) = index.sessions(Filter(), 5)
        (turn,) = index.turns(session.id)
    assert (turn.request, turn.files) == ("Do it all", ("k.py",))


def test_the_commands_say_it(user):
    """The command line, as a person uses it."""
    put("copilot", user.home, user.root)

    def clew(*words):
        done = subprocess.run(
            [Path(sys.executable).parent / "clew", "sessions", *words],
            cwd=user.root, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "Add a module that adds numbers" in clew("list")
    data = json.loads(clew("search", "three", "numbers", "--json"))["data"]
    name, turn = data["hits"][0]["session"], data["hits"][0]["turn"]
    assert "git add calc.py" in clew("show", name, "--turn", str(turn))
    assert "copilot" in clew("stats")
    assert "removed" in clew("off")
    assert "turned off" in clew("list")
