"""The words that start a server: which program, by which name, and whose an entry is."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from clew.catalog.faces import FACES
from clew.hosts.model import ServerWords

if TYPE_CHECKING:
    from clew.catalog.faces import Face
    from clew.hosts.model import Host, Scope

_RUNNERS = ("uv", "uvx", "pipx")
# What an entry of a project may add when Clew tries it: options that only choose tools. No paths,
# no network; and no `$` or `{` in a value, which hosts expand and which could become an option.
_HARMLESS = {
    "--toolsets": True, "--tools": True, "--exclude-tools": True,
    "--read-only": False, "--extended": False,
}  # fmt: skip
_PLAIN_LIST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_, -]*")


def server_words(face: Face, host: Host, scope: Scope) -> ServerWords:
    """The words to write for this face.

    A project's file is shared, so the plain name is written wherever it is on PATH. A desktop
    program does not have the shell's PATH, so its own file names the program by its full path.
    """
    plain = shutil.which(face.name)
    if plain and (scope == "project" or not host.gui):
        return ServerWords(face.name, (face.serve_command,))
    if _is_passing_install() and (uvx := shutil.which("uvx")):
        package = ("clew",) if face.name == "clew" else ("--from", "clew", face.name)
        runner = uvx if host.gui else "uvx"
        return ServerWords(runner, (*package, face.serve_command))
    return ServerWords(_own_program(face) or plain or face.name, (face.serve_command,))


def _is_passing_install() -> bool:
    """Whether this runs from uvx's cache, whose paths do not last."""
    return any(part.startswith("archive-v") for part in Path(sys.prefix).parts)


def _own_program(face: Face) -> str | None:
    """The script of this face beside the running Python, if it is there."""
    script = Path(sys.executable).parent / face.name
    return str(script) if script.exists() else None


def is_ours(words: ServerWords | None, face: Face) -> bool:
    """Whether an entry starts this program, from wherever and with whatever options."""
    if words is None or face.serve_command not in words.args:
        return False
    name = _program_name(words.command)
    if name in FACES:
        return name in (face.name, "clew")
    runs_module = words.args[:2] == ("-m", "clew")
    return runs_module or (name in _RUNNERS and "clew" in map(_package_name, words.args))


def why_not_tried(words: ServerWords, expected: ServerWords, face: Face) -> str | None:
    """Why the words of a project's file must not be run to see whether they work, or None.

    Such a file may come from others, and looking at a clone must not do what it says.
    """
    if "$" in words.command or "{" in words.command:
        return f"its command has a variable in it: {words.command}"
    head = _allowed_head(words, expected, face)
    if head is None:
        return f"{words.line} is not a plain way to start {face.name}"
    odd = _first_odd_word(words.args[len(head) :])
    return None if odd is None else f"it adds {odd}, and only options that choose tools are tried"


def _allowed_head(words: ServerWords, expected: ServerWords, face: Face) -> tuple[str, ...] | None:
    is_face = _program_name(words.command) in FACES
    heads: list[tuple[str, ...]] = [(face.serve_command,)] if is_face else []
    heads += [expected.args] if words.command == expected.command else []
    return next((head for head in heads if words.args[: len(head)] == head), None)


def _first_odd_word(options: tuple[str, ...]) -> str | None:
    """The first word that is neither a harmless option nor the plain value of one."""
    rest = iter(options)
    for word in rest:
        flag, equals, value = word.partition("=")
        takes = _HARMLESS.get(flag)
        if takes is None or (equals and not takes):
            return word
        if takes and not _PLAIN_LIST.fullmatch(value if equals else next(rest, "")):
            return f"{flag} with an unusual value"
    return None


def _program_name(command: str) -> str:
    return PurePath(command.replace("\\", "/")).name.removesuffix(".exe")


def _package_name(word: str) -> str:
    return word.partition("@")[0].partition("=")[0].partition("[")[0]


def wanted_words(
    found: ServerWords, expected: ServerWords, face: Face, scope: Scope, *, force: bool
) -> ServerWords:
    """The command that our entry should have: the right program, and the options someone added.

    A plain name in a project's file stays, even where this machine does not find it: the file
    belongs to the team.
    """
    options = found.args[found.args.index(face.serve_command) + 1 :]
    wanted = ServerWords(expected.command, (*expected.args, *options), found.env)
    if scope == "project" and found.command == face.name and not force:
        return ServerWords(found.command, (face.serve_command, *options), found.env)
    if _is_same_program(found, expected, options):
        return found
    return wanted


def _is_same_program(found: ServerWords, expected: ServerWords, options: tuple[str, ...]) -> bool:
    if found.args != (*expected.args, *options):
        return False
    programs = [shutil.which(words.command) for words in (found, expected)]
    if found.command == expected.command or None in programs:
        return found.command == expected.command
    return Path(str(programs[0])).resolve() == Path(str(programs[1])).resolve()
