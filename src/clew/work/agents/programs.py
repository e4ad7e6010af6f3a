"""Agents as data: how each is started, given its prompt, read, continued and kept within bounds."""

from __future__ import annotations

import difflib
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clew.kit.errors import Invalid, NotFound, Unavailable
from clew.work.model import AgentChoice

PERMISSIONS = ("read", "edit", "full")
_LONGEST_ARGUMENT = 120_000  # Linux refuses a single argument of 128 KiB
_CHILD_PYTHON = ("-P", "-m")  # -P: never import from the directory that is being worked on


@dataclass(frozen=True)
class Agent:
    """One row of the table.

    In the words and variables, `{model}`, `{session}`, `{new_session}`, `{prompt}`, `{prompt_file}`,
    `{worktree}` and what the configuration in its form brings stand for those of the run. `start`
    ends the words of a new session, `resume` those of one that goes on.
    """

    name: str
    program: str
    words: tuple[str, ...] = ()
    model: tuple[str, ...] = ("--model", "{model}")
    permissions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    start: tuple[str, ...] = ()
    resume: tuple[str, ...] | None = None
    prompt: str = "stdin"
    stream: str = "either"
    configuration: str | None = None  # the form in which it is told of the tool server
    told: tuple[str, ...] = ()  # the words that lead to that configuration
    variables: Mapping[str, str] = field(default_factory=dict)
    budget: tuple[str, ...] = ()  # the words that make the program itself keep to a limit
    tells: str = ""  # what it tells of its use: "cost" or "tokens" as it goes, "end" at its end
    needs_model: bool = False
    # What in the home is its own: directories end in a slash, files are copied, variables name more.
    # None: not known, so that it is fenced in only when asked for.
    own: tuple[str, ...] | None = None
    fenced_itself: tuple[str, ...] = ()  # the permissions with which it has a sandbox of its own
    ticks_by_checks: bool = False  # it has no tools, so a check that passed ticks its criterion
    is_verified: bool = True  # the program itself was tried, not only its documentation read


_TOOL_LOOP = (*_CHILD_PYTHON, "clew.work.agents.builtin")

