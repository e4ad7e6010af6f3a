"""The tools that read, through a real server, with the shapes that are documented."""

from __future__ import annotations

import json

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


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path)


def test_an_uninitialized_project_is_told_what_to_do(tmp_path):
    (tmp_path / ".git").mkdir()
    with Chant(tmp_path) as chant:
        expected = "Chant not initialized. Run `chant init` first."
        for tool in ("chant_spec_list", "chant_ready", "chant_status"):
            assert chant.error(tool) == expected
        assert chant.error("chant_spec_get", id="001") == expected


@pytest.mark.parametrize("kept", ["config.md", "archive/2026-01-22/2026-01-22-001-abc.md"])
def test_a_clone_of_a_project_is_a_project(tmp_path, kept):
    """Git keeps no empty directories."""
    git(tmp_path, "init", "--quiet", "house")
    (tmp_path / "house" / ".chant" / "specs").mkdir(parents=True)
    path = tmp_path / "house" / ".chant" / kept
    path.parent.mkdir(parents=True, exist_ok=True)
    field = "status: completed" if "archive" in kept else "project: {name: house}"
    path.write_text(f"---\n{field}\n---\n# Done\n", encoding="utf-8")
    git(tmp_path / "house", "add", "-A")
    git(tmp_path / "house", "commit", "--quiet", "-m", "first")
    git(tmp_path, "clone", "--quiet", "house", "copy")
    clone = tmp_path / "copy"
    assert not (clone / ".chant" / "specs").exists()
    with Chant(clone) as chant:
        assert chant.json("chant_status")["total"] == 0
        assert chant.json("chant_spec_list")["specs"] == []
        made = chant.result("chant_add", description="Begin")["structuredContent"]["id"]
        assert [one["id"] for one in chant.json("chant_ready")["specs"]] == [made]
        assert "No log file found" in chant.error("chant_log", id=made)
        chant.text("chant_spec_update", id=made, status="in_progress")
        chant.text("chant_spec_update", id=made, status="completed")
        assert chant.text("chant_archive", id=made).startswith("Archived spec: ")


def test_a_missing_id_is_named(project):
    with Chant(project) as chant:
        for tool in ("chant_spec_get", "chant_spec_update", "chant_log", "chant_verify"):
            assert chant.error(tool) == "Missing required parameter: id"


def test_list_has_the_documented_shape(project):
    write_spec(project, SPEC, "Add user authentication", status="in_progress", type="feature")
    write_spec(project, OTHER, "Add a cart", labels=["shop"])
    with Chant(project) as chant:
        page = chant.json("chant_spec_list", status="in_progress")
        assert {key: page[key] for key in ("total", "limit", "returned")} == {
            "total": 1,
            "limit": 50,
            "returned": 1,
        }
        assert page["specs"][0] | {"labels": [], "depends_on": []} == page["specs"][0]
        first = {name: page["specs"][0][name] for name in ("id", "title", "status", "type")}
        assert first == {
            "id": SPEC,
            "title": "Add user authentication",
            "status": "in_progress",
            "type": "feature",
        }
        result = chant.result("chant_spec_list", limit=1)
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert result["structuredContent"]["total"] == 2
        assert result["structuredContent"]["returned"] == 1


def test_cancelled_specs_are_listed_only_on_request(project):
    write_spec(project, SPEC, "Gone", status="cancelled")
    with Chant(project) as chant:
        assert chant.json("chant_spec_list")["total"] == 0
        assert chant.json("chant_spec_list", status="cancelled")["total"] == 1


def test_an_unknown_status_is_refused_with_the_known_ones(project):
    with Chant(project) as chant:
        told = chant.error("chant_spec_list", status="done")
        assert told.startswith("Invalid status: done. Must be one of: pending, in_progress")


