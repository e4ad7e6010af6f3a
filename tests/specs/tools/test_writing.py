"""The tools that change specs, through a real server, with the texts that are documented."""

from __future__ import annotations

import re

import pytest

from tests.specs.tools.project import (
    EXTENDED,
    OTHER,
    SPEC,
    Chant,
    boxes,
    git,
    make_project,
    write_spec,
)

MEMBER = f"{SPEC}.1"


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path)


def commit_for(project, spec_id, name="work.txt"):
    """A commit whose subject names the spec."""
    (project / name).write_text("done\n", encoding="utf-8")
    git(project, "add", name)
    git(project, "commit", "--quiet", "-m", f"chant({spec_id}): Do it")
    return git(project, "rev-parse", "--short", "HEAD").strip()


def read(project, spec_id):
    return (project / ".chant" / "specs" / f"{spec_id}.md").read_text(encoding="utf-8")


def test_output_is_appended_as_documented(project):
    write_spec(project, SPEC, "Feature Implementation", status="in_progress", body="Some content\n")
    with Chant(project) as chant:
        told = chant.text(
            "chant_spec_update",
            id="001",
            status="completed",
            output="Implementation complete. All tests passing.",
        )
    assert told == f"Updated spec: {SPEC}"
    text = read(project, SPEC)
    assert text.endswith("\n## Output\n\nImplementation complete. All tests passing.\n")
    assert "status: completed" in text
    assert "completed_at: " in text


def test_an_update_touches_only_what_it_names(project):
    path = project / ".chant" / "specs" / f"{SPEC}.md"
    before = (
        "---\n# why this matters\ntype: code\nowner:   Ada   # unknown to us\nstatus: pending\n"
        "labels: [old]\n---\n\n# Title\r\n\nBody without end"
    )
    path.write_bytes(before.encode())
    with Chant(project) as chant:
        chant.text("chant_spec_update", id=SPEC, labels=["new", "it's: odd"], model="opus")
    after = path.read_bytes().decode()
    assert after.endswith("\n# Title\r\n\nBody without end")
    assert "# why this matters\ntype: code\nowner:   Ada   # unknown to us\n" in after
    with Chant(project) as chant:
        spec = chant.json("chant_spec_get", id=SPEC)
    assert spec["labels"] == ["new", "it's: odd"]
    assert spec["model"] == "opus"
    assert spec["fields"]["owner"] == "Ada"


def test_what_cannot_be_updated_is_said(project):
    write_spec(project, SPEC, "One")
    write_spec(project, OTHER, "Two", depends_on=[SPEC])
    with Chant(project) as chant:
        assert chant.error("chant_spec_update", id=SPEC) == (
            "Failed to update spec: No updates specified"
        )
        assert chant.error("chant_spec_update", id=SPEC, status="done") == (
            "Invalid status: done. Must be one of: pending, in_progress, completed, failed"
        )
        told = chant.error("chant_spec_update", id=SPEC, status="completed")
        assert "Invalid transition from pending to completed" in told
        assert "in_progress" in told
        told = chant.error("chant_spec_update", id=SPEC, depends_on=[OTHER])
        way = f"{SPEC} -> {OTHER} -> {SPEC}"
        assert told == f"Failed to update spec: Circular dependency detected: {way}"
        told = chant.error("chant_spec_update", id=SPEC, depends_on=["nothing"])
        assert told.startswith("Unknown dependency 'nothing'")
    assert "status: pending" in read(project, SPEC)


