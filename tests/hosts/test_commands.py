"""`setup`, `init` and `uninit` as they are typed."""

import json
import os
import pty
import re
import select
import shlex
import subprocess
import time

import pytest

from clew.cli.faces import run_face
from clew.hosts.table import HOSTS
from tests.hosts.conftest import REAL_PYTHON
from tests.support.waiting import LIMIT_SECONDS

RUN = "import sys; from clew.faces import enter; sys.exit(enter('clew', sys.argv[1:]))"


@pytest.fixture
def clew(machine, capsys):
    def run(*words):
        code = run_face("clew", list(words))
        done = capsys.readouterr()
        return code, done.out, done.err

    return run


def tree(machine):
    return {
        path: path.read_bytes()
        for root in (machine.project, machine.home)
        for path in root.rglob("*")
        if path.is_file() and ".clew" not in path.parts and ".git" not in path.parts
    }


def test_set_up_tells_what_happened_and_what_comes_next(clew):
    code, out, _ = clew("setup", "claude-code", "--face", "chant")
    assert code == 0
    assert "Claude Code: chant is registered.\nFile: .mcp.json (project scope)" in out
    assert "Server: chant 9.9 answered in" in out
    assert "Undo: clew setup claude-code --face chant --remove" in out
    code, out, _ = clew("setup", "claude-code", "--face", "chant")
    assert "already set up" in out
    assert "Next:" not in out


def test_set_up_speaks_json(clew, machine):
    _, out, _ = clew("setup", "codex", "--json")
    data = json.loads(out)["data"]
    assert data["status"] == "written"
    assert data["path"] == str(machine.home / ".codex/config.toml")
    assert data["command"] == ["clew", "serve"]
    assert data["server"]["tools"] == 3


def test_check_fails_with_the_command_that_repairs(clew):
    code, out, _ = clew("setup", "codex", "--scope", "project", "--check")
    assert code == 1
    assert "Repair: clew setup codex --scope project" in out
    clew("setup", "codex", "--scope", "project")
    code, out, _ = clew("setup", "codex", "--scope", "project", "--check")
    assert code == 0


def test_print_changes_nothing(clew, machine):
    before = tree(machine)
    code, out, _ = clew("setup", "vscode", "--print")
    assert code == 0
    assert '"servers"' in out
    assert 'code --add-mcp \'{"name":"clew"' in out
    assert tree(machine) == before


def test_words_that_exclude_each_other_are_refused(clew):
    code, _, err = clew("setup", "codex", "--print", "--check")
    assert code == 2
    assert "exclude each other" in err
    assert clew("setup", "claude-desktop", "--scope", "project")[0] == 2


def test_remove_restores_and_says_so(clew, machine):
    path = machine.project / ".mcp.json"
    path.write_text("{ }")
    clew("setup", "claude-code")
    _, out, _ = clew("setup", "claude-code", "--remove")
    assert "the file is as it was before Clew" in out
    assert path.read_text() == "{ }"


def test_outside_of_a_project_the_way_out_is_told(clew, machine, monkeypatch):
    monkeypatch.chdir(machine.home)
    code, _, err = clew("setup", "claude-code")
    assert code == 1
    assert "--project" in err
    code, _, err = clew("init", "--host", "claude-code")
    assert code == 1
    assert "--scope user" in err
    assert clew("init", "--host", "claude-code", "--scope", "user")[0] == 0


def test_init_without_a_terminal_and_without_words_changes_nothing(clew, machine):
    (machine.home / ".cursor").mkdir()
    before = tree(machine)
    code, _, err = clew("init")
    assert code == 2
    assert "clew init --host cursor" in err
    assert tree(machine) == before


def test_init_that_finds_no_host_names_those_there_are(clew):
    code, _, err = clew("init")
    assert code == 2
    assert "No host was found here." in err
    assert f"--host: {', '.join(HOSTS)}." in err
    assert "--yes" not in err


def test_a_server_without_tools_is_told(clew, machine):
    machine.server("chant", "toolless")
    note = "Note: chant offers no tools yet; `clew tools --face chant --all`"
    assert note in clew("setup", "cursor", "--face", "chant")[1]
    assert note in clew("setup", "cursor", "--face", "chant", "--check")[1]
    both = clew("init", "--host", "cursor", "--host", "zed", "--face", "chant")[1]
    assert both.count(note) == 1
    assert "no tools" not in clew("setup", "cursor")[1]


def test_what_comes_next_depends_on_the_scope(clew):
    asks = "Start `claude` in the project and approve the server;"
    assert asks in clew("setup", "claude-code")[1]
    out = clew("setup", "claude-code", "--scope", "user")[1]
    assert "Next: Restart Claude Code; /mcp shows the server." in out
    assert asks not in out
    assert "trust it when asked" in clew("init", "--host", "codex", "--scope", "project")[1]
    assert "Next: Restart Codex.\n" in clew("init", "--host", "codex")[1]
    assert "qwen mcp approve clew" in clew("setup", "qwen", "--scope", "project")[1]