AGENTS = {
    agent.name: agent
    for agent in (
        Agent(
            "claude",
            "claude",
            words=("--print", "--output-format", "stream-json", "--verbose"),
            permissions={
                "read": ("--permission-mode", "plan"),
                "edit": (
                    "--permission-mode", "acceptEdits",
                    "--allowedTools", "Bash,Edit,Write,NotebookEdit,mcp__chant",
                ),
                "full": ("--dangerously-skip-permissions",),
            },
            resume=("--resume", "{session}"),
            stream="claude",
            configuration="mcpServers",
            told=("--mcp-config", "{mcp_config}", "--strict-mcp-config"),
            own=(".claude/", ".claude.json", "CLAUDE_CONFIG_DIR"),
            budget=("--max-budget-usd", "{budget}"),
            tells="end",
        ),
        Agent(
            "codex",
            "codex",
            words=("exec", "--json", "--color", "never"),
            permissions={
                "read": ("--sandbox", "read-only"),
                # A commit in a linked worktree writes to the repository's own git directory.
                "edit": (
                    "--sandbox", "workspace-write",
                    "--config", "sandbox_workspace_write.writable_roots={git_directories}",
                ),
                "full": ("--dangerously-bypass-approvals-and-sandbox",),
            },
            start=("-",),
            resume=("resume", "{session}", "-"),
            stream="codex",
            configuration="codex",
            own=(".codex/", "CODEX_HOME"),
            fenced_itself=("read", "edit"),
            tells="end",
        ),
        Agent(
            "opencode",
            "opencode",
            words=(
                "run", "--format", "json", "--dir", "{worktree}",
                "--print-logs", "--log-level", "ERROR",
            ),
            permissions={"read": ("--agent", "plan"), "edit": (), "full": ("--auto",)},
            resume=("--session", "{session}"),
            stream="opencode",
            configuration="opencode",
            variables={"OPENCODE_CONFIG_CONTENT": "{mcp_json}"},
            own=(
                ".config/opencode/", ".local/share/opencode/", ".local/state/opencode/",
                ".cache/opencode/",
            ),
            tells="cost",
        ),
        Agent(
            "gemini",
            "gemini",
            words=("--output-format", "stream-json", "--skip-trust"),
            permissions={
                "read": ("--approval-mode", "plan"),
                "edit": ("--approval-mode", "auto_edit"),
                "full": ("--approval-mode", "yolo"),
            },
            resume=("--resume", "{session}"),
            stream="gemini",
            configuration="gemini",
            told=("--policy", "{policy}", "--allowed-mcp-server-names", "chant"),
            variables={"GEMINI_CLI_HOME": "{home}"},
            own=(".gemini/", "GEMINI_CLI_HOME"),
            tells="end",
        ),
        Agent(
            "copilot",
            "copilot",
            words=(
                "--output-format", "json", "--no-color", "--no-auto-update", "--no-ask-user",
                "--disable-builtin-mcps",
            ),
            permissions={
                "read": ("--allow-all-tools", "--deny-tool", "write", "--deny-tool", "shell"),
                "edit": ("--allow-all-tools",),
                "full": ("--allow-all",),
            },
            start=("--session-id", "{new_session}"),
            resume=("--resume={session}",),
            stream="copilot",
            configuration="copilot",
            told=("--additional-mcp-config", "@{mcp_config}"),
            own=(".copilot/", "COPILOT_HOME"),
        ),
        Agent(
            "qwen",
            "qwen",
            words=("--output-format", "stream-json"),
            permissions={
                "read": ("--approval-mode", "plan"),
                "edit": ("--approval-mode", "auto-edit", "--allowed-tools", "run_shell_command"),
                "full": ("--approval-mode", "yolo"),
            },
            resume=("--resume", "{session}"),
            stream="claude",
            configuration="qwen",
            told=("--mcp-config", "{mcp_config}", "--allowed-mcp-server-names", "chant"),
            own=(".qwen/",),
            tells="end",
        ),
        Agent(
            "cursor-agent",
            "cursor-agent",
            words=("--print", "--output-format", "stream-json"),
            permissions={"read": ("--mode", "plan"), "edit": ("--force",), "full": ("--force",)},
            start=("--", "{prompt}"),
            resume=("--resume", "{session}", "--", "{prompt}"),
            prompt="argument",
            stream="claude",
            is_verified=False,
        ),
        Agent(
            "aider",
            "aider",
            words=("--yes-always", "--no-stream", "--no-pretty", "--no-check-update", "--no-gitignore"),
            permissions={"read": ("--dry-run",), "edit": (), "full": ()},
            start=("--message-file", "{prompt_file}"),
            prompt="file",
            stream="aider",
            own=(".aider/", ".aider.conf.yml", ".aider.model.settings.yml"),
            tells="end",
            ticks_by_checks=True,
        ),
        Agent(
            "kirocli",
            "kiro-cli",
            words=("chat", "--no-interactive"),
            permissions={
                "read": ("--trust-tools=fs_read",),
                "edit": ("--trust-tools=fs_read,fs_write,execute_bash",),
                "full": ("--trust-all-tools",),
            },
            start=("--", "{prompt}"),
            prompt="argument",
            is_verified=False,
        ),
        Agent(
            "openai",
            sys.executable,
            words=(*_TOOL_LOOP, "--api", "openai"),
            permissions={"read": ("--read-only",), "edit": (), "full": ()},
            stream="claude",
            needs_model=True,
            own=(),
        ),
        Agent(
            "ollama",
            sys.executable,
            words=(*_TOOL_LOOP, "--api", "ollama"),
            permissions={"read": ("--read-only",), "edit": (), "full": ()},
            stream="claude",
            needs_model=True,
            own=(),
        ),
        Agent("command", "", model=()),
    )
}  # fmt: skip


def agent_named(name: str) -> Agent:
    """The agent of that name; another's never stands in for it."""
    if name not in AGENTS:
        near = difflib.get_close_matches(name, AGENTS, 1)
        meant = f"Did you mean {near[0]}? " if near else ""
        raise NotFound(f"Unknown agent: {name[:100]}", f"{meant}Agents: {', '.join(AGENTS)}.")
    return AGENTS[name]


def check_agent(choice: AgentChoice, prompt: str) -> str:
    """The full path of the agent's program; raises with every reason why it could not start."""
    agent = agent_named(choice.name)
    if choice.permission not in PERMISSIONS:
        raise Invalid(
            f"Unknown permission: {choice.permission}", f"One of: {', '.join(PERMISSIONS)}."
        )
    if not prompt.strip():
        raise Invalid("The prompt is empty", "Give the spec a description.")
    if agent.prompt == "argument" and len(prompt.encode()) > _LONGEST_ARGUMENT:
        raise Invalid(
            f"The prompt is too long for {agent.name}, which takes it as an argument",
            "Shorten the spec, or choose another agent.",
        )
    if agent.needs_model and not choice.model:
        raise Invalid(f"Agent {agent.name} needs a model", "Name one with --model.")
    if choice.session and agent.resume is None:
        raise Invalid(f"Agent {agent.name} cannot go on with a session", "Start it without one.")
    words = (choice.program or agent.program,) if agent.program else choice.command
    if not words or not words[0] or any("\0" in word for word in (*words, *choice.extra)):
        raise Invalid(f"Agent {agent.name} has no program to start", "Name a command.")
    program = shutil.which(words[0])
    if program is None:
        raise Unavailable(
            f"Failed to invoke agent '{words[0]}'. Is it installed and in PATH?",
            "Install it, or choose another with --agent.",
        )
    return str(Path(program).absolute())
