"""Agents as data: how each is started, given its prompt, read, continued and kept within bounds."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import Invalid, NotFound, Unavailable
from clew.work.processes.identity import RUN_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.work.model import AgentChoice

PERMISSIONS = ("read", "edit", "full")
_LONGEST_ARGUMENT = 120_000  # Linux refuses a single argument of 128 KiB
_CHILD_PYTHON = ("-P", "-m")  # -P: never import from the directory that is being worked on

# What a host tells its own children. A worker is no child of the host that asked for the work.
_HOST_VARIABLES = (
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PROJECT_DIR", "CODEX_THREAD_ID", "CODEX_SANDBOX", "GEMINI_CLI", "CURSOR_AGENT",
    "OPENCODE", "CLEW_TOOLSETS", "CLEW_TOOLS", "CLEW_EXCLUDE_TOOLS", "CLEW_READ_ONLY",
    "CLEW_EXTENDED", RUN_VARIABLE,
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
    "GIT_NAMESPACE", "GIT_PREFIX",
)  # fmt: skip


@dataclass(frozen=True)
class Agent:
    """One row of the table.

    In the words, `{model}`, `{session}`, `{prompt}`, `{prompt_file}`, `{git_dir_toml}` and `{mcp_config}`
    stand for those of the run. `start` ends the words of a new session, `resume` those of one that
    goes on.
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
    mcp_form: str | None = None
    mcp: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    needs_model: bool = False


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
            mcp_form="mcpServers",
            mcp=("--mcp-config", "{mcp_config}", "--strict-mcp-config"),
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
                    "--config", "sandbox_workspace_write.writable_roots=[{git_dir_toml}]",
                ),
                "full": ("--dangerously-bypass-approvals-and-sandbox",),
            },
            start=("-",),
            resume=("resume", "{session}", "-"),
            stream="codex",
            mcp_form="codex",
        ),
        Agent(
            "opencode",
            "opencode",
            words=("run", "--format", "json"),
            permissions={"read": ("--agent", "plan"), "edit": (), "full": ("--auto",)},
            resume=("--session", "{session}"),
            stream="opencode",
            mcp_form="opencode",
            variables={"OPENCODE_CONFIG": "{mcp_config}"},
        ),
        Agent(
            "gemini",
            "gemini",
            words=("--output-format", "stream-json"),
            permissions={
                "read": ("--approval-mode", "plan"),
                "edit": ("--approval-mode", "auto_edit"),
                "full": ("--approval-mode", "yolo"),
            },
            resume=("--resume", "{session}"),
            stream="gemini",
            mcp_form="mcpServers",
            variables={"GEMINI_CLI_SYSTEM_SETTINGS_PATH": "{mcp_config}"},
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
        ),
        Agent(
            "aider",
            "aider",
            words=("--yes-always", "--no-stream", "--no-pretty", "--no-check-update"),
            permissions={"read": ("--dry-run",), "edit": (), "full": ()},
            start=("--message-file", "{prompt_file}"),
            prompt="file",
            stream="aider",
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
        ),
        Agent(
            "openai",
            sys.executable,
            words=(*_TOOL_LOOP, "--api", "openai"),
            permissions={"read": ("--read-only",), "edit": (), "full": ()},
            stream="claude",
            needs_model=True,
        ),
        Agent(
            "ollama",
            sys.executable,
            words=(*_TOOL_LOOP, "--api", "ollama"),
            permissions={"read": ("--read-only",), "edit": (), "full": ()},
            stream="claude",
            needs_model=True,
        ),
        Agent("command", "", model=()),
    )
}  # fmt: skip


def agent_named(name: str) -> Agent:
    """The agent of that name."""
    if name not in AGENTS:
        raise NotFound(f"Unknown agent: {name[:100]}", f"Agents: {', '.join(AGENTS)}.")
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


def agent_words(
    choice: AgentChoice, program: str, *, paths: Mapping[str, str], mcp_words: tuple[str, ...]
) -> list[str]:
    """The whole command line of a run's agent."""
    agent = agent_named(choice.name)
    ending = agent.start if not choice.session else (agent.resume or ())
    words = (
        *choice.command[1:],
        *agent.words,
        *(agent.model if choice.model else ()),
        *agent.permissions.get(choice.permission, ()),
        *(agent.mcp if agent.mcp_form else ()),
    )
    known = {**paths, "model": choice.model or "", "session": choice.session or ""}
    fill = words if agent.program else ()
    plain = () if agent.program else words
    return [
        program,
        *plain,
        *(_filled(word, known) for word in fill),
        *mcp_words,
        *choice.extra,
        *(_filled(word, known) for word in ending),
    ]


def agent_environment(
    choice: AgentChoice, *, known: Mapping[str, str], added: Mapping[str, str]
) -> dict[str, str]:
    """The environment here without what belongs to the host, with what the run adds."""
    agent = agent_named(choice.name)
    kept = {name: text for name, text in os.environ.items() if name not in _HOST_VARIABLES}
    variables = {name: _filled(text, known) for name, text in agent.variables.items()}
    return {**kept, **(variables if agent.mcp_form else {}), **added}


def _filled(word: str, known: Mapping[str, str]) -> str:
    """The word with its stand-in replaced; what is put in is not looked at again."""
    before, brace, rest = word.partition("{")
    name, closing, after = rest.partition("}")
    return f"{before}{known[name]}{after}" if brace and closing else word
