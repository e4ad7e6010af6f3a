"""Other people's servers, measured where they are installed beside the runner."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from benchmarks.install import SERVERS

PEERS = {"mcp": "sdk_server", "fastmcp": "fastmcp_server"}
NOTE = (
    "Peers run in the runner's own environment with one tool and their logging off; "
    "a peer that is not importable there is skipped."
)


def installed_peers() -> tuple[dict[str, list[str]], dict[str, str]]:
    """The commands of peers that can run, by name and version, and why the others cannot."""
    commands: dict[str, list[str]] = {}
    skipped: dict[str, str] = {}
    for package, script in PEERS.items():
        if find_spec(package) is None:
            skipped[package] = f"{package} is not installed"
        else:
            name = f"{package} {_version(package)}"
            commands[name] = [sys.executable, str(SERVERS / f"{script}.py")]
    return commands, skipped


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"
