"""Dex, an identity provider: the program that is there, or one built by Go from its module."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.support.proof import FULL

# Version 2.45.1. Its tag is none that Go takes for this module's path, so it is named by its commit.
VERSION = "v0.0.0-20260303133905-11d2eeb52b42"
_MODULE = "github.com/dexidp/dex/cmd/dex"
_MOST_SECONDS = 3600


def dex_program():
    """The program, or why there is none.

    To build it takes about four minutes of one processor: in full proofs alone, and once.
    """
    found = os.environ.get("DEX") or _on_path()
    if found is None and _kept().exists():
        found = str(_kept())
    if found is not None:
        return found, ""
    if not FULL:
        return None, "no dex: name it by DEX, put it on the PATH, or let PROOF=full build it"
    if shutil.which("go") is None:
        return None, "no dex, and no go to build it"
    return _built()


def _on_path():
    """The provider; a program for desktop entries has the same name."""
    found = shutil.which("dex")
    told = found and subprocess.run([found, "version"], capture_output=True, text=True, check=False)
    return found if told and "Dex Version" in told.stdout else None


def _home():
    """Of the user, whatever HOME a test has."""
    return Path(pwd.getpwuid(os.getuid()).pw_dir)


def _kept():
    return _home() / ".cache" / "clew-tests" / f"dex-{VERSION}"


def _built():
    _kept().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_kept().parent) as place:
        environment = {**os.environ, "HOME": str(_home()), "CGO_ENABLED": "0"}
        for words in (
            ("mod", "init", "dex"),
            ("get", f"{_MODULE}@{VERSION}"),
            ("build", "-o", "dex", _MODULE),
        ):
            done = subprocess.run(
                ["go", *words], cwd=place, env=environment, capture_output=True, text=True,
                check=False, timeout=_MOST_SECONDS,
            )  # fmt: skip
            if done.returncode:
                return None, f"dex was not built: {done.stderr.strip()[-300:]}"
        (Path(place) / "dex").replace(_kept())
    return str(_kept()), ""
