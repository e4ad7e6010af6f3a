"""Every lint rule: when it speaks, what it says, and when it is silent."""

import json

import pytest

from clew.specs.check.lint import lint_all, lint_lines, lint_specs
from clew.specs.check.lint_rules import NO_CRITERIA
from tests.specs.making import Project

A, B, C = "2026-01-22-001-aaa", "2026-01-22-002-bbb", "2026-01-22-003-ccc"


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def findings(project, *ids):
    store, settings = project.store, project.settings
    report = lint_specs(store, settings, map(store.load, ids)) if ids else lint_all(store, settings)
    found = [(f.spec_id, f.severity, f.rule, f.message) for f in report.findings]
    return [finding for finding in found if finding[3] != NO_CRITERIA]


def messages(project, *ids):
    return [message for *_, message in findings(project, *ids)]


def boxes(count):
    return "# T\n\n## Acceptance Criteria\n\n" + "- [ ] one\n" * count


def test_a_fresh_spec_has_no_findings(project):
    project.spec(A, "status: pending", boxes(1))
    assert findings(project) == []
    assert lint_lines(lint_all(project.store, project.settings)) == ""


def test_a_spec_without_criteria_is_named_until_it_is_done(project):
    project.spec(A, "status: pending")
    project.spec(B, "status: completed")
    project.spec(C, "type: group")
    project.spec(f"{C}.1", "status: failed", boxes(1))
    report = lint_all(project.store, project.settings)
    assert [(f.spec_id, f.message) for f in report.findings] == [(A, NO_CRITERIA)]
    assert report.as_json()["failed"] == 0
    project.config("lint:\n  disable: [criteria]")
    assert lint_all(project.store, project.settings).findings == ()


EXAMPLE = "```markdown\nText\n```bash\nrun\n```\nmore\n```\n"


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (f"# T\n\n{EXAMPLE}\n## Acceptance Criteria\n\n- [ ] a\n- [x] b\n", 13),
        (f"# T\n\n## Acceptance Criteria\n\n- [ ] a\n\n{EXAMPLE}\n- [ ] b\n- [ ] c\n", 15),
        ("```markdown\n# T\n\n## Acceptance Criteria\n\n- [ ] a\n- [ ] b\n```\n", 6),
    ],
)
def test_criteria_that_fences_hide_are_named(project, body, line):
    project.spec(A, "", body)
    hidden = [text for text in messages(project) if "code block" in text]
    assert hidden == [
        f"2 acceptance criteria from body line {line} on are inside a code block and do not count"
    ]


@pytest.mark.parametrize(
    "body",
    [
        f"# T\n\n````markdown\n{EXAMPLE}````\n\n{boxes(2)}",
        f"# T\n\n```\n{boxes(3)}\n```\n\n{boxes(2)}",
        f"# T\n\n```sh\n{boxes(3)}\n```\n\n~~~sh\n- [ ] no\n~~~\n{boxes(2)}",
    ],
)
def test_examples_in_code_are_no_hidden_criteria(project, body):
    project.spec(A, "", body)
    assert messages(project) == []


def test_the_documented_text(project):
    project.spec(A, "type: feature", boxes(15))
    text = lint_lines(lint_specs(project.store, project.settings, [project.store.load(A)]))
    assert text.startswith("\n\nLint diagnostics:\n")
    assert (
        "\n  [WARNING] complexity: Spec has 15 acceptance criteria (threshold: 10)\n"
        "    → Consider splitting into smaller, focused specs" in text
    )
    assert "\n  [ERROR] type: Invalid spec type 'feature'. Must be one of: code, docs, fix" in text


