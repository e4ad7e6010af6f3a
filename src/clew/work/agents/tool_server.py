"""How an agent is told of the server of this project's specs: in the form that it takes.

What is written is in the directory of the run, and the server leads to the real project. Nothing of
the user's own configuration is changed, and nothing is written where git would see it.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clew.kit import jsontext
from clew.kit.files import private_directory, write_atomic
from clew.kit.git import run_git
from clew.kit.jsontext import JsonObject

SERVER_NAME = "chant"
# A worker reads and fills in specs. Starting, stopping and putting away work is for its host.
_WORKER_OPTIONS = (
    "--toolsets", "specs", "--exclude-tools", "chant_reset,chant_cancel,chant_archive,chant_finalize",
)  # fmt: skip
_FACE = "import sys; from clew.faces import chant; sys.exit(chant())"
_CONFIG_FILE = "mcp.json"
# What an entry of these has besides: its tools are offered at once and need no answer of a person.
_BESIDES: dict[str, JsonObject] = {
    "copilot": {"tools": ["*"]},
    "qwen": {"alwaysLoadTools": True, "trust": True},
}
_GEMINI = ".gemini"
# Where Gemini CLI keeps sessions; a run that goes on with one must find them there.
_GEMINI_STATE = ("tmp", "history")
_PASSED_ON = r"^(user\.(name|email)|safe\.directory)$"


@dataclass(frozen=True)
class Server:
    """The command of a tool server and its environment; an empty command is no server."""

    command: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Told:
    """What an agent is told: stand-ins for its words, further words, variables."""

    names: dict[str, str]
    words: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)


def server_of(root: Path) -> Server:
    """The server of this project's specs, by full paths."""
    script = Path(sys.executable).parent / "chant"
    start = [str(script)] if script.exists() else [sys.executable, "-P", "-c", _FACE]
    command = (*start, "mcp", *_WORKER_OPTIONS, "--project", str(root))
    return Server(command, {"CLEW_PROJECT": str(root)})


def tell(form: str | None, server: Server, directory: Path, cwd: Path, permission: str) -> Told:
    """Write the configuration in its form; what then has to be said to the agent."""
    content = _opencode(server) if form == "opencode" else _servers(server, form)
    text = jsontext.dumps(content)
    path = directory / _CONFIG_FILE
    write_atomic(path, text + "\n", mode=0o600)
    names = {"mcp_config": str(path), "mcp_json": text}
    if form == "codex":
        return Told(names, _codex_words(server))
    if form == "gemini":
        home = _gemini_home(directory, content)
        policy = directory / "policy.toml"
        write_atomic(policy, _gemini_policy(permission), mode=0o600)
        return Told({**names, "home": str(home), "policy": str(policy)}, (), _git_settings(cwd))
    return Told(names)


def _servers(server: Server, form: str | None) -> JsonObject:
    if not server.command:
        return {"mcpServers": {}}
    entry: JsonObject = {
        "type": "stdio",
        "command": server.command[0],
        "args": list(server.command[1:]),
        "env": server.variables,
    }
    return {"mcpServers": {SERVER_NAME: entry | _BESIDES.get(form or "", {})}}


def _opencode(server: Server) -> JsonObject:
    entry: JsonObject = {
        "type": "local",
        "command": list(server.command),
        "enabled": True,
        "environment": server.variables,
    }
    return {"mcp": {SERVER_NAME: entry}} if server.command else {}


def _codex_words(server: Server) -> tuple[str, ...]:
    """Codex takes values in TOML, whose strings and lists JSON can write."""
    if not server.command:
        return ()
    table = ", ".join(f"{name} = {toml_string(text)}" for name, text in server.variables.items())
    key = f"mcp_servers.{SERVER_NAME}"
    return (
        "--config", f"{key}.command={toml_string(server.command[0])}",
        "--config", f"{key}.args={toml_list(server.command[1:])}",
        "--config", f"{key}.env={{{table}}}",
    )  # fmt: skip


def toml_string(text: str) -> str:
    """The text as a basic string of TOML."""
    return jsontext.dumps(text).replace("\x7f", "\\u007f")


def toml_list(texts: tuple[str, ...] | list[str]) -> str:
    """The texts as an array of TOML."""
    return f"[{', '.join(map(toml_string, texts))}]"


def _gemini_home(directory: Path, servers: JsonObject) -> Path:
    """A home for one run: the user's own, linked, and the server as one extension more.

    Gemini CLI takes servers from settings and extensions only. Settings of a system must belong to
    root, those of a project would be in the worktree, and the user's are the user's.
    """
    home = directory / "home"
    mine = private_directory(home / _GEMINI)
    user = Path(os.environ.get("GEMINI_CLI_HOME") or Path.home()) / _GEMINI
    for name in _GEMINI_STATE:
        with suppress(OSError):
            (user / name).mkdir(parents=True, exist_ok=True)
    _link_all(user, mine, but="extensions")
    for name in (".env", ".agents"):
        if (user.parent / name).exists() and not (home / name).is_symlink():
            (home / name).symlink_to(user.parent / name)
    extensions = private_directory(mine / "extensions")
    _link_all(user / "extensions", extensions, but=SERVER_NAME)
    own = private_directory(extensions / SERVER_NAME)
    about = {"name": SERVER_NAME, "version": "1.0.0", **servers}
    write_atomic(own / "gemini-extension.json", jsontext.dumps(about) + "\n", mode=0o600)
    return home


def _link_all(source: Path, target: Path, *, but: str) -> None:
    entries = sorted(source.iterdir()) if source.is_dir() else []
    for entry in entries:
        link = target / entry.name
        if entry.name != but and not link.is_symlink() and not link.exists():
            link.symlink_to(entry.resolve())


def _gemini_policy(permission: str) -> str:
    """What needs no answer from a person: the server, and in a run that edits also the shell."""
    names = [f'toolName = "*"\nmcpName = {toml_string(SERVER_NAME)}']
    if permission != "read":
        names.append('toolName = "run_shell_command"')
    return "\n".join(f'[[rule]]\n{name}\ndecision = "allow"\npriority = 100\n' for name in names)


def _git_settings(cwd: Path) -> dict[str, str]:
    """Who commits, and what is trusted: Gemini's shell hides the user's configuration from git."""
    out = run_git("config", "-z", "--get-regexp", _PASSED_ON, cwd=cwd, check=False)
    pairs = [entry.partition("\n")[::2] for entry in out.decode("utf-8", "replace").split("\0")]
    given = os.environ.get("GIT_CONFIG_COUNT", "")
    count = int(given) if given.isdecimal() else 0
    variables = dict[str, str]()
    for key, text in pairs:
        if key:
            variables |= {f"GIT_CONFIG_KEY_{count}": key, f"GIT_CONFIG_VALUE_{count}": text}
            count += 1
    return {**variables, "GIT_CONFIG_COUNT": str(count)} if variables else {}