def test_blocked_specs_say_why(project):
    write_spec(project, SPEC, "First")
    write_spec(project, OTHER, "Second", depends_on=[SPEC])
    write_spec(project, "2026-01-22-003-abc", "Third", depends_on=["2026-01-01-001-zzz"])
    with Chant(project) as chant:
        ready = chant.json("chant_ready", limit=10)
        assert [spec["id"] for spec in ready["specs"]] == [SPEC]
        assert ready["limit"] == 10
        blocked = chant.json("chant_spec_list", status="blocked")["specs"]
        assert [spec["blocked_by"] for spec in blocked] == [
            [{"id": SPEC, "reason": "unfinished"}],
            [{"id": "2026-01-01-001-zzz", "reason": "missing"}],
        ]
        assert [s["id"] for s in chant.json("chant_spec_list", status="ready")["specs"]] == [SPEC]


def test_get_shows_the_body_by_a_part_of_the_id(project):
    body = "## Description\n\nImplement user auth...\n"
    write_spec(project, SPEC, "Add user authentication", status="in_progress", body=body)
    with Chant(project) as chant:
        spec = chant.json("chant_spec_get", id="001")
        assert (spec["id"], spec["status"], spec["type"]) == (SPEC, "in_progress", "code")
        assert spec["body"].endswith(body)
        assert spec["title"] == "Add user authentication"


def test_an_id_that_fits_nothing_or_too_much_is_explained(project):
    write_spec(project, SPEC, "One")
    write_spec(project, OTHER, "Two")
    with Chant(project) as chant:
        assert chant.error("chant_spec_get", id="2026-01-22-001-x7n").startswith(
            "Spec not found: 2026-01-22-001-x7n"
        )
        told = chant.error("chant_spec_get", id="2026-01-22")
        assert told.startswith(f"Ambiguous spec ID '2026-01-22'. Matches: {SPEC}, {OTHER}")


@pytest.mark.parametrize(
    "hostile", ["../../etc/passwd", "..", "/etc/passwd", "--help", "a\x00b", ""]
)
def test_hostile_ids_find_nothing(project, hostile):
    write_spec(project, SPEC, "One")
    with Chant(project) as chant:
        assert "spec" in chant.error("chant_spec_get", id=hostile).lower()


def test_status_counts_and_says_it_in_one_line(project):
    write_spec(project, SPEC, "First", status="in_progress")
    write_spec(project, OTHER, "Second", status="completed")
    write_spec(project, "2026-01-22-003-abc", "Third", depends_on=["no-such-spec"])
    with Chant(project) as chant:
        assert chant.json("chant_status") == {
            "total": 3,
            "pending": 0,
            "in_progress": 1,
            "completed": 1,
            "failed": 0,
            "blocked": 1,
            "cancelled": 0,
            "needs_attention": 0,
        }
        brief = chant.text("chant_status", brief=True)
        assert brief == "1 in_progress | 1 completed | 1 blocked"


def test_an_empty_project_has_no_specs(project):
    with Chant(project) as chant:
        assert chant.text("chant_status", brief=True) == "No specs"


def test_activity_tells_of_logs(project):
    write_spec(project, SPEC, "Add user auth", status="in_progress")
    with Chant(project) as chant:
        entry = chant.json("chant_status", include_activity=True)["in_progress_activity"][0]
        assert (entry["id"], entry["title"], entry["has_log"]) == (SPEC, "Add user auth", False)
        assert entry["log_modified"] is None
        logs = project / ".chant" / "logs"
        logs.mkdir()
        (logs / f"{SPEC}.log").write_text("x\n", encoding="utf-8")
        entry = chant.json("chant_status", include_activity=True)["in_progress_activity"][0]
        assert entry["has_log"] is True
        assert len(entry["spec_modified"]) == len("2026-01-22 14:30:00")


def test_a_broken_file_is_reported_and_hides_nothing(project):
    write_spec(project, SPEC, "Fine")
    broken = project / ".chant" / "specs" / f"{OTHER}.md"
    broken.write_text("---\nstatus: completed\n# never closed\n", encoding="utf-8")
    with Chant(project) as chant:
        page = chant.json("chant_spec_list")
        assert [spec["id"] for spec in page["specs"]] == [SPEC]
        assert page["problems"][0]["path"] == f".chant/specs/{OTHER}.md"
        assert chant.json("chant_status")["problems"]
        told = chant.json("chant_diagnose", id=OTHER)
        assert told["checks"][0]["passed"] is False
        assert OTHER in chant.error("chant_spec_get", id=OTHER)
        rules = [d["rule"] for d in chant.json("chant_lint")["diagnostics"]]
        assert "parse" in rules