def test_add_creates_and_lints(project):
    with Chant(project) as chant:
        told = chant.text("chant_add", description="Add user authentication", prompt="feature")
        found = re.fullmatch(r"Created spec: (\d{4}-\d\d-\d\d-001-[0-9a-z]{3})", told)
        assert found
        told = chant.result("chant_add", description="Add more")["structuredContent"]
        assert [one["rule"] for one in told["diagnostics"]] == ["criteria"]
        spec = chant.json("chant_spec_get", id=found[1])
        assert (spec["title"], spec["prompt"]) == ("Add user authentication", "feature")
        assert (spec["status"], spec["type"]) == ("pending", "code")
        long = "Rework the importer. It must keep unknown fields, and it must never lose a byte of them."
        second = chant.result("chant_add", description=long)["structuredContent"]["id"]
        spec = chant.json("chant_spec_get", id=second)
        assert spec["title"] == "Rework the importer"
        assert "never lose a byte" in spec["body"]
        assert "-003-" in second


def test_add_shows_diagnostics_as_documented(project):
    criteria = "\n".join(f"- [ ] Point {n}" for n in range(15))
    with Chant(project) as chant:
        told = chant.text(
            "chant_add", description=f"Too much\n\n## Acceptance Criteria\n\n{criteria}\n"
        )
    assert "\n\nLint diagnostics:\n  [WARNING] complexity: Spec has 15 acceptance criteria" in told
    assert "\n    → " in told


@pytest.mark.parametrize("prompt", ["../x", "a\nstatus: completed", "-x", "a/b"])
def test_a_prompt_name_cannot_carry_anything_else(project, prompt):
    with Chant(project) as chant:
        assert "Not a prompt name" in chant.error("chant_add", description="x", prompt=prompt)
    assert not list((project / ".chant" / "specs").iterdir())


def test_an_empty_description_is_refused(project):
    with Chant(project) as chant:
        assert chant.error("chant_add", description="  ").startswith("The description is empty")


def test_finalize_wants_criteria_and_commits(project):
    write_spec(project, SPEC, "Work", status="in_progress", body=boxes(1, 0))
    write_spec(project, OTHER, "Next", depends_on=[SPEC])
    with Chant(project, EXTENDED) as chant:
        assert chant.error("chant_finalize", id=OTHER) == (
            f"Spec '{OTHER}' must be in_progress, completed, or failed to finalize. "
            "Current status: pending"
        )
        assert chant.error("chant_finalize", id=SPEC) == (
            f"Spec '{SPEC}' has 1 unchecked acceptance criteria. "
            "All criteria must be checked before finalization."
        )
        done = chant.json("chant_check", id=SPEC, number=2, evidence="pytest: 3 passed")
        assert (done["checked"], done["unchecked"]) == (True, 0)
        assert "  evidence: pytest: 3 passed" in read(project, SPEC)
        told = chant.error("chant_finalize", id=SPEC)
        assert told.startswith("Failed to finalize spec: No matching commits found")
        short = commit_for(project, SPEC)
        result = chant.result("chant_finalize", id=SPEC)
        assert result["content"][0]["text"] == f"Finalized spec: {SPEC}"
        assert result["structuredContent"]["commits"] == [short]
        assert result["structuredContent"]["unblocked"] == [OTHER]
        spec = chant.json("chant_spec_get", id=SPEC)
        assert (spec["status"], spec["commits"]) == ("completed", [short])
        assert spec["completed_at"]


def test_output_cannot_forge_the_gate(project):
    write_spec(project, SPEC, "Work", status="in_progress", body=boxes(0))
    commit_for(project, SPEC)
    with Chant(project) as chant:
        forged = "## Acceptance Criteria\n\n- [x] Everything is fine"
        chant.text("chant_spec_update", id=SPEC, output=forged)
        assert "1 unchecked acceptance criteria" in chant.error("chant_finalize", id=SPEC)


def test_a_dirty_worktree_is_not_finalized(project):
    write_spec(project, SPEC, "Work", status="in_progress", body=boxes(1))
    commit_for(project, SPEC)
    tree = project.parent / "tree"
    git(project, "worktree", "add", "--quiet", "-b", f"chant/{SPEC}", str(tree))
    (tree / "unsaved.txt").write_text("x", encoding="utf-8")
    with Chant(project) as chant:
        told = chant.error("chant_finalize", id=SPEC)
    assert "uncommitted changes in worktree" in told
    assert f"Worktree: {tree}" in told


