"""The tools as servers offer them, and the commands."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from clew.cli.core.app import run
from clew.cli.faces import build_group
from clew.history.store.vectors import vectors_path
from clew.history.tools.questions import QUESTION_TOOLS
from clew.kit.call import Call
from tests.history.questions.test_doors import strict
from tests.support.client import StdioServer, face

WITHOUT = """
import sys
sys.modules["numpy"] = sys.modules["wordllama"] = None
from clew.cli.faces import run_face
sys.exit(run_face("commitmux", sys.argv[1:]))
"""


@pytest.fixture
def notes(private_home):
    folder = private_home / ".claude" / "projects" / "p" / "memory"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("# Passwords\nAsk again after an hour.\n", encoding="utf-8")


@pytest.mark.parametrize(
    "tool", [tool for tool in QUESTION_TOOLS if "_search_" in tool.name], ids=lambda tool: tool.name
)
def test_answers_are_as_declared(tool, store, notes):
    answer = tool.handler({"query": "passwords"}, Call(settings={"db": str(store.path)}))
    found = answer.structured()
    Draft202012Validator(strict(tool.output_schema)).validate(found)
    assert found["commits" if "commits" in found else "sections"]
    assert json.loads(answer.text) == found
    assert tool.read_only
    assert not tool.original


def test_a_server_answers_and_leaves_the_files_alone(store, story, notes, private_home):
    before = vectors_path(store.path).read_bytes()
    command = face("commitmux", "serve", "--extended", "--db", str(store.path))
    with StdioServer(command, env={"HOME": str(private_home)}) as server:
        server.result("initialize", {"protocolVersion": "2024-11-05"})
        asked = {"query": "ask for the secret word once more", "mode": "semantic", "limit": 3}
        given = {"name": "commitmux_search_semantic", "arguments": asked}
        found = json.loads(server.result("tools/call", given)["content"][0]["text"])
        assert story[1]["login"] in [commit["sha"] for commit in found["commits"]]
        given = {"name": "commitmux_search_memory", "arguments": {"query": "passwords"}}
        told = json.loads(server.result("tools/call", given)["content"][0]["text"])
        assert told["sections"][0]["heading"] == "Passwords"
        given["arguments"] = {"query": "x", "mode": "fuzzy"}
        assert server.result("tools/call", given)["isError"]
    assert vectors_path(store.path).read_bytes() == before


def told(words, capsys, code=0):
    assert run(build_group("commitmux"), "commitmux", words) == code
    printed = capsys.readouterr()
    return printed.err if code else printed.out


def test_the_commands(store, story, notes, capsys):
    place = ["--db", str(store.path)]
    vectors_path(store.path).unlink()
    printed = told(["semantic", "spelling", "mistake", *place], capsys)
    assert "Left out: meaning: There are no vectors yet. Run 'commitmux embed'." in printed
    assert "no vectors yet" in told(["semantic", "--mode", "semantic", "x", *place], capsys, 1)
    assert told(["embed", *place], capsys).startswith("7 vectors added, 7 in all (wordllama")
    assert told(["embed", "--repo", "r", *place], capsys).startswith("0 vectors added, 7 in all")
    assert "'nope' not found" in told(["embed", "--repo", "nope", *place], capsys, 1)
    assert told(["embed", "--rebuild", *place], capsys).startswith("7 vectors added")
    printed = told(["semantic", "misspelt", "handbook", "--limit", "2", *place], capsys)
    assert "Model: wordllama-l2-supercat-256" in printed
    assert story[1]["typo"][:12] in printed
    printed = told(["search-memory", "passwords"], capsys)
    assert "a.md:1" in printed
    found = json.loads(told(["search-memory", "passwords", "--json"], capsys))
    assert found["data"]["sections"][0]["text"] == "# Passwords\nAsk again after an hour."
    assert run(build_group("clew"), "clew", ["history", "semantic", "x", *place]) == 0


def without(*words):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False
    )


def test_all_else_works_without_the_extra(store, notes):
    place = ["--db", str(store.path)]
    done = without("semantic", "spelling", *place)
    assert done.returncode == 0, done.stderr
    assert "Correct a spelling mistake" in done.stdout
    assert "pip install 'clew[semantic]'" in done.stdout
    done = without("search-memory", "passwords")
    assert done.returncode == 0, done.stderr
    assert "a.md:1" in done.stdout
    done = without("embed", *place)
    assert done.returncode == 1
    assert "pip install 'clew[semantic]'" in done.stderr
    assert without("search", "spelling", *place).returncode == 0