def test_verify_counts_boxes(project):
    write_spec(project, SPEC, "Half", body=boxes(1, 0, 0))
    write_spec(project, OTHER, "Whole", body=boxes(1, 1))
    with Chant(project) as chant:
        assert chant.json("chant_verify", id=SPEC) == {
            "spec_id": SPEC,
            "verified": False,
            "criteria": {"total": 3, "checked": 1, "unchecked": 2},
            "unchecked_items": ["- [ ] Criterion 2", "- [ ] Criterion 3"],
            "verification_notes": "2 criteria not yet checked",
        }
        done = chant.json("chant_verify", id=OTHER)
        assert (done["verified"], done["verification_notes"]) == (
            True,
            "All acceptance criteria met",
        )


def test_a_log_is_followed_by_its_offset(project):
    write_spec(project, SPEC, "Logged")
    with Chant(project) as chant:
        told = chant.error("chant_log", id=SPEC)
        assert told.startswith(f"No log file found for spec '{SPEC}'.")
        log = project / ".chant" / "logs" / f"{SPEC}.log"
        log.parent.mkdir()
        log.write_text("Log line 1\nLog line 2\n", encoding="utf-8")
        page = chant.json("chant_log", id="001")
        assert page["content"] == "Log line 1\nLog line 2\n"
        assert (page["byte_offset"], page["line_count"], page["has_more"]) == (22, 2, False)
        with log.open("a", encoding="utf-8") as stream:
            stream.write("größer\n")
        assert chant.json("chant_log", id="001", offset=22)["content"] == "größer\n"


def test_search_finds_parts_of_words_in_any_case(project):
    write_spec(project, SPEC, "Add user AUTHentication", body="Nothing else")
    write_spec(project, OTHER, "Cart", body="Needs no authors", status="completed")
    with Chant(project) as chant:
        found = chant.json("chant_search", query="auth")
        assert sorted(hit["id"] for hit in found) == [SPEC, OTHER]
        assert set(found[0]) == {"id", "title", "status", "type"}
        found = chant.json("chant_search", query="auth", status="completed")
        assert [hit["id"] for hit in found] == [OTHER]
        assert chant.json("chant_search", query="no such text") == []


def test_diagnose_names_what_is_off(project):
    write_spec(project, SPEC, "Untouched")
    write_spec(project, OTHER, "Claimed", status="completed")
    with Chant(project) as chant:
        healthy = chant.json("chant_diagnose", id=SPEC)
        assert healthy["diagnosis"] == "All checks passed. Spec appears healthy."
        claimed = chant.json("chant_diagnose", id=OTHER)
        assert "Status consistency" in claimed["diagnosis"]
        details = {check["name"]: check["details"] for check in claimed["checks"]}
        assert details["Status consistency"] == "Status is completed but no commit found"


def test_a_query_ranks_and_shows_lines(project):
    write_spec(project, SPEC, "Login", labels=["auth"], body="Remember the login token.\n")
    write_spec(project, OTHER, "Logout", labels=["wip"], body="Forget the login token.\n")
    with Chant(project, EXTENDED) as chant:
        found = chant.json("chant_query", query='"login token" -label:wip')
        assert [hit["id"] for hit in found["specs"]] == [SPEC]
        assert "login token" in found["specs"][0]["snippets"][0]["text"]


def test_a_server_started_in_a_linked_worktree_serves_the_project(project):
    write_spec(project, SPEC, "Only in the main checkout")
    from tests.specs.tools.project import git

    git(project, "worktree", "add", "--quiet", "-b", "side", str(project.parent / "side"))
    with Chant(project.parent / "side") as chant:
        assert chant.json("chant_spec_list")["total"] == 1
