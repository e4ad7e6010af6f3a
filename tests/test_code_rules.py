"""Rules about the code itself that no linter knows."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))
ALL_PYTHON = [p for d in ("src", "tests", "benchmarks") for p in sorted((ROOT / d).rglob("*.py"))]
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


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_functions_stay_short(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, FUNCTIONS):
            length = node.end_lineno - node.lineno + 1
            assert length <= 60, f"{node.name} has {length} lines"


def test_no_path_of_a_machine_is_in_the_tree():
    texts = [*ALL_PYTHON, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "Makefile"]
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
