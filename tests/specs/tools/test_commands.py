"""The spec commands as a person or a script runs them."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.specs.tools.project import OTHER, SPEC, boxes, git, make_project, write_spec
from tests.support.client import BIN


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path)


def run(project, *words, code=0, program="chant", env=None, text=None):
    """Run a command and give what it printed."""
    import os

    done = subprocess.run(
        [str(BIN / program), *words],
        cwd=project,
        capture_output=True,
        text=True,
        input=text,
        timeout=60,
        check=False,
        env={**os.environ, **(env or {})},
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    return done.stdout if code == 0 or done.stdout else done.stderr


def data(project, *words, code=0, program="chant"):
    """The data of a command's JSON envelope."""
    return json.loads(run(project, *words, "--json", code=code, program=program))["data"]


def test_init_makes_a_store_and_merges_the_host_file(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / ".mcp.json").write_text(
        '{\n  // mine\n  "mcpServers": {"other": {"command": "x"}}\n}\n', encoding="utf-8"
    )
    told = run(tmp_path, "init", "--agent", "claude", "--name", "Shop")
    assert told.startswith("Initialized chant in ")
    assert "Start `claude` in the project and approve the server;" in told
    text = (tmp_path / ".mcp.json").read_text(encoding="utf-8")
    assert "// mine" in text
    assert '"other"' in text
    assert '"args": ["mcp"]' in text
    assert "name: Shop" in (tmp_path / ".chant" / "config.md").read_text(encoding="utf-8")
    assert "merge=chant-spec" in (tmp_path / ".gitattributes").read_text(encoding="utf-8")
    assert git(tmp_path, "config", "merge.chant-spec.driver").strip() == (
        "chant merge-driver %O %A %B"
    )
    again = run(tmp_path, "init")
    assert again.startswith("Chant is already initialized")
    assert data(tmp_path, "list")["total"] == 0
    hosts = data(tmp_path, "init", "--agent", "copilot", "--agent", "qwen")["agents"]
    assert (tmp_path / ".github" / "mcp.json").exists()
    assert (tmp_path / ".qwen" / "settings.json").exists()
    assert "qwen mcp approve chant" in hosts[1]["next"]


def test_init_stays_inside_the_project(tmp_path, private_home):
    git(tmp_path, "init", "--quiet")
    before = sorted(path.name for path in private_home.iterdir())
    run(tmp_path, "init", "--silent")
    assert sorted(path.name for path in private_home.iterdir()) == before
    assert git(tmp_path, "status", "--porcelain") == ""


def test_add_list_show_ready(project):
    first = data(project, "add", "Add", "a", "login", "--label", "auth", "--file", "a.py")["id"]
    second = data(project, "add", "Write docs", "--depends-on", first)["id"]
    assert [spec["id"] for spec in data(project, "ready")["specs"]] == [first]
    listed = run(project, "list")
    assert f"{first} (unfinished)" in listed
    assert data(project, "list", "label:auth")["total"] == 1
    assert data(project, "list", "--label", "auth", "--count") == {"total": 1}
    shown = run(project, "show", second)
    assert "waits for" in shown
    assert "# Write docs" in shown
    assert data(project, "show", first)["target_files"] == ["a.py"]


def test_both_programs_have_the_same_commands(project):
    write_spec(project, SPEC, "One")
    assert data(project, "spec", "list", program="clew") == data(project, "list")


def test_checking_finalizing_archiving(project):
    write_spec(project, SPEC, "Work", status="in_progress", body=boxes(0))
    assert "unchecked" in run(project, "finalize", SPEC, code=1)
    assert run(project, "verify", SPEC, "--exit-code", code=1)
    told = run(project, "check", SPEC, "1", "--evidence", "seen by eye")
    assert told.strip() == "1. [x] Criterion 1 (0 left)"
    assert "--allow-no-commits" in run(project, "finalize", SPEC, code=1)
    told = run(project, "finalize", SPEC, "--allow-no-commits")
    assert told.startswith(f"Finalized spec: {SPEC}")
    assert data(project, "archive", "--older-than", "0", "--dry-run") == {"would_archive": [SPEC]}
    run(project, "archive", SPEC)
    assert data(project, "show", SPEC)["archived"] is True
    assert data(project, "list")["total"] == 0


