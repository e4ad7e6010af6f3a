"""What the rooms keep: specs, their configuration, the history index."""

from clew.doctor.model import Subject
from clew.doctor.project import history, specs
from clew.history.store.sqlite import SqliteHistory
from clew.history.sync.ingest import sync_repo
from clew.history.sync.repositories import register

FIRST, SECOND = "2026-01-22-001-aaa", "2026-01-22-002-bbb"


def write(project, name, text):
    path = project / ".chant" / "specs" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def by_name(repository):
    return {check.name: check for check in specs(Subject(str(repository)))}


def test_a_project_without_specs_needs_no_check(repository):
    assert specs(Subject(str(repository))) == []


def test_readable_specs_are_good(repository):
    write(repository, FIRST, "---\nstatus: pending\n---\n# One\n")
    checks = by_name(repository)
    assert checks["specs"].status == "ok"
    assert checks["configuration"].status == "ok"


def test_a_file_that_cannot_be_read_is_named_with_its_cause(repository):
    write(repository, FIRST, "---\nstatus: pending\n# One\n")
    check = by_name(repository)["specs"]
    assert check.status == "warn"
    assert f".chant/specs/{FIRST}.md" in check.detail
    assert check.fix


def test_a_misspelt_setting_is_named_with_its_line(repository):
    write(repository, FIRST, "---\nstatus: pending\n---\n# One\n")
    (repository / ".chant" / "config.md").write_text("---\nproject:\n  nam: x\n---\n", "utf-8")
    check = by_name(repository)["configuration"]
    assert check.status == "warn"
    assert "config.md:3" in check.detail


def test_a_circle_is_drawn(repository):
    write(repository, FIRST, f"---\ndepends_on: [{SECOND}]\n---\n# One\n")
    write(repository, SECOND, f"---\ndepends_on: [{FIRST}]\n---\n# Two\n")
    check = by_name(repository)["dependencies"]
    assert f"{FIRST} -> {SECOND} -> {FIRST}" in check.summary


def test_an_index_that_is_behind_is_told(tmp_path, repository, git):
    subject = Subject(settings={"db": str(tmp_path / "db.sqlite3")})
    assert history(subject) == []
    store = SqliteHistory.create(tmp_path / "db.sqlite3")
    sync_repo(store, register(store, repository))
    store.close()
    assert [check.status for check in history(subject)] == ["ok"]
    git(repository, "commit", "--allow-empty", "-m", "More")
    [check] = history(subject)
    assert (check.status, check.fix) == ("warn", "clew history sync")


def test_a_file_that_is_no_index_fails(tmp_path):
    (tmp_path / "db.sqlite3").write_bytes(b"no database at all, but long enough to be looked at")
    [check] = history(Subject(settings={"db": str(tmp_path / "db.sqlite3")}))
    assert check.status == "fail"
    assert "commitmux init" in check.fix
