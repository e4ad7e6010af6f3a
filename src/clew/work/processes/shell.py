"""One command, run to its end within a time, everything it started ended with it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from clew.kit.errors import Cancelled, Unavailable
from clew.kit.git import INHERITED_LOCATION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_SHELL = ("/bin/sh", "-c")
_LOOK_SECONDS = 0.25


def command_words(command: str | Sequence[str]) -> list[str]:
    """The words to run: a list as it is, a line by the shell."""
    return [*_SHELL, command] if isinstance(command, str) else list(command)


def shown_command(command: str | Sequence[str]) -> str:
    """The command as people read it."""
    return command if isinstance(command, str) else " ".join(command)


def run_command(
    command: str | Sequence[str],
    *,
    cwd: Path,
    seconds: float,
    variables: Mapping[str, str] | None = None,
    stop: Callable[[], bool] | None = None,
) -> tuple[int, str]:
    """The exit code and what was printed; a command that takes too long is ended.

    So is one that somebody no longer wants, which `stop` tells.
    """
    child = subprocess.Popen(
        command_words(command),
        cwd=cwd,
        env={**_environment(), **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,
    )
    try:
        out = _communicated(child, time.monotonic() + seconds, stop)
    except BaseException as error:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        shown = shown_command(command)
        raise Unavailable(f"Stopped after {seconds:g} s: {shown}", "Allow it more time.") from None
    return child.returncode, out.decode("utf-8", "replace")


def _environment() -> dict[str, str]:
    """The environment here; of a git that called us, a command's own git must not know."""
    return {name: text for name, text in os.environ.items() if name not in INHERITED_LOCATION}


def _communicated(
    child: subprocess.Popen[bytes], deadline: float, stop: Callable[[], bool] | None
) -> bytes:
    while True:
        try:
            left = max(0.0, deadline - time.monotonic())
            return child.communicate(timeout=min(left, _LOOK_SECONDS))[0]
        except subprocess.TimeoutExpired:
            if stop is not None and stop():
                raise Cancelled from None
            if time.monotonic() >= deadline:
                raise
