"""Every kind of drift is found."""

from __future__ import annotations

import pytest

from clew.commands.authoring.lint import lint
from tests.commands.project import HOME, record

WELL = {"title": "Do it", "description": "Does it"}


def codes(project, **options):
    return sorted(finding.code for finding in lint("climpt", project.settings, **options))


def test_nothing_to_say_about_what_is_well(project):
    project.template("git/do/it", "Body", **WELL)
    assert codes(project) == []
    assert codes(project, packaged=True) == []


@pytest.mark.parametrize(
    ("body", "meta", "code"),
    [
        ("Body", {"options": {"stdin": True}}, "stdin-unused"),
        ("{input_text}", {}, "stdin-undeclared"),
        ("Body", {"options": {"file": True}}, "file-unused"),
        ("{input_text_file}", {}, "file-undeclared"),
        ("Body", {"options": {"destination": True}}, "destination-unused"),
        ("{destination_path}", {}, "destination-undeclared"),
        ("Body", {"options": {"adaptation": ["detailed"]}}, "adaptation-missing"),
        ("Body", {"options": {"edition": ["default", "bug"]}}, "edition-missing"),
        ("Body", {"uv": [{"x": "What"}]}, "uv-unused"),
        ("{uv-x}", {}, "uv-undeclared"),
        ("Body", {"c2": "other"}, "address"),
        ("{input_txt}", {}, "placeholder"),
        ("Body", {"title": ""}, "title-missing"),
        ("Body", {"description": ""}, "description-missing"),
        ("Body", {"description": "x" * 1100}, "description-long"),
        ("", {}, "empty"),
    ],
)
def test_a_template_against_its_frontmatter(project, body, meta, code):
    project.template("git/do/it", body, **{**WELL, **meta})
    assert codes(project) == [code]


def test_variants_that_are_not_declared(project):
    project.template("git/do/it", "Body", **WELL)
    project.template("git/do/it", "Body", variant="bug_deep")
    assert codes(project) == ["adaptation-undeclared", "edition-undeclared"]


def test_frontmatter_that_is_missing_or_broken(project):
    project.template("git/do/it", "Body")
    project.template("git/do/that", '---\ntitle: "\n---\nBody')
    assert codes(project)[:2] == ["description-missing", "frontmatter-broken"]
    assert "frontmatter-missing" in codes(project)


def test_a_command_that_is_listed_and_cannot_run(project):
    project.registry(record("git/do/it"))
    assert codes(project) == ["template-missing"]


def test_a_command_that_runs_and_is_not_listed(project):
    project.registry()
    project.template("git/do/it", "Body", **WELL)
    assert codes(project) == ["registry-unlisted"]


def test_a_registry_that_tells_another_story(project):
    options = {"edition": ["default"], "adaptation": ["detailed"], "stdin": True}
    project.registry(record("git/do/it", "Other words", options=options, uv=[{"x": "y"}]))
    project.template("git/do/it", "Body", **WELL)
    assert codes(project) == ["adaptation-missing", *["registry-drift"] * 3]


def test_a_registry_with_doubles_and_bad_records(project):
    project.registry(record("git/do/it"), record("git/do/it"), {"c1": "x"})
    project.template("git/do/it", "Body", **WELL)
    assert codes(project) == ["registry-duplicate", "registry-record"]


def test_a_registry_or_configuration_that_cannot_be_read(project):
    project.write(f"{HOME}/registry.json", "{")
    project.write(f"{HOME}/mcp/config.json", "{")
    assert codes(project) == ["config-broken", "registry-broken"]


def test_patterns_that_refuse_what_exists(project):
    project.write(f"{HOME}/config/meta-app.yml", "app_prompt:\n  base_dir: prompts/meta\n")
    pattern = "params:\n  two:\n    directiveType:\n      pattern: ^(build|create)$\n"
    project.write(f"{HOME}/config/meta-user.yml", pattern)
    project.template("meta/build/it", "Body", **WELL)
    project.template("meta/name/it", "Body", **WELL)
    assert codes(project) == ["pattern"]


def test_an_agent_that_no_configuration_lists(project):
    project.registry(record("git/do/it"), path=".agent/iterator/registry.json")
    assert codes(project) == ["agent-unlisted"]


def test_names_against_the_documented_rule(project):
    project.template("git2/Do/it", "Body", **WELL)
    assert codes(project) == ["name", "name"]


def test_a_link_that_leads_out(project, tmp_path):
    (tmp_path / "x.md").write_text("x", encoding="utf-8")
    path = project.template("git/do/it", "x")
    path.unlink()
    path.symlink_to(tmp_path / "x.md")
    assert codes(project) == ["unreadable"]


def test_only_a_part(project):
    project.template("git/do/it", "")
    project.template("docs/do/it", "")
    assert len(codes(project, within=("git",))) == len(codes(project)) / 2


def test_the_command_ends_with_one_when_there_are_errors(project):
    project.template("git/do/it", "{uv-x}", **WELL)
    assert project.ok("lint").endswith("0 errors, 1 warnings.\n")
    project.template("git/do/it", "", **WELL)
    done = project.run("lint")
    assert done.returncode == 1
    assert b"error: The template is empty" in done.stdout
    assert project.run("lint", "a", "b", "c", "d").returncode == 2