def test_complexity_has_thresholds(project):
    files = "target_files:\n" + "".join(f"- f{n}\n" for n in range(6))
    project.spec(A, files, boxes(10) + "word " * 200)
    assert messages(project) == ["Spec touches 6 files (threshold: 5)"]
    project.config(
        "lint:\n  thresholds:\n    complexity_criteria: 9\n  disable: [complexity_files]"
    )
    assert messages(project) == [
        "Spec has 10 acceptance criteria (threshold: 9)",
        "Spec description is 245 words (threshold: 150)",
    ]
    project.config("lint:\n  disable: [complexity]")
    assert messages(project) == []


def test_output_is_no_description(project):
    project.config("lint:\n  disable: []")
    project.spec(A, "", f"# T\n\n## Output\n\n{'word ' * 200} {B}\n")
    assert findings(project) == []


def test_coupling(project):
    project.spec(
        A, f"depends_on: [{C}]", f"# T\n\nLike {B} and {C}, {B}.\n\n```\n{A[:-3]}zzz\n```\n"
    )
    project.spec(B)
    project.spec(C)
    assert findings(project) == [
        (
            A,
            "warning",
            "coupling",
            f"Spec references other spec ID(s) in body: {B} - use depends_on for dependencies",
        )
    ]


def test_coupling_among_members(project):
    project.spec(A, "type: driver", f"# T\n\n{B}\n")
    project.spec(f"{A}.1", "", f"# T\n\nSee {A} and {B}.\n")
    project.spec(f"{A}.2", "", f"# T\n\nAfter {A}.1.\n")
    project.spec(B)
    assert messages(project) == [
        f"Spec references sibling spec(s): {A}.1 - member specs should be independent"
    ]


def test_types_and_what_they_need(project):
    project.spec(A, "type: documentation")
    project.spec(B, "type: research")
    project.spec(C, "type: group")
    assert messages(project) == [
        "Documentation spec missing 'tracks' field",
        "Documentation spec missing 'target_files' field",
        "Research spec missing both 'informed_by' and 'origin' fields",
        "Research spec missing 'target_files' field",
        "Driver/group spec has empty 'members' array",
    ]
    project.spec(f"{C}.1")
    assert len(messages(project)) == 4


def test_model_waste(project):
    project.spec(A, "model: claude-opus-4", "# Fix typo")
    project.spec(B, "model: claude-opus-4", "# Fix a typo in the readme file")
    project.spec(C, "model: haiku", "# Fix typo")
    assert findings(project) == [
        (
            A,
            "warning",
            "model_waste",
            "Spec uses 'claude-opus-4' but appears simple (0 criteria, 0 files, 3 words) - consider haiku",
        )
    ]


def test_approval(project):
    project.spec(A, "approval:\n  required: true\n  status: approved")
    project.spec(B, "approval:\n  status: pending\n  by: kim")
    project.spec(C, "approval:\n  status: rejected\n  by: kim\n  at: 2026-01-22T10:00:00Z")
    assert messages(project) == [
        "Approval status is Approved but 'by' field is missing",
        "Approval status is Approved but 'at' timestamp is missing",
        "Approval has 'by' field set but status is still 'pending'",
    ]


def test_dependencies_are_known_when_archived(project):
    project.spec(A, f"depends_on: [{B}, {C}]\nmembers: [nowhere.1]")
    project.spec(B, "status: completed", archived=True)
    expected = [f"Unknown dependency '{C}'", "Unknown member spec 'nowhere.1'"]
    assert messages(project) == expected
    assert messages(project, A) == expected


def test_required_fields_may_be_any(project):
    project.config("enterprise:\n  required: [team, labels]")
    project.spec(A, "team: core\nlabels: [x]")
    project.spec(B, "labels: []")
    assert messages(project) == ["Missing required field 'team'", "Missing required field 'labels'"]


