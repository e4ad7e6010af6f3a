"""Agent hosts: found, registered, broken, foreign; and what is never started."""

import json
import os
import sysconfig

import pytest

from clew.catalog.faces import FACES
from clew.doctor.hosts import hosts
from clew.doctor.model import Subject
from clew.hosts.register import make_target, register
from clew.hosts.table import HOSTS

SCRIPTS = sysconfig.get_path("scripts")
CLEW = f"{SCRIPTS}/clew"


@pytest.fixture(autouse=True)
def _plain_path(monkeypatch):
    # No host's program is on this PATH, so that only the marks in the home directory count.
    monkeypatch.setenv("PATH", f"{SCRIPTS}{os.pathsep}/usr/bin{os.pathsep}/bin")
    for variable in ("CODEX_HOME", "COPILOT_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def cursor(own_home):
    """Write an entry into Cursor's own file."""

    def write(command, *args, name="clew", **more):
        path = own_home / ".cursor" / "mcp.json"
        path.parent.mkdir(exist_ok=True)
        entry = {"command": command, "args": list(args), **more}
        path.write_text(json.dumps({"mcpServers": {name: entry}}))
        return path

    return write


def by_name(*, start=False, project=None):
    return {check.name: check for check in hosts(Subject(project, start_commands=start))}


def trap(program, tmp_path):
    """A program called clew that leaves a mark when it is started."""
    mark = tmp_path / "was-started"
    return program("clew", f"touch '{mark}'") / "clew", mark


def test_no_host_is_fine():
    [check] = hosts(Subject())

    assert (check.status, check.summary) == ("ok", "No agent host found on this machine")


def test_a_host_without_clew_is_a_warning_with_the_command(own_home):
    (own_home / ".cursor").mkdir()
    check = by_name()["host cursor"]

    assert (check.status, check.fix) == ("warn", "clew setup cursor")


def test_a_second_host_without_clew_is_only_told(own_home, cursor):
    cursor(CLEW, "serve")
    (own_home / ".codex").mkdir()
    check = by_name()["host codex"]

    assert (check.status, check.fix) == ("ok", None)
    assert "clew setup codex" in check.detail


def claude_code(repository, command):
    entry = {"type": "stdio", "command": command, "args": ["serve"]}
    (repository / ".mcp.json").write_text(json.dumps({"mcpServers": {"clew": entry}}))


def test_a_host_that_is_not_found_counts_when_clew_is_registered(repository):
    claude_code(repository, "clew")
    check = by_name(start=True, project=str(repository))["host claude-code"]

    assert check.status == "ok"
    assert "answered" in check.summary


def test_a_host_that_is_not_found_does_not_count_for_anothers_entry_or_a_broken_file(repository):
    claude_code(repository, "other")
    assert list(by_name(project=str(repository))) == ["hosts"]

    (repository / ".mcp.json").write_text("{")
    assert list(by_name(project=str(repository))) == ["hosts"]


def test_a_host_that_is_not_found_counts_when_the_ledger_names_it(repository, own_home):
    target = make_target(HOSTS["claude-code"], None, FACES["clew"], repository)
    register(target)
    target.path.write_text("{")
    assert by_name(project=str(repository))["host claude-code"].status == "fail"

    target.path.unlink()
    check = by_name(project=str(repository))["host claude-code"]
    assert check.fix == f"clew setup claude-code --project {repository}"

    assert list(by_name()) == ["hosts"]
    (own_home / ".clew" / "ledger.json").write_text("{")
    assert list(by_name(project=str(repository))) == ["hosts"]


def test_a_working_command_is_started_and_answers(cursor):
    cursor(CLEW, "serve")
    check = by_name(start=True)["host cursor"]

    assert check.status == "ok", check
    assert "clew in ~/.cursor/mcp.json; clew " in check.summary
    assert "answered" in check.summary


def test_the_tool_starts_nothing(cursor, program, tmp_path):
    stranger, mark = trap(program, tmp_path)
    cursor(str(stranger), "serve")
    check = by_name(start=False)["host cursor"]

    assert check.status == "ok"
    assert not mark.exists()


def test_a_command_that_is_gone_fails(cursor, tmp_path):
    cursor(str(tmp_path / "gone" / "clew"), "serve")
    check = by_name(start=True)["host cursor"]

    assert check.status == "fail"
    assert "not find the program" in check.summary
    assert check.fix == "clew setup cursor --scope user"


def test_a_command_that_breaks_fails_with_its_last_words(cursor, program):
    folder = program("clew", "echo 'no such thing' >&2; exit 7")
    cursor(str(folder / "clew"), "serve")
    check = by_name(start=True)["host cursor"]

    assert check.status == "fail"
    assert "no such thing" in check.detail


def test_a_foreign_entry_is_a_warning_and_never_started(cursor, tmp_path):
    mark = tmp_path / "was-started"
    cursor("/bin/sh", "-c", f"touch '{mark}'")
    check = by_name(start=True)["host cursor"]

    assert check.status == "warn"
    assert "is not Clew: it starts /bin/sh" in check.summary
    assert check.fix == "clew setup cursor --scope user --force"
    assert not mark.exists()


def test_an_entry_that_starts_no_program_is_a_warning(own_home):
    (own_home / ".cursor").mkdir()
    text = '{"mcpServers": {"clew": {"url": "http://127.0.0.1:1/mcp"}}}'
    (own_home / ".cursor" / "mcp.json").write_text(text)

    assert "no local program" in by_name(start=True)["host cursor"].summary


def test_another_face_has_a_line_of_its_own(cursor, tmp_path):
    cursor(str(tmp_path / "gone" / "chant"), "mcp", name="chant")
    check = by_name(start=True)["host cursor chant"]

    assert check.fix == "clew setup cursor --scope user --face chant"


@pytest.mark.parametrize("text", ["{ not json", "\xff\xfe"])
def test_a_file_that_cannot_be_read_fails_and_names_the_file(text, own_home):
    (own_home / ".cursor").mkdir()
    (own_home / ".cursor" / "mcp.json").write_bytes(text.encode("latin-1"))
    check = by_name(start=True)["host cursor"]

    assert check.status == "fail"
    assert "mcp.json" in check.summary
    assert check.fix.endswith("~/.cursor/mcp.json")


def project_entry(repository, command, *args, **more):
    (repository / ".cursor").mkdir()
    entry = {"command": command, "args": list(args), **more}
    (repository / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"clew": entry}}))


