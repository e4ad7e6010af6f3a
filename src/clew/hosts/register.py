"""Registering with a host: which command is written, whose an entry is, checking it, undoing it."""

from __future__ import annotations

import base64
import json
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from clew.catalog.faces import FACES, Face
from clew.hosts.files.formats import ConfigText
from clew.hosts.files.ledger import (
    Ledger,
    Owner,
    open_ledger,
    read_bytes,
    refuse_outside,
    remove_part,
    take_back,
    write_part,
)
from clew.hosts.handshake import Greeting, HandshakeFailed, shake_hands
from clew.hosts.model import Host, Scope, ServerWords
from clew.hosts.paths import config_path, short
from clew.kit.errors import Conflict, Invalid, Unavailable


@dataclass(frozen=True)
class Target:
    """Which face to register with which host, and in which file."""

    host: Host
    scope: Scope
    face: Face
    path: Path
    project: Path | None

    @property
    def entry_path(self) -> tuple[str, ...]:
        """The path of the entry inside the file."""
        return (*self.host.container, self.face.name)

    @property
    def expected(self) -> ServerWords:
        """The words a new entry would have."""
        return server_words(self.face, self.host, self.scope)

    @property
    def is_desktop(self) -> bool:
        """Whether the server gets a bare environment: a desktop program's own, unshared file."""
        return self.host.gui and self.scope == "user"

    @property
    def owner(self) -> Owner:
        """The target as the ledger knows it."""
        project = self.project if self.scope == "project" else None
        return Owner("host", project, self.host.key, self.scope)

    @property
    def origin(self) -> str:
        """The project from which this is run, or "" outside of any."""
        return str(self.project) if self.project else ""

    def setup_line(self, named_project: str | None = None) -> str:
        """The command line that names this target."""
        words = ["clew", "setup", self.host.key]
        if self.scope != self.host.default_scope:
            words += ["--scope", self.scope]
        if self.face.name != "clew":
            words += ["--face", self.face.name]
        if named_project and self.scope == "project":
            words += ["--project", named_project]
        return shlex.join(words)


@dataclass(frozen=True)
class Report:
    """What was found or done at one target."""

    target: Target
    status: str
    words: ServerWords | None = None
    greeting: Greeting | None = None
    problem: str | None = None
    notes: tuple[str, ...] = field(default=())

    def data(self) -> dict[str, Any]:
        """The report for programs."""
        return {
            "host": self.target.host.key,
            "scope": self.target.scope,
            "face": self.target.face.name,
            "path": str(self.target.path),
            "status": self.status,
            "command": [self.words.command, *self.words.args] if self.words else None,
            "server": self.greeting.data() if self.greeting else None,
            "problem": self.problem,
            "notes": list(self.notes),
        }


def make_target(host: Host, scope: Scope | None, face: Face, project: Path | None) -> Target:
    """The target for these choices; the host's own default scope where none is given."""
    chosen = scope or host.default_scope
    return Target(host, chosen, face, config_path(host, chosen, project), project)


def register(target: Target, *, force: bool = False, dry_run: bool = False) -> Report:
    """Write our entry into the host's file and check that the server answers.

    The entry of a server that does not answer is removed again, unless `force` is given.
    """
    if target.scope == "project":
        refuse_outside(target.path, target.project, force=force)
    with open_ledger() as ledger:
        before = read_bytes(target.path)
        config = ConfigText.from_bytes(target.path, target.host.format, before)
        change = _plan(target, config, force=force)
        report = Report(target, change.status, change.words, notes=_notes(target, change.words))
        if dry_run:
            return report
        take_out = _write(ledger, target, config, change, before)
        try:
            greeting = _greet(target)
        except HandshakeFailed as error:
            if not force:
                raise _refused(error, take_out()) from error
            report = replace(report, problem=error.message)
        else:
            notes = (*report.notes, *_tool_notes(target, greeting))
            report = replace(report, greeting=greeting, notes=notes)
        _add_origin(ledger, target)
        return report


def _add_origin(ledger: Ledger, target: Target) -> None:
    """Remember that this project, too, asked for our entry in the user's own file."""
    record = ledger.get(target.path)
    origins = record.origins(target.face.name) if record else []
    if record and origins and target.origin not in origins:
        ledger.put(record.with_origins(target.face.name, [*origins, target.origin]))


