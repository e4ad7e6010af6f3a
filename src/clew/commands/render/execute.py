"""A command becomes a prompt: find the template, check the options, fill it in.

Nothing here may import what a cold start cannot afford; what only a failure needs is imported
when it fails.
"""

from __future__ import annotations

from os.path import abspath, basename, dirname, isfile, join, lexists

from clew.commands.files.declarations import (
    check_name,
    declared_variables,
    is_name,
    is_true,
    is_variable_name,
)
from clew.commands.files.disk import is_inside, read_text
from clew.commands.files.errors import CommandNotFound, ExecutionFailure
from clew.commands.files.layers import DEFAULT_AGENT, PROJECT, configured_label, project_root
from clew.commands.files.templates import DEFAULT, file_name, find_home, variants
from clew.commands.registry.usage import record_use
from clew.commands.render.render import (
    DESTINATION,
    FILE,
    INPUT,
    VARIABLE,
    fill,
    names_in,
    render,
    render_compatibly,
)
from clew.commands.render.streams import LARGEST_INPUT
from clew.kit.errors import ClewError, Invalid
from clew.kit.text.frontmatter import read_leniently

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from clew.commands.files.templates import Home, Template
    from clew.kit.jsontext import JsonObject

LARGEST_VALUE = 1 << 16


class Request:
    """What was asked for: an address, a variant, and the values to fill in."""

    def __init__(self, c1: str, c2: str, c3: str, *, agent: str = DEFAULT_AGENT) -> None:
        self.agent = agent
        self.address = (c1, c2, c3)
        self.edition = ""
        self.adaptation = ""
        self.file = ""
        self.destination = ""
        self.layer = ""
        self.text: str | None = None
        self.variables: dict[str, str] = {}
        self.strict = False
        self.compatible = False
        self.read_input: Callable[[], str] | None = None
        self.base = ""  # where relative paths start, and what a file must not lead out of

    @property
    def label(self) -> str:
        """The address as a command line has it: the configuration, the action, the target."""
        return configured_label(self.agent, self.address)


class Rendered:
    """The prompt, and how it was rendered."""

    def __init__(self, request: Request, home: Home, template: Template) -> None:
        self.request = request
        self.home = home
        self.template = template
        self.prompt = ""
        self.meta: dict[str, Any] = {}
        self.asked: list[str] = []
        self.missing: list[str] = []
        self.problems: list[str] = []
        self.notes: list[str] = []

    @property
    def warnings(self) -> list[str]:
        """What the caller should know, the more important first."""
        return [*self.problems, *self.notes]

    @property
    def remarks(self) -> list[str]:
        """The warnings, after whose prompt it is where it is not the project's own."""
        origin = self.home.layer.origin
        return [*([] if origin == PROJECT else [f"{origin} prompt"]), *self.warnings]

    @property
    def accepts_input(self) -> bool:
        """Whether the frontmatter says that the command takes standard input."""
        options = self.meta.get("options")
        return isinstance(options, dict) and is_true(options.get("stdin"))

    def report(self) -> JsonObject:
        """How the prompt was rendered, without the values that were filled in."""
        return {
            "command": self.request.label,
            "template": self.template.path,
            "origin": self.home.layer.origin,
            "tried": list(self.template.tried),
            "variables": self.asked,
            "missing": self.missing,
            "warnings": self.warnings,
        }


def execute(request: Request, settings: Mapping[str, str] | None = None) -> Rendered:
    """Render a command."""
    if request.layer:
        settings = {**(settings or {}), "layer": request.layer}
    try:
        home = _home(request, settings)
        result = Rendered(request, home, _template(request, home))
        _render(result)
    except (CommandNotFound, ExecutionFailure):
        raise
    except ClewError as error:
        raise ExecutionFailure(request.label, error.message, error.hint) from error
    record_use(project_root(settings), request.agent, request.address)
    return result


