"""Python, git, git's user and SQLite, each in good and in bad state."""

import pytest

from clew.doctor import machine
from clew.doctor.model import Subject


def test_python_is_new_enough():
    check = machine.python(Subject())

    assert check.status == "ok"
    assert check.fix is None


def test_an_old_python_fails(monkeypatch):
    monkeypatch.setattr(machine, "MINIMUM_PYTHON", (9, 0))
    check = machine.python(Subject())

    assert check.status == "fail"
    assert "9.0 or newer is needed" in check.summary
    assert check.fix


def test_the_real_git_is_good():
    assert machine.git(Subject()).status == "ok"


@pytest.mark.parametrize(
    ("words", "summary"),
    [
        ("git version 2.29.2", "git 2.29.2 is too old; 2.30 or newer is needed"),
        ("git version 1.8.3.1", "git 1.8.3.1 is too old"),
        ("something else", "git reports no version"),
    ],
)
def test_an_old_or_strange_git_fails(words, summary, program, monkeypatch):
    monkeypatch.setenv("PATH", str(program("git", f"echo '{words}'")))
    check = machine.git(Subject())

    assert check.status == "fail"
    assert summary in check.summary
    assert "git" in check.fix


@pytest.mark.parametrize("words", ["git version 2.30.0", "git version 2.50.1 (Apple Git-155)"])
def test_a_new_git_of_any_maker_is_good(words, program, monkeypatch):
    monkeypatch.setenv("PATH", str(program("git", f"echo '{words}'")))

    assert machine.git(Subject()).status == "ok"


def test_no_git_fails(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    check = machine.git(Subject())

    assert check.status == "fail"
    assert check.summary == "git is not installed"
    assert check.fix


def test_nobody_to_commit_as_is_a_warning():
    check = machine.identity(Subject())

    assert check.status == "warn"
    assert check.summary == "git has no user name and email"
    assert 'git config --global user.name "Your Name"' in check.fix
    assert "user.email" in check.fix


def test_only_what_is_missing_is_asked_for(own_home, git):
    git(own_home, "config", "--global", "user.name", "Ada")
    check = machine.identity(Subject())

    assert check.summary == "git has no user email"
    assert "user.name" not in check.fix


def test_a_user_in_the_global_configuration_is_good(own_home, git):
    git(own_home, "config", "--global", "user.name", "Ada")
    git(own_home, "config", "--global", "user.email", "ada@example.com")
    check = machine.identity(Subject())

    assert (check.status, check.summary) == ("ok", "Ada <ada@example.com>")


def test_a_user_of_the_project_alone_is_good(repository, git):
    git(repository, "config", "user.name", "Ada")
    git(repository, "config", "user.email", "ada@example.com")

    assert machine.identity(Subject(str(repository))).status == "ok"


def test_a_user_in_the_environment_is_good(monkeypatch):
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "ada@example.com")

    assert machine.identity(Subject()).summary == "Ada <ada@example.com>"


def test_sqlite_has_what_is_needed():
    check = machine.sqlite(Subject())

    assert check.status == "ok"
    assert "FTS5, trigram, JSON, WAL" in check.summary
    assert "contentless_delete" in check.detail


def test_a_missing_sqlite_feature_fails_by_name(monkeypatch):
    needs = {**machine.SQLITE_NEEDS, "FTS9": "CREATE VIRTUAL TABLE t USING fts9(x)"}
    monkeypatch.setattr(machine, "SQLITE_NEEDS", needs)
    check = machine.sqlite(Subject())

    assert check.status == "fail"
    assert check.summary.endswith("lacks FTS9")
    assert check.fix


def test_a_missing_optional_feature_is_only_told(monkeypatch):
    monkeypatch.setattr(machine, "SQLITE_EXTRAS", {"nothing": "CREATE nonsense"})
    check = machine.sqlite(Subject())

    assert check.status == "ok"
    assert "nothing no" in check.detail


def test_the_probe_leaves_nothing_behind(own_home, monkeypatch):
    monkeypatch.setenv("CLEW_HOME", str(own_home / "kept"))
    (own_home / "kept").mkdir()
    machine.sqlite(Subject())

    assert list((own_home / "kept").iterdir()) == []
