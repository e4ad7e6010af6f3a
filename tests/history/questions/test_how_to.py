"""The question that the how-to shows works as written: as a tool and as a command."""

from __future__ import annotations

import ast
import json
import sys
from types import ModuleType

import pytest
from jsonschema import Draft202012Validator

from clew.cli.core.app import run
from clew.cli.faces import build_group
from clew.history.tools import questions
from clew.kit.call import Call
from tests.docs.pages import ROOT, blocks
from tests.history.questions.test_doors import strict

PAGE = ROOT / "docs" / "how-to" / "write-a-tool.md"


@pytest.fixture
def tool(monkeypatch):
    """The tool of the page, whose two blocks run in the two files that it names."""
    answering, declaring = blocks(PAGE, "python")[-2:]
    module = ModuleType("clew.history.questions.former_names")
    exec(answering, vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    *before, entry = ast.parse(declaring).body
    there = dict(vars(questions), Find=None)
    exec(compile(ast.Module(before, []), "tools", "exec"), there)
    made = eval(compile(ast.Expression(entry.value), "tools", "eval"), there)
    monkeypatch.setattr(questions, "QUESTION_TOOLS", (*questions.QUESTION_TOOLS, made))
    return made


def test_the_tool_of_the_page(tool, story, database):
    asked = {"repo": "demo", "path": "src/core.py"}
    found = tool.handler(asked, Call(settings={"db": str(database)})).data
    Draft202012Validator(strict(tool.output_schema)).validate(found)
    assert [(one["name"], one["sha"]) for one in found["names"]] == [
        ("src/app.py", story["rename"])
    ]


def test_the_command_of_the_page(tool, story, database, capsys):
    group = build_group("commitmux")
    words = ["former-names", "demo", "src/core.py", "--db", str(database)]
    assert run(group, "commitmux", words) == 0
    heads, row = capsys.readouterr().out.splitlines()
    assert heads.split() == ["DATE", "COMMIT", "NAME"]
    assert row.split()[1:] == [story["rename"][:12], "src/app.py"]
    assert run(group, "commitmux", [*words, "--limit", "0", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert (data["total"], data["names"], data["limit"]) == (1, [], 0)
    assert run(group, "commitmux", ["former-names"]) == 2
    assert "Missing argument 'PATH'" in capsys.readouterr().err
    assert run(group, "commitmux", ["--help"]) == 0
    assert "former-names   Show a file's former names." in capsys.readouterr().out
