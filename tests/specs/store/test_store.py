"""The store: reading, changing, creating, archiving."""

from __future__ import annotations

import os
import re
import subprocess
from datetime import datetime

import pytest

from clew.kit.errors import Conflict, Invalid, NotFound, Unavailable
from clew.specs.files.ids import base36
from clew.specs.model import Changes
from clew.specs.store import audit
from clew.specs.store.store import NOT_INITIALIZED, SpecStore, open_store
from tests.specs.making import Project

DAY = "2026-01-22"


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_heads_are_in_order_and_archived_ones_come_last(project):
    for spec_id in ("2026-01-22-010-aaa", "2026-01-22-001-aaa.2", "2026-01-22-001-aaa", "zzz"):
        project.spec(spec_id)
    project.spec("2026-01-01-001-old", "status: completed", archived=True)
    ids = [head.id for head in project.store.heads()]
    assert ids == ["2026-01-22-001-aaa", "2026-01-22-001-aaa.2", "2026-01-22-010-aaa", "zzz"]
    assert [h.id for h in project.store.heads(archived=True)] == [*ids, "2026-01-01-001-old"]


def test_one_broken_file_hides_nothing_and_is_reported(project):
    project.spec(f"{DAY}-001-aaa")
    broken = project.store.paths.spec_file(f"{DAY}-002-bad")
    broken.write_text("---\ntype: code\nstatus: completed\n\n# No end\n")
    odd = project.store.paths.spec_file(f"{DAY}-003-odd")
    odd.write_text("---\ntype: code\nstatus: done\n---\n")
    shape = project.store.paths.spec_file(f"{DAY}-004-map")
    shape.write_text("---\nstatus: pending\nlabels:\n  a: b\n---\n")
    assert [head.id for head in project.store.heads()] == [f"{DAY}-001-aaa"]
    found = {p.path.rpartition("-")[2]: (p.line, p.cause) for p in project.store.problems()}
    assert found["bad.md"] == (1, "the frontmatter has no closing `---` line")
    assert found["odd.md"][0] == 3
    assert "unknown status 'done'" in found["odd.md"][1]
    assert found["map.md"] == (3, "`labels` must be a list of texts")
    for name in ("bad", "002", f"{DAY}-002-bad"):
        with pytest.raises(
            Invalid, match=r"cannot be read: .*-002-bad.md:1: the frontmatter has no"
        ):
            project.store.load(name)
    with pytest.raises(Invalid, match="cannot be read"):
        project.store.change(f"{DAY}-002-bad", lambda _: Changes({"status": "x"}), actor="test")
    assert "# No end" in broken.read_text()


def test_links_pipes_and_odd_names_are_problems_not_specs(project, tmp_path):
    secret = tmp_path / "secret.md"
    secret.write_text("# Secret\n")
    specs = project.store.paths.specs
    (specs / "link.md").symlink_to(secret)
    os.mkfifo(specs / "pipe.md")
    (specs / "-option.md").write_text("# T\n")
    (specs / ".hidden.md").write_text("# T\n")
    (specs / "notes.txt").write_text("x")
    assert project.store.heads() == []
    causes = {p.path: p.cause for p in project.store.problems()}
    assert "symbolic link" in causes[".chant/specs/link.md"]
    assert causes[".chant/specs/pipe.md"] == "Not a regular file"
    assert "cannot be a spec's id" in causes[".chant/specs/-option.md"]
    assert len(causes) == 3
    with pytest.raises(Invalid):
        project.store.load("link")


def test_two_files_with_one_id_count_once(project):
    project.spec("a", "status: pending")
    project.spec("a", "status: completed", archived=True)
    assert project.store.head("a").status == "pending"
    assert ["has the same id" in problem.cause for problem in project.store.problems()] == [True]


def test_specs_in_folders_are_changed_where_they_are(project):
    folder = project.store.paths.specs / "area"
    folder.mkdir()
    (folder / "deep.md").write_text("---\nstatus: pending\n---\n# T\n")
    changed = project.store.change("deep", lambda _: Changes({"status": "failed"}), actor="test")
    assert changed.head.path == ".chant/specs/area/deep.md"
    assert "status: failed" in (folder / "deep.md").read_text()
    assert not (project.store.paths.specs / "deep.md").exists()


