"""The one way to run git: fixed environment, guarded arguments, bytes for paths.

A repository can name programs: filters, merge drivers, hooks, transports. Looking runs none of
them. What a person started as work may ask for filters and merge drivers by `working`; a clone or
a fetch for one transport by `protocols`. Nothing runs hooks.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path

from clew.kit.errors import ClewError, Invalid, Unavailable

_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")
# What a repository's own configuration could start with the commands used here, and after that
# what would change how answers are written.
_SAFE_SETTINGS = (
    "core.fsmonitor=false", "diff.external=", "log.showSignature=false",
    "maintenance.auto=false", "gc.auto=0", "protocol.allow=never", "log.showRoot=true",
    "diff.suppressBlankEmpty=false", "diff.context=3", "diff.interHunkContext=0",
    "core.abbrev=auto", "grep.column=false", "i18n.logOutputEncoding=UTF-8",
)  # fmt: skip
_SAFE_CONFIG = tuple(word for setting in _SAFE_SETTINGS for word in ("-c", setting))
# These read objects and references only; all others could pass a file of the checkout through a
# filter, or content through a merge driver.
_OBJECTS_ONLY = {
    "blame", "cat-file", "check-ignore", "check-ref-format", "cherry", "commit-tree", "config",
    "diff-tree", "for-each-ref", "grep", "log", "ls-files", "ls-tree", "merge-base", "merge-file",
    "rev-list", "rev-parse", "symbolic-ref", "update-ref", "write-tree", "--version",
}  # fmt: skip
_PROGRAMS = r"^(filter\..*\.(clean|smudge|process|required)|merge\..*\.driver)$"
_NEUTRAL = {"required": "false", "driver": "git merge-file -q %A %O %B"}  # the rest: nothing
SPEC_DRIVER = "chant merge-driver %O %A %B"  # Clew itself
# For every command that prints differences: as they are, whatever a configuration prefers.
PLAIN_DIFF = (
    "--no-color", "--no-ext-diff", "--no-relative", "--no-textconv", "--submodule=short",
    "--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip
# By these glibc keeps what a stream of git frees for the next object. Giving it back to the system
# and asking for it again takes a sixth of the time of long histories.
_KEPT_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": str(1 << 27),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 25),
    "MALLOC_TOP_PAD_": str(1 << 22),
}
# What leads git to another repository than that of the directory, or is for one command only.
INHERITED_LOCATION = (
    "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS",
)  # fmt: skip
# What git opens of a checkout without asking; pipes come with unpacked archives only.
_OPENED = (".mailmap", ".gitattributes", ".gitignore", ".gitmodules")
_MOST_LOOKED_AT = 5_000
# Git's own children go on when it is killed, and git when Clew is: network and all. This one
# stays beside them and ends their group when the pipe that Clew holds is closed. A death signal
# would not do: it comes when the starting thread ends, and not on every system.
_LEASH = """
import os, signal, subprocess, sys, threading, time
def watch():
    os.read(int(sys.argv[1]), 1)
    os.killpg(0, signal.SIGTERM)
    time.sleep(5)
    os.killpg(0, signal.SIGKILL)