def test_a_projects_entry_that_is_ours_is_started(repository):
    project_entry(repository, "clew", "serve")
    check = by_name(start=True, project=str(repository))["host cursor"]

    assert check.status == "ok"
    assert "answered" in check.summary


def test_a_projects_plain_name_that_is_not_on_path_fails(repository, monkeypatch):
    project_entry(repository, "clew", "serve")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    check = by_name(start=True, project=str(repository))["host cursor"]

    assert check.status == "fail"
    assert check.fix == f"clew setup cursor --project {repository}"


def test_a_program_that_a_repository_brings_is_never_started(repository, program, tmp_path):
    stranger, mark = trap(program, tmp_path)
    project_entry(repository, str(stranger), "serve")
    check = by_name(start=True, project=str(repository))["host cursor"]

    assert check.status == "ok"
    assert "not started: " in check.summary
    assert "clew is not this installation" in check.summary
    assert not mark.exists()


def test_a_package_runner_that_a_repository_names_is_never_started(
    repository, program, tmp_path, monkeypatch
):
    mark = tmp_path / "was-started"
    folder = program("uvx", f"touch '{mark}'")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    project_entry(repository, "uvx", "--from", "git+https://example.com/clew", "clew", "serve")

    assert "not started" in by_name(start=True, project=str(repository))["host cursor"].summary
    assert not mark.exists()


def test_our_program_in_a_repositorys_environment_is_never_started(repository):
    project_entry(repository, "clew", "serve", env={"PYTHONPATH": "/somewhere"})

    summary = by_name(start=True, project=str(repository))["host cursor"].summary
    assert "not started: the file sets PYTHONPATH" in summary


def test_options_that_a_repository_adds_never_listen_or_write(repository, tmp_path):
    planted = tmp_path / "new" / "planted"
    words = ["serve", "--http", "--host", "0.0.0.0", "--port", "0", "--token-file", str(planted)]
    project_entry(repository, "clew", *words)
    check = by_name(start=True, project=str(repository))["host cursor"]

    assert check.status == "ok"
    assert "not started: it adds --http" in check.summary
    assert not planted.parent.exists()


def test_options_that_choose_tools_are_started(repository):
    project_entry(repository, "clew", "serve", "--read-only", "--tools", "clew_guide")

    assert "answered" in by_name(start=True, project=str(repository))["host cursor"].summary


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "leads out of the project"),
    ],
)
def test_a_file_that_is_no_file_fails_at_once(repository, make, words):
    (repository / ".cursor").mkdir()
    make(repository / ".cursor" / "mcp.json")
    check = by_name(start=True, project=str(repository))["host cursor"]

    assert check.status == "fail"
    assert words in check.summary


def test_an_entry_that_stands_twice_fails(own_home):
    (own_home / ".cursor").mkdir()
    text = '{"mcpServers": {"clew": {"command": "x"},\n"clew": {"command": "clew"}}}'
    (own_home / ".cursor" / "mcp.json").write_text(text)
    check = by_name(start=True)["host cursor"]

    assert check.status == "fail"
    assert "lines 1 and 2" in check.summary


def test_a_wrong_project_leaves_the_hosts_checked(cursor, tmp_path):
    cursor(CLEW, "serve")

    assert "host cursor" in by_name(project=str(tmp_path / "nowhere"))