def _write(
    ledger: Ledger, target: Target, config: ConfigText, change: _Change, before: bytes | None
) -> Callable[[], str]:
    """Write what is planned; returns what takes it back and says how the file is now."""
    if change.text is None:
        return lambda: "The entry was left as it is"
    after = config.to_bytes(change.text)
    trace = change.trace
    if target.scope == "user" and not trace.get("was_ours"):
        trace = {**trace, "from": [target.origin]}
    known = write_part(
        ledger, target.path, target.owner, target.face.name, trace,
        before=before, after=after,
    )  # fmt: skip

    def take_out() -> str:
        name = short(target.path)
        if not take_back(ledger, target.path, known, before=before, after=after):
            return f"{name} was modified meanwhile and still has the entry"
        return f"{name} is as it was before" if before is not None else f"{name} was not kept"

    return take_out


@dataclass(frozen=True)
class _Change:
    status: str
    words: ServerWords
    text: str | None = None
    trace: dict[str, Any] = field(default_factory=dict)


def _plan(target: Target, config: ConfigText, *, force: bool) -> _Change:
    """What has to be written: nothing, a new entry, another command, or another entry."""
    shape, expected = target.host.shape, target.expected
    entry = config.entry(target.entry_path)
    if entry is None:
        edit = config.put(target.entry_path, shape.entry(expected))
        return _Change("written", expected, edit.text, edit.trace)
    found = shape.words(entry)
    if found is not None and is_ours(found, target.face):
        wanted = wanted_words(found, expected, target.face, target.scope, force=force)
        if wanted == found:
            return _Change("already", found)
        return _Change("updated", wanted, _updated(config, target, wanted), {"was_ours": True})
    if not force:
        raise Conflict(
            f"{target.path} has an entry {target.face.name!r} that starts something else: "
            f"{found.line if found else json.dumps(entry, default=str)}",
            "Nothing was changed. Rename that entry, or replace it with --force.",
        )
    edit = config.put(target.entry_path, shape.entry(expected))
    return _Change("replaced", expected, edit.text, edit.trace)


def _updated(config: ConfigText, target: Target, words: ServerWords) -> str:
    """The text with another command in our entry; everything else in the entry stays."""
    for key, value in target.host.shape.command_members(words).items():
        path = (*target.entry_path, key)
        if config.entry(path) != value:
            edit = config.put(path, value)
            config = ConfigText(config.path, config.format, edit.text, config.bom)
    return config.text


def _greet(target: Target) -> Greeting | None:
    """Start the command of the entry as read back from disk; None if it must not be started."""
    words = target.host.shape.words(_entry_on_disk(target))
    if words is None:
        raise HandshakeFailed(f"{target.path} does not hold the entry after writing.")
    return _tried(target, words)


def _tried(target: Target, words: ServerWords) -> Greeting | None:
    """What the server says when it is started; None if it must not be.

    A project's file may come from others: a variable such as PYTHONPATH would make their code
    run here, CLEW_TOKEN_FILE would write where they say. So its environment is left out.
    """
    if why_not_started(target, words):
        return None
    safe = words if target.scope == "user" else replace(words, env={})
    return shake_hands(safe, desktop=target.is_desktop)


def why_not_started(target: Target, words: ServerWords) -> str | None:
    """Why an entry is judged by its text only, or None; a user's own file is trusted."""
    if target.scope == "user":
        return None
    return why_not_tried(words, target.expected, target.face)


def _entry_on_disk(target: Target) -> Any:
    config = ConfigText.from_bytes(target.path, target.host.format, read_bytes(target.path))
    return config.entry(target.entry_path)


def _refused(error: HandshakeFailed, state: str) -> Unavailable:
    hint = error.hint or "Run the command yourself to see why."
    return Unavailable(
        f"The server does not answer: {error.message}",
        f"{state}. {hint} --force keeps the entry anyway.",
    )


def _trial_notes(target: Target, words: ServerWords) -> tuple[str, ...]:
    """What was not tried of an entry in a shared file."""
    reason = why_not_started(target, words)
    if reason:
        return (f"not started: {reason}. This file is shared and may come from others.",)
    if words.env and target.scope == "project":
        left_out = ", ".join(words.env)
        return (f"The server was tried without {left_out}, which this shared file sets.",)
    return ()


