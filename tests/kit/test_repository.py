"""What is asked of a repository, and patches that no configuration changes."""

from __future__ import annotations

import os
import shutil

import pytest

from clew.kit.errors import Invalid
from clew.kit.git import PLAIN_DIFF, GitError, git_line, git_text_or_none, run_git, run_network_git
from clew.kit.repository import branch_tip, checkouts, common_directory, is_ancestor
from tests.support.repos import Repository

PREFERENCES = {
    "diff.noprefix": "true",
    "diff.mnemonicPrefix": "true",
    "diff.relative": "true",
    "diff.submodule": "log",
    "diff.suppressBlankEmpty": "true",
    "color.ui": "always",
    "log.showRoot": "false",
    "diff.tool.textconv": "tr a-z A-Z <",
}


@pytest.fixture
def repo(tmp_path):
    made = Repository(tmp_path / "repo")
    made.commit("first", {"src/a.txt": "one\n\nthree\n", "top.txt": "x\n"})
    return made


@pytest.fixture
def outside(tmp_path):
    (tmp_path / "plain").mkdir()
    return tmp_path / "plain"


def test_a_line_is_what_git_printed_byte_for_byte(tmp_path):
    made = Repository(tmp_path / os.fsdecode(b"odd \xff "))
    assert git_line(made.path, "rev-parse", "--show-toplevel") == str(made.path)


def test_a_line_says_why_there_is_none_or_is_empty(repo):
    with pytest.raises(GitError, match="git rev-parse failed"):
        git_line(repo.path, "rev-parse", "--verify", "nope")
    assert git_line(repo.path, "rev-parse", "--verify", "-q", "nope", check=False) == ""
    variables = {"GIT_AUTHOR_NAME": "Ada"}
    told = git_line(repo.path, "var", "GIT_AUTHOR_IDENT", variables=variables)
    assert told.startswith("Ada <")


def test_text_to_show_is_always_text_or_nothing(repo, outside):
    assert git_text_or_none(repo.path, "symbolic-ref", "--short", "HEAD") == "main"
    assert git_text_or_none(repo.path, "tag", "--list") is None
    assert git_text_or_none(outside, "rev-parse", "HEAD") is None
    assert git_text_or_none(outside / "nowhere", "rev-parse", "HEAD") is None
    repo.git("config", "user.name", os.fsdecode(b"\xff"))
    assert git_text_or_none(repo.path, "config", "user.name") == "\ufffd"


def test_worktrees_share_one_directory(repo, tmp_path, outside):
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"))
    wanted = repo.path / ".git"
    assert common_directory(repo.path) == wanted
    assert common_directory(repo.path / "src") == wanted
    assert common_directory(tmp_path / "linked") == wanted
    with pytest.raises(GitError, match="not a git repository"):
        common_directory(outside)


def test_all_worktrees_are_listed_with_their_branches(repo, tmp_path, outside):
    names = [" odd\nname ", os.fsdecode(b"bytes\xff"), "detached", "gone"]
    places = [tmp_path / name for name in names]
    for number, place in enumerate(places[:2]):
        repo.git("worktree", "add", "-q", "-b", f"b/{number}", str(place))
    repo.git("worktree", "add", "-q", "--detach", str(places[2]))
    repo.git("worktree", "lock", "--reason", "branch refs/heads/no\n\nbranch x", str(places[2]))
    repo.git("worktree", "add", "-q", "-b", "b/3", str(places[3]))
    shutil.rmtree(places[3])
    branches = ["main", "b/0", "b/1", None, "b/3"]
    found = checkouts(repo.path)
    assert found[0] == (repo.path, "main")
    assert dict(found) == dict(zip([repo.path, *places], branches, strict=True))
    assert checkouts(places[0]) == found
    with pytest.raises(GitError):
        checkouts(outside)


def test_a_branch_is_found_by_exactly_its_name(repo, outside):
    repo.git("branch", "chant/001/sub")
    repo.git("branch", "chant/001/other")
    repo.git("tag", "chant/002")
    assert branch_tip(repo.path, "chant/001/sub") == repo.head()
    for name in ("chant/001", "chant", "chant/002", "chant/001/*", "", "main/"):
        assert branch_tip(repo.path, name) is None, name
    repo.git("branch", "line\u2028end")
    assert branch_tip(repo.path, "line\u2028end") == repo.head()
    with pytest.raises(Invalid, match="Not usable"):
        branch_tip(repo.path, "a\nb")
    with pytest.raises(GitError, match="not a git repository"):
        branch_tip(outside, "main")
    assert branch_tip(outside, "main", check=False) is None


