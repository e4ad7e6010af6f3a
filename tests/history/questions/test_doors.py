"""The further tools as servers offer them, and as commands."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from jsonschema import Draft202012Validator

from clew.cli.core.app import run
from clew.cli.faces import build_group
from clew.history.store.sqlite import SqliteHistory
from clew.history.tools.commits import COMMIT_TOOLS
from clew.history.tools.questions import QUESTION_TOOLS
from clew.kit.call import Call

CORE = {"repo": "demo", "path": "src/core.py"}
ARGUMENTS = {
    "list_repos": {},
    "pickaxe": {"text": "alpha"},
    "file_history": CORE,
    "blame": CORE,
    "grep": {"repo": "demo", "texts": ["alpha"]},
    "line_history": {**CORE, "start": 2},
    "owners": CORE,
    "co_change": CORE,
    "hotspots": {},
    "similar": {"repo": "demo", "sha": None},
    "links": {"repo": "demo", "sha": None},
    "by_issue": {"issue": "#12"},
    "contains": {"repo": "demo", "sha": None},
    "culprit": {"repo": "demo", "target": None},
    "fixed_by": {"repo": "demo", "sha": None},
    "hunks": {"repo": "demo", "shas": None},
}
ITEMS = {"list_repos": "repos", "blame": "lines", "grep": "lines", "owners": "owners", "co_change": "files",
         "hotspots": "paths", "links": "links", "contains": "refs"}  # fmt: skip


def arguments_of(name, story):
    given = {key: value or story["frob"] for key, value in ARGUMENTS[name].items()}
    return {**given, "shas": [story["frob"]]} if "shas" in given else given


def strict(schema):
    """The schema, with nothing allowed that it does not name."""
    if schema.get("properties"):
        closed = {key: strict(value) for key, value in schema["properties"].items()}
        return {**schema, "properties": closed, "additionalProperties": False}
    return {**schema, "items": strict(schema["items"])} if "items" in schema else schema


TOOLS = (*QUESTION_TOOLS, *COMMIT_TOOLS)
QUESTIONS = [tool for tool in TOOLS if "_search_" not in tool.name]


@pytest.mark.parametrize("tool", QUESTIONS, ids=lambda tool: tool.name)
def test_answers_are_as_declared(tool, story, database):
    name = tool.name.removeprefix("commitmux_")
    answer = tool.handler(arguments_of(name, story), Call(settings={"db": str(database)}))
    found = answer.structured()

    Draft202012Validator(strict(tool.output_schema)).validate(found)
    assert found[ITEMS.get(name, "commits")], "the story has something for every question"
    assert found["total"] >= len(found[ITEMS.get(name, "commits")])
    if tool.command.lines is None:
        assert json.loads(answer.text) == found
    else:
        assert "\nNext: commitmux_" in answer.text, "in words, as in a pipe"
    assert tool.read_only
    assert not tool.original


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if "repo" not in ARGUMENTS[name]])
def test_an_empty_index_has_empty_answers(name, tmp_path):
    SqliteHistory.create(tmp_path / "db").close()
    tool = next(t for t in TOOLS if t.name == f"commitmux_{name}")
    found = tool.handler(ARGUMENTS[name], Call(settings={"db": str(tmp_path / "db")})).data

    assert (found["total"], found[ITEMS.get(name, "commits")]) == (0, [])


def command_line(name, story):
    given = arguments_of(name, story)
    words = [value[0] if isinstance(value, list) else str(value) for value in given.values()]
    return [name.replace("_", "-"), *words]


@pytest.fixture
def inside(story, monkeypatch):
    """Stand in the repository of the story: under `clew` a question is about where one stands."""
    monkeypatch.chdir(story.root)


def rows_of(printed):
    """The words of every line but the hint, without the column that `clew` may leave out."""
    lines = [line.split() for line in printed.splitlines() if not line.startswith("Next: ")]
    return [[word for word in line if word not in ("REPO", "demo")] for line in lines]


def follow(group, printed, database):
    """Run the command that the last line names, if it names one."""
    *_, last = printed.strip().split("\n")
    if last.startswith("Next: "):
        face, *following = shlex.split(last.removeprefix("Next: "))
        assert face == group.name
        assert run(group, face, [*following, "--db", str(database)]) == 0


@pytest.mark.usefixtures("inside")
@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_tool_is_a_command(name, story, database, capsys):
    words = command_line(name, story)
    group = build_group("commitmux")

    assert run(group, "commitmux", [*words, "--db", str(database), "--json"]) == 0
    envelope = json.loads(capsys.readouterr().out)
    assert envelope["ok"]
    assert envelope["data"]["total"] >= 1

    assert run(group, "commitmux", [*words, "--db", str(database)]) == 0
    printed = capsys.readouterr().out
    assert printed
    assert "Nothing found" not in printed
    follow(group, printed, database)
    capsys.readouterr()

    door = build_group("clew")
    assert run(door, "clew", ["history", *words, "--db", str(database)]) == 0
    shown = capsys.readouterr().out
    assert rows_of(shown) == rows_of(printed)
    assert ("\nNext: " in shown) == ("\nNext: " in printed)
    follow(door, shown, database)


def test_without_a_repository_commitmux_asks_all_and_reads_nothing_in(story, database, capsys):
    """Somebody who stands in another repository."""
    group = build_group("commitmux")
    for words in (["pickaxe", "alpha"], ["search", "frobnicate"], ["list-repos"]):
        assert run(group, "commitmux", [*words, "--db", str(database), "--json"]) == 0
        data = json.loads(capsys.readouterr().out)["data"]
        found = data.get("commits") or data["repos"]
        assert {one.get("repo") or one["name"] for one in found} == {"demo"}


def test_filters_are_options(story, database, capsys):
    group = build_group("commitmux")
    asked = ["pickaxe", "VERSION", "--regex", "--since", "2020-09-14", "--limit", "1"]
    asked += ["--repo", "demo", "--path", "core", "--direction", "added"]
    assert run(group, "commitmux", [*asked, "--db", str(database)]) == 0
    printed = capsys.readouterr().out
    row = printed.splitlines()[0]
    assert re.fullmatch(r"\S+ demo \w{12} \+\d+ -\d+ src/core.py:\d+ Mend the config.*", row)
    assert "1 of " in printed
    assert run(group, "commitmux", ["owners", "--repo", "nope", "--db", str(database)]) == 1
    assert "Repo 'nope' not found" in capsys.readouterr().err


@pytest.mark.usefixtures("inside")
def test_in_a_repository_the_next_call_need_not_name_it(story, database, capsys):
    group = build_group("clew")
    for words, named in (([], ""), (["--repo", "demo"], "demo ")):
        asked = ["history", "pickaxe", "alpha", *words, "--db", str(database)]
        assert run(group, "clew", asked) == 0
        last = capsys.readouterr().out.splitlines()[-1]
        assert last.startswith(f"Next: clew hunks {named}")
        assert ("demo" in last) == bool(named)


def test_hunks_with_a_text_are_only_those(story, database, capsys):
    group = build_group("commitmux")
    asked = ["hunks", "demo", story["frob"], "--db", str(database), "--text"]
    assert run(group, "commitmux", [*asked, "frobnicate"]) == 0
    head, path, hunk, *_ = capsys.readouterr().out.splitlines()
    assert head.startswith(story["frob"][:12])
    assert "/" in path
    assert hunk.startswith("@@ ")
    assert run(group, "commitmux", [*asked, "no such text"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "No hunk changes this text."


def test_a_diff_comes_from_a_file(story, database, capsys, tmp_path):
    diff = tmp_path / "x.diff"
    diff.write_text(story.git("show", story["frob"]), encoding="utf-8")
    words = ["similar", "--diff", str(diff), "--db", str(database), "--json"]
    assert run(build_group("commitmux"), "commitmux", words) == 0
    assert json.loads(capsys.readouterr().out)["data"]["commits"]