def test_criteria_are_given_with_a_spec_and_added_later(project):
    given = ("--criterion", "It works", "--check", "make test", "--criterion", "It is quick")
    name = data(project, "add", "Log in", *given)["id"]
    body = run(project, "show", name, "--body")
    assert body.endswith("- [ ] It works\n  check: `make test`\n- [ ] It is quick\n")
    added = data(project, "criterion", "add", name, "It is safe", "--check", "make audit")
    assert (added["number"], added["check"], added["unchecked"]) == (3, "make audit", 3)
    run(project, "criterion", "check", name, "3", "--evidence", "audited")
    assert "evidence: audited" in run(project, "show", name, "--body")
    assert data(project, "criterion", "uncheck", name, "3")["unchecked"] == 3
    assert "--criterion before it" in run(project, "add", "x", "--check", "true", code=2)


def test_a_spec_is_read_from_standard_input_or_a_file(project):
    text = "# Piped\n\nWords.\n\n## Acceptance Criteria\n\n- [ ] One\n"
    created = run(project, "add", "-", text=text).split()[-1]
    assert run(project, "show", created, "--body") == text
    (project / "notes.md").write_text("From a file.\n", encoding="utf-8")
    other = data(project, "add", "Titled", "--body-file", "notes.md", "--criterion", "Two")["id"]
    shown = run(project, "show", other, "--body")
    assert shown == "# Titled\n\nFrom a file.\n\n## Acceptance Criteria\n\n- [ ] Two\n"
    assert "front matter" in run(project, "add", "-", text="---\ntype: code\n---\n# T\n", code=1)
    assert "Cannot read" in run(project, "add", "T", "--body-file", "missing.md", code=1)


def test_approval_is_waited_for(project):
    name = data(project, "add", "Delete the database", "--needs-approval")["id"]
    assert data(project, "ready")["total"] == 0
    assert data(project, "list")["specs"][0]["blocked_by"] == [{"id": name, "reason": "approval"}]
    run(project, "reject", name, "--by", "Ada", "--reason", "No backup")
    assert "No backup" in run(project, "show", name)
    assert data(project, "ready")["total"] == 0
    run(project, "approve", name, "--by", "Ada")
    assert data(project, "ready")["total"] == 1


def test_cancelling_asks_when_others_wait(project):
    write_spec(project, SPEC, "First")
    write_spec(project, OTHER, "Second", depends_on=[SPEC])
    assert OTHER in run(project, "cancel", SPEC, code=1)
    run(project, "cancel", SPEC, "--yes")
    assert [spec["id"] for spec in data(project, "ready")["specs"]] == [OTHER]


def test_templates_fill_in(project):
    templates = project / ".chant" / "templates"
    templates.mkdir()
    (templates / "bug.md").write_text(
        "---\nname: bug\ndescription: A bug\nvariables:\n  - name: where\n    required: true\n"
        "labels: [bug]\n---\n\n# Fix {{description}} in {{where}}\n",
        encoding="utf-8",
    )
    assert "where" in run(project, "add", "--template", "bug", "the crash", code=1)
    name = data(project, "add", "--template", "bug", "the crash", "--var", "where=a: b")["id"]
    shown = data(project, "show", name)
    assert (shown["title"], shown["labels"]) == ("Fix the crash in a: b", ["bug"])
    assert "A bug" in run(project, "template")


def test_editing_goes_through_the_editor(project):
    write_spec(project, SPEC, "Before")
    editor = {"EDITOR": "sed -i s/Before/After/", "VISUAL": ""}
    assert run(project, "edit", SPEC, env=editor).startswith("Changed")
    assert data(project, "show", SPEC)["title"] == "After"
    assert "EDITOR" in run(project, "edit", SPEC, env={"EDITOR": "/no/such", "VISUAL": ""}, code=1)


