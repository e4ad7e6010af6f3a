"""What happened: from the audit trail, and from git for what came before it."""

import os

import pytest

from clew.kit.errors import Invalid
from clew.specs.change.add import add_spec
from clew.specs.change.approval import approve
from clew.specs.change.lifecycle import apply_status
from clew.specs.model import Changes
from clew.specs.query.activity import recent
from clew.specs.store import audit
from tests.specs.making import Project
from tests.support.repos import Repository

A, B = "2026-01-22-001-aaa", "2026-01-22-002-bbb"


def events(project, **options):
    return [(e["action"], e["id"], e["source"]) for e in recent(project.store, **options)]


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_the_audit_trail(project):
    made = project.store.create({"type": "code"}, "# New\n", actor="cli:kim").id
    apply_status(project.store, made, "in_progress", actor="mcp")
    project.store.change(made, lambda _: Changes({"labels": ["a"]}), actor="mcp")
    approve(project.store, made, by="kim", actor="cli:kim")
    apply_status(project.store, made, "completed", actor="mcp")
    project.store.archive(made, actor="mcp")
    actions = [action for action, _, _ in events(project)]
    assert actions == ["ARCHIVED", "COMPLETED", "APPROVED", "CHANGED", "STARTED", "CREATED"]
    newest = recent(project.store, limit=2)
    assert newest[1]["what"] == "COMPLETED in_progress -> completed"
    assert newest[0]["time"].endswith("Z")
    assert events(project, spec_id="other") == []
    assert events(project, since="2100-01-01") == []
    assert len(events(project, since="1h")) == 6
    assert events(project, by="nobody at all") == []


def test_the_order_is_that_of_the_trail_whatever_the_clock_says(project, monkeypatch):
    made = project.store.create({"type": "code"}, "# New\n", actor="cli").id
    clock = iter(["2026-01-22T10:00:00.000Z"] * 3 + ["2026-01-22T09:00:00.000Z"] * 2)
    monkeypatch.setattr(audit, "utc_now", lambda **_: next(clock))
    for status in ("in_progress", "paused", "in_progress", "failed", "pending"):
        apply_status(project.store, made, status, actor="mcp")
    actions = [action for action, _, _ in events(project, since="2026-01-01")]
    assert actions == ["RESET", "FAILED", "STARTED", "PAUSED", "STARTED", "CREATED"]


def test_git_knows_what_came_before(project):
    repo = Repository(project.root)
    repo.commit("unrelated", {"x": "1"})
    project.spec(A, "status: pending")
    repo.commit("Plan")
    repo.commit(
        f"chant({A}): add login",
        {"y": "1", f".chant/specs/{A}.md": "---\nstatus: completed\n---\n# T\n"},
    )
    repo.commit(
        f"chant({A}): approve spec",
        {f".chant/specs/{A}.md": "---\nstatus: completed\nx: 1\n---\n# T\n"},
    )
    repo.git("mv", f".chant/specs/{A}.md", ".chant/old.md")
    repo.commit(
        "chant: Archive",
        {f".chant/archive/2026-01-22/{A}.md": "---\nstatus: completed\n---\n# T\n"},
    )
    assert events(project) == [
        ("ARCHIVED", A, "git"),
        ("APPROVED", A, "git"),
        ("WORKED", A, "git"),
        ("CREATED", A, "git"),
    ]
    assert recent(project.store, spec_id=A)[-1]["by"] == "Test"
    assert events(project, by="TEST", limit=1) == [("ARCHIVED", A, "git")]


def test_without_git_or_trail_nothing_is_known(project):
    assert events(project) == []
    with pytest.raises(Invalid, match="Not a time"):
        recent(project.store, since="soon")


def test_events_name_the_person_and_the_program(project, monkeypatch):
    import pwd

    for name in ("LOGNAME", "USER"):
        monkeypatch.delenv(name, raising=False)
    add_spec(project.store, "By hand", actor="cli")
    add_spec(project.store, "By a client", actor="mcp")
    user = pwd.getpwuid(os.getuid()).pw_name
    newest, oldest = recent(project.store)
    assert (newest["by"], oldest["by"]) == (f"{user} (mcp)", user)
