"""Rules about the code itself that no linter knows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.references import Uses, definitions, module_name

ROOT = Path(__file__).parent.parent


def python_in(*directories):
    return [path for name in directories for path in sorted((ROOT / name).rglob("*.py"))]


SOURCES = python_in("src")
PROGRAMS = python_in("src", "scripts", "benchmarks")
ALL_PYTHON = [*PROGRAMS, *python_in("tests")]
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root)/")


def name_of(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", ALL_PYTHON, ids=name_of)
def test_files_stay_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 600


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def public_definitions(body):
    """Functions and classes that others may use, with the methods of the classes."""
    for node in body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_public_names_have_a_docstring(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "the module says what lives in it"
    for node in public_definitions(tree.body):
        assert ast.get_docstring(node), f"{node.name} has no docstring"


@pytest.mark.parametrize("path", PROGRAMS, ids=name_of)
def test_functions_stay_short(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, FUNCTIONS):
            length = node.end_lineno - node.lineno + 1
            assert length <= 60, f"{node.name} has {length} lines"


def attributes(path):
    """The names after a dot that a file has, each with its line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [(n.attr, n.lineno) for n in ast.walk(tree) if isinstance(n, ast.Attribute)]


def test_only_the_history_room_talks_to_its_database():
    own = ("src/clew/history/", "src/clew/protocol/")  # a protocol's connection is another thing
    for path in SOURCES:
        if not name_of(path).startswith(own):
            lines = [line for name, line in attributes(path) if name == "connection"]
            assert not lines, f"{name_of(path)}: ask a function of clew.history, lines {lines}"


def test_written_times_are_read_in_one_place():
    for path in SOURCES:
        if path.name != "times.py":
            lines = [line for name, line in attributes(path) if name == "fromisoformat"]
            assert not lines, f"{name_of(path)}: use clew.kit.times.parse_iso, lines {lines}"


def test_no_path_of_a_machine_is_in_the_tree():
    texts = [*ALL_PYTHON, *ROOT.glob("*.md"), ROOT / "Makefile"]
    for directory in ("docs", "src", "scripts", "benchmarks", "packaging"):
        texts += [p for p in (ROOT / directory).rglob("*") if p.suffix in {".md", ".sh", ".json"}]
    for path in texts:
        if path.name != "test_code_rules.py":
            found = MACHINE_PATH.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{name_of(path)}: {found.group()}"


def test_every_room_tells_what_it_is():
    rooms = [p for p in (ROOT / "src" / "clew").iterdir() if (p / "__init__.py").exists()]
    for room in rooms:
        readme = room / "README.md"
        assert readme.exists(), name_of(room)
        assert len(readme.read_text(encoding="utf-8").splitlines()) <= 60, name_of(readme)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_git_is_started_in_one_place(path):
    text = path.read_text(encoding="utf-8")
    commands = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.List, ast.Tuple))]
    firsts = [node.elts[0] for node in commands if node.elts]
    found = [n.lineno for n in firsts if isinstance(n, ast.Constant) and n.value == "git"]
    starts = "subprocess" in text and bool(found)
    assert starts == (path.parts[-2:] == ("kit", "git.py")), f"run_git does that: lines {found}"


# Modules whose names are put together where they are used, so that no scan can see it.
NAMED_ELSEWHERE = {
    "clew.history.more_tools": "catalog/history_more.py makes handlers of tool names",
    "clew.hosts.files.jsonc_edit": "hosts/files/formats.py chooses the module by the format",
    "clew.hosts.files.toml_edit": "hosts/files/formats.py chooses the module by the format",
}


def test_everything_is_used_by_the_program_itself():
    trees = {
        module_name(path, ROOT / "src" if path in SOURCES else ROOT): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in PROGRAMS
    }
    uses = Uses(trees)
    uses.read((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    unused = [
        f"{found.module}:{found.name}"
        for module, tree in trees.items()
        if module.split(".")[0] == "clew" and module not in NAMED_ELSEWHERE
        for found, _ in definitions(module, tree)
        if found not in uses
    ]
    assert unused == [], "only tests use it, or nobody: delete it, or give it a caller"
