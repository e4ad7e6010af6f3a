"""Where commands come from: configuration, registries, layers, prompt directories."""

from __future__ import annotations

import pytest

from clew.commands.files.errors import RegistryFailure
from clew.commands.files.layers import find_layers, profile_name, project_root
from clew.commands.registry.registry import load_commands, shelf, unique
from clew.commands.render.execute import Request, execute
from clew.kit.errors import NotFound
from clew.kit.project import find_project
from tests.commands.project import HOME, Project, record
from tests.support.repos import Repository


@pytest.fixture
def user(private_home):
    """The user's own commands."""
    return Project(private_home)


def labels(project, agent="climpt"):
    found = load_commands(agent, project.settings, fresh=True)
    return {command.label: command.origin for command in unique(found)}


def listed(project):
    layers = find_layers(project.settings)
    return layers[0].listed, [broken for layer in layers for broken in layer.broken]


def test_an_agents_domain_names_its_configuration():
    assert profile_name("climpt", "git") == "git"
    assert profile_name("inspector", "git") == "inspector-git"


@pytest.mark.parametrize("name", ["mcp/config.json", "config/registry_config.json"])
def test_configuration_of_project_then_home_then_default(project, user, name):
    default = {"climpt": f"{HOME}/registry.json"}
    assert listed(project) == (default, [])
    user.write(f"{HOME}/{name}", {"registries": {"helper": "h.json", "climpt": "home.json"}})
    assert listed(project)[0] == {"helper": "h.json", "climpt": "home.json"}
    project.write(f"{HOME}/{name}", {"registries": {"climpt": "mine.json"}})
    assert listed(project)[0] == {"climpt": "mine.json", "helper": "h.json"}


@pytest.mark.parametrize("text", ["{", "[]", '{"registries": 1}', '"x"'])
def test_broken_configuration_is_passed_by_and_told(project, text):
    path = project.write(f"{HOME}/mcp/config.json", text)
    found, broken = listed(project)
    assert found == {"climpt": f"{HOME}/registry.json"}
    assert [where for where, _ in broken] == [str(path)]


def test_registry_in_the_project_and_in_the_home(project, user):
    user.registry(record("git/from/home"), record("git/shared/thing", "Home's"))
    project.registry(record("git/shared/thing", "Mine"))
    found = labels(project)
    assert found["git shared thing"] == "project"
    assert found["git from home"] == "user"
    registry = shelf("climpt", project.settings).registry()
    assert [(c.label, c.origin) for c in registry.hidden if c.origin == "user"] == [
        ("git shared thing", "user")
    ]


def test_dropping_in_a_file_is_enough_in_every_layer(project, user):
    project.template("docs/write/page", "Body", title="Page", description="Write a page")
    user.template("docs/write/letter", "Body")
    found = labels(project)
    assert found["docs write page"] == "project"
    assert found["docs write letter"] == "user"
    assert found["git group-commit unstaged-changes"] == "packaged"


def test_a_stronger_layer_hides_a_packaged_template(project):
    project.template("git/merge-up/base-branch", "Mine")
    assert labels(project)["git merge-up base-branch"] == "project"
    assert execute(Request("git", "merge-up", "base-branch"), project.settings).prompt == "Mine\n"


def test_several_agents_by_the_map(project):
    registries_map = {"climpt": f"{HOME}/registry.json", "inspector": ".agent/inspector/r.json"}
    project.write(f"{HOME}/mcp/config.json", {"registries": registries_map})
    project.registry(record("git/check/diff"), path=".agent/inspector/r.json")
    project.registry()
    project.template("inspector-git/check/log", "From the shared tree")
    project.write(".agent/inspector/prompts/git/check/diff/f_default.md", "From its own")

    assert labels(project, "inspector") == {"git check diff": "project", "git check log": "project"}
    assert "inspector-git check log" not in labels(project)
    for target, text in (("diff", "From its own\n"), ("log", "From the shared tree\n")):
        request = Request("git", "check", target, agent="inspector")
        assert execute(request, project.settings).prompt == text


