"""What a host is: where its configuration lies and what an entry in it looks like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Scope = Literal["project", "user"]
System = Literal["linux", "darwin", "windows"]
Format = Literal["json", "jsonc", "toml"]

SCOPES: tuple[Scope, ...] = ("project", "user")


@dataclass(frozen=True)
class ServerWords:
    """How a server is started: the program, its arguments, what is added to the environment."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The words as one would type them."""
        from shlex import join

        return join([self.command, *self.args])


@dataclass(frozen=True)
class Shape:
    """The form of one server entry.

    `first` and `last` are fixed members around the command; `joined` hosts want the program
    and its arguments in one list.
    """

    first: Mapping[str, Any] = field(default_factory=dict)
    last: Mapping[str, Any] = field(default_factory=dict)
    joined: bool = False
    env_key: str = "env"

    def entry(self, words: ServerWords) -> dict[str, Any]:
        """A new entry that starts the server with these words."""
        return {**self.first, **self.command_members(words), **self.last}

    def command_members(self, words: ServerWords) -> dict[str, Any]:
        """The members of an entry that say what is started."""
        if self.joined:
            return {"command": [words.command, *words.args]}
        return {"command": words.command, "args": list(words.args)}

    def words(self, entry: object) -> ServerWords | None:
        """What an existing entry starts, or None when it starts no local program."""
        if not isinstance(entry, Mapping):
            return None
        command, args = entry.get("command"), entry.get("args", [])
        if self.joined and isinstance(command, list) and command:
            command, args = command[0], command[1:]
        if not isinstance(command, str) or not isinstance(args, list):
            return None
        env = entry.get(self.env_key)
        pairs = env.items() if isinstance(env, Mapping) else ()
        return ServerWords(command, tuple(map(str, args)), {str(k): str(v) for k, v in pairs})


@dataclass(frozen=True)
class Capture:
    """A hook at the end of a turn or session: its file, its place in it, and its form.

    `line_member` is the one that has the command line; None where the program takes a list of words.
    """

    file: str
    member: tuple[str, ...]
    format: Format = "json"
    line_member: str | None = "command"
    is_nested: bool = True  # the hook is in a list of hooks for one matcher
    version: int | None = None  # of the file's form

    @property
    def is_command(self) -> bool:
        """Whether the member is the program itself, of which there can be only one."""
        return self.line_member is None

    def entry(self, line: str) -> dict[str, Any]:
        """The hook that runs a command line."""
        hook = {"type": "command", str(self.line_member): line}
        return {"hooks": [hook]} if self.is_nested else hook


@dataclass(frozen=True)
class Host:
    """One agent host, as data.

    Paths are templates: `{project}`, `{home}`, `{xdg}` (XDG_CONFIG_HOME or ~/.config), `{apps}`
    (where this system keeps applications' settings), `{own}` (the directory that `own_variable`
    names, or else `own_default`). Of several files the first that exists counts, else the first.
    `after` is what a person does once Clew is registered; `after_in_project` replaces it
    where the project scope needs something else; in both, `{name}` is that of the server.
    """

    key: str
    title: str
    user_files: Mapping[System, tuple[str, ...]]
    after: str
    programs: tuple[str, ...]
    marks: tuple[str, ...]
    project_files: tuple[str, ...] = ()
    container: tuple[str, ...] = ("mcpServers",)
    shape: Shape = Shape()
    format: Format = "json"
    default_scope: Scope = "project"
    add_command: str = ""
    gui: bool = False
    own_variable: str = ""
    own_default: str = "{home}"
    after_in_project: str = ""
    capture: Capture | None = None

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The scopes this host knows."""
        return tuple(scope for scope in SCOPES if scope == "user" or self.project_files)

    def next_for(self, scope: Scope, name: str) -> str:
        """What a person does after registering a server of this name in this scope."""
        text = (self.after_in_project if scope == "project" else "") or self.after
        return text.format(name=name)