def undo_lines(out):
    return [line.removeprefix("Undo: ") for line in out.splitlines() if line.startswith("Undo: ")]


def follow(clew, lines):
    """Run command lines as printed."""
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "clew"
        assert clew(*words)[0] == 0, line


@pytest.mark.parametrize(
    ("place", "words", "expected"),
    [
        ("home", ["--host", "codex"], ["clew setup codex --remove"]),
        (
            "home",
            ["--host", "claude-code", "--host", "zed", "--scope", "user", "--face", "chant"],
            [
                "clew setup claude-code --scope user --face chant --remove",
                "clew setup zed --face chant --remove",
            ],
        ),
        (
            "home",
            ["--host", "cursor", "--agents-md", "--project", "../project"],
            ["clew uninit --project ../project"],
        ),
        ("project", ["--host", "codex", "--host", "cursor", "--skill"], ["clew uninit"]),
    ],
)
def test_the_undo_of_init_works_as_printed(clew, machine, monkeypatch, place, words, expected):
    monkeypatch.chdir(getattr(machine, place))
    before = tree(machine)
    code, out, _ = clew("init", *words)
    assert code == 0
    assert undo_lines(out) == expected
    follow(clew, expected)
    assert tree(machine) == before


def test_the_undo_of_a_second_init_leaves_the_first(clew, machine):
    clew("init", "--host", "cursor", "--agents-md")
    before = tree(machine)
    lines = undo_lines(clew("init", "--host", "codex", "--host", "claude-code")[1])
    assert lines == ["clew setup codex --remove", "clew setup claude-code --remove"]
    follow(clew, lines)
    assert tree(machine) == before


def test_init_that_wrote_nothing_offers_no_undo(clew):
    clew("init", "--host", "codex")
    code, out, _ = clew("init", "--host", "codex")
    assert code == 0
    assert undo_lines(out) == []


def test_the_undo_of_setup_names_the_project(clew, machine, monkeypatch):
    monkeypatch.chdir(machine.home)
    before = tree(machine)
    lines = undo_lines(clew("setup", "cursor", "--project", "../project")[1])
    assert lines == ["clew setup cursor --project ../project --remove"]
    follow(clew, lines)
    assert tree(machine) == before


def test_uninit_leaves_what_was_set_up_outside_and_says_how_to_undo_it(clew, machine, monkeypatch):
    monkeypatch.chdir(machine.home)
    clew("setup", "codex")
    monkeypatch.chdir(machine.project)
    clew("init", "--host", "cursor")
    code, out, _ = clew("uninit")
    assert code == 0
    assert not (machine.project / ".cursor").exists()
    assert (
        "Kept for all your projects: clew in Codex (~/.codex/config.toml). "
        "Undo: clew setup codex --remove"
    ) in out
    [left] = json.loads(clew("uninit", "--json")[1])["data"]["left"]
    follow(clew, [left["undo"]])
    assert not (machine.home / ".codex").exists()
    assert "Stays" not in clew("uninit")[1]


def test_an_entry_for_all_projects_goes_with_the_last_that_asked_for_it(clew, machine, monkeypatch):
    other = machine.home / "other"
    subprocess.run(["git", "init", "-q", str(other)], check=True)
    clew("init", "--host", "codex")
    monkeypatch.chdir(other)
    assert "unchanged" in clew("init", "--host", "codex")[1]
    monkeypatch.chdir(machine.project)
    for words in (("uninit", "--dry-run"), ("uninit",)):
        code, out, _ = clew(*words)
        assert code == 0
        assert "also set up from ~/other" in out
        assert "Undo: clew setup codex --remove" in out
    assert "Nothing to undo here." in clew("uninit")[1]
    monkeypatch.chdir(other)
    assert "deleted" in clew("uninit")[1]
    assert not (machine.home / ".codex").exists()


def test_uninit_leaves_an_own_entry_that_was_only_brought_up_to_date(clew, machine):
    path = machine.home / ".codex/config.toml"
    path.parent.mkdir()
    path.write_text('[mcp_servers.clew]\ncommand = "/gone/clew"\nargs = ["serve"]\n')
    _, out, _ = clew("init", "--host", "codex")
    assert undo_lines(out) == ["clew setup codex --remove"]
    assert "Kept for all your projects" in clew("uninit")[1]
    assert "mcp_servers.clew" in path.read_text()


