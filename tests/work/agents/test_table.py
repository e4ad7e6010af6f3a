"""The table of agents: command lines, configuration, preflight."""

from __future__ import annotations

import json
import subprocess
import tomllib

import pytest

from clew.kit.errors import Invalid, NotFound, Unavailable
from clew.work.agents.output import _READERS
from clew.work.agents.programs import (
    AGENTS,
    PERMISSIONS,
    _server_command,
    _write_config,
    agent_words,
    check_agent,
)
from clew.work.model import AgentChoice

KNOWN = {
    "prompt": "the prompt",
    "prompt_file": "/run/prompt.md",
    "mcp_config": "/run/mcp.json",
    "git_dir_toml": '"/repo/.git"',
}


def words(name, mcp_words=(), **settings):
    choice = AgentChoice(name, **settings)
    return agent_words(choice, f"/bin/{name}", paths=KNOWN, mcp_words=mcp_words)


def test_claude_takes_its_prompt_from_input_and_only_our_server():
    line = words("claude", model="opus", session="s-1")
    assert line[:5] == ["/bin/claude", "--print", "--output-format", "stream-json", "--verbose"]
    assert " --model opus " in " ".join(line)
    assert " --mcp-config /run/mcp.json --strict-mcp-config" in " ".join(line)
    assert line[-2:] == ["--resume", "s-1"]
    assert "the prompt" not in line


def test_nobody_skips_permissions_unasked():
    for name in AGENTS:
        line = " ".join(words(name, command=("x",), model="m"))
        for word in ("dangerously", "yolo", "--auto ", "trust-all"):
            assert word not in line
    assert "--dangerously-skip-permissions" in words("claude", permission="full")


def test_codex_may_write_to_the_repository_it_commits_to():
    line = words("codex", mcp_words=("--config", "x=1"))
    assert 'sandbox_workspace_write.writable_roots=["/repo/.git"]' in line
    assert line[-3:] == ["--config", "x=1", "-"]
    assert words("codex", session="t-1")[-3:] == ["resume", "t-1", "-"]


def test_prompts_go_the_way_each_agent_takes_them():
    assert words("cursor-agent")[-2:] == ["--", "the prompt"]
    assert words("kirocli")[1:3] == ["chat", "--no-interactive"]
    assert words("kirocli")[-2:] == ["--", "the prompt"]
    assert words("aider")[-2:] == ["--message-file", "/run/prompt.md"]
    assert words("command", command=("x", "{model}", "a b"))[1:] == ["{model}", "a b"]


def test_every_row_is_whole():
    for agent in AGENTS.values():
        assert agent.stream in _READERS
        assert agent.prompt in ("stdin", "argument", "file")
        assert not agent.program or set(agent.permissions) == set(PERMISSIONS)


def test_the_server_of_a_run_leads_to_the_real_project(tmp_path, project):
    assert _write_config("mcpServers", project.root, tmp_path) == ()
    path = tmp_path / "mcp.json"
    server = json.loads(path.read_text(encoding="utf-8"))["mcpServers"]["chant"]
    assert (server["type"], server["env"]) == ("stdio", {"CLEW_PROJECT": str(project.root)})
    assert path.stat().st_mode & 0o077 == 0
    _write_config("opencode", project.root, tmp_path)
    entry = json.loads((tmp_path / "opencode.json").read_text(encoding="utf-8"))["mcp"]["chant"]
    assert entry["command"] == _server_command(project.root)
    assert entry["environment"] == {"CLEW_PROJECT": str(project.root)}


def test_codex_is_told_of_the_server_in_toml(tmp_path):
    root = tmp_path / 'odd "name"\\'
    given = _write_config("codex", root, tmp_path)
    parsed = tomllib.loads("\n".join(word for word in given if word != "--config"))
    server = parsed["mcp_servers"]["chant"]
    assert [server["command"], *server["args"]] == _server_command(root)
    assert server["env"] == {"CLEW_PROJECT": str(root)}


def test_the_server_command_answers_anywhere(project):
    asked = b'{"jsonrpc":"2.0","method":"tools/list","id":1}\n'
    done = subprocess.run(
        _server_command(project.root),
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
