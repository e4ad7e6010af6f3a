"""`make try`: the first two minutes, played through on a throw-away home directory.

Registers this repository's server with an agent host, starts exactly the command that was
written, talks to it with the official client, shows the answers, and undoes everything.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
# Variables that would lead a host's or our own files out of the throw-away home.
_ELSEWHERE = ("CLAUDE_", "CODEX_", "COPILOT_", "CLEW_", "COMMITMUX_", "XDG_")


def say(title: str) -> None:
    """Announce a step."""
    print(f"\n== {title}", flush=True)


def run(*words: str, home: Path) -> None:
    """Show a command, run it as a user would, and stop the story if it fails."""
    print(f"$ {' '.join(words)}", flush=True)
    program = str(BIN / words[0])
    subprocess.run([program, *words[1:]], cwd=ROOT, env=environment(home), check=True)


def environment(home: Path) -> dict[str, str]:
    """A user's environment whose home is thrown away afterwards."""
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    settings = {"HOME": str(home), "CLEW_HOME": str(home / ".clew"), "PATH": path}
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(_ELSEWHERE)}
    return {**inherited, **settings}


def show_text(text: str, lines: int) -> None:
    """The beginning of an answer, indented."""
    shown = text.splitlines()
    for line in shown[:lines]:
        print(f"    {line}")
    if len(shown) > lines:
        print(f"    … {len(shown) - lines} more lines")


async def talk(entry: dict[str, object], home: Path, mode: str) -> None:
    """Connect with the official client, list the tools, call two of them."""
    from mcp.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(
        command=str(entry["command"]),
        args=[*entry["args"], "--toolsets", "guide,advisors"],  # type: ignore[misc]
        env=environment(home),
        cwd=str(ROOT),
    )
    async with Client(stdio_client(parameters), mode=mode) as client:
        tools = (await client.list_tools()).tools
        print(f"{mode}: connected; tools: {', '.join(tool.name for tool in tools)}")
        if mode != "auto":
            return
        say("Ask the guide what is set up here (tool clew_guide)")
        guide = await client.call_tool("clew_guide", {})
        show_text(guide.content[0].text, 18)
        say("Run a slow tool and watch its progress (tool long_running_operation)")

        async def progress(done: float, total: float | None, message: str | None) -> None:
            print(f"    {done:g}/{total or 0:g} {message}")

        arguments = {"operation_name": "Trying Clew", "duration_seconds": 2}
        done = await client.call_tool(
            "long_running_operation", arguments, progress_callback=progress
        )
        show_text(done.content[0].text, 3)


def speak_older_dialect(home: Path) -> None:
    """Pipe one line into a face's server, no handshake, as its documents show."""
    request = {"jsonrpc": "2.0", "id": "tools-1", "method": "list_tools"}
    print(f"$ echo '{json.dumps(request)}' | clariad serve")
    done = subprocess.run(
        [str(BIN / "clariad"), "serve"],
        input=json.dumps(request) + "\n",
        text=True,
        capture_output=True,
        env=environment(home),
        check=True,
    )
    show_text(json.dumps(json.loads(done.stdout), indent=2), 12)


def main() -> int:
    """Play the story; the exit code."""
    with tempfile.TemporaryDirectory(prefix="clew-try-") as directory:
        home = Path(directory)
        (home / ".claude.json").write_text('{"theme": "dark"}\n', encoding="utf-8")
        say("Is this machine fit?")
        run("clew", "doctor", home=home)
        say("Register this repository with Claude Code (in a throw-away home directory)")
        run("clew", "setup", "claude-code", "--scope", "user", home=home)
        config = json.loads((home / ".claude.json").read_text(encoding="utf-8"))
        entry = config["mcpServers"]["clew"]
        show_text(json.dumps(config, indent=2), 20)
        say("Talk to it with the official client, in all three of its modes")
        for mode in ("legacy", "2026-07-28", "auto"):
            asyncio.run(talk(entry, home, mode))
        say("The older dialect works too, without a handshake")
        speak_older_dialect(home)
        say("Undo: the host's file is as it was")
        run("clew", "uninit", "--all", home=home)
        assert (home / ".claude.json").read_text(encoding="utf-8") == '{"theme": "dark"}\n'
    say("Done. Next: `clew init` in a project of yours, or read README.md.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
