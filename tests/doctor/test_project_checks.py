"""The project in every state that git can bring it into."""

from clew.doctor.model import Subject
from clew.doctor.project import project


def by_name(subject):
    return {check.name: check for check in project(subject)}


def test_a_whole_repository_is_good(repository):
    checks = by_name(Subject(str(repository)))

    assert {check.status for check in checks.values()} == {"ok"}
    assert checks["repository"].summary.startswith("trunk at ")


def test_the_settings_name_the_project_too(repository):
    assert by_name(Subject(settings={"project": str(repository)}))["project"].status == "ok"


def test_a_detached_head_is_good(repository, git):
    git(repository, "checkout", "--detach")

    assert by_name(Subject(str(repository)))["repository"].summary.startswith("detached at ")


def test_no_project_here_is_a_warning():
    [check] = project(Subject())

    assert check.status == "warn"
    assert check.fix


def test_a_named_project_that_is_not_there_fails(tmp_path):
    [check] = project(Subject(str(tmp_path / "nowhere")))

    assert check.status == "fail"
    assert "nowhere" in check.summary


def test_a_directory_without_git_is_a_warning(tmp_path):
    (tmp_path / "a b").mkdir()
    check = by_name(Subject(str(tmp_path / "a b")))["repository"]

    assert check.status == "warn"
    assert check.fix == f"git init '{tmp_path / 'a b'}'"


def test_a_repository_without_commits_is_a_warning(tmp_path, git):
    git(tmp_path, "init", "fresh")
    check = by_name(Subject(str(tmp_path / "fresh")))["repository"]

    assert check.status == "warn"
    assert "commit" in check.fix


def test_a_shallow_clone_is_a_warning(tmp_path, repository, git):
    git(tmp_path, "clone", "--depth=1", f"file://{repository}", "shallow")
    check = by_name(Subject(str(tmp_path / "shallow")))["complete history"]

    assert check.status == "warn"
    assert check.fix.endswith("fetch --unshallow")
    git(tmp_path / "shallow", "fetch", "--unshallow")
    assert "complete history" not in by_name(Subject(str(tmp_path / "shallow")))


def test_a_broken_repository_fails_with_gits_words(tmp_path):
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    check = by_name(Subject(str(tmp_path / "broken")))["repository"]

    assert check.status == "fail"
    assert "not a git repository" in check.detail


def test_a_repository_of_another_user_fails_with_the_exact_repair(repository, monkeypatch, git):
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    check = by_name(Subject(str(repository)))["repository"]

    assert check.status == "fail"
    assert check.fix == f"git config --global --add safe.directory {repository}"


def test_a_linked_worktree_leads_to_its_main_checkout(tmp_path, repository, git):
    git(repository, "worktree", "add", str(tmp_path / "linked"))

    assert by_name(Subject(str(tmp_path / "linked")))["project"].summary == str(repository)
