"""What the documentation is generated from: each function returns Markdown for one cog block.

Everything comes from the code and from nothing else: no terminal, no home directory, no
versions of the machine at hand. What has no name in the code has its words in a table here,
and a missing word is an error, so that new things cannot stay undocumented.
"""

from __future__ import annotations

import ast
import inspect
import json
import pkgutil
import re
import tomllib
from importlib import import_module
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import click

import clew
from clew.catalog.command_table import COMMANDS, summaries
from clew.catalog.faces import FACES, ROOMS
from clew.catalog.model import Tool
from clew.catalog.options import SERVE_OPTIONS
from clew.catalog.selection import offered_name, select_tools
from clew.cli.faces import build_group
from clew.doctor.checks import CHECKS
from clew.guide.topics import topic_names, topic_text
from clew.hosts.model import Host, Scope, ServerWords, System
from clew.hosts.register import Target, snippet
from clew.hosts.table import HOSTS
from clew.kit.errors import ClewError, NotFound
from clew.kit.outcome import Outcome, error_envelope
from clew.program import all_tools
from clew.protocol import versions
from clew.protocol.kernel.methods import METHODS
from clew.protocol.workers import Workers
from tests.support.dependencies import DEPENDENCIES

ROOT = Path(__file__).parents[2]
WIDTH = 80
SYSTEMS: dict[System, str] = {"linux": "Linux", "darwin": "macOS"}


def block(*lines: str) -> str:
    """Lines with an empty line before and after, so that Markdown sees a block."""
    return "\n" + "\n".join(lines) + "\n\n"


