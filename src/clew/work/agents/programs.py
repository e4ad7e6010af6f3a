"""Agents as data: how each is started, given its prompt, read, continued and kept within bounds.

The command line, input, environment and tool server of one run follow from its row. The
configuration of the server is in the directory of the run and leads to the real project.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from clew.kit import jsontext
from clew.kit.errors import Invalid, NotFound, Unavailable
from clew.kit.files import write_atomic
from clew.kit.jsontext import JsonObject
from clew.kit.paths import ProjectPaths
from clew.work.model import AgentChoice, Run
from clew.work.paths import git_common_directory
from clew.work.processes.identity import RUN_VARIABLE

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
PROMPT_FILE = "prompt.md"
SERVER_NAME = "chant"
# A worker reads and fills in specs. Starting, stopping and putting away work is for its host.
_WORKER_OPTIONS = (
    "--toolsets", "specs", "--exclude-tools", "chant_reset,chant_cancel,chant_archive,chant_finalize",
)  # fmt: skip
_FILES = {"mcpServers": "mcp.json", "opencode": "opencode.json"}
_FACE = "import sys; from clew.faces import chant; sys.exit(chant())"


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


def agent_command(paths: ProjectPaths, run: Run) -> list[str]:
    """The command line of the run's agent; the configuration that it names is written."""
    form = agent_named(run.plan.agent.name).mcp_form
    mcp_words = _write_config(form, paths.root, paths.run_directory(run.run_id))
    stand_ins = _stand_ins(paths, run)
    return agent_words(run.plan.agent, run.plan.program, paths=stand_ins, mcp_words=mcp_words)


def prompt_input(paths: ProjectPaths, run: Run) -> Path | None:
    """The file that is the agent's standard input, if it takes its prompt there."""
    if agent_named(run.plan.agent.name).prompt != "stdin":
        return None
    return paths.run_directory(run.run_id) / PROMPT_FILE


def run_environment(paths: ProjectPaths, run: Run, worktree: Path) -> dict[str, str]:
    """The environment of everything that the run starts."""
    known = _stand_ins(paths, run)
    added = {
        RUN_VARIABLE: run.run_id,
        "CLEW_PROJECT": str(paths.root),
        "CLEW_PROMPT_FILE": known["prompt_file"],
        "CLEW_MCP_CONFIG": known["mcp_config"],
        "CHANT_SPEC_ID": run.spec_id,
        "CHANT_WORKTREE": "1",
        "CHANT_WORKTREE_PATH": str(worktree),
        "CHANT_BRANCH": run.branch or "",
    }
    if run.plan.spec_file:
        added["CHANT_SPEC_FILE"] = run.plan.spec_file
    return agent_environment(run.plan.agent, known=known, added=added)


def _stand_ins(paths: ProjectPaths, run: Run) -> dict[str, str]:
    directory = paths.run_directory(run.run_id)
    prompt = directory / PROMPT_FILE
    form = agent_named(run.plan.agent.name).mcp_form
    return {
        "prompt": prompt.read_text(encoding="utf-8"),
        "prompt_file": str(prompt),
        "mcp_config": str(directory / config_name(form)),
        "git_dir_toml": toml_string(str(git_common_directory(paths.root))),
    }


def _server_command(root: Path) -> list[str]:
    """The command that serves this project's specs, by full paths."""
    script = Path(sys.executable).parent / "chant"
    start = [str(script)] if script.exists() else [sys.executable, "-P", "-c", _FACE]
    return [*start, "mcp", *_WORKER_OPTIONS, "--project", str(root)]


def config_name(form: str | None) -> str:
    """The name of the configuration file in that form; the common one where there is none."""
    return _FILES.get(form or "", _FILES["mcpServers"])


def _write_config(form: str | None, root: Path, run_directory: Path) -> tuple[str, ...]:
    """Write a run's configuration; the words that an agent needs which takes no such file."""
    command = _server_command(root)
    variables = {"CLEW_PROJECT": str(root)}
    path = run_directory / config_name(form)
    write_atomic(path, jsontext.pretty(_content(form, command, variables)) + "\n", mode=0o600)
    return _codex_words(command, variables) if form == "codex" else ()


def _content(form: str | None, command: list[str], variables: dict[str, str]) -> JsonObject:
    if form == "opencode":
        entry: JsonObject = {
            "type": "local",
            "command": command,
            "enabled": True,
            "environment": variables,
        }
        return {"$schema": "https://opencode.ai/config.json", "mcp": {SERVER_NAME: entry}}
    return {
        "mcpServers": {
            SERVER_NAME: {
                "type": "stdio",
                "command": command[0],
                "args": command[1:],
                "env": variables,
            }
        }
    }


def _codex_words(command: list[str], variables: dict[str, str]) -> tuple[str, ...]:
    """Codex takes values in TOML, whose strings and lists JSON can write."""
    table = ", ".join(f"{name} = {toml_string(text)}" for name, text in variables.items())
    key = f"mcp_servers.{SERVER_NAME}"
    return (
        "--config", f"{key}.command={toml_string(command[0])}",
        "--config", f"{key}.args=[{', '.join(map(toml_string, command[1:]))}]",
        "--config", f"{key}.env={{{table}}}",
    )  # fmt: skip


def toml_string(text: str) -> str:
    """The text as a basic string of TOML."""
    return jsontext.dumps(text).replace("\x7f", "\\u007f")
