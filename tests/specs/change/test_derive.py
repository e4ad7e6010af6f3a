"""Derived fields become fields, once, and only with allowed values."""

import pytest

from clew.kit.errors import Invalid
from clew.specs.change.derive import derive_spec
from tests.specs.making import Project
from tests.support.repos import Repository

A = "2026-01-22-001-aaa"
RULES = r"""
enterprise:
  derived:
    ticket:
      from: branch
      pattern: "feature/([A-Z]+-\\d+)"
    team:
      from: env
      pattern: TEAM_NAME
      validate:
        type: enum
        values: [core, web]
    owner:
      from: git_user
      pattern: email
    year:
      from: path
      pattern: "(\\d{4})-"
    labels:
      from: env
      pattern: EXTRA_LABELS
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    repo = Repository(tmp_path)
    repo.commit(files={"a": "1"})
    repo.git("checkout", "-q", "-b", "feature/ABC-12-login")
    made = Project(tmp_path)
    made.config(RULES)
    made.spec(A, "status: pending\nlabels: [x]")
    monkeypatch.setenv("TEAM_NAME", "core")
    monkeypatch.setenv("EXTRA_LABELS", "x, y ,z")
    return made


def derived(project, **options):
    return derive_spec(project.store, A, project.settings, actor="test", **options)


def test_values_become_real_fields(project):
    preview = derived(project, dry_run=True)
    assert "ticket" not in project.store.load(A).fields
    assert derived(project) == preview
    fields = project.store.load(A).fields
    assert {name: fields[name] for name in ("ticket", "team", "owner", "year")} == {
        "ticket": "ABC-12",
        "team": "core",
        "owner": "test@example.com",
        "year": "2026",
    }
    assert fields["labels"] == ["x", "y", "z"]
    assert fields["derived_fields"] == ["ticket", "team", "owner", "year", "labels"]
    assert "context" not in fields


def test_deriving_again_changes_nothing(project):
    derived(project)
    before = project.store.load(A).raw
    assert derived(project).fields == {}
    assert project.store.load(A).raw == before


def test_a_value_that_is_not_allowed_is_not_written(project, monkeypatch):
    monkeypatch.setenv("TEAM_NAME", "sales")
    found = derived(project)
    assert found.warnings == ("team: 'sales' is not one of core, web",)
    assert "team" not in project.store.load(A).fields


def test_what_is_refused(project):
    project.config("enterprise:\n  derived:\n    status:\n      from: env\n      pattern: X")
    with pytest.raises(Invalid, match="'status' cannot be derived"):
        derived(project)
    project.config('enterprise:\n  derived:\n    a:\n      from: path\n      pattern: "("')
    with pytest.raises(Invalid, match="Not a regular expression"):
        derived(project)
    project.config("project:\n  name: x")
    with pytest.raises(Invalid, match="No enterprise derivation configured"):
        derived(project)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "DATABASE_URL", "gh_token"])
def test_no_variable_that_may_hold_a_secret_becomes_a_field(project, monkeypatch, name):
    """The settings come with a clone, and what they derive is committed."""
    monkeypatch.setenv(name, "core")
    project.config(f"enterprise:\n  derived:\n    team:\n      from: env\n      pattern: {name}\n")
    with pytest.raises(Invalid, match="may hold a secret"):
        derived(project)
    assert "team" not in project.store.load(A).fields
