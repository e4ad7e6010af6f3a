"""How the agent of one run is started: command line, input, environment, and its tool server.

The server's configuration is in the run's own directory and leads to the real project.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit import jsontext
from clew.kit.files import write_atomic
from clew.work.agents.table import agent_environment, agent_named, agent_words
from clew.work.paths import git_common_directory
from clew.work.processes.identity import RUN_VARIABLE

if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject
    from clew.kit.paths import ProjectPaths
    from clew.work.model import Run

PROMPT_FILE = "prompt.md"
SERVER_NAME = "chant"
# A worker reads and fills in specs. Starting, stopping and putting away work is for its host.
_WORKER_OPTIONS = (
    "--toolsets", "specs", "--exclude-tools", "chant_reset,chant_cancel,chant_archive,chant_finalize",
)  # fmt: skip
_FILES = {"mcpServers": "mcp.json", "opencode": "opencode.json"}


_FACE = "import sys; from clew.faces import chant; sys.exit(chant())"


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
