"""The command line of history: texts, JSON, exit codes."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from clew.history.store.sqlite import SqliteHistory
from tests.history.index import check_text_indexes
from tests.support.client import BIN
from tests.support.repos import Repository


class Commands:
    """`commitmux` with one index."""

    def __init__(self, db):
        self.db = db

    def run(self, *words, env=None, db=True):
        where = ["--db", str(self.db)] if db else []
        return subprocess.run(
            [str(BIN / "commitmux"), *words, *where],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, **(env or {})},
        )

    def ok(self, *words, **options):
        done = self.run(*words, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def data(self, *words):
        envelope = json.loads(self.ok(*words, "--json"))
        assert envelope["ok"] is True
        return envelope["data"]

    def fails(self, *words, code=1, **options):
        done = self.run(*words, **options)
        assert done.returncode == code, (done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stderr + done.stdout


@pytest.fixture
def commands(tmp_path):
    return Commands(tmp_path / "data" / "db.sqlite3")


@pytest.fixture
def repository(tmp_path):
    r = Repository(tmp_path / "project")
    r.commit("First words", {"a.txt": "one\n", "src/b.txt": "two\n"})
    r.commit("Second\n\nWith a body", {"a.txt": "three\n"})
    return r


def test_the_whole_way(commands, repository):
    assert commands.ok("init") == f"Initialized commitmux database at {commands.db}\n"
    assert commands.ok("init") == f"Database already initialized at {commands.db}\n"
    assert commands.ok("status") == "No repositories indexed.\nRun: commitmux add-repo <path>\n"
    assert commands.ok("sync") == "" or "indexed" not in commands.ok("sync")
    added = commands.ok("add-repo", str(repository.path))
    assert added.startswith(f"Added repo 'project' at {repository.path}\n")
    first = commands.ok("sync")
    assert "Syncing 'project'... 2 indexed, 0 already indexed\n" in first
    assert "Tip: run 'commitmux serve' to expose this index via MCP to AI agents.\n" in first
    second = commands.ok("sync")
    assert "Syncing 'project'... 0 indexed, 2 already indexed\n" in second
    assert "Tip:" not in second
    assert commands.ok("sync", "project") == second, "a repository may be named by its place"
    sha = repository.head()
    printed = commands.ok("show", "project", sha)
    assert printed.startswith(f"{sha} 2023-11-14 Test\n    Second\n    With a body\nM a.txt\n")
    assert printed.endswith(f"Next: commitmux hunks project {sha[:12]}\n")
    shown = commands.data("show", "project", sha)
    assert list(shown) == ["repo", "sha", "subject", "body", "author", "date", "changed_files"]
    assert shown["body"] == "With a body"
    assert commands.data("show", "project", sha[:8]) == shown
    assert commands.ok("patch", "project", sha).startswith("diff --git a/a.txt b/a.txt\n")
    assert commands.data("patch", "project", sha, "--max-bytes", "4")["patch_text"] == "diff"
    assert commands.data("search", "second")["commits"][0]["sha"] == sha
    assert commands.data("touches", "src/")["touches"][0]["path"] == "src/b.txt"
    assert "Nothing found." in commands.ok("search", "xyzzy")
    status = commands.data("status")["repos"][0]
    assert (status["name"], status["commit_count"], status["behind"]) == ("project", 2, 0)
    assert "UTC" in commands.ok("status")
    removed = commands.ok("remove-repo", "project")
    assert removed.startswith("Removed repo 'project' (2 commits deleted from index)\n")


def test_index_must_exist(commands, tmp_path):
    for words in (
        ["status"],
        ["sync"],
        ["search", "x"],
        ["show", "a", "b"],
        ["add-repo", "."],
        ["remove-repo", "x"],
        ["touches", "x"],
        ["patch", "a", "b"],
    ):
        text = commands.fails(*words)
        assert f"Database not found at {commands.db}. Run 'commitmux init' first." in text
        assert not commands.db.exists()


def test_places_of_the_index(commands, repository, tmp_path):
    env = {"COMMITMUX_DB": str(tmp_path / "by-variable")}
    assert "by-variable" in commands.ok("init", env=env, db=False)
    home = commands.ok("init", db=False)
    assert home.rstrip().endswith("/.commitmux/db.sqlite3")


def test_what_is_no_index(commands, tmp_path):
    commands.db.parent.mkdir()
    commands.db.write_text("not a database at all, just text\n" * 50)
    assert "database" in commands.fails("status")
    assert "database" in commands.fails("init")
    assert commands.fails("init", "--db", "/dev/null/x/db", db=False)


def test_add_repo_refuses_what_is_none(commands, repository, tmp_path):
    commands.ok("init")
    assert "not a git repository" in commands.fails("add-repo", str(repository.path / "src"))
    assert "No such directory" in commands.fails("add-repo", str(repository.path / "a.txt"))
    assert "No such directory" in commands.fails("add-repo", str(tmp_path / "none"))
    (tmp_path / "plain").mkdir()
    assert "not a git repository" in commands.fails("add-repo", str(tmp_path / "plain"))
    for name in ("../x", "", "a\nb", "/x"):
        assert "usable repository name" in commands.fails(
            "add-repo", str(repository.path), "--name", name
        )
    commands.ok("add-repo", str(repository.path))
    text = commands.fails("add-repo", str(repository.path))
    assert (
        "A repo named 'project' already exists. Use 'commitmux status' to see all repos."
    ) in text
    commands.ok("add-repo", str(repository.path), "--name", "other")
    assert [r["name"] for r in commands.data("status")["repos"]] == ["project", "other"]


def test_odd_directories(commands, tmp_path):
    commands.ok("init")
    for name in ("ünï cödé", "with 'quote", "a" * 120, "x.git"):
        r = Repository(tmp_path / name)
        r.commit("One", {"f": "1\n"})
        commands.ok("add-repo", str(r.path), "--name", f"n{len(name)}")
    assert "4" in str(len(commands.data("sync")["repos"]))
    assert commands.ok("status")
    raw = os.fsencode(tmp_path) + b"/bad\xff"
    subprocess.run(["git", "init", "-q", raw], check=True)
    done = subprocess.run(
        [str(BIN / "commitmux"), "add-repo", raw, "--name", "bad", "--db", str(commands.db)],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"UTF-8" in done.stderr


def test_a_failed_repository_does_not_stop_the_others(commands, repository, tmp_path):
    gone = Repository(tmp_path / "gone")
    gone.commit("x", {"x": "x\n"})
    commands.ok("init")
    commands.ok("add-repo", str(gone.path))
    commands.ok("add-repo", str(repository.path))
    gone.path.rename(tmp_path / "moved")
    text = commands.fails("sync")
    assert "Error syncing 'gone'" in text
    assert "Syncing 'project'... 2 indexed" in text
    assert "Tip:" not in text
    assert "No repository at" in commands.ok("status")


def test_unknown_things(commands, repository):
    commands.ok("init")
    commands.ok("add-repo", str(repository.path))
    commands.ok("sync")
    assert "Repo 'none' not found" in commands.fails("remove-repo", "none")
    assert "Repo 'none' not found" in commands.fails("sync", "--repo", "none")
    assert "not found" in commands.fails("show", "project", "abc123")
    assert "not found" in commands.fails("patch", "none", "abc123")
    assert "not found" in commands.fails("search", "x", "--repo", "none")
    assert "no words" in commands.fails("search", "***")
    assert "Not a date" in commands.fails("search", "x", "--since", "--5", code=2)
    assert "Not a date" in commands.fails("search", "x", "--since", "someday", code=2)
    failed = json.loads(commands.fails("show", "project", "abc123", "--json"))
    assert (failed["ok"], failed["error"]["code"]) == (False, "not_found")
    commands.fails("search", code=2)
    commands.fails("unknown-command", code=2)


def test_odd_dates_are_shown(commands, tmp_path):
    r = Repository(tmp_path / "old")
    r.commit("x", {"x": "x\n"})
    for date in (b"99999999999999", b"-5", b"0"):
        person = b"A <a@example.com> " + date + b" +0000"
        r.raw_commit([b"author " + person, b"committer " + person], b"Dated commit\n")
    commands.ok("init")
    commands.ok("add-repo", str(r.path))
    commands.ok("sync")
    assert commands.ok("search", "dated").count("Dated commit") == 3
    assert commands.ok("touches", "x")
    assert commands.data("search", "dated", "--since", "99999999999999999999999")["commits"] == []


def test_a_commit_written_long_before_it_was_committed_shows_both_days(commands, tmp_path):
    r = Repository(tmp_path / "late")
    r.commit("Plain words", {"x": "x\n"})
    r.commit("Late words", {"x": "y\n"}, env={"GIT_AUTHOR_DATE": "1600000000 +0000"})
    for words in (("init",), ("add-repo", str(r.path)), ("sync",)):
        commands.ok(*words)

    late, plain = commands.ok("search", "words", "--since", "2023-01-01").splitlines()[:2]

    assert late.startswith("2020-09-13 ")
    assert late.endswith(" Late words (committed 2023-11-14)")
    assert plain.endswith(" Plain words")
    (first, _) = commands.data("search", "words", "--since", "2023-01-01")["commits"]
    assert first["committed"] - first["date"] > 3 * 365 * 86_400


def test_removing_leaves_no_trace(commands, repository, tmp_path):
    other = Repository(tmp_path / "other")
    other.commit(
        "Shared words",
        {"a.txt": "one\n", "secret-path.txt": "x\n"},
        options=["--author=Ghost <ghost@example.com>"],
    )
    commands.ok("init")
    for r in (repository, other):
        commands.ok("add-repo", str(r.path))
    commands.ok("sync")
    commands.ok("remove-repo", "other")
    store = SqliteHistory.open(commands.db)
    check_text_indexes(store)
    for table in ("paths", "people", "patch_rows", "commit_rows", "file_rows", "repos", "ref_tips"):
        dumped = str([tuple(row) for row in store.connection.execute(f"SELECT * FROM {table}")])
        assert "secret-path" not in dumped, table
        assert "ghost" not in dumped, table
        assert "/other" not in dumped, table
    store.close()
    assert commands.data("search", "shared")["commits"] == []
    assert len(commands.data("touches", "a.txt")["touches"]) == 2
    commands.ok("remove-repo", "project")
    store = SqliteHistory.open(commands.db)
    check_text_indexes(store)
    for table in ("paths", "people", "patch_rows", "commit_rows", "search_fts_docsize"):
        assert store.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0, table
    store.close()


def test_clew_history_has_the_same_commands(commands, repository):
    run = [str(BIN / "clew"), "history"]
    for words in (["init"], ["add-repo", str(repository.path)], ["sync"], ["status"]):
        done = subprocess.run(
            [*run, *words, "--db", str(commands.db)], capture_output=True, check=False, text=True
        )
        assert done.returncode == 0, done.stderr