def test_lint_fails_on_errors_only(project):
    write_spec(project, SPEC, "Fine", body=boxes(0))
    assert "0 with errors" in run(project, "lint")
    write_spec(project, OTHER, "Waits", depends_on=["nothing"])
    assert "Unknown dependency 'nothing'" in run(project, "lint", code=1)


def test_drawing_and_exporting(project):
    write_spec(project, SPEC, "First")
    write_spec(project, OTHER, "Second", depends_on=[SPEC])
    assert "Level 1" in run(project, "dag")
    assert "-->" in run(project, "dag", "--format", "mermaid")
    exported = project / "out.csv"
    run(project, "export", "--format", "csv", "-o", str(exported))
    assert len(exported.read_text(encoding="utf-8").splitlines()) == 3


def test_activity_config_log_diagnose(project):
    name = data(project, "add", "Something")["id"]
    entries = data(project, "activity")["entries"]
    assert entries[0]["id"] == name
    assert entries[0]["action"] == "CREATED"
    assert any(row["key"] == "project.name" for row in data(project, "config")["settings"])
    (project / ".chant" / "config.md").write_text("---\nproject:\n  nam: x\n---\n", "utf-8")
    assert "did you mean" in run(project, "config", "--validate", code=1)
    assert "No log file found" in run(project, "log", name, code=1)
    assert "healthy" in run(project, "diagnose", name)


def test_git_merges_specs_field_by_field(project):
    run(project, "init")
    path = write_spec(project, SPEC, "Both", labels=["a"])
    git(project, "add", "-A")
    git(project, "commit", "--quiet", "-m", "Add a spec")
    git(project, "checkout", "--quiet", "-b", "side")
    run(project, "update", SPEC, "--label", "a", "--label", "side")
    git(project, "commit", "--quiet", "-am", "Label it")
    git(project, "checkout", "--quiet", "main")
    run(project, "update", SPEC, "--label", "a", "--label", "main")
    git(project, "commit", "--quiet", "-am", "Label it otherwise")
    driver = f"{BIN / 'chant'} merge-driver %O %A %B"
    git(project, "config", "merge.chant-spec.driver", driver)
    git(project, "merge", "--quiet", "-m", "Merge", "side")
    assert set(data(project, "show", SPEC)["labels"]) == {"a", "main", "side"}
    assert "<<<<<<<" not in path.read_text(encoding="utf-8")


def test_outside_of_a_project_the_next_step_is_said(tmp_path):
    assert "Run `chant init` first." in run(tmp_path, "list", code=1)


def ids(project, *words):
    """The ids that a list has."""
    return [spec["id"] for spec in data(project, "list", *words)["specs"]]


def test_lists_are_narrowed_by_people_times_and_words(project):
    git(project, "config", "user.name", "Ada")
    git(project, "config", "user.email", "ada@example.com")
    write_spec(project, SPEC, "Old", body="Ask @bob about it.\n")
    git(project, "add", "-A")
    git(project, "commit", "--quiet", "-m", "a spec", "--date=2026-01-22T10:00:00Z")
    new = data(project, "add", "New", "--needs-approval")["id"]
    assert ids(project, "--created-by", "ADA") == [SPEC]
    assert ids(project, "--approval", "pending") == [new]
    assert ids(project, "--mentions", "@bob") == [SPEC]
    assert ids(project, "--activity-since", "1h", "--mentions", "new") == [new]
    assert ids(project, "--created-by", "ada", "--approval", "pending") == []
    told = run(project, "list", "--created-by", "nobody")
    assert told == "No spec matches. `chant list` shows all.\n"
    assert "Not a time: 'soon'" in run(project, "list", "--activity-since", "soon", code=1)


