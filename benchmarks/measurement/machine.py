"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

from benchmarks.measurement.install import ROOT


def describe() -> dict[str, str]:
    """Processor, memory, interpreter, system and the state of the tree."""
    return {
        "processor": _from_file("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": str(os.cpu_count()),
        "memory": _memory(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "system": _system(),
        "source": _source(),
    }


def load() -> str:
    """The load averages over 1, 5 and 15 minutes."""
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def _from_file(path: str, key: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    pairs = (line.partition(":") for line in lines)
    return next((value.strip() for name, _, value in pairs if name.strip() == key), "")


def _memory() -> str:
    words = _from_file("/proc/meminfo", "MemTotal").split()
    return f"{int(words[0]) / 1024 / 1024:.1f} GiB" if words else "unknown"


def _system() -> str:
    name = _from_file_value("/etc/os-release", "PRETTY_NAME") or platform.system()
    return f"{name}, {platform.system()} {platform.release()} {platform.machine()}"


def _from_file_value(path: str, key: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    pairs = (line.partition("=") for line in lines)
    return next((value.strip('"') for name, _, value in pairs if name == key), "")


def _source() -> str:
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = _git("status", "--porcelain", "--", "src")
    return f"{commit or 'no commit'}{', src has changes since' if changed else ''}"


def _git(*words: str) -> str:
    try:
        done = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip()