signal.signal(signal.SIGTERM, lambda *_: None)
child = subprocess.Popen(sys.argv[2:])
threading.Thread(target=watch, daemon=True).start()
code = child.wait()
os._exit(code if code >= 0 else 128 - code)
"""


class GitError(Invalid):
    """git refused; the message carries its own words."""


class ForeignRepository(GitError):
    """git does not read a repository that belongs to somebody else."""


def git_environment() -> dict[str, str]:
    """The environment for every git process: no prompts, no locale, no inherited repository."""
    environment = {k: v for k, v in os.environ.items() if k not in INHERITED_LOCATION}
    environment |= {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": ":",
        "GIT_SEQUENCE_EDITOR": ":",
        "GIT_OPTIONAL_LOCKS": "0",
        # History as it was written: what was put in place of commits on one machine is left out.
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": "",
        # Older versions fetch what a partial clone lacks whatever the second variable says. The
        # first one counts for all, and a repository cannot overrule it as it can `protocol.allow`.
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_NO_LAZY_FETCH": "1",
    }
    return environment


def guard(value: str) -> str:
    """A revision, name or path that cannot be taken for an option."""
    if value.startswith("-") or "\x00" in value or "\n" in value:
        raise Invalid(f"Not usable as a git argument: {value!r}")
    return value


@lru_cache(256)
def _refuse_pipes(place: Path) -> None:
    """Refuse a repository with a pipe or a device where git opens files: it would read for ever."""
    found = (Path(place, name) for name in _OPENED)
    for path in (*found, *islice(_own_files(Path(place, ".git")), _MOST_LOOKED_AT)):
        with suppress(OSError):
            mode = path.stat().st_mode
            if stat.S_ISFIFO(mode) or (stat.S_ISCHR(mode) and not path.samefile(os.devnull)):
                raise Invalid(f"{path} is no file, and git would wait for it", "Remove it.")


def _own_files(directory: Path) -> Iterator[Path]:
    """What git keeps beside objects."""
    yield directory
    for above, directories, files in os.walk(directory):
        if "pack" in directories:
            directories[:] = ["info"]
        yield from (Path(above, name) for name in files)


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
    knows_hooks: bool = False,
    working: bool = False,
    given: bytes = b"",
) -> bytes:
    """What git printed; a failure raises GitError with git's own words. `given` is what it reads.

    `variables` are added to the environment: an index of one's own, an author. It runs no hooks;
    only one that `knows_hooks` can tell where they are. It looks, unless it is `working`: then
    the filters and merge drivers that the repository names are run.
    """
    _refuse_pipes(cwd)
    environment = git_environment() | dict(variables or {})
    if not working:
        environment |= _without_programs(arguments, cwd, environment)
        if _command_of(arguments) == "status":  # in a submodule, git would read its configuration
            arguments += ("--ignore-submodules=dirty",)
    hooks = () if knows_hooks else _NO_HOOKS
    try:
        done = subprocess.run(
            ["git", *_SAFE_CONFIG, *hooks, *arguments],
            cwd=cwd,
            env=environment,
            input=given,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise _missing(cwd) from error
    except subprocess.TimeoutExpired as error:
        name = _command_of(arguments)
        raise GitError(f"git {name} did not answer within {error.timeout:.0f} s") from error
    if done.returncode != 0:
        _raise_failure(arguments, done.returncode, done.stderr, check=check)
    return done.stdout


def run_network_git(
    *arguments: str,
    cwd: Path,
    protocols: Sequence[str],
    variables: Mapping[str, str] | None = None,
    shows_progress: bool = False,
) -> bytes:
    """What git printed that may talk to a server, by the named protocols, as long as it takes.

    Git and what it starts end with Clew, however that ends. What git says meanwhile goes to the
    terminal if it `shows_progress`.
    """
    environment = git_environment() | {"GIT_ALLOW_PROTOCOL": ":".join(protocols)}
    reader, writer = os.pipe()
    leash = [sys.executable, "-I", "-S", "-c", _LEASH, str(reader)]
    try:
        process = subprocess.Popen(
            [*leash, "git", *_SAFE_CONFIG, *_NO_HOOKS, *arguments],
            cwd=cwd,
            env=environment | dict(variables or {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=None if shows_progress else subprocess.PIPE,
            pass_fds=(reader,),
            start_new_session=True,
        )
    finally:
        os.close(reader)
    try:
        out, said = process.communicate()
    finally:
        os.close(writer)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    if process.returncode != 0:
        _raise_failure(arguments, process.returncode, said)
    return out


def _without_programs(
    arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]
) -> dict[str, str]:
    """Variables by which git runs no filter and no merge driver that this repository names.

    One that the user's own configuration names stays: a repository can only choose it.
    """
    words, command = _split(arguments)
    if command[0] in _OBJECTS_ONLY or command[:2] == ("worktree", "list"):
        return {}
    asked = ("config", "--null", "--show-scope", "--get-regexp", _PROGRAMS)
    with suppress(OSError):
        done = subprocess.run(
            ["git", *words, *asked],
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        return _overruled(os.fsdecode(done.stdout), environment)
    return {}  # no git, or no such directory: the command itself will say so


def _overruled(listed: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The user's own value, or a harmless one, for every setting of the repository."""
    fields = listed.split("\0")
    own, theirs = dict[str, str](), list[str]()
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = entry.partition("\n")
        if scope not in ("local", "worktree"):
            own[name] = value
        elif value != SPEC_DRIVER:
            theirs.append(name)
    first = int(environment.get("GIT_CONFIG_COUNT") or 0)
    variables = {"GIT_CONFIG_COUNT": str(first + len(theirs))} if theirs else {}
    for number, name in enumerate(theirs, start=first):
        variables[f"GIT_CONFIG_KEY_{number}"] = name
        variables[f"GIT_CONFIG_VALUE_{number}"] = own.get(
            name, _NEUTRAL.get(name.rpartition(".")[2], "")
        )
    return variables


