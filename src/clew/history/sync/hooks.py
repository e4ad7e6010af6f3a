"""Hooks that sync after a commit, a merge or a rewrite, beside whatever hooks are there already.

A marked block goes right behind the first line of each hook, so that an `exit` further down
cannot skip it. It starts the sync in the background and never waits, prints or fails.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from clew.history.model import Repo
from clew.kit.errors import Conflict, Invalid
from clew.kit.files import write_atomic
from clew.kit.git import run_git
from clew.kit.repository import common_directory

HOOKS = ("post-commit", "post-merge", "post-rewrite")
_FIRST_LINE = b"#!/bin/sh\n"
_SHELL = re.compile(rb"#![ \t]*(?:/\S*/)?(?:env[ \t]+)?(?:/\S*/)?(?:ba|da|z|k|a)?sh(?:[ \t]|\r?$)")
_MADE = "# commitmux install-hook made this file."


@dataclass(frozen=True)
class HookChange:
    """What happened to one hook."""

    path: Path
    deed: str


def install_hooks(repo: Repo, database: Path) -> list[HookChange]:
    """Make the repository's hooks sync it. Doing it twice changes nothing."""
    directory = hooks_directory(Path(repo.local_path))
    block = _block(repo, database)
    files = [directory / hook for hook in HOOKS]
    contents = [_content(file) for file in files]
    for file, content in zip(files, contents, strict=True):
        _check(file, content)
    return [
        _install(file, content, block, repo.name)
        for file, content in zip(files, contents, strict=True)
    ]


def remove_hooks(repo: Repo) -> list[HookChange]:
    """Take the blocks out again; the rest of each hook stays byte for byte."""
    directory = hooks_directory(Path(repo.local_path))
    return [_remove(directory / hook, repo.name) for hook in HOOKS]


def hooks_directory(root: Path) -> Path:
    """Where git looks for this repository's hooks; `core.hooksPath` counts."""
    if not root.is_dir():
        raise Invalid(f"No repository at {root}", "Move it back, or run 'commitmux update-repo'.")
    found = run_git("rev-parse", "--git-path", "hooks", cwd=root, check=False, knows_hooks=True)
    if not found:
        raise Invalid(f"'{root}' is not a git repository")
    directory = root / os.fsdecode(found.rstrip(b"\n"))
    if directory.exists() and not directory.is_dir():
        raise Conflict(f"Hooks are turned off here: {directory} is no directory")
    return directory


def _block(repo: Repo, database: Path) -> str:
    """The lines of a hook; hooks may be shared, so they look whose commit it is."""
    root = Path(repo.local_path)
    ours = shlex.quote(str(common_directory(root)))
    index = database.absolute()
    log = shlex.quote(str(index.parent / "hooks.log"))
    sync = ["sync", "--repo", repo.name, "--may-skip", "--db", str(index)]
    words = shlex.join([*_program(), *sync])
    lines = (
        f"# clew:begin {repo.name}",
        f'if [ "$(git rev-parse --path-format=absolute --git-common-dir 2>/dev/null)" = {ours} ]',
        "then",
        f"  ( nohup {words} </dev/null >>{log} 2>&1 & ) </dev/null >/dev/null 2>&1",
        "fi",
        f"# clew:end {repo.name}",
    )
    return "\n".join(lines) + "\n"


def _program() -> list[str]:
    script = Path(sys.executable).parent / "commitmux"
    return [str(script)] if script.exists() else [sys.executable, "-m", "clew", "history"]


def _content(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def _check(file: Path, content: bytes | None) -> None:
    """Refuse, before anything is changed, what a block of shell cannot be put into."""
    if content is None:
        return
    first = content.split(b"\n", 1)[0]
    if b"\x00" in content or (first.startswith(b"#!") and not _SHELL.match(first)):
        raise Conflict(
            f"{file} is not a shell script, so nothing can be added to it",
            "Let it run 'commitmux sync' itself, or call it from a shell script.",
        )
    if content and not os.access(file, os.X_OK):
        raise Conflict(
            f"{file} is there but turned off (not executable)", "Make it executable, or remove it."
        )


def _install(file: Path, content: bytes | None, block: str, name: str) -> HookChange:
    if content is None:
        made = os.fsencode(block.replace("\n", f"\n{_MADE}\n", 1))
        write_atomic(file, _FIRST_LINE + made, mode=0o755)
        return HookChange(file, "installed")
    rest = _without(content, name)
    was_made = rest == _FIRST_LINE and _MADE.encode() in content
    lines = os.fsencode(block.replace("\n", f"\n{_MADE}\n", 1) if was_made else block)
    new = _with(rest, lines)
    if new == content:
        return HookChange(file, "unchanged")
    write_atomic(file, new, mode=file.stat().st_mode & 0o7777 | 0o100)
    return HookChange(file, "installed" if rest == content else "updated")


def _remove(file: Path, name: str) -> HookChange:
    content = _content(file)
    if content is None:
        return HookChange(file, "absent")
    rest = _without(content, name)
    if rest == content:
        return HookChange(file, "absent")
    if rest == _FIRST_LINE and _MADE.encode() in content:
        file.unlink()
    else:
        write_atomic(file, rest)
    return HookChange(file, "removed")


def _with(content: bytes, block: bytes) -> bytes:
    """The hook with the block behind its first line, or at its start when that names no shell."""
    if not content.startswith(b"#!"):
        return block + content
    first, newline, rest = content.partition(b"\n")
    if not newline:
        return first + b"\n" + block[:-1]
    return first + newline + block + rest


def _without(content: bytes, name: str) -> bytes:
    """The hook without this repository's block."""
    label = re.escape(os.fsencode(name))
    whole = re.compile(
        rb"^# clew:begin %b\n.*?^# clew:end %b(?:\n|\Z)" % (label, label),
        re.DOTALL | re.MULTILINE,
    )
    found = whole.search(content)
    if found is None:
        return content
    start = found.start()
    if not found.group().endswith(b"\n") and start:
        start -= 1  # the line end that came with the block
    return content[:start] + content[found.end() :]