def open_variables(
    request: Request, settings: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """The variables that a request leaves open: name, and what it is for; for a person to be asked."""
    if request.layer:
        settings = {**(settings or {}), "layer": request.layer}
    template = _template(request, _home(request, settings))
    meta, body, _ = read_leniently(read_text(template.path))
    declared = {variable.name: variable for variable in declared_variables(meta or {})}
    found = []
    for name in (n.removeprefix(VARIABLE) for n in names_in(body) if n.startswith(VARIABLE)):
        known = declared.get(name)
        if name not in request.variables and (known is None or known.default is None):
            found.append((name, (known.description if known else "") or name))
    return found


def _home(request: Request, settings: Mapping[str, str] | None) -> Home:
    if not all(map(is_name, request.address)):
        hint = "Names have letters, digits, `-` and `_`. `clew command list` shows what there is."
        raise CommandNotFound(request.address, hint, [])
    check_name("agent", request.agent)
    check_name("edition", request.edition or DEFAULT)
    check_name("adaptation", request.adaptation or DEFAULT)
    home = find_home(request.agent, request.address, settings)
    if home is not None:
        return home
    from clew.commands.render.describe import explain_miss

    raise explain_miss(request.agent, request.address, settings)


def _template(request: Request, home: Home) -> Template:
    found = home.template(request.edition, request.adaptation)
    if found is not None:
        return found
    edition = request.edition or DEFAULT
    wanted = [file_name(edition, request.adaptation), file_name(edition)]
    tried = [join(home.directory, name) for name in dict.fromkeys(wanted)]
    message = f"Template not found: {tried[0]}"
    if len(tried) > 1:
        message += f"\nAttempted paths: {', '.join(tried)}"
    raise ExecutionFailure(request.label, message, _variants(home))


def _variants(home: Home) -> str:
    found = [f"{e} with {a}" if a else e for e, a in variants(home.directory)]
    return f"There are: {', '.join(found)}."


def _render(result: Rendered) -> None:
    request, template = result.request, result.template
    text = read_text(template.path)
    meta, body, problem = read_leniently(text)
    result.meta, result.asked = meta or {}, names_in(body)
    if problem:
        result.notes.append(f"{problem} ({template.path})")
    if template.tried:
        wanted, used = basename(template.tried[0]), basename(template.path)
        result.problems.append(
            f"{wanted} does not exist, so {used} was used. {_variants(result.home)}"
        )
    values = _values(result)
    if request.compatible:
        result.prompt = render_compatibly(text, values)
    else:
        result.prompt = render(text, values)
        if values.get(INPUT) and INPUT not in result.asked and result.accepts_input:
            result.prompt = f"{result.prompt.rstrip()}\n\n{values[INPUT]}\n"
            result.notes.append("The template has no {input_text}, so the input was appended")
    _judge(result, values)


def _values(result: Rendered) -> dict[str, str]:
    request = result.request
    values = {
        "schema_file": _schema_file(result.home),
        "base_prompt_dir": result.home.directory,
        **_variables(result),
    }
    if request.file:
        values[FILE] = abspath(join(request.base, request.file))
        if not request.compatible and not lexists(values[FILE]):
            raise Invalid(f"No such file: {values[FILE]}", "Name an existing file with -f.")
    prefix = result.home.profile.destination_prefix
    if request.compatible and prefix + request.destination:
        glued = prefix + request.destination
        values[DESTINATION] = abspath(join(result.home.profile.working, glued))
    elif prefix or request.destination:
        values[DESTINATION] = abspath(join(request.base, prefix, request.destination))
    text = _input(result)
    if text:
        values[INPUT] = text
    return values


def _schema_file(home: Home) -> str:
    c3, c2 = basename(home.directory), basename(dirname(home.directory))
    schemas = home.profile.schemas
    known = join(home.profile.working, schemas, c2, c3, "base.schema.md")
    return known if isfile(known) else f"{schemas}/{c2}/{c3}/f_{c3}.json"


def _variables(result: Rendered) -> dict[str, str]:
    asked_for = result.request.variables
    given = {name: _checked_value(name, value) for name, value in asked_for.items()}
    for variable in declared_variables(result.meta):
        name, value = f"{VARIABLE}{variable.name}", given.get(variable.name)
        if value is None and variable.default is not None:
            given[variable.name] = variable.default
        elif value is None and variable.required:
            what = f" ({variable.description})" if variable.description else ""
            raise Invalid(f"{name} is required{what}", f"Give it: --{name}=VALUE")
        elif value is not None and variable.choices and value not in variable.choices:
            raise Invalid(f"Not a value of {name}", f"One of: {', '.join(variable.choices)}.")
    unused = [name for name in asked_for if VARIABLE + name not in result.asked]
    result.problems += [f"The template does not use {VARIABLE}{name}" for name in unused]
    return {VARIABLE + name: value for name, value in given.items()}


def _checked_value(name: str, value: str) -> str:
    if not is_variable_name(name):
        raise Invalid(f"Invalid user variable format: {VARIABLE}{name[:80]}")
    if name in (INPUT, FILE, DESTINATION, "schema_file"):
        raise Invalid(f"ReservedVariableName: {VARIABLE}{name}", "Choose another name.")
    if not value.strip():
        raise Invalid(f"EmptyVariableValue: {VARIABLE}{name}", "Give it a value, or leave it out.")
    if len(value) > LARGEST_VALUE:
        raise Invalid(f"{VARIABLE}{name} is too long", "Pass long text as input, or as a file.")
    return value.strip()


def _input(result: Rendered) -> str:
    request, asked = result.request, result.asked
    wanted = INPUT in asked or result.accepts_input
    if request.text is None and wanted and request.read_input is not None:
        request.text = request.read_input()
    text = (request.text or "").strip()
    if len(text) > LARGEST_INPUT:
        raise Invalid(f"More than {LARGEST_INPUT} characters of input", "Name a file instead.")
    if text and not wanted:
        result.problems.append("The command takes no input, so the given input was ignored")
    if text or not request.file or INPUT not in asked or FILE in asked:
        return text
    # The template asks for input and not for a path, so the file's text is inserted.
    place = abspath(join(request.base, request.file))
    if request.base and not is_inside(request.base, place):
        raise Invalid(f"{request.file} is outside the project", "Pass its text as `stdin` instead.")
    return read_text(place, LARGEST_INPUT).strip()


def _judge(result: Rendered, values: Mapping[str, str]) -> None:
    request, asked = result.request, result.asked
    result.missing = [name for name in asked if name not in values]
    result.problems += [f"Nothing was given for {{{name}}}" for name in result.missing]
    inlines = bool(request.file) and INPUT in asked
    for value, name in ((request.file, FILE), (request.destination, DESTINATION)):
        if value and name not in asked and not inlines:
            result.notes.append(f"The template does not use {{{name}}}")
    if not result.prompt.strip():
        raise Invalid(f"The template is empty: {result.template.path}", "Write it, or edit it.")
    if request.strict and result.problems:
        raise Invalid("\n".join(result.problems), "Strict: nothing was rendered.")


def preview(text: str) -> str:
    """A template without its frontmatter and without values."""
    _, body, _ = read_leniently(text)
    return fill(body.lstrip(), {})
