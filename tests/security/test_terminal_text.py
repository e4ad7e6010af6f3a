"""Text from repositories cannot drive a terminal: every command, on one and in a pipe."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

import clew
from clew.kit.text.display import terminal_text
from tests.history.index import new_index
from tests.security.surfaces import ENDLESS, call, command_lines, furnish
from tests.support.proof import amount
from tests.support.repos import Repository

# A title set, colours, a deleted character, a line drawn over, writing turned round.
EVIL = "\x1b]0;pwned\x07\x1b[31m\x9b2J\x08\x7f\rover\u202etxet\u2066\u200f"
QUIET = "\u202e\x9b31m"  # what a branch's name may hold
COMMANDS_ANYWHERE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
SPEC = "2026-01-01-001-abc"
# What speaks with the terminal itself, and what others print for it to read.
LEFT_OUT = ENDLESS | {"merge-driver"}
# Where what others wrote is seen: a commit, a spec, a template, a session, an agent's words.
SHOWING = {
    "clew why", "clew why {sha}", "clew brief", "clew recall", "clew search", "clew log", "clew show",
    "clew list", "clew logs", "clew work", "clew spec show",
    "clew hunks", "clew command show", "clew command run", "clew sessions list",
    "clew sessions show", "clew sessions search", "clew recall {text} --kind session",
}  # fmt: skip


class Screen(TextIOWrapper):
    """Standard output as a terminal that a person watches, kept."""

    def __init__(self):
        super().__init__(BytesIO(), encoding="utf-8", newline="\n")

    def isatty(self):
        return True

    def text(self):
        """What was written until now."""
        self.flush()
        return self.buffer.getvalue().decode()


@pytest.fixture
def place(tmp_path, private_home, team_database, monkeypatch):
    """A project in which every name and text is hostile, and its index."""
    repository = Repository(tmp_path / "project")
    root = repository.path
    specs = root / ".chant" / "specs"
    specs.mkdir(parents=True)
    body = f"# Title {EVIL}\n\nBody {EVIL}\n\n## Acceptance Criteria\n\n- [ ] Criterion {EVIL}\n"
    written = json.dumps(EVIL)
    for name, status in ((SPEC, "pending"), ("2026-01-01-002-def", "failed")):
        (specs / f"{name}.md").write_text(
            f"---\ntype: code\nstatus: {status}\nlabels: [{written}]\nassignee: {written}\n"
            f"target_files: [{written}]\nbranch: {json.dumps('chant/x' + QUIET)}\n"
            f"depends_on: [{written}]\n---\n\n{body}"
        )
    (specs / f"bad{EVIL.replace('/', '')}.md").write_text(f"---\nstatus: [{EVIL}\n---\n{body}")
    agent = tmp_path / "agent"
    agent.write_text(f"#!/bin/sh\nprintf '%s\\n' 'agent says {EVIL}'\necho '{EVIL}' >&2\n")
    agent.chmod(0o755)
    command = json.dumps([str(agent)])
    (root / ".chant" / "config.md").write_text(
        f"---\nproject:\n  name: {written}\ndefaults:\n  provider: command\n  command: {command}\n---\n"
    )
    repository.team = team_database
    repository.furnished = furnish(root, private_home, EVIL)
    repository.write("docs/vision.md", f"# Vision {EVIL}\n\n- **BO-1** Objective {EVIL}\n")
    who = {"GIT_AUTHOR_NAME": f"Ada {EVIL}", "GIT_AUTHOR_EMAIL": f"a{EVIL}@example.com"}
    for number in (1, 2):
        repository.commit(
            f"words {EVIL}\n\nBody words {EVIL}\n\nFixes #1\n",
            {f"dir{EVIL}/a{EVIL}.py": f"words {number} {EVIL}\n", "plain.py": f"{number} {EVIL}\n"},
            env=who,
        )
    repository.commit(f"told words {EVIL}", {"told.py": "def told():\n    return 1\n"}, env=who)
    repository.git("branch", f"chant/x{QUIET}")
    repository.git("tag", "-a", f"v1{QUIET}", "-m", f"Tag {EVIL}", env=who)
    repository.git("notes", "add", "-m", f"Note {EVIL}", "HEAD~1", env=who)
    database = tmp_path / f"db{QUIET}"
    new_index(database, repository, name="r").close()
    monkeypatch.setenv("COMMITMUX_DB", str(database))
    monkeypatch.setenv("NO_COLOR", "1")  # so that no sequence is Clew's own
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("EDITOR", "true")
    monkeypatch.chdir(root)
    return repository


def usual(repository):
    """Arguments with which commands find something."""
    return {
        "team": repository.team,
        "id": SPEC, "spec_id": SPEC, "ids": SPEC, "repo": "r", "name": "r", "text": "words",
        "texts": ["words"],
        "sha": repository.head(), "path": "plain.py", "path_glob": "*.py", "query": "words",
        "issue": "1", "description": f"A thing {EVIL}", "number": 1, "start": 1, "c1": "git",
        "c2": "create", "c3": "issue", "words": "git", "requirements": "It sells bicycles.",
        "task": "words", "target": "plain.py:1", "question": "words", "shell": "bash",
        "record": "1", "status": "accepted", "conversation_id": "told", "host": "cursor",
        "symbol": "told", "shas": [repository.head()], "database": os.environ["COMMITMUX_DB"],
        **repository.furnished,
    }  # fmt: skip


def hostile(repository):
    """Arguments that commands can only name in an error."""
    kept = {"number": 1, "start": 1, "team": repository.team}
    return dict.fromkeys(usual(repository), EVIL) | kept


def assert_harmless(words, *texts):
    for text in texts:
        found = COMMANDS_ANYWHERE.search(text)
        assert not found, (words[:3], text[max(0, found.start() - 60) : found.end() + 20])


@pytest.mark.parametrize("arguments", [usual, hostile])
def test_no_command_sends_a_control_into_a_pipe(place, capfd, arguments, record_property):
    fed, escaped = 0, set()
    for name, words in command_lines(arguments(place), LEFT_OUT, with_options=amount(False, True)):
        call(words)
        said = capfd.readouterr()
        assert_harmless(words, said.out, said.err)
        fed += 1
        if "\\x1b" in said.out + said.err:
            escaped.add(name)
    assert len(escaped) > 50, sorted(escaped)
    assert arguments is hostile or SHOWING - escaped == set()
    record_property("escapes fed", fed * len(COMMANDS_ANYWHERE.findall(EVIL)))


def test_no_command_sends_a_control_to_a_terminal(place, capfd, monkeypatch, record_property):
    fed, escaped = 0, 0
    for _, words in command_lines(usual(place), LEFT_OUT):
        screen = Screen()
        monkeypatch.setattr(sys, "stdout", screen)
        call(words)
        assert_harmless(words, screen.text(), capfd.readouterr().err)
        fed += 1
        escaped += "\\x1b" in screen.text()
    assert escaped > 25
    record_property("escapes fed", fed * len(COMMANDS_ANYWHERE.findall(EVIL)))


def test_json_keeps_what_was_said(place, capfd, record_property):
    fed, kept = 0, 0
    for _, words in command_lines(usual(place), LEFT_OUT | {"completion"}):
        call((*words, "--json"))
        out = capfd.readouterr().out
        assert_harmless(words, out)
        assert out.isascii(), words
        if "\\u001b" in out:
            assert "\x1b]0;pwned" in json.dumps(json.loads(out), ensure_ascii=False).replace(
                "\\u001b", "\x1b"
            )
            kept += 1
        fed += 1
    assert kept > 15
    record_property("escapes fed", fed * len(COMMANDS_ANYWHERE.findall(EVIL)))


def test_what_is_escaped_and_what_is_not():
    plain = "tab\tline\nWindows\r\nümlaut 漢字 👩‍👩‍👧 שלום"
    assert terminal_text(plain) == plain
    assert terminal_text("\x1b[0m\x00\r\x7f\x9b\u202e") == "\\x1b[0m\\x00\\x0d\\u007f\\u009b\\u202e"
    assert terminal_text(b"\xff".decode("utf-8", "surrogateescape")) == "\\xff"
    text = json.dumps("\x1b\x7f\x9b\u202e\u2069", ensure_ascii=False)
    assert json.loads(terminal_text(text)) == json.loads(text)


# Doors of their own: transports, and programs that speak to Clew alone.
PRINTERS = {
    "cli/core/streams.py", "cli/core/render.py", "cli/faces.py", "cli/web.py",
    "work/agents/builtin.py",
}  # fmt: skip


def test_nothing_prints_but_through_the_one_function():
    room = Path(clew.__file__).parent
    found = set()
    for path in room.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func)
            is_print = name in {"print", "click.echo", "sys.stdout.write", "sys.stderr.write"}
            cleaned = "terminal_text" in ast.unparse(node)
            fixed = all(isinstance(one, ast.Constant) for one in node.args)
            if is_print and not cleaned and not fixed:
                found.add(str(path.relative_to(room)))
    assert {one for one in found - PRINTERS if not one.startswith("protocol/")} == set()
