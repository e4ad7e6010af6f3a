"""The tool clew_guide, in real repositories."""

import json
import os
import subprocess

import pytest
from tests.support.client import CLEW, StdioServer

from clew.guide.tools import guide_tools
from clew.guide.topics import topic_names
from clew.kit import jsontext
from clew.kit.call import Call
from clew.kit.errors import NotFound
from clew.program import all_tools

guide = guide_tools(all_tools)[0].handler


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    for name in ("CLEW_PROJECT", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.chdir(tmp_path)


def git(directory, *words):
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    done = subprocess.run(
        ["git", *identity, *words], cwd=directory, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-b", "trunk")
    git(root, "commit", "--allow-empty", "-m", "first")
    return root


def test_it_answers_the_overview_and_the_project(repository):
    answer = guide({"project": str(repository)}, Call())

    assert not answer.is_error
    assert answer.text.startswith("# Clew")
    assert answer.data["topic"] == "overview"
    assert answer.data["topics"] == list(topic_names())
    assert answer.data["project"] == {
        "root": str(repository),
        "branch": "trunk",
        "head": git(repository, "rev-parse", "--short", "HEAD"),
    }
    assert f"Project: {repository} (branch trunk at " in answer.text
    assert json.dumps(answer.data)


def test_it_tells_the_tools_of_every_room():
    found = {room["name"]: room for room in guide({}, Call()).data["rooms"]}

    assert "clew_guide" in found["guide"]["tools"]
    assert set(found["thread"]) == {"name", "tools"}


def test_it_answers_another_topic_alone(repository):
    answer = guide({"topic": "servers"}, Call(settings={"project": str(repository)}))

    assert answer.text == answer.data["text"]
    assert answer.text.startswith("# Servers")
    assert answer.data["project"]["root"] == str(repository)


def test_no_project_is_a_note_and_not_an_error():
    answer = guide({}, Call())

    assert answer.data["project"] is None
    assert "Project: none. No project found" in answer.text


def test_a_wrong_project_is_a_note_too(tmp_path):
    answer = guide({"project": str(tmp_path / "nowhere")}, Call())

    assert answer.data["project"] is None
    assert "No such project directory" in answer.text


def test_a_working_directory_that_is_gone_is_a_note_too(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    assert guide({}, Call()).data["project"] is None


def test_a_directory_without_git_is_a_project_without_branch(tmp_path):
    (tmp_path / "plain").mkdir()
    answer = guide({"project": str(tmp_path / "plain")}, Call())

    assert answer.data["project"]["branch"] is None
    assert answer.data["project"]["head"] is None
    assert "not a git repository" in answer.text


def test_an_empty_repository_has_a_branch_and_no_head(tmp_path):
    git(tmp_path, "init", "-b", "trunk", "fresh")
    answer = guide({"project": str(tmp_path / "fresh")}, Call())

    assert answer.data["project"]["branch"] == "trunk"
    assert answer.data["project"]["head"] is None


def test_a_detached_head_has_no_branch(repository):
    git(repository, "checkout", "--detach")
    answer = guide({"project": str(repository)}, Call())

    assert answer.data["project"]["branch"] is None
    assert "(detached at " in answer.text


def test_an_unknown_topic_is_an_error_with_the_nearest_name():
    with pytest.raises(NotFound, match="No such topic: overveiw") as caught:
        guide({"topic": "overveiw"}, Call())

    assert caught.value.hint == "Did you mean overview?"


def test_a_project_whose_name_is_no_text_can_be_told(tmp_path):
    root = tmp_path / os.fsdecode(b"d\xff")
    root.mkdir()
    git(root, "init", "-q", "-b", "trunk")
    answer = guide({"project": str(root)}, Call())

    assert answer.data["project"]["root"] == rf"{tmp_path}/d\xff"
    assert rf"{tmp_path}/d\xff (branch trunk" in answer.text
    assert jsontext.dumps(answer.data)


@pytest.mark.parametrize("named", ["~nosuchuser/x", "/" + "x" * 5000, "a\0b", "\ud800"])
def test_a_project_that_cannot_be_is_none(named):
    answer = guide({"project": named}, Call())

    assert answer.data["project"] is None
    assert "Project: none. " in answer.text
    assert answer.text.encode()


def test_a_topic_that_is_no_text_can_be_told():
    with pytest.raises(NotFound) as caught:
        guide({"topic": "\udcff" + "x" * 5000}, Call())

    assert caught.value.message.startswith(r"No such topic: \xff")
    assert len(caught.value.message) < 300


@pytest.mark.parametrize("tool", ["clew_guide", "clew_doctor"])
def test_on_the_wire_odd_projects_are_answered(tool, tmp_path):
    root = tmp_path / os.fsdecode(b"d\xff")
    root.mkdir()
    git(root, "init", "-q")
    with StdioServer(CLEW, cwd=str(root)) as server:
        assert "content" in server.result("tools/call", {"name": tool, "arguments": {}})
        for named in ("~nosuchuser/x", "/" + "x" * 5000, "a\0b"):
            call = {"name": tool, "arguments": {"project": named}}
            assert not server.result("tools/call", call).get("isError")