def test_the_profile_files_move_the_prompts(project):
    app = "working_dir: .agent/climpt\napp_prompt:\n  base_dir: prompts/test\n"
    project.write(f"{HOME}/config/inspector-git-app.yml", app)
    project.template("test/check/diff", "Moved")
    request = Request("git", "check", "diff", agent="inspector")
    assert execute(request, project.settings).prompt == "Moved\n"


@pytest.mark.parametrize("place", ["/etc", "../..", "a/../../b"])
def test_a_profile_cannot_lead_out_of_the_project(project, place):
    project.write(f"{HOME}/config/git-app.yml", f"working_dir: {place}\n")
    project.template("git/check/diff", "Body")
    project.registry()
    failures = {c.label for c in load_commands("climpt", project.settings)}
    assert "git check diff" not in failures


def test_an_agent_without_any_registry_is_told(project):
    with pytest.raises(RegistryFailure) as failure:
        load_commands("nobody", project.settings)
    assert failure.value.body["path"] == ".agent/nobody/registry.json"
    assert failure.value.body["details"] == "File not found"


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"tools": {}}', '{"tools": {"commands": {}}}', "\xff"]
)
def test_a_broken_registry_is_told(project, text):
    path = project.registry()
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RegistryFailure) as failure:
        load_commands("climpt", project.settings, fresh=True)
    assert failure.value.body["error"] == "Failed to load registry"
    assert failure.value.body["path"] == f"{HOME}/registry.json"


def test_records_without_a_usable_address_are_left_out_and_told(project):
    bad = [{"c1": "../x", "c2": "a", "c3": "b"}, {"c1": "a"}, 7]
    project.registry(*bad, record("git/do/it"))
    registry = shelf("climpt", project.settings).registry(fresh=True)
    assert len(registry.broken) == 3
    assert "git do it" in labels(project)


def test_the_project_is_the_nearest_marked_directory(project, monkeypatch):
    inner = project.root / "src" / "deep"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert project_root() == str(project.root)
    monkeypatch.setenv("CLEW_PROJECT", str(inner))
    assert project_root() == str(project.root)


def test_the_project_is_found_as_everywhere(project, private_home, tmp_path, monkeypatch):
    (private_home / "x" / ".agent").mkdir(parents=True)
    monkeypatch.setenv("CLEW_PROJECT", "~/x")
    assert project_root() == str(find_project()) == str((private_home / "x").resolve())
    monkeypatch.setenv("CLEW_PROJECT", "~nosuchuser/x")
    with pytest.raises(NotFound, match="no such user"):
        project_root()
    monkeypatch.delenv("CLEW_PROJECT")
    main, linked = Repository(tmp_path / "main"), tmp_path / "linked"
    main.commit("Start", {"a": "b"})
    main.git("worktree", "add", "-q", str(linked))
    monkeypatch.chdir(linked)
    assert project_root() == str(find_project()) == str(main.path.resolve())


def test_the_home_directory_is_no_project_for_having_commands(user, tmp_path, monkeypatch):
    inner = user.root / "somewhere"
    inner.mkdir()
    monkeypatch.chdir(inner)
    assert project_root() == str(inner)
    layers = find_layers()
    assert [layer.origin for layer in layers] == ["project", "user", "packaged"]


def test_the_file_wins_where_it_speaks_and_templates_complete_it(project):
    project.registry(record("docs/write/page", "As listed"))
    project.template(
        "docs/write/page", "{uv-tone}", title="Page", description="As written", uv=[{"tone": "How"}]
    )
    found = {c.label: c for c in load_commands("climpt", project.settings, fresh=True)}
    page = found["docs write page"]
    assert (page.description, page.title) == ("As listed", "Page")
    assert [variable.name for variable in page.variables] == ["tone"]
    assert "As written" in page.body
