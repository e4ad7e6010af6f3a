"""The program whose name and place for its index Clew shares, on one file with it.

`ORIGINAL_COMMITMUX` names the program; it is not part of Clew, nor of what tests install.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.history.index import new_index
from tests.support.client import BIN
from tests.support.faults import assert_civil, run
from tests.support.proof import amount
from tests.support.repos import Repository

OURS = (
    ("init",), ("status",), ("search", "words"), ("sync",), ("sync", "--full"), ("verify",), ("gc",),
)  # fmt: skip


class Original:
    """The other program."""

    def __init__(self, path):
        self.path = path

    def command(self, *words, db):
        return [self.path, *words, "--db", str(db)]

    def __call__(self, *words, db):
        return subprocess.run(
            self.command(*words, db=db), capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture
def original():
    """The original program, if somebody says where it is."""
    path = os.environ.get("ORIGINAL_COMMITMUX")
    if not path:
        pytest.skip("ORIGINAL_COMMITMUX does not name the original commitmux program")
    return Original(str(Path(path).resolve(strict=True)))


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path / "a repository")
    for number in range(5):
        made.commit(f"words {number}", {"a.txt": f"{number}\n"})
    return made


def filled(original, repository, db):
    """An index that the original made."""
    for words in (("init",), ("add-repo", str(repository.path), "--name", "r"), ("sync",)):
        done = original(*words, db=db)
        assert done.returncode == 0, done.stderr


def ours(*words, db):
    done = run([BIN / "commitmux", *words, "--db", db])
    assert_civil(done)
    return done


def rows(db):
    """All that is in a file, its log included."""
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as connection:
        names = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
        commits = connection.execute("SELECT sha, subject FROM commits ORDER BY sha").fetchall()
        return names, commits


def test_its_file_is_left_as_it_is_and_can_be_moved_away(original, repository, tmp_path):
    db = tmp_path / "db"
    filled(original, repository, db)
    # A server of it runs meanwhile: what is not in the file yet is in the log beside it.
    asked = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    server = subprocess.Popen(
        original.command("serve", db=db), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with server:
        server.stdin.write(asked)
        server.stdin.flush()
        server.stdout.readline()
        repository.commit("words of the log", {"a.txt": "last\n"})
        assert original("sync", db=db).returncode == 0
        before = rows(db)
        for words in OURS:
            done = ours(*words, db=db)
            assert done.returncode == 1
            assert "database of another program" in done.stderr, words
        assert rows(db) == before
        command = done.stderr.strip().splitlines()[-1].strip()
        done = subprocess.run(
            ["sh", "-ec", command.replace("commitmux", shlex.quote(str(BIN / "commitmux")))],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert rows(f"{db}.damaged") == before
    assert "words of the log" in ours("search", "words", db=db).stdout


def test_it_changes_nothing_in_ours(original, repository, tmp_path):
    db = tmp_path / "db"
    new_index(db, repository, name="r").close()
    before = rows(db)
    for words in (
        ("init",), ("add-repo", str(repository.path), "--name", "two"), ("sync",), ("status",),
        ("show", "r", repository.head()), ("remove-repo", "r"), ("serve",), ("reindex",),
    ):  # fmt: skip
        assert original(*words, db=db).returncode != 0, words
    assert rows(db) == before
    done = ours("verify", db=db)
    assert "no differences" in done.stdout
    assert done.returncode == 0


def test_both_begin_the_same_file_at_once(original, repository, tmp_path):
    """Whoever is first has the file; the other one refuses and leaves nothing in it."""
    won = set()
    for number in range(amount(6, 40)):
        db = tmp_path / f"db{number}"
        commands = (
            [str(BIN / "commitmux"), "init", "--db", str(db)],
            original.command("init", db=db),
        )
        both = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for command in (commands if number % 2 else commands[::-1])
        ]
        for one in both:
            one.communicate(timeout=60)
        is_ours = ours("status", db=db).returncode == 0
        is_theirs = original("status", db=db).returncode == 0
        assert is_ours != is_theirs, number
        won.add(is_ours)
        if is_ours:
            new_index(tmp_path / "good", repository, name="r").close()
            with (
                closing(sqlite3.connect(db)) as made,
                closing(sqlite3.connect(tmp_path / "good")) as good,
            ):
                names = "SELECT name FROM sqlite_master ORDER BY name"
                assert made.execute(names).fetchall() == good.execute(names).fetchall()
    assert won


def test_both_go_on_while_the_other_one_tries(original, repository, tmp_path):
    """Ours is read and synced while the other program knocks again and again."""
    db = tmp_path / "db"
    new_index(db, repository, name="r").close()
    for number in range(amount(4, 20)):
        repository.commit(f"more {number}", {"a.txt": f"more {number}\n"})
        knocking = [
            subprocess.Popen(
                original.command(*words, db=db), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            for words in (("sync",), ("status",), ("init",))
        ]
        done = ours("sync", db=db)
        assert done.returncode == 0, done.stderr
        for one in knocking:
            one.communicate(timeout=60)
            assert one.returncode != 0
    assert "no differences" in ours("verify", db=db).stdout