def table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A Markdown table."""
    cells = [columns, ("---",) * len(columns), *rows]
    return block(*("| " + " | ".join(map(_cell, row)) + " |" for row in cells))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").strip()


def _code(text: str) -> str:
    return f"`{text}`"


def _yes(*, answer: bool) -> str:
    return "yes" if answer else "no"


# Hosts


class _AnyMachine(Target):
    """A target whose command is the plain name, as on a machine with Clew on PATH."""

    @property
    def expected(self) -> ServerWords:
        return ServerWords(self.face.name, (self.face.serve_command,))


def shown_path(template: str, host: Host, system: System = "linux") -> str:
    """A path template as people write it."""
    places = {
        "project": "",
        "home": "~",
        "xdg": "~/.config",
        "apps": "~/Library/Application Support" if system == "darwin" else "~/.config",
    }
    places["own"] = host.own_default.format(**places)
    return template.format(**places).removeprefix("/")


def _any_target(host: Host, scope: Scope) -> Target:
    templates = host.project_files if scope == "project" else host.user_files["linux"]
    return _AnyMachine(host, scope, FACES["clew"], Path(shown_path(templates[0], host)), None)


def host_table() -> str:
    """Every host: what to type, which file is written, where to read more."""
    rows = []
    for host in HOSTS.values():
        title = f"[{host.title}](docs/how-to/{host.key}.md)"
        file = _default_file(host)
        rows.append((title, _code(f"clew setup {host.key}"), file, " or ".join(host.scopes)))
    return table(("Host", "Command", "File it writes", "Scopes"), rows)


def _default_file(host: Host) -> str:
    if host.default_scope == "project":
        return _code(shown_path(host.project_files[0], host))
    paths = {s: shown_path(host.user_files[s][0], host, s) for s in SYSTEMS}
    return _code(paths["linux"]) + ("" if len(set(paths.values())) == 1 else " (Linux)")


def host_page(key: str) -> str:
    """The how-to of one host: set up, what is written, native command, check, undo."""
    host = HOSTS[key]
    parts = [_set_up(host), _files(host), _entry(host), _native(host), _afterwards(host)]
    return "\n" + "\n".join(parts)


def _set_up(host: Host) -> str:
    lines = ["## Set it up", "", "```sh", f"clew setup {host.key}", "```", ""]
    others = [scope for scope in host.scopes if scope != host.default_scope]
    meaning = {"project": "this project only", "user": "all your projects"}
    lines.append(f"This registers Clew for {meaning[host.default_scope]}.")
    lines += [f"For {meaning[scope]}: `clew setup {host.key} --scope {scope}`." for scope in others]
    lines += ["Clew then starts the command it wrote and lists the server's tools.", ""]
    steps = dict.fromkeys(f"Next: {host.next_for(scope, 'clew')}\n" for scope in host.scopes)
    return "\n".join([*lines, *steps])


def _files(host: Host) -> str:
    rows = []
    if host.project_files:
        rows.append(("project", "all", _alternatives(host.project_files, host, "linux")))
    shown = {s: _alternatives(host.user_files[s], host, s) for s in SYSTEMS}
    if len(set(shown.values())) == 1:
        rows.append(("user", "all", shown["linux"]))
    else:
        rows += [("user", SYSTEMS[system], path) for system, path in shown.items()]
    text = "## What is written\n" + table(("Scope", "System", "File"), rows)
    if host.own_variable:
        text += f"`{host.own_variable}` moves the user file, as it does for {host.title} itself.\n"
    if any("~/.config" in row[2] for row in rows):
        text += "`XDG_CONFIG_HOME` counts where it is set.\n"
    return text


def _alternatives(templates: tuple[str, ...], host: Host, system: System) -> str:
    paths = [_code(shown_path(template, host, system)) for template in templates]
    return paths[0] + "".join(f", or {path} if only that exists" for path in paths[1:])


def _entry(host: Host) -> str:
    language = "toml" if host.format == "toml" else "json"
    text = snippet(_any_target(host, host.default_scope)).text
    note = (
        f"{host.title} does not know your shell's PATH. In the user file Clew therefore writes "
        "the full path of `clew` in place of the plain name."
        if host.gui
        else "Where `clew` is not on PATH, its full path is written instead."
    )
    lines = ["The entry, in an otherwise empty file:", "", f"```{language}", text, "```", "", note]
    lines += ["Every other key, comment and byte of the file stays as it is.", ""]
    return "\n".join(lines)


def _native(host: Host) -> str:
    command = snippet(_any_target(host, host.default_scope)).add_command
    if not command:
        return f"{host.title} has no command of its own for this.\n"
    return f"The host's own way to the same entry:\n\n```text\n{command}\n```\n"


def _afterwards(host: Host) -> str:
    lines = ["## Check and undo", "", "```sh"]
    lines += [f"clew setup {host.key} --print", f"clew setup {host.key} --check"]
    lines += [f"clew setup {host.key} --remove", "```", ""]
    lines += ["`--print` shows the entry and changes nothing. `--check` reads it back and starts"]
    lines += ["the server. `--remove` takes the entry out; a file that nobody else has changed is"]
    lines += ["then byte for byte what it was before, and one that Clew made is deleted.", "", ""]
    return "\n".join(lines)


# Faces, rooms, tools


def face_table() -> str:
    """The five names and what their servers offer."""
    rows = []
    for face in FACES.values():
        command = _code(f"{face.name} {face.serve_command}")
        most = {"toolsets": "all"} if face.name == "clew" else {"extended": "1"}
        counts = [str(len(select_tools(face, options, all_tools()))) for options in ({}, most)]
        rows.append((command, _code(face.server_name), face.summary, *counts))
    return table(("Server command", "Server name", "For", "By default", "In all"), rows)


def health() -> str:
    """What the HTTP server answers when it is asked whether it is well."""
    status = {"status": "ok", "name": "clew", "version": clew.__version__}
    return block("```json", json.dumps(status), "```")


def tool_reference() -> str:
    """Every tool."""
    parts = []
    for room in ("guide", *(room for room in ROOMS if room != "guide")):
        tools = [tool for tool in all_tools() if tool.toolset == room]
        if tools:
            parts += [f"## Toolset {room}", "", *(_tool(tool) for tool in tools)]
    return "\n" + "\n".join(parts)


def _tool(tool: Tool) -> str:
    facts = [("Face", _code(tool.face)), ("effect", tool_effect(tool))]
    among = offered_name(tool, FACES["clew"])
    facts += [("in `clew serve`", f"as {_code(among)}, {_offer(tool)}")]
    facts += [("may become a task", _yes(answer=tool.slow))]
    listed = "; ".join(f"{name}: {value}" for name, value in facts)
    return f"### {tool.name}\n\n{tool.description}\n\n{listed}.\n{_parameters(tool)}"


def _offer(tool: Tool) -> str:
    return "by default" if tool.core else f"with `--toolsets {tool.toolset}`"


def tool_effect(tool: Tool) -> str:
    """What a tool does to the world, in words."""
    hints = tool.annotations
    if hints["readOnlyHint"]:
        return "reads"
    if hints["destructiveHint"]:
        return "writes and may end or delete something"
    return "writes, the same again when repeated" if hints["idempotentHint"] else "writes"


def _parameters(tool: Tool) -> str:
    required = tool.input_schema.get("required", [])
    rows = [
        (
            _code(name),
            _type(schema),
            _yes(answer=name in required),
            schema.get("description", "") + _allowed(schema),
        )
        for name, schema in tool.declared_schema["properties"].items()
    ]
    if not rows:
        return "\nNo parameters.\n"
    return table(("Parameter", "Type", "Required", "Meaning"), rows)


def _type(schema: dict[str, Any]) -> str:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    inner = f" of {_type(schema['items'])}" if "items" in schema else ""
    return " or ".join(names) + inner


def _allowed(schema: dict[str, Any]) -> str:
    words = [f"One of {', '.join(map(_code, schema['enum']))}."] if "enum" in schema else []
    words += [f"Default `{json.dumps(schema['default'])}`."] if "default" in schema else []
    return (" " + " ".join(words)) if words else ""


# Command line


def cli_reference() -> str:
    """The help of every command of every face."""
    parts = []
    for face in COMMANDS:
        parts.append(_help(f"## {face}", face))
        parts += [_help(f"### {face} {name}", face, name) for name in summaries(COMMANDS[face])]
    return "\n" + "\n".join(parts)


def _help(heading: str, face: str, name: str | None = None) -> str:
    return "\n".join([heading, "", "```text", help_text(face, name), "```", ""])


def help_text(face: str, name: str | None = None) -> str:
    """What `--help` prints at a fixed width."""
    group = build_group(face)
    context = click.Context(group, info_name=face, **group.context_settings)
    context.terminal_width = WIDTH
    if name is None:
        return group.get_help(context)
    command = group.get_command(context, name)
    assert command is not None
    own = click.Context(command, info_name=name, parent=context, **command.context_settings)
    own.terminal_width = WIDTH
    return command.get_help(own)


def topic_table() -> str:
    """The guide's topics."""
    rows = [
        (_code(f"clew guide {name}"), topic_text(name, all_tools()).split("\n", 1)[0].lstrip("# "))
        for name in topic_names()
    ]
    return table(("Command", "Title"), rows)