def test_several_repositories_are_listed_together(project, tmp_path):
    other = make_project(tmp_path / "more")
    write_spec(project, SPEC, "Here")
    write_spec(other, OTHER, "There", status="completed")
    repos = f"- name: here\n  path: .\n- name: there\n  path: {other}\n- name: gone\n  path: gone\n"
    (project / ".chant" / "config.md").write_text(f"---\nrepos:\n{repos}---\n", encoding="utf-8")
    assert ids(project, "--global") == [f"here:{SPEC}", f"there:{OTHER}"]
    assert ids(project, "--repo", "there", "--status", "completed") == [f"there:{OTHER}"]
    assert "warning: gone: " in run(project, "list", "--global")
    counts = data(project, "status", "--global")["repos"]
    assert {name: one["total"] for name, one in counts.items()} == {"here": 1, "there": 1}
    assert "Known: here, there, gone." in run(project, "list", "--repo", "x", code=1)
    assert "No such project directory" in run(project, "list", "--repo", "gone", code=1)
    assert data(project, "show", f"there:{OTHER}")["id"] == OTHER


def test_prep_prints_the_task_without_what_agents_said(project):
    body = "Do it.\n\n## Agent Output\n\nI did.\n\n## Notes\n\nMore.\n"
    write_spec(project, SPEC, "Work", body=body)
    assert run(project, "prep", SPEC) == f"# Work\n\n{body}"
    assert run(project, "prep", SPEC, "--clean") == "# Work\n\nDo it.\n\n## Notes\n\nMore.\n"


def test_the_latest_run_of_a_log(project):
    write_spec(project, SPEC, "Work")
    logs = project / ".chant" / "logs"
    logs.mkdir()
    later = f"# New Run: 2026-01-22T11:00:00Z\n# Prompt: x\n{'=' * 80}\nsecond\n"
    text = f"# Agent Log: {SPEC}\nfirst\n\n{'=' * 80}\n{later}"
    (logs / f"{SPEC}.log").write_text(text, encoding="utf-8")
    assert run(project, "log", SPEC, "--run", "latest") == later
    assert run(project, "log", SPEC) == text


def test_silent_keeps_specs_out_of_git_until_it_is_off(project):
    write_spec(project, SPEC, "Secret")
    assert ".chant/" in git(project, "status", "--porcelain")
    assert data(project, "silent") == {"silent": True}
    assert git(project, "status", "--porcelain") == ""
    assert run(project, "silent", "--status") == ".chant/ is kept out of git.\n"
    assert data(project, "silent", "--off") == {"silent": False}
    git(project, "add", "-A")
    assert "git rm -r --cached .chant" in run(project, "silent", code=1)


def test_quiet_prints_errors_and_json_only(project):
    assert run(project, "-q", "add", "A thing") == ""
    assert json.loads(run(project, "-q", "list", "--json"))["data"]["total"] == 1
    assert "Spec not found" in run(project, "--quiet", "show", "zz", code=1)


def test_a_body_is_replaced_below_its_title(project):
    write_spec(project, SPEC, "Work", body="Old words.\n")
    run(project, "update", SPEC, "--output", "New words.", "--replace-body")
    assert run(project, "show", SPEC, "--body") == "# Work\n\nNew words.\n"
    run(project, "update", SPEC, "--output", "# Other\n\nText.\n", "--replace-body")
    assert run(project, "show", SPEC, "--body") == "# Other\n\nText.\n"
    assert "no output" in run(project, "update", SPEC, "--replace-body", code=1)


def test_status_is_repeated_until_it_is_stopped(project):
    write_spec(project, SPEC, "Work")
    words = [str(BIN / "chant"), "status", "--watch", "--brief"]
    with subprocess.Popen(words, cwd=project, stdout=subprocess.PIPE, text=True) as watching:
        assert watching.stdout.readline() == "1 pending\n"
        write_spec(project, OTHER, "More")
        assert watching.stdout.readline() == "2 pending\n"
        watching.terminate()
