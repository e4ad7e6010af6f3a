"""The table of agents: command lines, configuration, preflight."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from clew.kit.errors import Invalid, NotFound, Unavailable
from clew.specs.store.settings import PROVIDERS
from clew.work.agents.launch import git_directories, launch_of, without_own_fence
from clew.work.agents.output import _READERS
from clew.work.agents.programs import AGENTS, PERMISSIONS, check_agent
from clew.work.agents.tool_server import Server, server_of, tell
from clew.work.model import AgentChoice

SERVER = Server(("/bin/chant", "mcp"), {"CLEW_PROJECT": "/house"})


@pytest.fixture
def launched(tmp_path, monkeypatch):
    """An agent ready to start, by name and choice."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    directory = tmp_path / "run"
    directory.mkdir()
    (directory / "prompt.md").write_text("the prompt", encoding="utf-8")

    def launch(name, server=SERVER, **settings):
        choice = AgentChoice(name, **settings)
        names = {"git_directories": '["/repo/.git/objects"]'}
        program = f"/bin/{name}"
        return launch_of(choice, program, directory, cwd=tmp_path, server=server, names=names)

    return launch


@pytest.fixture
def words(launched):
    """The command line of an agent."""
    return lambda name, **settings: launched(name, **settings).words


def test_claude_takes_its_prompt_from_input_and_only_our_server(launched, tmp_path):
    launch = launched("claude", model="opus", session="s-1")
    line = launch.words
    assert line[:5] == ["/bin/claude", "--print", "--output-format", "stream-json", "--verbose"]
    assert " --model opus " in " ".join(line)
    assert f" --mcp-config {tmp_path}/run/mcp.json --strict-mcp-config" in " ".join(line)
    assert line[-2:] == ["--resume", "s-1"]
    assert "the prompt" not in line
    assert launch.stdin == tmp_path / "run" / "prompt.md"


def test_nobody_skips_permissions_unasked(words):
    for name in AGENTS:
        line = " ".join(words(name, command=("x",), model="m"))
        for word in ("dangerously", "yolo", "--auto ", "trust-all", "--allow-all "):
            assert word not in line
    assert "--dangerously-skip-permissions" in words("claude", permission="full")


def test_claude_keeps_to_a_budget_itself(launched, tmp_path):
    choice = AgentChoice("claude")
    directory = tmp_path / "run"
    words = launch_of(
        choice, "/bin/claude", directory, cwd=tmp_path, server=SERVER, names={}, budget=2.5
    ).words
    assert words[words.index("--max-budget-usd") + 1] == "2.5"
    assert "--max-budget-usd" not in launched("claude").words


def test_codex_may_write_to_what_a_commit_needs(words):
    line = words("codex")
    assert 'sandbox_workspace_write.writable_roots=["/repo/.git/objects"]' in line
    assert line[-1] == "-"
    assert words("codex", session="t-1")[-3:] == ["resume", "t-1", "-"]


def test_only_behind_a_fence_of_ours_codex_has_none_of_its_own(words):
    inside = [
        without_own_fence(AgentChoice(name, permission="edit")) for name in ("codex", "claude")
    ]
    assert [choice.permission for choice in inside] == ["full", "edit"]
    assert without_own_fence(AgentChoice("codex", permission="read")).permission == "read"
    assert "workspace-write" in words("codex")


def test_a_commit_needs_no_hooks_no_settings_and_no_other_branch(project):
    worktree = project.root.parent / "tree"
    project.repo.git("worktree", "add", "-q", "-b", "chant/001", str(worktree))
    common = project.root / ".git"
    assert git_directories(worktree, "chant/001") == [
        str(common / "worktrees" / "tree"),
        str(common / "objects"),
        str(common / "refs" / "heads" / "chant"),
        str(common / "logs" / "refs" / "heads" / "chant"),
    ]


def test_opencode_is_told_its_directory_and_keeps_the_users_configuration(launched, tmp_path):
    launch = launched("opencode")
    assert " ".join(launch.words[1:]).startswith(f"run --format json --dir {tmp_path}")
    server = json.loads(launch.variables["OPENCODE_CONFIG_CONTENT"])["mcp"]["chant"]
    assert server["command"] == ["/bin/chant", "mcp"]
    assert "OPENCODE_CONFIG" not in launch.variables


def test_gemini_has_a_home_that_leads_to_the_users_and_one_extension_more(launched, tmp_path):
    user = tmp_path / "user" / ".gemini"
    (user / "extensions" / "mine").mkdir(parents=True)
    (user / "settings.json").write_text("{}", encoding="utf-8")
    launch = launched("gemini")
    home = Path(launch.variables["GEMINI_CLI_HOME"]) / ".gemini"
    assert (home / "settings.json").resolve() == user / "settings.json"
    assert (home / "tmp").resolve() == user / "tmp"
    assert (home / "extensions" / "mine").resolve() == user / "extensions" / "mine"
    about = (home / "extensions" / "chant" / "gemini-extension.json").read_text(encoding="utf-8")
    assert json.loads(about)["mcpServers"]["chant"]["command"] == "/bin/chant"
    assert sorted(path.name for path in (user / "extensions").iterdir()) == ["mine"]
    policy = Path(launch.words[launch.words.index("--policy") + 1])
    rules = tomllib.loads(policy.read_text(encoding="utf-8"))["rule"]
    assert [(rule["toolName"], rule["decision"]) for rule in rules] == [
        ("*", "allow"),
        ("run_shell_command", "allow"),
    ]
    assert "--skip-trust" in launch.words
    launched("gemini", permission="read")
    assert "run_shell_command" not in policy.read_text(encoding="utf-8")