def _notes(target: Target, words: ServerWords) -> tuple[str, ...]:
    notes = [*_trial_notes(target, words)]
    if target.scope == "project" and Path(words.command).is_absolute():
        notes.append(
            f"{words.command} is a path of this machine: do not commit it for others. "
            f"With {target.face.name} on PATH (uv tool install clew) the plain name is written."
        )
    elif target.scope == "project" and target.host.gui:
        notes.append(
            f"{target.host.title} must find {words.command} on the PATH it was started with."
        )
    return tuple(notes)


def _tool_notes(target: Target, greeting: Greeting | None) -> tuple[str, ...]:
    if greeting is None or greeting.tools:
        return ()
    name = target.face.name
    return (f"{name} offers no tools yet; `clew tools --face {name} --all` lists what is planned.",)


def check(target: Target) -> Report:
    """Whether our entry is there, is right, and starts a server that answers.

    Status `ok`, `missing`, `different` (it starts something else) or `broken`. A command that
    a project's file names is started only if it is this very program with harmless options.
    """
    try:
        entry = _entry_on_disk(target)
    except Invalid as error:
        return Report(target, "broken", problem=error.message)
    if entry is None:
        return Report(target, "missing", problem=f"{short(target.path)} has no such entry")
    words = target.host.shape.words(entry)
    if words is None or not is_ours(words, target.face):
        what = words.line if words else "no local program"
        return Report(target, "different", words, problem=f"the entry starts {what}")
    return _checked_server(target, words)


def _checked_server(target: Target, words: ServerWords) -> Report:
    wanted = wanted_words(words, target.expected, target.face, target.scope, force=False)
    problem = f"the entry starts {words.line}, this Clew is {wanted.line}"
    if wanted != words and target.scope == "project":
        return Report(target, "different", words, problem=problem)
    try:
        greeting = _tried(target, words)
    except HandshakeFailed as error:
        return Report(target, "broken", words, problem=error.message)
    notes = (*_trial_notes(target, words), *_tool_notes(target, greeting))
    if wanted != words:
        return Report(target, "different", words, greeting, problem, notes)
    return Report(target, "ok", words, greeting, notes=notes)


def unregister(target: Target, *, force: bool = False, dry_run: bool = False) -> Report:
    """Remove our entry: `restored`, `deleted`, `removed`, or `absent` when it is not there."""
    with open_ledger() as ledger:
        return unregister_in(ledger, target, force=force, dry_run=dry_run)


def unregister_in(ledger: Ledger, target: Target, *, force: bool, dry_run: bool) -> Report:
    """`unregister` with the ledger already open."""
    current = read_bytes(target.path)
    config = ConfigText.from_bytes(target.path, target.host.format, current)
    entry = config.entry(target.entry_path)
    if current is None or entry is None:
        if not dry_run:
            ledger.forget(target.path, target.face.name)
        return Report(target, "absent")
    words = target.host.shape.words(entry)
    if not is_ours(words, target.face) and not force:
        raise Conflict(
            f"The entry {target.face.name!r} in {target.path} now starts something else",
            "It was left alone. Remove it with --force.",
        )
    if dry_run:
        return Report(target, "removed", words)
    trace = ledger.trace(target.path, target.face.name)
    reduced = config.remove(target.entry_path, trace)
    status = remove_part(
        ledger, target.path, target.face.name,
        current=current, reduced=config.to_bytes(reduced), blank=config.is_blank(reduced),
    )  # fmt: skip
    return Report(target, status, words)


@dataclass(frozen=True)
class Snippet:
    """What one would write by hand, and the host's own command for it."""

    text: str
    add_command: str


def snippet(target: Target) -> Snippet:
    """The entry in an otherwise empty file of this host, and the native add command."""
    entry = target.host.shape.entry(target.expected)
    empty = ConfigText(target.path, target.host.format, "")
    text = empty.put(target.entry_path, entry).text.rstrip("\n")
    return Snippet(text, _add_command(target, entry))


def _add_command(target: Target, entry: dict[str, Any]) -> str:
    compact = json.dumps(entry, separators=(",", ":"))
    named = json.dumps({"name": target.face.name, **entry}, separators=(",", ":"))
    return target.host.add_command.format(
        name=target.face.name,
        scope=target.scope,
        words=target.expected.line,
        json=shlex.quote(named),
        base64=quote(base64.b64encode(compact.encode()).decode(), safe=""),
    )


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
