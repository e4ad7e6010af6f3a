"""Whose prompt is rendered: a project's own command is never replaced by another of its name."""

import json

import pytest

from tests.commands.project import HOME, record

PACKAGED = ("git", "group-commit", "unstaged-changes")


def test_a_listed_command_without_a_template_is_not_replaced(project):
    project.registry(record("/".join(PACKAGED), "Ours"))
    told = project.fails(*PACKAGED)
    assert f"Template not found: {project.root}/{HOME}/prompts/{'/'.join(PACKAGED)}" in told
    assert "climpt new git group-commit unstaged-changes" in told
    assert "--layer packaged" in told


def test_following_the_hints_works(project):
    project.registry(record("/".join(PACKAGED), "Ours"))
    assert project.ok(*PACKAGED, "--layer", "packaged").startswith("#")
    project.ok("command", "new", *PACKAGED, program="clew")
    assert project.ok(*PACKAGED).startswith("# Group commit")


def test_a_prompt_of_another_layer_is_told(project):
    done = project.run(*PACKAGED)
    assert done.stdout.startswith(b"#")
    assert done.stderr.decode().splitlines()[0] == "climpt: packaged prompt"
    data = json.loads(project.run(*PACKAGED, "--json").stdout)["data"]
    assert data["origin"] == "packaged"


def test_an_own_prompt_needs_no_remark(project):
    project.template("git/do/it", "Body")
    assert project.run("git", "do", "it").stderr == b""


@pytest.mark.parametrize("layer", ["nope", "user packaged"])
def test_an_unknown_layer_names_the_layers(project, layer):
    assert "project, user, packaged" in project.fails(*PACKAGED, f"--layer={layer}")


def test_an_empty_climpt_directory_has_no_registry(project):
    (project.root / HOME).mkdir()
    told = project.fails("list")
    assert "Failed to load registry .agent/climpt/registry.json: File not found" in told
    assert "--layer packaged" in told
    assert "group-commit" in project.ok("list", "--layer", "packaged")


def test_another_agents_step_prompts_are_its_own(project):
    app = "working_dir: .agent/iterator\napp_prompt:\n  base_dir: prompts/steps\n"
    project.write(f"{HOME}/config/iterator-steps-app.yml", app)
    project.write(".agent/iterator/prompts/steps/initial/issue/f_default.md", "Begin")
    project.template("git/do/it", "Body")
    assert "initial" not in project.ok("list")
    assert "steps  initial  issue" in project.ok("list", "--agent", "iterator")
    assert project.ok("iterator-steps", "initial", "issue") == "Begin\n"


def test_the_shape_of_the_shipped_original(project, monkeypatch):
    from tests.commands.project import Tools

    monkeypatch.setenv("CLIMPT_RESULTS", "wrapped")
    project.registry(record("git/do/it", "Water the garden"))
    with project.server() as server:
        tools = Tools(server)
        found = json.loads(tools.text("search", query="water the garden"))
        assert set(found) == {"results", "agent"}
        assert [hit["c2"] for hit in found["results"]] == ["do"]
        found = json.loads(tools.text("describe", c1="git", c2="do", c3="it"))
        assert [one["c3"] for one in found["commands"]] == ["it"]