def test_ancestry_is_told_and_what_is_gone_is_no_ancestor(repo):
    first, second = repo.head(), repo.commit("second", {"b.txt": ""})
    assert is_ancestor(repo.path, first, second)
    assert is_ancestor(repo.path, second, "main")
    assert not is_ancestor(repo.path, second, first)
    with pytest.raises(GitError):
        is_ancestor(repo.path, "0" * 40, first)
    assert not is_ancestor(repo.path, "0" * 40, first, check=False)
    with pytest.raises(Invalid):
        is_ancestor(repo.path, "--all", first)


def test_a_failure_names_the_command_and_not_its_options(repo):
    with pytest.raises(GitError, match=r"^git cat-file failed: "):
        run_git("--no-pager", "-c", "a.b=c", "cat-file", "-t", "nope", cwd=repo.path)
    with pytest.raises(GitError, match=r"^git --nonsense failed: "):
        run_git("--nonsense", cwd=repo.path)
    with pytest.raises(GitError, match=r"^git rev-list did not answer within 0 s"):
        run_git("-c", "a.b=c", "rev-list", "--all", cwd=repo.path, timeout=0)


def test_what_git_says_meanwhile_can_go_to_the_terminal(repo, capfd):
    with pytest.raises(GitError, match="git rev-parse failed: exit code 128"):
        run_network_git("rev-parse", "nope", cwd=repo.path, protocols=(), shows_progress=True)
    assert "unknown revision" in capfd.readouterr().err
    with pytest.raises(GitError, match="unknown revision"):
        run_git("rev-parse", "nope", cwd=repo.path)
    assert capfd.readouterr().err == ""


def test_hooks_are_found_only_when_asked_for_and_never_run(repo, tmp_path):
    repo.git("config", "core.hooksPath", "own-hooks")
    where = ("rev-parse", "--git-path", "hooks")
    assert run_git(*where, cwd=repo.path, knows_hooks=True) == b"own-hooks\n"
    assert run_git(*where, cwd=repo.path) == f"{os.devnull}\n".encode()


@pytest.mark.parametrize("key", PREFERENCES)
def test_a_patch_is_the_same_whatever_somebody_prefers(repo, key):
    repo.write(".gitattributes", "*.txt diff=tool\n")
    repo.commit("second", {"src/a.txt": "one\n\nthree\nfour\n", "top.txt": "y\n"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{repo.head()},sub")
    repo.git("commit", "-qm", "submodule")
    tree = run_git("mktree", cwd=repo.path).decode().strip()
    asked = [
        ("log", "-p", *PLAIN_DIFF, "--format=%H", "HEAD", "--"),
        ("diff", *PLAIN_DIFF, tree, "HEAD", "--"),
        ("diff-tree", "-p", "-r", *PLAIN_DIFF, tree, "HEAD", "--"),
        ("diff", *PLAIN_DIFF, "--stat=80", tree, "HEAD", "--"),
        ("diff", *PLAIN_DIFF, "--name-only", "-z", tree, "HEAD", "--"),
    ]
    usual = [run_git(*words, cwd=repo.path / "src") for words in asked]
    assert all(usual)
    repo.git("config", key, PREFERENCES[key])
    assert [run_git(*words, cwd=repo.path / "src") for words in asked] == usual


def test_a_signature_is_not_checked_by_a_program_that_a_repository_names(repo, tmp_path):
    witness, script = tmp_path / "ran", tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {witness}\n", encoding="utf-8")
    script.chmod(0o755)
    header = [
        b"author A <a@example.com> 1 +0000",
        b"committer A <a@example.com> 1 +0000",
        b"gpgsig -----BEGIN PGP SIGNATURE-----",
        b" ",
        b" iQ",
        b" -----END PGP SIGNATURE-----",
    ]
    repo.raw_commit(header, b"signed\n")
    repo.git("config", "gpg.program", str(script))
    repo.git("config", "log.showSignature", "true")
    repo.git("log", "-1")
    assert witness.exists(), "git itself runs it"
    witness.unlink()
    for words in (("log", "-1"), ("show", "-s")):
        assert b"signed" in run_git(*words, cwd=repo.path)
    assert not witness.exists()