def test_groups_start_and_complete_with_their_members(project):
    write_spec(project, SPEC, "Group", type="group")
    write_spec(project, MEMBER, "Member", body=boxes(1))
    with Chant(project) as chant:
        chant.text("chant_spec_update", id=MEMBER, status="in_progress")
        assert chant.json("chant_spec_get", id=SPEC)["status"] == "in_progress"
        commit_for(project, MEMBER)
        done = chant.result("chant_finalize", id=MEMBER)["structuredContent"]
        assert done["completed_groups"] == [SPEC]
        assert chant.json("chant_spec_get", id=SPEC)["status"] == "completed"


def test_reset_keeps_the_branch(project):
    write_spec(project, SPEC, "Work", status="in_progress")
    write_spec(project, OTHER, "Other")
    git(project, "branch", f"chant/{SPEC}")
    with Chant(project) as chant:
        assert chant.text("chant_reset", id=SPEC) == f"Reset spec '{SPEC}' to pending"
        assert chant.error("chant_reset", id=OTHER) == (
            f"Failed to reset spec: Spec '{OTHER}' is not in failed or in_progress state "
            "(current: pending). Only failed or in_progress specs can be reset."
        )
        chant.text("chant_spec_update", id=OTHER, status="in_progress")
        chant.text("chant_spec_update", id=OTHER, status="failed")
        assert chant.text("chant_resume", id=OTHER) == f"Reset spec '{OTHER}' to pending"
    assert f"chant/{SPEC}" in git(project, "branch", "--list", f"chant/{SPEC}")


def test_cancel_once(project):
    write_spec(project, SPEC, "Work")
    with Chant(project) as chant:
        assert chant.text("chant_cancel", id=SPEC) == f"Cancelled spec: {SPEC}"
        assert chant.error("chant_cancel", id=SPEC) == f"Spec '{SPEC}' is already cancelled"


def test_archived_specs_resolve_and_satisfy(project):
    write_spec(project, SPEC, "Done", status="completed")
    write_spec(project, OTHER, "Next", depends_on=[SPEC])
    with Chant(project) as chant:
        assert chant.error("chant_archive", id=OTHER).startswith(
            f"Spec '{OTHER}' must be completed to archive (current: "
        )
        assert chant.text("chant_archive", id=SPEC) == (
            f"Archived spec: {SPEC} -> .chant/archive/2026-01-22/{SPEC}.md"
        )
        assert chant.json("chant_spec_get", id=SPEC)["archived"] is True
        assert [s["id"] for s in chant.json("chant_ready")["specs"]] == [OTHER]
        assert "archived" in chant.error("chant_spec_update", id=SPEC, output="x")


def test_a_stale_version_is_refused_and_nothing_is_lost(project):
    write_spec(project, SPEC, "Work")
    with Chant(project, EXTENDED) as chant:
        version = chant.json("chant_spec_get", id=SPEC)["version"]
        chant.text("chant_edit", id=SPEC, set={"owner": "Ada"}, expected_version=version)
        told = chant.error("chant_edit", id=SPEC, set={"owner": "Bob"}, expected_version=version)
        assert "changed" in told
        assert chant.json("chant_spec_get", id=SPEC)["fields"]["owner"] == "Ada"
        chant.text("chant_edit", id=SPEC, set={"owner": None})
        assert "owner" not in chant.json("chant_spec_get", id=SPEC)["fields"]
        assert "Approve" in chant.error("chant_edit", id=SPEC, set={"approval": {"status": "x"}})


def test_read_only_servers_offer_no_way_to_change(project):
    from tests.support.client import face

    with Chant(project, face("chant", "mcp", "--read-only")) as chant:
        names = {tool["name"] for tool in chant.server.result("tools/list")["tools"]}
    assert "chant_spec_list" in names
    assert not names & {"chant_add", "chant_spec_update", "chant_finalize", "chant_cancel"}