def test_load_takes_partial_ids_and_archived_specs(project):
    project.spec(f"{DAY}-001-x7m", body="# One\n")
    project.spec("2025-12-01-001-old", "status: completed", archived=True)
    assert project.store.load("001").title == "One"
    assert project.store.load("old").head.archived
    with pytest.raises(NotFound, match="Spec not found: nope"):
        project.store.load("nope")


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "-x", "a\0b", "..", ".chant", "\udcff"]
)
def test_names_do_not_leave_the_store(project, name):
    project.spec("a")
    for action in (
        lambda: project.store.load(name),
        lambda: project.store.change(name, lambda _: Changes(), actor="test"),
        lambda: project.store.create({}, "# T\n", actor="test", spec_id=name),
        lambda: project.store.archive(name, actor="test"),
        lambda: project.store.delete(name, actor="test"),
    ):
        with pytest.raises((Invalid, NotFound)):
            action()


def test_change_touches_only_what_was_meant_and_is_audited(project):
    path = project.spec("a", "status: pending\nowner: me  # really\n", "# T\r\n\nno end")
    before = path.read_bytes()
    after = project.store.change(
        "a", lambda _: Changes({"status": "failed"}, note="why"), actor="cli"
    )
    assert path.read_bytes() == before.replace(b"pending", b"failed") == after.raw
    (entry,) = audit.entries(project.store.paths, "a")
    assert entry["fields"] == {"status": ["pending", "failed"]}
    assert (entry["tool"], entry["event"], entry["note"]) == ("cli", "changed", "why")
    assert entry["at"].endswith("Z")
    project.store.change("a", lambda spec: Changes({"owner": None}, spec.body + "\n"), actor="cli")
    assert list(audit.entries(project.store.paths))[1]["body"] is True
    assert project.store.change("a", lambda _: Changes(), actor="cli").version
    assert len(list(audit.entries(project.store.paths))) == 2


def test_an_expected_version_must_be_the_present_one(project):
    project.spec("a", "status: pending")
    version = project.store.load("a").version

    def change(status):
        return project.store.change(
            "a", lambda _: Changes({"status": status}), actor="test", expected_version=version
        )

    assert change("failed").version != version
    with pytest.raises(Conflict, match="has changed: its version is"):
        change("pending")
    assert project.store.head("a").status == "failed"


def test_a_writer_without_the_lock_is_not_overwritten(project):
    path = project.spec("a", "status: pending")
    runs = []

    def edit(spec):
        runs.append(spec.body)
        if len(runs) == 1:
            path.write_text("---\nstatus: pending\n---\n# From an editor\n")
        return Changes({"status": "failed"})

    assert project.store.change("a", edit, actor="test").body == "# From an editor\n"
    assert len(runs) == 2


def test_what_the_system_refuses_is_said_in_plain_words(project):
    path = project.spec("a")
    before = path.read_bytes()
    project.store.paths.store.write_text("a file where the directory would be")
    for action in (
        lambda: project.store.change("a", lambda _: Changes({"status": "failed"}), actor="test"),
        lambda: project.store.create({}, "# T\n", actor="test"),
    ):
        with pytest.raises(Unavailable, match="The change was refused: File exists"):
            action()
    assert path.read_bytes() == before
    assert len(list(project.store.paths.specs.iterdir())) == 1


def test_a_torn_audit_line_spoils_only_itself(project):
    project.spec("a")
    places = project.store.paths
    audit.record(places, "a", "one", "test")
    with places.audit.open("ab") as trail:
        trail.write(b'{"at":"torn')
    audit.record(places, "a", "two", "test")
    assert [entry["event"] for entry in audit.entries(places)] == ["one", "two"]


