"""What a child inherits: its own directory, the user's settings, nothing of a caller's session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew.work.processes.child import drain, run_command, start_child
from clew.work.processes.environment import child_environment

SHOW = (sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))")
OF_A_SESSION = (
    "OLDPWD",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_CONFIG_PARAMETERS",
    "CLAUDECODE",
    "CLAUDE_PID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CODEX_THREAD_ID",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_CI",
    "COPILOT_CLI",
    "COPILOT_LOADER_PID",
    "COPILOT_AGENT_SESSION_ID",
    "GEMINI_CLI_NO_RELAUNCH",
    "GEMINI_CLI_IDE_SERVER_PORT",
    "QWEN_CODE",
    "QWEN_CODE_SESSION_ID",
    "QWEN_CODE_NO_RELAUNCH",
    "QWEN_CODE_PROJECT_DIR",
    "OPENCODE",
    "OPENCODE_PID",
    "CURSOR_AGENT",
    "CLEW_READ_ONLY",
)
THE_USERS = (
    "ANTHROPIC_API_KEY",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CODEX_HOME",
    "CODEX_API_KEY",
    "COPILOT_HOME",
    "COPILOT_MODEL",
    "COPILOT_PROVIDER_BASE_URL",
    "COPILOT_GITHUB_TOKEN",
    "GEMINI_API_KEY",
    "GEMINI_CLI_HOME",
    "OPENCODE_CONFIG",
    "OPENCODE_PERMISSION",
    "QWEN_CODE_LANG",
    "QWEN_CODE_MAX_OUTPUT_TOKENS",
    "GIT_AUTHOR_NAME",
    "GIT_CONFIG_GLOBAL",
    "GIT_SSH_COMMAND",
)


@pytest.mark.parametrize("name", OF_A_SESSION)
def test_a_callers_session_and_repository_are_not_inherited(name, monkeypatch, tmp_path):
    monkeypatch.setenv(name, "x")
    assert name not in child_environment(tmp_path)


@pytest.mark.parametrize("name", THE_USERS)
def test_settings_and_credentials_are_inherited(name, monkeypatch, tmp_path):
    monkeypatch.setenv(name, "x")
    assert child_environment(tmp_path)[name] == "x"


def test_what_a_run_adds_is_said_whatever_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("GIT_INDEX_FILE", "theirs")
    assert child_environment(tmp_path, {"GIT_INDEX_FILE": "ours"})["GIT_INDEX_FILE"] == "ours"


def test_a_host_that_hides_git_settings_hides_them_from_its_own_shell_only(monkeypatch, tmp_path):
    monkeypatch.setenv("GEMINI_CLI", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    assert not [name for name in child_environment(tmp_path) if name.startswith("GIT_CONFIG_")]


def shown_by_command(cwd):
    code, said = run_command(SHOW, cwd=cwd, seconds=60)
    assert code == 0
    return json.loads(said)


def shown_by_child(cwd):
    said = []
    child = start_child(SHOW, cwd=cwd, variables={})
    drain(child, on_line=lambda _, line: said.append(line), check=lambda: None, grace_seconds=1)
    return json.loads("".join(said))


@pytest.mark.parametrize("shown", [shown_by_command, shown_by_child])
def test_a_child_is_told_its_own_directory_when_its_callers_lies(shown, monkeypatch, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run(["git", "init", "-q", str(elsewhere)], check=True)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.setenv("PWD", str(elsewhere))
    monkeypatch.setenv("OLDPWD", str(elsewhere))
    monkeypatch.setenv("GIT_DIR", str(elsewhere / ".git"))
    seen = shown(here)
    assert seen["PWD"] == str(here)
    assert Path(seen["PWD"]) != Path(os.environ["PWD"])
    assert {"OLDPWD", "GIT_DIR"}.isdisjoint(seen)
