"""Approval: who decided, when, what was said, and what follows a rejection."""

import re

import pytest

from clew.kit.errors import Conflict, Invalid
from clew.specs.change.approval import ASKED, add_entry, approve, reject
from clew.specs.files.criteria import parse_criteria
from clew.specs.model import Changes
from tests.specs.making import Project

A = "2026-01-22-001-aaa"
BODY = "# Title\n\n## Acceptance Criteria\n\n- [ ] First thing\n  - [ ] detail\n- [x] Done thing\n- [ ] Second thing\n"


@pytest.fixture
def project(tmp_path):
    made = Project(tmp_path)
    made.spec(
        A, "status: pending\nteam: core\napproval:\n  required: true\n  status: pending", BODY
    )
    return made


def test_approving(project):
    done = approve(project.store, "001", by=" Kim  Lee ", actor="test")
    assert done.changed
    approval = done.spec.fields["approval"]
    assert (approval["status"], approval["by"], approval["required"]) == (
        "approved",
        "Kim Lee",
        "true",
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", approval["at"])
    assert re.search(
        r"\n## Approval Discussion\n\n\*\*Kim Lee\*\* - \d{4}-\d\d-\d\d \d\d:\d\d - APPROVED\n$",
        done.spec.body,
    )
    assert done.spec.fields["team"] == "core"
    assert project.store.graph().state(A).status == "ready"
    again = approve(project.store, A, by="other", actor="test")
    assert not again.changed
    assert again.spec.fields["approval"]["by"] == "Kim Lee"


def test_rejecting_and_what_was_said(project):
    done = reject(project.store, A, by="kim", reason="Too large.\nSplit it.", actor="test")
    assert done.spec.fields["approval"]["status"] == "rejected"
    assert done.created == ()
    assert done.spec.body.endswith(" - REJECTED\nToo large.\nSplit it.\n")
    done = approve(project.store, A, by="kim", actor="test")
    assert done.spec.body.count("## Approval Discussion") == 1
    assert [line.split(" - ")[-1] for line in done.spec.body.splitlines() if "**kim**" in line] == [
        "REJECTED",
        "APPROVED",
    ]
    assert project.store.graph().state(A).status == "ready"


def test_a_reason_cannot_add_criteria(project):
    before = parse_criteria(project.store.load(A).body)
    reason = "No.\n\n## Acceptance Criteria\n- [x] fine\n```"
    done = reject(project.store, A, by="kim", reason=reason, actor="test")
    assert parse_criteria(done.spec.body) == before
    assert "> ## Acceptance Criteria" in done.spec.body


def test_a_rejection_can_make_a_fix_that_comes_first(project):
    done = reject(
        project.store, A, by="kim", reason="Tests miss", action="dependency", actor="test"
    )
    (fix,) = done.created
    assert done.spec.words("depends_on") == (fix,)
    made = project.store.load(fix)
    assert made.title == f"Fix rejection issues for {A}"
    assert parse_criteria(made.body).total == 2
    assert "Tests miss" in made.body


def test_a_rejection_can_make_a_group(project):
    done = reject(project.store, A, by="kim", reason="Too large", action="group", actor="test")
    assert done.created == (f"{A}.1", f"{A}.2")
    assert (done.spec.type, done.spec.head.members) == ("driver", done.created)
    first, second = map(project.store.load, done.created)
    assert (first.title, second.title) == ("First thing", "Second thing")
    assert second.words("depends_on") == (f"{A}.1",)
    assert first.fields["depends_on"] == []


def test_what_is_refused(project):
    with pytest.raises(Invalid, match="who approves"):
        approve(project.store, A, by=" ", actor="test")
    with pytest.raises(Invalid, match="needs a reason"):
        reject(project.store, A, by="kim", reason="\n", actor="test")
    with pytest.raises(Invalid, match="Unknown rejection action"):
        reject(project.store, A, by="kim", reason="x", action="burn", actor="test")
    project.spec(A, "status: completed", "# T\n")
    with pytest.raises(Conflict, match="is completed"):
        reject(project.store, A, by="kim", reason="x", actor="test")
    project.spec(A, "status: pending", "# T\n")
    with pytest.raises(Invalid, match="no open acceptance criteria"):
        reject(project.store, A, by="kim", reason="x", action="group", actor="test")
    assert project.store.load(A).head.approval_status is None


def test_asking_for_approval(project):
    project.spec(A, "status: pending", "# T\n")
    project.store.change(A, lambda _: Changes({"approval": dict(ASKED)}), actor="test")
    assert project.store.graph().state(A).blocked_by[0].reason == "approval"


def test_entries_go_to_the_end_of_their_section():
    body = "# T\n\n## Approval Discussion\n\none\n\n## Output\n\ntext\n"
    assert add_entry(body, "two") == (
        "# T\n\n## Approval Discussion\n\none\n\ntwo\n\n## Output\n\ntext\n"
    )
