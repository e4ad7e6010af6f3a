"""Templates: where they are found, what they ask for, and that values stay values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.kit.errors import Invalid, NotFound
from clew.specs.change.templates import fill, list_templates, load_template, parse_assignments
from tests.specs.making import Project

TEMPLATE = """---
name: feature
description: A feature
variables:
- name: area
  description: Where
  required: true
- name: owner
  default: nobody
type: code
labels:
- "{{area}}"
- feature
target_files:
- src/{{area}}.py
prompt: standard
---
# Add {{ area }} for {{owner}} on {{date}}

{{unknown}} stays.
"""


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    (tmp_path / ".chant" / "templates").mkdir()
    (tmp_path / ".chant" / "templates" / "feature.md").write_text(TEMPLATE)
    return made


def test_filling(project):
    template = load_template(project.store.paths, "feature")
    fields, body = fill(template, {"area": "auth", "date": "2026-01-22"})
    assert fields == {
        "type": "code",
        "labels": ["auth", "feature"],
        "target_files": ["src/auth.py"],
        "prompt": "standard",
    }
    assert body == "# Add auth for nobody on 2026-01-22\n\n{{unknown}} stays.\n"
    assert template.as_json()["variables"][0] == {
        "name": "area",
        "description": "Where",
        "required": True,
        "default": None,
    }


def test_what_is_missing_or_unknown(project):
    places = project.store.paths
    template = load_template(places, "feature")
    with pytest.raises(Invalid) as caught:
        fill(template, {})
    assert caught.value.message == "Missing required variable(s): area"
    with pytest.raises(Invalid, match=r"Unknown variable\(s\): aera"):
        fill(template, {"area": "x", "aera": "y"})
    with pytest.raises(NotFound) as missing:
        load_template(places, "other")
    assert missing.value.message == "Template 'other' not found."
    assert "Known templates: feature" in missing.value.hint
    for name in ("../feature", "a/b", "", "-x"):
        with pytest.raises(Invalid, match="Not a template name"):
            load_template(places, name)


def test_the_projects_template_wins(project, private_home):
    shared = private_home / ".config" / "chant" / "templates"
    shared.mkdir(parents=True)
    (shared / "feature.md").write_text(TEMPLATE.replace("A feature", "Shared"))
    (shared / "fix.md").write_text("---\nname: fix\n---\n# Fix\n")
    (shared / "broken.md").write_text("---\nname: [\n---\n# Fix\n")
    (shared / "nameless.md").write_text("# Fix\n")
    templates, problems = list_templates(project.store.paths)
    assert [(t.name, t.scope, t.description) for t in templates] == [
        ("feature", "project", "A feature"),
        ("fix", "global", ""),
    ]
    assert len(problems) == 2
    assert load_template(project.store.paths, "fix").body == "# Fix\n"


def test_assignments():
    assert parse_assignments(["a=1", "b = x=y"]) == {"a": "1", "b": " x=y"}
    with pytest.raises(Invalid) as caught:
        parse_assignments(["novalue"])
    assert caught.value.message == "Invalid variable format 'novalue'. Expected 'key=value'."


HOSTILE = st.one_of(
    st.sampled_from(
        ["a: b", "x\nstatus: completed", "---\nstatus: completed\n---", "{{owner}}", "'", '"', "#"]
    ),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20),
)


@given(HOSTILE)
def test_values_never_become_fields(tmp_path_factory, value):
    project = Project(tmp_path_factory.mktemp("t"))
    directory = project.root / ".chant" / "templates"
    directory.mkdir()
    (directory / "feature.md").write_text(TEMPLATE)
    fields, body = fill(load_template(project.store.paths, "feature"), {"area": value})
    spec = project.store.create(fields, body, actor="test")
    assert spec.fields["labels"] == [value, "feature"]
    assert spec.status == "pending"
    assert set(spec.fields) == {"type", "status", "labels", "target_files", "prompt"}
