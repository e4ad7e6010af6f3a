"""The one way to run git: fixed environment, guarded arguments, bytes for paths."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from clew.kit.errors import ClewError, Invalid, Unavailable

_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
# A repository's own configuration may name programs to run; these are the ones git would start
# for the commands used here. The last two would leave out lines and spaces of a patch.
_SAFE_SETTINGS = (
    "core.fsmonitor=false",
    "core.pager=cat",
    "diff.external=",
    "log.showSignature=false",
    "protocol.ext.allow=never",
    "log.showRoot=true",
    "diff.suppressBlankEmpty=false",
)
_SAFE_CONFIG = tuple(word for setting in _SAFE_SETTINGS for word in ("-c", setting))
# For every command that prints differences: as they are, whatever a configuration prefers.
PLAIN_DIFF = (
    "--no-color",
    "--no-ext-diff",
    "--no-relative",
    "--no-textconv",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
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
    """The time of a commit as git prints it; 0 where it cannot be read."""
    try:
        return int(date)
    except ValueError:
        return 0


def run_git(
    *arguments: str,
    cwd: Path,
    check: bool = True,
    timeout: float | None = 60,
    variables: Mapping[str, str] | None = None,
    shows_progress: bool = False,
    knows_hooks: bool = False,
) -> bytes:
    """What git printed; a failure raises GitError with git's own words.

    `variables` are added to the environment: an index of one's own, an author. What git says
    meanwhile goes to the terminal if it `shows_progress`. It runs no hooks; only one that
    `knows_hooks` can tell where they are.
    """
    hooks = () if knows_hooks else _NO_HOOKS
    command = ["git", *_SAFE_CONFIG, *hooks, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**git_environment(), **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if shows_progress else subprocess.PIPE,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        if not Path(cwd).is_dir():
            raise Invalid(f"No such directory: {cwd}") from error
        raise Unavailable("git is not installed", "Install git 2.30 or newer.") from error
    except subprocess.TimeoutExpired as error:
        name = _command_of(arguments)
        raise GitError(f"git {name} did not answer within {error.timeout:.0f} s") from error
    if check and done.returncode != 0:
        words = (done.stderr or b"").decode("utf-8", "replace").strip()
        raise GitError(
            f"git {_command_of(arguments)} failed: {words or f'exit code {done.returncode}'}"
        )
    return done.stdout


def _command_of(arguments: Sequence[str]) -> str:
    """The git subcommand after the options before it."""
    words = iter(arguments)
    for word in words:
        if word == "-c":
            next(words, None)
        elif not word.startswith("-"):
            return word
    return arguments[0]


def git_line(
    root: Path,
    *arguments: str,
    check: bool = True,
    timeout: float = 60,
    variables: Mapping[str, str] | None = None,
) -> str:
    """What git printed, without the line end, to be handed to git or the system again."""
    out = run_git(*arguments, cwd=root, check=check, timeout=timeout, variables=variables)
    return os.fsdecode(out.rstrip(b"\n"))


def git_text_or_none(root: Path, *arguments: str) -> str | None:
    """What git printed, as text to show; None where it printed nothing or cannot tell."""
    try:
        return run_git(*arguments, cwd=root).decode("utf-8", "replace").strip() or None
    except (ClewError, OSError):
        return None


def git_version() -> tuple[int, ...]:
    """The version of git as numbers, `(2, 39, 5)`."""
    words = run_git("--version", cwd=Path("/")).decode("ascii", "replace").split()
    numbers = words[2].split(".") if len(words) > 2 else []
    return tuple(int(part) for part in numbers if part.isdigit())


def open_git(*arguments: str, cwd: Path, feed: bool = False) -> subprocess.Popen[bytes]:
    """A git process whose output is read as a stream; with `feed` its input is written too."""
    return subprocess.Popen(
        ["git", *_SAFE_CONFIG, *_NO_HOOKS, *arguments],
        cwd=cwd,
        env=git_environment(),
        stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=1 << 18,
    )
