"""The one way to run git: fixed environment, guarded arguments, bytes for paths."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from clew.kit.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

# A repository's own configuration may name programs to run; these are the ones git would start
# for the plumbing commands used here.
_SAFE_CONFIG = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.pager=cat",
    "-c",
    "diff.external=",
    "-c",
    "protocol.ext.allow=never",
)
INHERITED_LOCATION = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
)


class GitError(Invalid):
    """git refused; the message carries its own words."""


def git_environment() -> dict[str, str]:
    """The environment for every git process: no prompts, no locale, no inherited repository."""
    environment = {k: v for k, v in os.environ.items() if k not in INHERITED_LOCATION}
    environment |= {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
    return environment


def guard(value: str) -> str:
    """A revision, name or path that cannot be taken for an option."""
    if value.startswith("-") or "\x00" in value or "\n" in value:
        raise Invalid(f"Not usable as a git argument: {value!r}")
    return value


def seconds_of(date: str) -> int:
    """The time that git tells of a commit; 0 where the commit has none that can be read."""
    try:
        return int(date)
    except ValueError:
        return 0


def run_git(
    *arguments: str,
    cwd: Path,
    check: bool = True,
    timeout: float = 60,
    variables: Mapping[str, str] | None = None,
) -> bytes:
    """What git printed; a failure raises GitError with git's own words.

    `variables` are added to the environment: an index of one's own, an author.
    """
    command = ["git", *_SAFE_CONFIG, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**git_environment(), **(variables or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        if not Path(cwd).is_dir():
            raise Invalid(f"No such directory: {cwd}") from error
        raise Unavailable("git is not installed", "Install git 2.30 or newer.") from error
    except subprocess.TimeoutExpired as error:
        raise GitError(f"git {arguments[0]} did not answer within {timeout:.0f} s") from error
    if check and done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
        raise GitError(f"git {arguments[0]} failed: {words}")
    return done.stdout


def git_version() -> tuple[int, ...]:
    """The version of git as numbers, `(2, 39, 5)`."""
    words = run_git("--version", cwd=Path("/")).decode("ascii", "replace").split()
    numbers = words[2].split(".") if len(words) > 2 else []
    return tuple(int(part) for part in numbers if part.isdigit())


def open_git(*arguments: str, cwd: Path, feed: bool = False) -> subprocess.Popen[bytes]:
    """A git process whose output is read as a stream; with `feed` its input is written too."""
    return subprocess.Popen(
        ["git", *_SAFE_CONFIG, *arguments],
        cwd=cwd,
        env=git_environment(),
        stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=1 << 18,
    )