def test_create_writes_the_documented_form(project):
    spec = project.store.create(
        {"zebra": "1", "labels": ["a"], "prompt": "x: y\n- z"}, "# Title\n", actor="test"
    )
    today = datetime.now().astimezone().strftime("%Y-%m-%d")
    assert re.fullmatch(rf"{today}-001-[0-9a-z]{{3}}", spec.id)
    text = '---\ntype: code\nstatus: pending\nlabels:\n- a\nprompt: "x: y\\n- z"\nzebra: 1\n---\n# Title\n'
    assert spec.raw.decode() == text.replace("zebra: 1", "zebra: 1")
    assert [entry["event"] for entry in audit.entries(project.store.paths, spec.id)] == ["created"]


def test_ids_are_not_used_again(project):
    made = [project.store.create({}, "# T\n", actor="test") for _ in range(3)]
    project.store.delete(made[2].id, actor="test")
    project.store.change(made[1].id, lambda _: Changes({"status": "completed"}), actor="test")
    project.store.archive(made[1].id, actor="test")
    fresh = SpecStore(project.root).create({}, "# T\n", actor="test")
    assert fresh.id[11:14] == base36(4)
    project.store.paths.last_id.unlink()
    (project.store.paths.spec_file(fresh.id)).write_text("---\nbroken")
    assert project.store.create({}, "# T\n", actor="test").id[11:14] == base36(5)


def test_a_given_id_must_be_new(project):
    project.spec("old", "status: completed", archived=True)
    project.store.create({"type": "task"}, "# T\n", actor="test", spec_id="d.1")
    for name in ("d.1", "old"):
        with pytest.raises(Conflict, match="exists already"):
            project.store.create({}, "# T\n", actor="test", spec_id=name)
    with pytest.raises(Invalid, match="not be a valid spec"):
        project.store.create({"status": "nonsense"}, "# T\n", actor="test")


def test_archive_moves_keeps_and_protects(project):
    path = project.spec(f"{DAY}-001-abc", "status: completed")
    project.spec("b", f"depends_on: [{DAY}-001-abc]")
    project.spec("undated", "status: completed")
    raw = path.read_bytes()
    target = project.store.archive(f"{DAY}-001-abc", actor="test")
    assert project.store.paths.relative(target) == f".chant/archive/{DAY}/{DAY}-001-abc.md"
    assert target.read_bytes() == raw
    assert not path.exists()
    assert project.store.graph().state("b").status == "ready"
    with pytest.raises(Conflict, match="archived"):
        project.store.change(f"{DAY}-001-abc", lambda _: Changes({"status": "x"}), actor="test")
    undated = project.store.archive("undated", actor="test")
    assert project.store.paths.relative(undated) == ".chant/archive/undated/undated.md"
    project.spec(f"{DAY}-001-abc", "status: completed")
    with pytest.raises(Conflict, match="has a spec"):
        project.store.archive(f"{DAY}-001-abc", actor="test")
    assert target.read_bytes() == raw


def test_a_project_without_specs_is_not_initialized(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".chant").mkdir()
    with pytest.raises(NotFound) as caught:
        open_store({})
    assert caught.value.full_text() == NOT_INITIALIZED
    (tmp_path / ".chant" / "specs").mkdir()
    assert open_store({}).heads() == []
    assert open_store({}) is open_store({"project": str(tmp_path)})


def test_a_linked_worktree_leads_to_the_projects_specs(tmp_path):
    main, linked = tmp_path / "main", tmp_path / "linked"
    project = Project(main)
    project.spec("a")
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-qm", "x"],
        ["worktree", "add", "-q", linked],
    ):
        subprocess.run(["git", *words], cwd=main, check=True, capture_output=True)
    store = open_store({"project": str(linked)})
    store.change("a", lambda _: Changes({"status": "failed"}), actor="test")
    assert "status: failed" in (main / ".chant" / "specs" / "a.md").read_text()
    assert "failed" not in (linked / ".chant" / "specs" / "a.md").read_text()


def test_git_does_not_see_what_the_store_keeps_for_itself(project):
    subprocess.run(["git", "init", "-q"], cwd=project.root, check=True)
    project.store.create({}, "# T\n", actor="test")
    project.store.heads()
    shown = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=project.root, check=True, capture_output=True
    )
    assert re.fullmatch(rb"\?\? \.chant/specs/[0-9a-z-]+\.md\n", shown.stdout)
