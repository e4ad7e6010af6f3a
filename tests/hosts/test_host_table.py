from pathlib import Path

import pytest

from clew.hosts.model import ServerWords
from clew.hosts.paths import checkout_root, config_path, look_around
from clew.hosts.table import HOSTS, find_host
from clew.kit.errors import UsageError

WORDS = ServerWords("clew", ("serve",))


def test_the_table_has_the_ten_hosts():
    assert list(HOSTS) == [
        "claude-code", "claude-desktop", "cursor", "vscode", "zed", "codex", "gemini",
        "opencode", "copilot", "qwen",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "scope", "system", "expected"),
    [
        ("claude-code", "project", "linux", "P/.mcp.json"),
        ("claude-code", "user", "linux", "H/.claude.json"),
        ("claude-desktop", "user", "linux", "X/Claude/claude_desktop_config.json"),
        ("claude-desktop", "user", "darwin",
         "H/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "user", "windows", "A/Claude/claude_desktop_config.json"),
        ("cursor", "project", "linux", "P/.cursor/mcp.json"),
        ("cursor", "user", "darwin", "H/.cursor/mcp.json"),
        ("vscode", "project", "linux", "P/.vscode/mcp.json"),
        ("vscode", "user", "linux", "X/Code/User/mcp.json"),
        ("vscode", "user", "darwin", "H/Library/Application Support/Code/User/mcp.json"),
        ("vscode", "user", "windows", "A/Code/User/mcp.json"),
        ("zed", "user", "linux", "X/zed/settings.json"),
        ("zed", "user", "windows", "A/Zed/settings.json"),
        ("zed", "project", "linux", "P/.zed/settings.json"),
        ("codex", "user", "linux", "H/.codex/config.toml"),
        ("codex", "project", "linux", "P/.codex/config.toml"),
        ("gemini", "user", "linux", "H/.gemini/settings.json"),
        ("gemini", "project", "linux", "P/.gemini/settings.json"),
        ("opencode", "user", "linux", "X/opencode/opencode.json"),
        ("opencode", "project", "linux", "P/opencode.json"),
        ("copilot", "user", "linux", "H/.copilot/mcp-config.json"),
        ("copilot", "project", "linux", "P/.github/mcp.json"),
        ("qwen", "user", "linux", "H/.qwen/settings.json"),
        ("qwen", "project", "linux", "P/.qwen/settings.json"),
    ],
)  # fmt: skip
def test_every_file_is_where_its_host_looks(machine, monkeypatch, key, scope, system, expected):
    roots = {
        "P": machine.project,
        "H": machine.home,
        "X": machine.home / "xdg",
        "A": machine.home / "roaming",
    }
    monkeypatch.setenv("XDG_CONFIG_HOME", str(roots["X"]))
    monkeypatch.setenv("APPDATA", str(roots["A"]))
    root, _, rest = expected.partition("/")
    assert config_path(HOSTS[key], scope, machine.project, system) == roots[root] / rest


def test_a_hosts_own_variable_moves_its_file(machine, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", "~/elsewhere")
    assert config_path(HOSTS["codex"], "user", None) == machine.home / "elsewhere/config.toml"


def test_the_file_that_exists_is_taken(machine):
    (machine.project / "opencode.jsonc").write_text("{}")
    path = config_path(HOSTS["opencode"], "project", machine.project)
    assert path.name == "opencode.jsonc"


def test_a_scope_the_host_does_not_know_is_refused():
    with pytest.raises(UsageError, match="no project scope"):
        config_path(HOSTS["claude-desktop"], "project", Path("/x"))
    with pytest.raises(UsageError, match="No such host"):
        find_host("emacs")


@pytest.mark.parametrize("host", HOSTS.values(), ids=lambda host: host.key)
def test_an_entry_reads_back_as_the_words_it_was_made_of(host):
    assert host.shape.words(host.shape.entry(WORDS)) == WORDS
    assert host.shape.words({"url": "https://x"}) is None
    assert host.shape.words("text") is None


def test_hosts_are_found_by_program_and_by_directory(machine):
    assert not any(presence.sign for presence in look_around(machine.project))
    machine.program("codex", "#!/bin/sh\n")
    (machine.home / ".cursor").mkdir()
    (machine.project / ".vscode").mkdir()
    signs = {presence.host.key: presence.sign for presence in look_around(machine.project)}
    assert {key: sign for key, sign in signs.items() if sign} == {
        "codex": "codex is on PATH",
        "cursor": "~/.cursor exists",
        "vscode": ".vscode exists",
    }


def test_a_linked_worktree_gets_its_own_files(machine, monkeypatch):
    from clew.kit.git import run_git

    who = ("-c", "user.name=t", "-c", "user.email=t@t")
    run_git(*who, "commit", "-q", "--allow-empty", "-m", "first", cwd=machine.project)
    linked = machine.home / "linked"
    run_git("worktree", "add", "-q", str(linked), cwd=machine.project)
    monkeypatch.chdir(linked)
    assert checkout_root() == linked.resolve()
    assert checkout_root(str(machine.project)) == machine.project.resolve()
