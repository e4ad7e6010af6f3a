"""What a repository's settings and files do to git changes no answer, shows nothing and hangs nothing."""

from __future__ import annotations

import os
import socket

import pytest

from clew.history.questions import grep as grep_module
from clew.kit.git import _refuse_pipes
from tests.security.surfaces import call
from tests.support.proof import amount
from tests.support.repos import Repository

SECRET = "canary-not-for-you"
# How git writes its answers, and whose lines its errors would show.
SETTINGS = {
    "color.ui": "always", "color.diff": "always", "color.grep": "always", "column.ui": "always",
    "grep.column": "true", "grep.patternType": "perl", "grep.fullName": "true", "log.date": "relative",
    "grep.lineNumber": "false", "format.pretty": "oneline", "log.decorate": "full",
    "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "core.quotePath": "false",
    "core.abbrev": "4", "log.follow": "true", "log.diffMerges": "first-parent", "diff.context": "0",
    "diff.interHunkContext": "9", "diff.wordRegex": ".", "status.short": "true",
    "status.branch": "true", "i18n.logOutputEncoding": "UTF-16", "i18n.commitEncoding": "UTF-7",
    "submodule.recurse": "true", "blame.coloring": "repeatedLines", "blame.showEmail": "true",
    "blame.date": "relative", "blame.blankBoundary": "true", "notes.displayRef": "refs/*",
    "log.mailmap": "false", "log.showRoot": "false", "diff.relative": "true",
    "blame.ignoreRevsFile": "{outside}", "mailmap.file": "{outside}", "diff.orderFile": "{outside}",
    "core.attributesFile": "{outside}", "core.excludesFile": "{outside}",
    "commit.template": "{outside}",
}  # fmt: skip
QUESTIONS = (
    "clew why a.py:2", "clew brief words", "clew grep return --blame", "clew search words", "clew log",
    "clew show HEAD --patch", "clew blame a.py", "clew owners a.py", "clew recall words",
    "clew co-change a.py", "clew history culprit a.py:2", "clew history pickaxe return",
    "clew history hunks {sha}", "clew history line-history a.py 2", "clew history file-history a.py",
    "clew history similar {sha}", "clew history contains {sha}", "clew trace",
)  # fmt: skip
BLAMING = {one for one in QUESTIONS if one.split()[1] in ("why", "grep", "blame")}
OPENED = (
    ".mailmap", ".gitattributes", ".gitignore", ".gitmodules", ".git/info/attributes", ".git/shallow",
    ".git/info/exclude", ".git/info/grafts", ".git/objects/info/alternates", ".git/packed-refs",
    ".git/refs/heads/x", ".git/config.worktree", ".git/index", ".git/HEAD", ".git/config",
)  # fmt: skip


@pytest.fixture
def repository(tmp_path, private_home, monkeypatch):
    made = Repository(tmp_path / "r")
    made.commit("one words", {"a.py": "def told():\n    return 1\n"})
    made.commit("two words", {"a.py": "def told():\n    return 2\n"})
    (tmp_path / "outside").write_text(f"{SECRET}\n")
    monkeypatch.chdir(made.path)
    return made


def answers(repository, index, monkeypatch, capsys):
    """What each question is answered, by an index of its own."""
    monkeypatch.setenv("COMMITMUX_DB", str(index))
    sha = repository.head()
    found = {}
    for words in QUESTIONS:
        code = call(tuple(words.format(sha=sha).split()))
        said = capsys.readouterr()
        found[words] = code, said.out
        assert "a bug in Clew" not in said.err, words
        assert SECRET not in said.out + said.err, words
    return found


def test_settings_change_no_answer_and_show_no_file_outside(
    repository, tmp_path, monkeypatch, capsys, record_property
):
    plain = answers(repository, tmp_path / "plain", monkeypatch, capsys)
    assert [words for words, (code, _) in plain.items() if code] == []
    for name, value in SETTINGS.items():
        repository.git("config", name, value.format(outside=tmp_path / "outside"))
    hostile = answers(repository, tmp_path / "hostile", monkeypatch, capsys)
    # git itself can blame nothing with a list that is none.
    assert {words for words, answer in hostile.items() if answer[0]} <= BLAMING
    repository.git("config", "--unset", "blame.ignoreRevsFile")
    assert answers(repository, tmp_path / "other", monkeypatch, capsys) == plain
    record_property("vectors x surfaces", len(SETTINGS) * len(QUESTIONS))


@pytest.mark.parametrize("name", amount(OPENED[::5], OPENED))
def test_a_pipe_where_git_opens_a_file_is_named_and_hangs_nothing(
    repository, tmp_path, monkeypatch, capsys, name
):
    monkeypatch.setenv("COMMITMUX_DB", str(tmp_path / "db"))
    place = repository.path / name
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place)
    said = ""
    for words in QUESTIONS[:: amount(6, 1)]:
        call(tuple(words.split()))
        said += capsys.readouterr().err
    assert f"{name} is no file" in said or name in (".git/HEAD", ".git/config"), said
    assert "a bug in Clew" not in said


def test_a_device_without_an_end_is_named_and_what_ends_is_not(repository, tmp_path, monkeypatch):
    """git's own monitor of files has a socket there, and people put the empty device in places."""
    monkeypatch.setenv("COMMITMUX_DB", str(tmp_path / "db"))
    git = repository.path / ".git"
    (git / "info").mkdir(exist_ok=True)
    (git / "info" / "attributes").symlink_to(os.devnull)
    with socket.socket(socket.AF_UNIX) as one:
        monkeypatch.chdir(git)
        one.bind("fsmonitor--daemon.ipc")
        monkeypatch.chdir(repository.path)
        assert call(("clew", "blame", "a.py")) == 0
    (git / "info" / "attributes").unlink()
    (git / "info" / "attributes").symlink_to("/dev/zero")
    _refuse_pipes.cache_clear()
    assert call(("clew", "blame", "a.py")) == 1


def test_a_text_that_every_line_has_takes_no_more_than_its_limit(
    repository, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("COMMITMUX_DB", str(tmp_path / "db"))
    monkeypatch.setattr(grep_module, "_LARGEST_OUTPUT", 4096)
    repository.commit("many", {f"d/{n}.txt": "some words\n" * 50 for n in range(20)})
    assert call(("clew", "grep", "o")) == 0
    assert "There are more" in capsys.readouterr().out
    assert call(("clew", "grep", "told")) == 0
    assert "There are more" not in capsys.readouterr().out


@pytest.mark.parametrize("pattern", ["((a{1,255}){1,255}){1,255}", "a" * 3000, "((a"])
def test_a_pattern_that_would_take_all_memory_is_refused(
    repository, tmp_path, monkeypatch, pattern
):
    monkeypatch.setenv("COMMITMUX_DB", str(tmp_path / "db"))
    assert call(("clew", "grep", "--regex", pattern)) == 1