def test_gemini_is_told_who_commits(launched, tmp_path, monkeypatch):
    config = tmp_path / "gitconfig"
    config.write_text("[user]\n\tname = Ada\n\temail = a@b\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.delenv("GIT_CONFIG_COUNT", raising=False)
    given = launched("gemini").variables
    shown = subprocess.run(
        ["git", "config", "user.name"],
        cwd=tmp_path,
        env={**os.environ, **given, "GIT_CONFIG_GLOBAL": "/dev/null"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "Ada\n"


def test_copilot_and_qwen_are_told_of_our_server_and_go_on_with_a_session(launched, tmp_path):
    config = tmp_path / "run" / "mcp.json"
    copilot = launched("copilot")
    assert f"@{config}" in copilot.words
    assert copilot.words[-2:] == ["--session-id", copilot.session]
    server = json.loads(config.read_text(encoding="utf-8"))["mcpServers"]["chant"]
    assert server["tools"] == ["*"]
    again = launched("copilot", session="c-1")
    assert (again.words[-1], again.session) == ("--resume=c-1", "c-1")
    qwen = launched("qwen", session="q-1")
    assert qwen.words[-2:] == ["--resume", "q-1"]
    server = json.loads(config.read_text(encoding="utf-8"))["mcpServers"]["chant"]
    assert server["alwaysLoadTools"] is True
    assert launched("qwen").session is None


def test_prompts_go_the_way_each_agent_takes_them(words, tmp_path):
    assert words("cursor-agent")[-2:] == ["--", "the prompt"]
    assert words("kirocli")[1:3] == ["chat", "--no-interactive"]
    assert words("kirocli")[-2:] == ["--", "the prompt"]
    assert words("aider")[-2:] == ["--message-file", f"{tmp_path}/run/prompt.md"]
    assert words("command", command=("x", "{model}", "a b"))[1:] == ["{model}", "a b"]


def test_every_row_is_whole():
    for agent in AGENTS.values():
        assert agent.stream in _READERS
        assert agent.prompt in ("stdin", "argument", "file")
        assert not agent.program or set(agent.permissions) == set(PERMISSIONS)
    assert set(AGENTS) == set(PROVIDERS)
    unseen = {agent.name for agent in AGENTS.values() if not agent.is_verified}
    assert unseen == {"cursor-agent", "kirocli"}


def test_the_server_of_a_run_leads_to_the_real_project(tmp_path, project):
    server = server_of(project.root)
    tell("mcpServers", server, tmp_path, tmp_path, "edit")
    path = tmp_path / "mcp.json"
    entry = json.loads(path.read_text(encoding="utf-8"))["mcpServers"]["chant"]
    assert (entry["type"], entry["env"]) == ("stdio", {"CLEW_PROJECT": str(project.root)})
    assert path.stat().st_mode & 0o077 == 0
    tell("opencode", server, tmp_path, tmp_path, "edit")
    entry = json.loads(path.read_text(encoding="utf-8"))["mcp"]["chant"]
    assert entry["command"] == list(server.command)
    assert entry["environment"] == {"CLEW_PROJECT": str(project.root)}


def test_codex_is_told_of_the_server_in_toml(tmp_path):
    root = tmp_path / 'odd "name"\\'
    server = server_of(root)
    given = tell("codex", server, tmp_path, tmp_path, "edit").words
    parsed = tomllib.loads("\n".join(word for word in given if word != "--config"))
    entry = parsed["mcp_servers"]["chant"]
    assert (entry["command"], *entry["args"]) == server.command
    assert entry["env"] == {"CLEW_PROJECT": str(root)}


@pytest.mark.parametrize("name", AGENTS)
def test_a_question_without_tools_has_no_server(name, launched):
    launch = launched(name, server=Server(), permission="read", command=("x",), model="m")
    config = json.loads(Path(launch.variables["CLEW_MCP_CONFIG"]).read_text(encoding="utf-8"))
    assert config in ({}, {"mcpServers": {}})
    assert "mcp_servers" not in " ".join(launch.words)


def test_the_server_command_answers_anywhere(project):
    asked = b'{"jsonrpc":"2.0","method":"tools/list","id":1}\n'
    done = subprocess.run(
        server_of(project.root).command,
        input=asked,
        capture_output=True,
        cwd="/",
        timeout=60,
        check=True,
    )
    names = [tool["name"] for tool in json.loads(done.stdout)["result"]["tools"]]
    assert "chant_work_start" not in names
    assert "chant_cancel" not in names


@pytest.mark.parametrize(
    ("choice", "error", "said"),
    [
        (AgentChoice("nobody"), NotFound, "Agents: claude, codex"),
        (AgentChoice("qwn"), NotFound, "Did you mean qwen?"),
        (AgentChoice("claude", permission="root"), Invalid, "read, edit, full"),
        (
            AgentChoice("claude", program="no-such-claude"),
            Unavailable,
            "Is it installed and in PATH",
        ),
        (AgentChoice("command"), Invalid, "no program to start"),
        (AgentChoice("command", command=("sh", "a\0b")), Invalid, "no program"),
        (AgentChoice("openai"), Invalid, "needs a model"),
        (AgentChoice("aider", session="s"), Invalid, "cannot go on with a session"),
    ],
)
def test_what_cannot_start_is_told_before(choice, error, said):
    with pytest.raises(error) as raised:
        check_agent(choice, "a prompt")
    assert said in raised.value.full_text()


def test_a_prompt_too_long_for_an_argument_is_told_before():
    with pytest.raises(Invalid, match="too long for cursor-agent"):
        check_agent(AgentChoice("cursor-agent"), "x" * 200_000)
