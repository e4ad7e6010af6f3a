"""The tool server of a run: written into the run's own directory, leading to the real project."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit import jsontext
from clew.kit.files import write_atomic

if TYPE_CHECKING:
    from clew.kit.jsontext import JsonObject

SERVER_NAME = "chant"
# A worker reads and fills in specs. Starting, stopping and putting away work is for its host.
_WORKER_OPTIONS = (
    "--toolsets", "specs", "--exclude-tools", "chant_reset,chant_cancel,chant_archive,chant_finalize",
)  # fmt: skip
_FILES = {"mcpServers": "mcp.json", "opencode": "opencode.json"}


def server_command(root: Path) -> list[str]:
    """The command that serves this project's specs, by full paths."""
    script = Path(sys.executable).parent / "chant"
    start = [str(script)] if script.exists() else [sys.executable, "-P", "-c", _FACE]
    return [*start, "mcp", *_WORKER_OPTIONS, "--project", str(root)]


_FACE = "import sys; from clew.faces import chant; sys.exit(chant())"


def config_name(form: str | None) -> str:
    """The name of the configuration file in that form; the common one where there is none."""
    return _FILES.get(form or "", _FILES["mcpServers"])


def write_config(form: str | None, root: Path, run_directory: Path) -> tuple[str, ...]:
    """Write a run's configuration; the words that an agent needs which takes no such file."""
    command = server_command(root)
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
