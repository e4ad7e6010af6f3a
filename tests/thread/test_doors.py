"""The tools through a real server, and the commands."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from clew.cli.faces import run_face
from clew.thread.tools import THREAD_TOOLS
from tests.support.client import StdioServer, face
from tests.support.repos import Repository
from tests.thread.story import OPEN, SPEC, spec_text

CALLS = {
    "clew_why": {"target": "tests/test_orders.py:1"},
    "clew_brief": {"task": SPEC},
    "clew_recall": {"query": "orders survive"},
    "clew_trace": {},
}


@pytest.fixture
def server(story):
    with StdioServer(face("clew", "serve", "--toolsets", "thread"), cwd=story.root) as running:
        yield running


def call(server, name, arguments):
    return server.result("tools/call", {"name": name, "arguments": arguments})


def test_the_thread_is_offered_by_default_but_for_trace(story):
    with StdioServer(face("clew", "serve"), cwd=story.root) as running:
        names = {tool["name"] for tool in running.result("tools/list")["tools"]}
    assert {"clew_why", "clew_brief", "clew_recall"} <= names
    assert "clew_trace" not in names


def test_every_tool_answers_as_it_promises(server):
    schemas = {tool.name: tool.output_schema for tool in THREAD_TOOLS}
    for name, arguments in CALLS.items():
        result = call(server, name, arguments)
        assert not result.get("isError"), result
        Draft202012Validator(schemas[name]).validate(result["structuredContent"])
        assert result["content"][0]["text"]


def test_why_through_a_server_names_the_vision(server):
    asked = CALLS["clew_why"]
    text = call(server, "clew_why", asked)["content"][0]["text"]
    assert "BO-1 Cut lost orders by 30 % until May" in text
    text = call(server, "clew_why", {**asked, "full": True})["content"][0]["text"]
    assert "BO-1 Cut lost orders by 30 % until May [vision:docs/vision.md#BO-1]" in text


def test_errors_say_what_to_do_next(server):
    for name, arguments in (
        ("clew_why", {"target": "../../etc/passwd:1"}),
        ("clew_why", {"target": "x.py:1", "repo": "nowhere"}),
        ("clew_brief", {"task": "2026-09-09-001-zzz"}),
        ("clew_recall", {"query": "!"}),
        ("clew_why", {"target": "report.py:1", "budget": 3}),
    ):
        result = call(server, name, arguments)
        assert result["isError"]
        assert result["content"][0]["text"]


def run(capsys, *words):
    code = run_face("clew", list(words))
    return code, capsys.readouterr()


def test_commands_print_text_and_json(story, capsys, monkeypatch):
    monkeypatch.chdir(story.root)
    for words in (
        ["why", "report.py:2"],
        ["brief", OPEN],
        ["brief", "retry", "longer"],
        ["recall", "orders", "survive", "--kind", "spec", "--since", "2020-01-01"],
        ["trace"],
    ):
        code, printed = run(capsys, *words)
        assert (code, printed.err) == (0, ""), words
        assert printed.out
        code, printed = run(capsys, *words, "--json")
        assert json.loads(printed.out)["ok"] is True


def test_a_path_is_taken_from_the_directory_one_is_in(story, capsys, monkeypatch):
    monkeypatch.chdir(story.root / "shop")
    assert "clew why shop/orders.py:4 --full" in run(capsys, "why", "orders.py:4")[1].out
    assert "clew why report.py:1 --full" in run(capsys, "why", "../report.py:1")[1].out
    assert "Why report.py:1" in run(capsys, "why", "report.py:1", "--full")[1].out


def test_in_a_pipe_lines_are_told_by_commit_and_reason_alone(story, capsys, monkeypatch):
    monkeypatch.chdir(story.root)
    short = run(capsys, "why", "report.py:2")[1].out
    whole = run(capsys, "why", "report.py:2", "--full")[1].out
    assert whole.startswith("Why report.py:2\n")
    assert "Commit" in whole.splitlines()
    assert "Commit" not in short.splitlines()
    assert short.splitlines()[-1] == "Next: clew why report.py:2 --full"
    head = short.splitlines()[0]
    assert f"- {head}" in whole
    assert len(short) < len(whole) / 2


def test_the_picture_is_written_where_it_is_wanted(story, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(story.root)
    for name in ("graph.svg", "graph.html"):
        code, printed = run(capsys, "trace", "--picture", str(tmp_path / name))
        assert code == 0
        assert f"Drawn: {tmp_path / name}" in printed.out
        assert (tmp_path / name).read_text().strip().startswith(("<svg", "<!doctype"))
    code, printed = run(capsys, "trace", "--picture", str(tmp_path / "graph.png"))
    assert code == 2
    assert ".svg" in printed.err


def test_an_error_is_one_line_with_a_hint(story, capsys, monkeypatch):
    monkeypatch.chdir(story.root)
    code, printed = run(capsys, "why", "/etc/passwd:1")
    assert code == 1
    assert "Not in a registered repository" in printed.err
    assert "add-repo" in printed.err


def test_sha256_is_answered_by_git_and_refused_by_the_index_in_the_same_words(
    private_home, capsys, monkeypatch, tmp_path
):
    repository = Repository(tmp_path / "long", "--object-format=sha256")
    sha = repository.commit("Add a", {"a.py": "def f():\n    return 1\n"})
    monkeypatch.chdir(repository.path)
    code, printed = run(capsys, "why", "a.py:1")
    assert code == 0
    assert sha[:12] in printed.out
    for words in (["log"], ["search", "a"], ["owners", "a.py"], ["history", "add-repo", "."]):
        code, printed = run(capsys, *words)
        assert code != 0, words
        assert printed.err.endswith(
            "does not use SHA-1 commit ids\nOnly those can be indexed.\n"
        ), words


def test_a_clone_with_only_an_archive_is_a_chant_project(
    private_home, capsys, monkeypatch, tmp_path
):
    name = "2026-01-22-001-x7m"
    origin = Repository(tmp_path / "origin")
    origin.commit(f"chant({name}): Keep", {f".chant/archive/2026-01-22/{name}.md": spec_text()})
    origin.git("clone", "-q", str(origin.path), str(tmp_path / "clone"))
    monkeypatch.chdir(tmp_path / "clone")
    for words in (["list"], ["show", name], ["trace"]):
        code, printed = run(capsys, *words)
        assert code == 0, words
        assert "has no specs" not in printed.out
    assert name in printed.out