def _missing(cwd: Path) -> ClewError:
    if not Path(cwd).is_dir():
        return Invalid(f"No such directory: {cwd}")
    return Unavailable("git is not installed", "Install git 2.31 or newer.")


def _raise_failure(
    arguments: Sequence[str], code: int, said: bytes | None, *, check: bool = True
) -> None:
    words = (said or b"").decode("utf-8", "replace").strip()
    if "dubious ownership" in words or "unsafe repository" in words:
        from shlex import quote

        place = words.partition("'")[2].partition("'")[0]
        raise ForeignRepository(
            f"The repository at {place} belongs to another user, so git does not read it",
            f"If you trust it: git config --global --add safe.directory {quote(place)}",
        )
    if _command_of(arguments) == "blame" and "invalid object name" in words:
        # The file can be any of this machine, as the repository's settings name it.
        words = "invalid object name in the revisions that blame.ignoreRevsFile lists"
    if check:
        raise GitError(f"git {_command_of(arguments)} failed: {words or f'exit code {code}'}")


def _split(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of git itself, and its subcommand with what follows."""
    at = 0
    while at < len(arguments) - 1 and arguments[at].startswith("-"):
        at += 2 if arguments[at] == "-c" else 1
    return tuple(arguments[:at]), tuple(arguments[at:])


def _command_of(arguments: Sequence[str]) -> str:
    """The git subcommand after the options before it."""
    return _split(arguments)[1][0]


def git_line(
    root: Path,
    *arguments: str,
    check: bool = True,
    timeout: float = 60,
    variables: Mapping[str, str] | None = None,
    working: bool = False,
) -> str:
    """What git printed, without the line end, to be handed to git or the system again."""
    out = run_git(
        *arguments, cwd=root, check=check, timeout=timeout, variables=variables, working=working
    )
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
    """A git process that reads objects, as a stream; with `feed` its input is written too.

    It ends with Clew: its input ends, and the first thing that it prints finds no reader.
    """
    assert _command_of(arguments) in _OBJECTS_ONLY
    _refuse_pipes(cwd)
    return subprocess.Popen(
        ["git", *_SAFE_CONFIG, *_NO_HOOKS, *arguments],
        cwd=cwd,
        env={**git_environment(), **_KEPT_MEMORY},
        stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=1 << 18,
    )


def read_git(*arguments: str, cwd: Path, most: int, seconds: float) -> tuple[bytes, int | None]:
    """The first bytes that git prints of objects, and how it ended; None where there was more."""
    process = open_git(*arguments, cwd=cwd)
    late = threading.Timer(seconds, process.kill)
    late.start()
    with process:
        assert process.stdout is not None
        output = process.stdout.read(most)
        is_cut = len(output) == most
        if is_cut:
            process.kill()
        code = process.wait()
        late.cancel()
    return output, None if is_cut or code < 0 else code
