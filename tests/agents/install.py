"""Install the pinned programs from npm and PyPI, each into a directory of the user's cache."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

PINS = tomllib.loads(Path(__file__).with_name("programs.toml").read_text(encoding="utf-8"))
OLDEST_NODE = 22
_NEWEST_PYTHON = (3, 12)  # that aider runs on
_QUIET = ("--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error")
_MARK = ".installed"
_LONGEST_REASON = 300


@dataclass(frozen=True)
class Installed:
    """Where a program is, or why it is not."""

    name: str
    version: str
    place: Path | None = None
    reason: str = ""


def cache():
    """The directory that keeps installed programs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "clew" / "agents"


def install(name, until):
    """Install one program, unless it is there already; `until` is a time of the monotonic clock."""
    pin = PINS[name]
    place = cache() / f"{name}-{pin['version']}"
    if not (place / _MARK).exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        try:
            reason = (_from_npm if "npm" in pin else _from_pypi)(place, pin, until)
        except subprocess.TimeoutExpired:
            reason = "there was not enough time"
        if reason:
            shutil.rmtree(place, ignore_errors=True)
            return Installed(name, pin["version"], reason=reason)
        (place / _MARK).touch()
    return Installed(name, pin["version"], place)


def newer_node(until):
    """The installation of a new enough Node.js where the system's is too old; None where not."""
    words = [shutil.which("node") or "false", "--version"]
    found = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    if found and int(found.lstrip("v").split(".")[0]) >= OLDEST_NODE:
        return None
    return install("node", until).place


def _from_npm(place, pin, until):
    if shutil.which("npm") is None:
        return "there is no npm"
    (place / "package.json").write_text(json.dumps({"private": True}), encoding="utf-8")
    package = f"{pin['npm']}@{pin['version']}"
    return _failure(["npm", "install", "--save-exact", *_QUIET, package], place, until)


def _from_pypi(place, pin, until):
    python = _older_python()
    if python is None:
        return f"needs Python {'.'.join(map(str, _NEWEST_PYTHON))} or older"
    wanted = f"{pin['pypi']}=={pin['version']}"
    pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    made = _failure([python, "-m", "venv", str(place)], place, until)
    return made or _failure([*pip, "--disable-pip-version-check", wanted], place, until)


def _older_python():
    if sys.version_info[:2] <= _NEWEST_PYTHON:
        return sys.executable
    names = (f"python3.{minor}" for minor in range(_NEWEST_PYTHON[1], 9, -1))
    return next((found for name in names if (found := shutil.which(name))), None)


def _failure(words, place, until):
    """Why the command failed; empty where it did not."""
    seconds = max(until - time.monotonic(), 1.0)
    done = subprocess.run(
        words, cwd=place, capture_output=True, text=True, timeout=seconds, check=False
    )
    if done.returncode == 0:
        return ""
    said = " ".join((done.stderr or done.stdout).split())
    return said[-_LONGEST_REASON:] or f"{words[0]} ended with {done.returncode}"
