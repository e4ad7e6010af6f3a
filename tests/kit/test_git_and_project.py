"""The git runner's guards, and which project a call is about."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from clew.kit.errors import Invalid, NotFound, Unavailable
from clew.kit.git import GitError, git_version, guard, run_git
from clew.kit.project import clew_home, find_project


@pytest.fixture
def repository(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()
    run_git("init", "-q", cwd=root)
    (root / "file").write_text("x\n", encoding="utf-8")
    run_git("add", "file", cwd=root)
    run_git("commit", "-qm", "first", cwd=root)
    return root


def test_git_answers_in_bytes(repository):
    assert run_git("rev-list", "--count", "HEAD", cwd=repository) == b"1\n"
    assert git_version() >= (2, 30)


def test_a_failure_carries_gits_words(repository):
    with pytest.raises(GitError, match="unknown revision"):
        run_git("rev-parse", "nope", cwd=repository)
    assert run_git("rev-parse", "--verify", "-q", "nope", cwd=repository, check=False) == b""
    with pytest.raises(Invalid, match="No such directory"):
        run_git("status", cwd=repository / "nowhere")


def test_a_missing_git_is_said(repository, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Unavailable) as error:
        run_git("status", cwd=repository)
    assert error.value.hint


@pytest.mark.parametrize("value", ["--upload-pack=evil", "-c", "a\x00b", "a\nb"])
def test_values_that_could_be_options_are_refused(value):
    with pytest.raises(Invalid):
        guard(value)
    assert guard("feature/x-1") == "feature/x-1"


def test_a_repositorys_own_configuration_runs_nothing(repository, tmp_path):
    witness = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {witness}\n", encoding="utf-8")
    script.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    for name in ("post-index-change", "post-checkout", "reference-transaction"):
        (hooks / name).write_text(script.read_text(encoding="utf-8"), encoding="utf-8")
        (hooks / name).chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "diff.external", "core.sshCommand"):
        run_git("config", key, str(script), cwd=repository)
    (repository / "file").write_text("y\n", encoding="utf-8")
    run_git("status", "--porcelain", cwd=repository)
    run_git("diff", "--no-ext-diff", cwd=repository)
    run_git("log", "-p", cwd=repository)
    run_git("add", "file", cwd=repository)
    assert not witness.exists()


def test_an_inherited_repository_is_not_used(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    top = run_git("rev-parse", "--show-toplevel", cwd=repository)
    assert Path(os.fsdecode(top.strip())) == repository


def test_the_project_is_the_nearest_marked_directory(repository, monkeypatch):
    deep = repository / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert find_project() == repository
    (repository / "a" / ".chant").mkdir()
    assert find_project() == repository / "a"


def test_who_names_the_project_in_which_order(repository, tmp_path, monkeypatch):
    names = ["argument", "setting", "clew", "claude"]
    places = {name: tmp_path / name for name in names}
    for place in places.values():
        (place / ".git").mkdir(parents=True)
    monkeypatch.chdir(repository)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(places["claude"]))
    assert find_project() == places["claude"]
    monkeypatch.setenv("CLEW_PROJECT", str(places["clew"]))
    assert find_project() == places["clew"]
    settings = {"project": str(places["setting"])}
    assert find_project(None, settings) == places["setting"]
    assert find_project(str(places["argument"]), settings) == places["argument"]


def test_a_linked_worktree_leads_to_its_main_checkout(repository, tmp_path, monkeypatch):
    linked = tmp_path / "linked"
    run_git("worktree", "add", "-q", str(linked), cwd=repository)
    monkeypatch.chdir(linked)
    assert find_project() == repository


def test_a_named_directory_needs_no_mark_but_must_exist(tmp_path):
    (tmp_path / "plain").mkdir()
    assert find_project(str(tmp_path / "plain")) == tmp_path / "plain"
    with pytest.raises(NotFound, match="No such project directory"):
        find_project(str(tmp_path / "nowhere"))


def test_outside_any_project_the_error_says_what_to_do(private_home, monkeypatch):
    (private_home / ".agent").mkdir()
    (private_home / "work").mkdir()
    monkeypatch.chdir(private_home / "work")
    with pytest.raises(NotFound) as error:
        find_project()
    assert "CLEW_PROJECT" in error.value.hint


def test_a_working_directory_that_is_gone_is_no_crash(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(NotFound, match="gone"):
        find_project()
    os.chdir("/")


def test_the_home_of_clew_can_be_moved(tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "elsewhere"))
    assert clew_home() == tmp_path / "elsewhere"
    monkeypatch.delenv("CLEW_HOME")
    assert clew_home() == Path.home() / ".clew"


def test_a_server_started_anywhere_finds_a_named_project(repository):
    from tests.support.client import CLEW, StdioServer

    with StdioServer((*CLEW, "--project", str(repository)), cwd="/") as server:
        result = server.result("tools/call", {"name": "clew_guide", "arguments": {}})
        assert result["structuredContent"]["project"]["root"] == str(repository)
        elsewhere = {"name": "clew_guide", "arguments": {"project": "/nonexistent-directory"}}
        assert server.result("tools/call", elsewhere)["structuredContent"]["project"] is None
    assert subprocess.run(["git", "status"], cwd=repository, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("named", "kind", "words"),
    [
        ("~nosuchuser/x", NotFound, "no such user"),
        ("/" + "x" * 5000, NotFound, "File name too long"),
        ("/a/b\0c", Invalid, "NUL"),
        ("/half\ud800", Invalid, r"\\ud800"),
        ("/etc/passwd", NotFound, "No such project directory"),
        ("/etc/passwd/x", NotFound, "No such project directory"),
        (os.fsdecode(b"/nowhere\xff"), NotFound, r"nowhere\\xff"),
    ],
)
def test_a_name_that_cannot_be_a_project_is_refused_in_plain_words(named, kind, words):
    with pytest.raises(kind, match=words) as error:
        find_project(named)
    assert len(error.value.message) < 400
    assert error.value.message.encode()
    assert error.value.hint


def test_a_link_that_leads_to_itself_is_no_project(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(NotFound, match="loop"):
        find_project(str(tmp_path / "loop"))


def test_a_directory_that_may_not_be_searched_has_no_mark(tmp_path, monkeypatch):
    stat = os.stat

    def refuse(path, **options):
        if Path(path).name in {".git", ".chant", ".agent"}:
            raise PermissionError(13, "Permission denied", path)
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", refuse)
    assert find_project(str(tmp_path)) == tmp_path


def test_a_home_of_nobody_says_what_to_set(monkeypatch):
    monkeypatch.setenv("CLEW_HOME", "~nosuchuser/x")
    with pytest.raises(Unavailable, match="~nosuchuser/x") as error:
        clew_home()
    assert "CLEW_HOME" in error.value.hint
    monkeypatch.delenv("CLEW_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(Unavailable, match=r"~/\.clew"):
        clew_home()