def test_title_and_unreadable_files(project):
    project.spec(A, "", "no heading\n\n## Acceptance Criteria\n\n- [ ] a\n")
    path = project.spec(B, "status: [")
    found = findings(project)
    assert found[0][:3] == (B, "error", "parse")
    assert found[0][3].startswith("Invalid YAML frontmatter: ")
    assert "(line" in found[0][3]
    assert found[1] == (A, "error", "title", "Missing title")
    report = lint_all(project.store, project.settings)
    counts = report.as_json()
    assert [counts[name] for name in ("total", "failed", "passed", "warned")] == [2, 2, 0, 0]
    path.unlink()
    assert lint_all(project.store, project.settings).as_json() == {
        "diagnostics": [
            {
                "spec_id": A,
                "severity": "error",
                "rule": "title",
                "message": "Missing title",
                "suggestion": "Begin the body with a `# Title` line",
            }
        ],
        "passed": 0,
        "warned": 0,
        "failed": 1,
        "total": 1,
    }


def test_cycles(project):
    project.spec(A, f"depends_on: [{B}]")
    project.spec(B, f"depends_on: [{C}]")
    project.spec(C, f"depends_on: [{A}]")
    assert messages(project, B) == [f"Dependency cycle: {B} -> {C} -> {A} -> {B}"]
    assert len(messages(project)) == 3


def test_overlap_of_open_specs(project):
    files = "target_files: [src/a.py, ./src/b.py]"
    project.spec(A, files)
    project.spec(B, "target_files: [src/b.py]")
    project.spec(C, f"{files}\nstatus: completed")
    assert messages(project) == [
        f"Target file 'src/b.py' is also declared by {B}",
        f"Target file 'src/b.py' is also declared by {A}",
    ]
    project.spec(B, f"target_files: [src/b.py]\ndepends_on: [{C}]")
    project.spec(C, f"target_files: [src/c.py]\ndepends_on: [{A}]")
    assert messages(project) == []


def test_members_in_turn_do_not_overlap(project):
    project.spec(A, "type: driver\ntarget_files: [x]")
    project.spec(f"{A}.1", "target_files: [x]")
    project.spec(f"{A}.2", "target_files: [x]")
    assert messages(project) == []
    project.spec(f"{A}.2", "target_files: [x]\ndepends_on: []")
    assert len(messages(project)) == 2


def test_criteria_that_do_not_count(project):
    project.spec(A, "", "# T\n\n## Agent Output\n\n## Acceptance Criteria\n- [ ] a\n")
    assert messages(project) == [
        "Acceptance criteria below an 'Output' heading do not count (body line 5)"
    ]


SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "size": {"type": "integer", "minimum": 1}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (None, []),
        ('done\n```json\n{"name": "x", "size": 2}\n```\n', []),
        (
            '{"size": 0}',
            ["at '': 'name' is a required property; at '/size': 0 is less than the minimum of 1"],
        ),
        ('so: {"name": 3} and {"name": "x"}', ["at '/name': 3 is not of type 'string'"]),
        (
            '{"name": "x", "y": 1}',
            ["at '': Additional properties are not allowed ('y' was unexpected)"],
        ),
        ("nothing", [f"No JSON found in agent output for spec '{A}'"]),
    ],
)
def test_output_against_its_schema(project, log, expected):
    (project.root / "schema.json").write_text(json.dumps(SCHEMA))
    project.spec(A, "status: completed\noutput_schema: schema.json")
    if log is not None:
        (project.root / ".chant" / "logs").mkdir()
        (project.root / ".chant" / "logs" / f"{A}.log").write_text(log)
    assert messages(project) == [f"Output validation failed: {text}" for text in expected]


@pytest.mark.parametrize("path", ["missing.json", "../outside.json", "/etc/hostname"])
def test_output_schemas_are_files_of_the_project(project, path):
    (project.root.parent / "outside.json").write_text("{}")
    project.spec(A, f"status: completed\noutput_schema: {path}")
    assert messages(project) == [f"Output schema file not found: {path}"]


def test_many_specs_with_one_file_stay_quick(project):
    for number in range(300):
        project.spec(f"2026-01-22-{number:03d}-aaa", "target_files: [x]")
    found = messages(project)
    assert len(found) == 300
    assert found[0].endswith("and 40 more")
