"""Whatever can be typed, set, called or answered is in the documents."""

from __future__ import annotations

import ast
import json
import re

import click

from clew.catalog.command_table import COMMANDS, summaries
from clew.catalog.faces import FACES
from clew.catalog.options import SERVE_OPTIONS
from clew.catalog.selection import offered_name
from clew.cli.faces import build_group
from clew.doctor.checks import CHECKS
from clew.guide.topics import topic_names
from clew.hosts.table import HOSTS
from clew.kit.project import PROJECT_VARIABLES
from clew.program import all_tools
from clew.protocol.kernel.methods import METHODS
from clew.protocol.versions import LEGACY_VERSIONS, MODERN_VERSIONS
from tests.docs.pages import ROOT, text_of
from tests.support import docgen
from tests.support.each import for_each

REFERENCE = ROOT / "docs" / "reference"
SOURCES = sorted((ROOT / "src" / "clew").rglob("*.py"))
ALL_COMMANDS = [(face, name) for face in COMMANDS for name in summaries(COMMANDS[face])]


def section(path, heading):
    """The text under one heading, up to the next of the same or a higher rank."""
    rank = len(heading) - len(heading.lstrip("#"))
    _, found, rest = text_of(path).partition(f"\n{heading}\n")
    assert found, f"{path.name} has no heading {heading!r}"
    return re.split(rf"^#{{1,{rank}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def load(face, name):
    group = build_group(face)
    command = group.get_command(click.Context(group), name)
    assert command is not None
    return command


@for_each(ALL_COMMANDS)
def test_every_command_and_option_is_in_the_reference(face, name):
    shown = section(REFERENCE / "cli.md", f"### {face} {name}")

    for parameter in load(face, name).params:
        for word in (*parameter.opts, *parameter.secondary_opts):
            if word.startswith("-"):
                assert word in shown, f"{face} {name} {word}"


@for_each(ALL_COMMANDS)
def test_every_command_and_option_has_help(face, name):
    command = load(face, name)

    assert command.help
    assert summaries(COMMANDS[face])[name].endswith(".")
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{face} {name} {parameter.opts}"


@for_each(FACES)
def test_every_face_is_in_the_readme(face):
    assert f"`{face} {FACES[face].serve_command}`" in text_of(ROOT / "README.md")


@for_each(all_tools(), lambda tool: tool.name)
def test_every_tool_and_parameter_is_in_the_reference(tool):
    shown = section(REFERENCE / "tools.md", f"### {tool.name}")

    assert tool.description in shown
    assert f"`{offered_name(tool, FACES['clew'])}`" in shown
    for parameter in tool.declared_schema["properties"]:
        assert f"| `{parameter}` |" in shown


@for_each(topic_names())
def test_every_topic_is_in_the_reference(topic):
    assert f"`clew guide {topic}`" in text_of(REFERENCE / "cli.md")


@for_each(HOSTS)
def test_every_host_has_a_page_that_says_all(key):
    host = HOSTS[key]
    page = text_of(ROOT / "docs" / "how-to" / f"{key}.md")

    assert f"docs/how-to/{key}.md" in text_of(ROOT / "README.md")
    assert f"how-to/{key}.md" in text_of(ROOT / "docs" / "README.md")
    assert page.startswith(f"# Register with {host.title}\n")
    assert all(host.next_for(scope, "clew") in page for scope in host.scopes)
    for template in (*host.project_files, *host.user_files["linux"], *host.user_files["darwin"]):
        system = "darwin" if template in host.user_files["darwin"] else "linux"
        assert f"`{docgen.shown_path(template, host, system)}`" in page
    for option in ("", " --print", " --check", " --remove"):
        assert f"clew setup {key}{option}\n" in page


@for_each(METHODS)
def test_every_method_is_in_the_reference(name):
    assert f"| `{name}` |" in section(REFERENCE / "protocol.md", "## Methods")


@for_each([*LEGACY_VERSIONS, *MODERN_VERSIONS])
def test_every_version_is_in_the_reference(version):
    assert f"| `{version}` |" in section(REFERENCE / "protocol.md", "## Versions and eras")


@for_each(docgen.error_codes().values())
def test_every_protocol_error_is_in_the_reference(code):
    assert f"| `{code}` |" in section(REFERENCE / "protocol.md", "## Errors")


def test_every_error_code_in_the_source_is_in_the_reference():
    shown = text_of(REFERENCE / "protocol.md")
    protocol = [path for path in SOURCES if "protocol" in path.parts]
    found = {c for p in protocol for c in re.findall(r"-32\d{3}\b", p.read_text("utf-8"))}

    assert {code for code in found if f"`{code}`" not in shown} == set()


@for_each(docgen.error_kinds())
def test_every_kind_of_failure_is_in_the_reference(kind):
    exit_code = docgen.error_kinds()[kind][0]

    assert f"| `{kind}` | {exit_code} |" in text_of(REFERENCE / "json.md")
    assert f"\n| {exit_code} | " in section(REFERENCE / "json.md", "## Exit codes")


@for_each(CHECKS)
def test_every_check_is_in_the_how_to(check):
    assert f"| `{check.__name__}` |" in text_of(ROOT / "docs/how-to/troubleshoot.md")


def variables_in(path):
    """The environment variables that a module reads by name."""
    text = path.read_text(encoding="utf-8")
    found = set(re.findall(r"\b(?:CLEW|COMMITMUX|CHANT|CLIMPT|CLARIAD|CLAUDE)_[A-Z_]+\b", text))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and "environ" in ast.unparse(node.func):
            found |= {a.value for a in node.args[:1] if isinstance(a, ast.Constant)}
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            found |= {node.slice.value} if isinstance(node.slice, ast.Constant) else set()
    return found


def all_variables():
    """The environment variables that anything here reads."""
    return sorted(
        {option.variable for option in SERVE_OPTIONS if option.variable}
        | {host.own_variable for host in HOSTS.values() if host.own_variable}
        | set(PROJECT_VARIABLES)
        | {name for path in SOURCES for name in variables_in(path)}
    )


@for_each(all_variables)
def test_every_variable_is_in_the_settings(variable):
    assert re.search(rf"`{variable}[=`]", text_of(REFERENCE / "settings.md"))


@for_each(SERVE_OPTIONS, lambda option: option.flag)
def test_every_server_option_is_in_the_settings(option):
    shown = f"`{option.flag} {option.takes}`" if option.takes else f"`{option.flag}`"

    assert f"| {shown} |" in text_of(REFERENCE / "settings.md")


def test_every_file_in_clews_directory_is_in_the_settings():
    shown = section(REFERENCE / "settings.md", "## Files in Clew's directory")
    pattern = re.compile(r'(?:clew_home\(\)\)?|\bhome) / "([\w.-]+)"(?: / "([\w.-]+)")?')
    found = {
        match for path in SOURCES if not {"doctor", "work"} & set(path.relative_to(ROOT).parts)
        for match in pattern.findall(path.read_text(encoding="utf-8"))
    }  # fmt: skip

    assert found >= {("ledger.json", ""), ("secrets", "http-token"), ("tasks", "")}
    elsewhere = {("secrets", ""), (".clew", ""), (".config", ""), (".config", "chant")}
    for directory, name in found - elsewhere:
        wanted = f"`{directory}/{name}`" if name else f"`{directory}"
        assert wanted in shown or directory in ("Library", "AppData"), wanted


def test_every_make_target_is_in_contributing():
    recipes = re.findall(r"^([a-z]+):.*\n\t", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)

    for target in recipes:
        assert f"| `make {target}` |" in text_of(ROOT / "CONTRIBUTING.md")


def test_every_dependency_has_a_reason():
    unused = set(docgen.DEPENDENCIES) - set(re.findall(r"`([\w.-]+)`", docgen.dependency_table()))

    assert unused == set(), "a reason for something that is not a dependency"


def test_the_registry_finds_its_name_in_the_readme():
    server = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))

    assert f"<!-- mcp-name: {server['name']} -->" in text_of(ROOT / "README.md")