def check_table() -> str:
    """What the doctor looks at."""
    texts = {check.__name__: inspect.getdoc(check) or "" for check in CHECKS}
    rows = [(_code(name), text.split("\n", 1)[0]) for name, text in texts.items()]
    return table(("Check", "What it looks at"), rows)


# Settings and JSON


def serve_options_table() -> str:
    """The options of every server, with the variables that stand for them."""
    rows = [
        (
            _code(f"{option.flag} {option.takes}".strip()),
            _code(option.variable) if option.variable else "",
            option.help,
        )
        for option in SERVE_OPTIONS
    ]
    return table(("Option", "Variable", "Meaning"), rows)


def config_table() -> str:
    """Every key of a project's configuration, what it may be and what holds without it."""
    from clew.specs.store.settings import ELEMENTS, KEYS

    rows = [(_code(name), _kind(setting.kind), _default(setting.default))
            for name, setting in KEYS.items()]  # fmt: skip
    rows += [
        (_code(f"{name}[].{key}"), _kind(setting.kind), _default(setting.default))
        for name, keys in ELEMENTS.items()
        for key, setting in keys.items()
    ]
    return table(("Key", "Value", "Without it"), rows)


def _kind(kind: str | tuple[str, ...]) -> str:
    return ", ".join(map(_code, kind)) if isinstance(kind, tuple) else kind


def _default(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_code(str(item)) for item in value)
    return (
        ""
        if value in (None, "")
        else _code(str(value).lower() if value in (True, False) else str(value))
    )


def host_variables_table() -> str:
    """The variables that move a host's own directory."""
    rows = [
        (_code(h.own_variable), h.title, _code(shown_path(h.own_default, h)))
        for h in HOSTS.values()
        if h.own_variable
    ]
    return table(("Variable", "Host", "Without it"), rows)


def envelopes() -> str:
    """The JSON of a success and of a failure."""
    good = Outcome({"face": "clew", "tools": [], "tokens": 0}).envelope("clew tools")
    failure = NotFound("No such topic: nope", "Topics: overview, hosts, servers.")
    bad = error_envelope("clew", failure)
    return block(
        "A success:", "", *_json(good), "", "A failure has the same keys:", "", *_json(bad)
    )