def test_init_yes_takes_every_host_found_and_uninit_undoes_it(clew, machine):
    (machine.project / "AGENTS.md").write_text("# Rules\n")
    (machine.project / "CLAUDE.md").write_text("# Claude\n")
    (machine.home / ".codex").mkdir()
    (machine.home / ".codex/config.toml").write_text("model = 'x'\n")
    machine.program("claude", "#!/bin/sh\n")
    before = tree(machine)
    code, out, _ = clew("init", "--yes", "--json")
    data = json.loads(out)["data"]
    assert code == 0
    assert [item["host"] for item in data["hosts"]] == ["claude-code", "codex"]
    assert {item["kind"] for item in data["files"]} == {"block", "skill"}
    assert "@AGENTS.md" in data["note"]
    assert len(tree(machine)) == len(before) + 3

    code, out, _ = clew("uninit", "--dry-run")
    assert "would be removed" in out
    code, out, _ = clew("uninit")
    assert code == 0
    assert "~/.codex/config.toml" in out
    assert "restored" in out
    assert "Stays" not in out
    assert tree(machine) == before
    assert "Nothing to undo here." in clew("uninit")[1]
    assert json.loads((machine.home / ".clew/ledger.json").read_text())["files"] == []


def test_init_with_hosts_only_registers_only(clew, machine):
    before = tree(machine)
    code, out, _ = clew("init", "--host", "cursor", "--host", "claude-code")
    assert code == 0
    assert len(tree(machine)) == len(before) + 2
    code, out, _ = clew("init", "--host", "cursor")
    assert "unchanged" in out


def test_a_dry_run_of_init_changes_nothing(clew, machine):
    before = tree(machine)
    code, out, _ = clew("init", "--host", "zed", "--agents-md", "--skill", "--dry-run")
    assert code == 0
    assert out.count("would be written") == 3
    assert tree(machine) == before


def test_one_host_that_fails_does_not_stop_the_others(clew, machine):
    (machine.project / ".mcp.json").write_text("{")
    code, out, _ = clew("init", "--host", "claude-code", "--host", "cursor")
    assert code == 1
    assert "Failed: " in out
    assert ".mcp.json:1:2: unexpected end" in out
    assert (machine.project / ".cursor/mcp.json").exists()


def test_uninit_keeps_what_people_changed_since(clew, machine):
    path = machine.project / ".mcp.json"
    path.write_text('{\n  "a": 1\n}\n')
    clew("init", "--host", "claude-code", "--agents-md", "--skill")
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))
    skill = machine.project / ".agents/skills/clew/SKILL.md"
    skill.write_text("mine")
    code, out, _ = clew("uninit")
    assert code == 0
    assert path.read_text() == '{\n  "a": 2\n}\n'
    assert skill.read_text() == "mine"
    assert "kept" in out
    assert not (machine.project / "AGENTS.md").exists()


def test_uninit_leaves_an_entry_that_became_someone_elses(clew, machine):
    clew("setup", "claude-code")
    path = machine.project / ".mcp.json"
    path.write_text(path.read_text().replace('"clew",', '"other",'))
    code, out, _ = clew("uninit")
    assert code == 1
    assert "now starts something else" in out
    assert "other" in path.read_text()


def test_a_broken_ledger_is_told_and_nothing_is_lost(clew, machine):
    clew("setup", "claude-code")
    (machine.home / ".clew/ledger.json").write_text("{")
    code, _, err = clew("uninit")
    assert code == 1
    assert "Move it away" in err


def converse(machine, words, answers):
    """Run `clew` on a terminal and answer its questions; returns the exit code and the screen."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [REAL_PYTHON, "-c", RUN, *words],
        stdin=follower, stdout=follower, stderr=follower,
        env=dict(os.environ, TERM="xterm", COLUMNS="120"), cwd=machine.project,
    )  # fmt: skip
    os.close(follower)
    screen, waiting, deadline = "", list(answers), time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        if not select.select([leader], [], [], 0.2)[0]:
            continue
        try:
            screen += os.read(leader, 65536).decode("utf-8", "replace")
        except OSError:
            break
        if waiting and re.search(waiting[0][0], screen):
            os.write(leader, waiting.pop(0)[1].encode() + b"\n")
    os.close(leader)
    return process.wait(120), screen


def test_the_wizard_asks_shows_its_plan_and_does_it(machine):
    (machine.home / ".cursor").mkdir()
    code, screen = converse(
        machine,
        ["init"],
        [
            (r"Which ones\?.*\[3\]", "1, cursor, bogus"),
            (r"bogus is not in the list[\s\S]*Which ones", "1,cursor"),
            (r"AGENTS.md\? \[Y/n\]", "y"),
            (r"skill that tells.*\[Y/n\]", "n"),
            (r"Continue\? \[Y/n\]", ""),
        ],
    )
    assert code == 0, screen
    assert "* 3  Cursor          ~/.cursor exists" in screen
    assert "register clew with Claude Code: .mcp.json" in screen
    assert (machine.project / ".mcp.json").exists()
    assert (machine.project / ".cursor/mcp.json").exists()
    assert (machine.project / "AGENTS.md").exists()
    assert not (machine.project / ".agents").exists()


def test_a_no_at_the_end_of_the_wizard_changes_nothing(machine):
    before = tree(machine)
    code, screen = converse(
        machine,
        ["init", "--host", "claude-code", "--no-agents-md", "--no-skill"],
        [(r"Continue\?", "n")],
    )
    assert code == 1
    assert "Nothing was changed." in screen
    assert tree(machine) == before