def _json(value: object) -> list[str]:
    return ["```json", json.dumps(value, indent=2, ensure_ascii=False), "```"]


def error_kinds() -> dict[str, tuple[int, str]]:
    """Every kind of failure: its exit code and its meaning."""
    for module in pkgutil.walk_packages(clew.__path__, "clew."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    kinds = {"bug": (3, "Something in Clew is wrong; the message names the crash report.")}
    queue: list[type[ClewError]] = [ClewError]
    while queue:
        error = queue.pop(0)
        queue += error.__subclasses__()
        if "code" in vars(error) and error.__module__.startswith("clew."):
            kinds[error.code] = (error.exit_code, (inspect.getdoc(error) or "").split("\n")[0])
    return dict(sorted(kinds.items()))


def error_kinds_table() -> str:
    """The kinds of failure as a table."""
    rows = [
        (_code(code), str(exit_code), text) for code, (exit_code, text) in error_kinds().items()
    ]
    return table(("`error.code`", "Exit code", "Meaning"), rows)


# Protocol


def version_table() -> str:
    """The versions of both eras."""
    rows = [(_code(v), "legacy", "`initialize` agrees on it") for v in versions.LEGACY_VERSIONS]
    rows += [(_code(v), "modern", "each request names it") for v in versions.MODERN_VERSIONS]
    return table(("Version", "Era", "How it is chosen"), rows)


def method_table() -> str:
    """Every method: which era has it, and what a server must offer for it."""
    rows = [
        (
            _code(name),
            _yes(answer="legacy" in method.eras),
            _yes(answer="modern" in method.eras),
            method.feature or "always",
            "at once" if method.quick else "when it is ready",
        )
        for name, method in METHODS.items()
    ]
    return table(("Method", "Legacy", "Modern", "Served if the server has", "Answered"), rows)


ERROR_WORDS = {
    "PARSE_ERROR": "The text is not strict JSON, or is too long. The id is null.",
    "INVALID_REQUEST": "Not a JSON-RPC 2.0 request, an id in use, a batch where none is allowed.",
    "METHOD_NOT_FOUND": "No such method in this era, or the server does not offer its feature.",
    "INVALID_PARAMS": "Parameters of a method are missing or wrong. Names what is wrong.",
    "INTERNAL_ERROR": "A bug in a handler (details on standard error only), or too many calls.",
    "RESOURCE_NOT_FOUND": "No such resource, in the legacy era. The modern era says -32602.",
    "HEADER_MISMATCH": "HTTP: a header is missing or differs from the body.",
    "MISSING_CAPABILITY": "The client did not declare what the call needs; data names it.",
    "UNSUPPORTED_VERSION": "The request names a version that is not served; data lists those.",
}


def error_codes() -> dict[str, int]:
    """The protocol's error codes by name."""
    return {k: v for k, v in vars(versions).items() if isinstance(v, int) and v < 0}


def error_code_table() -> str:
    """The protocol's error codes."""
    rows = [(_code(str(code)), ERROR_WORDS[name]) for name, code in error_codes().items()]
    return table(("Code", "When"), rows)


# What is limited: words, where the number is, its unit.
LIMITS = (
    ("One message on standard input", "protocol.stdio.server:LONGEST_LINE", "bytes"),
    (
        "Answers kept while the client does not read",
        "protocol.stdio.server:_LARGEST_BACKLOG",
        "bytes",
    ),
    ("Waiting for running calls when input ends", "protocol.stdio.server:DRAIN_SECONDS", "s"),
    ("One HTTP body", "protocol.http.guard:LARGEST_BODY", "bytes"),
    ("HTTP connections at a time, at most", "protocol.http.wire:MOST_CONNECTIONS", ""),
    ("Requests on one HTTP connection", "protocol.http.wire:MOST_REQUESTS", ""),
    ("Time for the head of an HTTP request", "protocol.http.wire:HEAD_SECONDS", "s"),
    ("Time for the body of an HTTP request", "protocol.http.guard:BODY_SECONDS", "s"),
    ("An idle HTTP session is kept for", "protocol.http.sessions:_IDLE_SECONDS", "s"),
    ("HTTP sessions at a time", "protocol.http.sessions:_MOST_SESSIONS", ""),
    ("Messages held for a session nobody listens to", "protocol.http.sessions:_MOST_HELD", ""),
    ("Keep-alive on an open stream every", "protocol.http.endpoint:_KEEP_ALIVE_SECONDS", "s"),
    ("Grace at the end of an HTTP server", "protocol.http.server:_GRACE_SECONDS", "s"),
    ("Waiting for an answer to a question", "protocol.kernel.asking:ASK_TIMEOUT_SECONDS", "s"),
    ("Sealed state is valid for", "protocol.kernel.seal:_LIFETIME_SECONDS", "s"),
    ("A task is kept for", "protocol.kernel.task_store:TTL_SECONDS", "s"),
    ("Suggested interval between two looks at a task", "protocol.kernel.tasks:_POLL_MS", "ms"),
    ("Waiting for a database that another process holds", "kit.sqlite:BUSY_SECONDS", "s"),
    ("Waiting for a server in `clew setup`", "hosts.handshake:TIMEOUT", "s"),
)


def limit_table() -> str:
    """Sizes, counts and times, from the constants that hold them."""
    pool = inspect.signature(Workers).parameters
    rows = [("Calls that run at a time", str(pool["threads"].default))]
    rows += [("Calls that wait; more are refused", str(pool["waiting"].default))]
    for words, place, unit in LIMITS:
        module, _, name = place.partition(":")
        rows.append((words, amount(getattr(import_module(f"clew.{module}"), name), unit)))
    return table(("What", "Limit"), rows)


def amount(number: float, unit: str) -> str:
    """A number in the largest unit that leaves it whole."""
    sizes = {"bytes": ((2**20, "MiB"), (2**10, "KiB")), "s": ((3600, "h"), (60, "min"))}
    for size, name in sizes.get(unit, ()):
        if number >= size and number % size == 0:
            return f"{number / size:g} {name}"
    return f"{number:g} {unit}".strip()


# Architecture


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def layer_list() -> str:
    """The layers that import-linter holds, the uppermost first."""
    return block("```text", *_layers(), "```")


def room_table() -> str:
    """Which rooms a room may import: those that stand below it."""
    layers = [re.findall(r"clew\.(\w+)", layer) for layer in _layers()]
    rows = []
    for number, layer in enumerate(layers):
        below = [room for lower in layers[number + 1 :] for room in lower if room in ROOMS]
        shown = ", ".join(map(_code, below)) or "none"
        rows += [(_code(room), shown) for room in layer if room in ROOMS]
    return table(("Room", "May import"), rows)


def _layers() -> list[str]:
    contracts = _project()["tool"]["importlinter"]["contracts"]
    found: list[str] = next(one["layers"] for one in contracts if one["type"] == "layers")
    return found


def room_map() -> str:
    """Every room with its packages, from their docstrings."""
    source = ROOT / "src" / "clew"
    rows = []
    for room in sorted(path.parent for path in source.glob("*/__init__.py")):
        rows.append((_code(f"{room.name}/"), _summary(room)))
        packages = sorted(path.parent for path in room.glob("*/__init__.py"))
        rows += [(_code(f"{room.name}/{p.name}/"), _summary(p)) for p in packages]
    return table(("Package", "What lives there"), rows)


def _summary(package: Path) -> str:
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").split("\n")[0]


def dependency_table() -> str:
    """Every dependency that pyproject.toml declares, with its reason."""
    project = _project()["project"]
    groups = {"always": project["dependencies"]}
    groups |= {f"extra `{k}`": v for k, v in project["optional-dependencies"].items()}
    rows = [
        (_code(name), group, _licence(name), DEPENDENCIES[name])
        for group, requirements in groups.items()
        for name in (re.split(r"[^\w.-]", requirement)[0] for requirement in requirements)
    ]
    return table(("Package", "Installed", "Licence", "Reason"), rows)


def _licence(package: str) -> str:
    """What a package says of its licence: the expression, the last classifier, or the first line."""
    known = metadata(package)
    said = [c for c in known.get_all("Classifier") or [] if c.startswith("License ::")]
    first_line = (known.get("License") or "not said").split("\n", 1)[0]
    spoken = said[-1].rpartition(" :: ")[2] if said else first_line
    return known.get("License-Expression") or spoken
