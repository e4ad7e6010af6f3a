"""Files that are not the databases they should be are recognised, and named with what to do."""

from __future__ import annotations

import random
import re
import sqlite3
import subprocess
from contextlib import closing, contextmanager

import pytest

from clew.advisors.conversation import store as conversations
from clew.doctor.databases import databases
from clew.doctor.model import Subject
from clew.history.store.sqlite import SqliteHistory, migrations
from clew.kit.errors import Unavailable
from clew.kit.sqlite import open_database, problem_of, read_migrations
from clew.protocol.kernel.task_store import SqliteTasks
from clew.sessions.index import sqlite as sessions
from clew.work.journal.sqlite import SqliteJournal
from tests.history.index import new_index
from tests.security.surfaces import call
from tests.support.client import BIN
from tests.support.proof import amount
from tests.support.repos import Repository


@contextmanager
def opened_tasks(path):
    """The store of tasks in this file's directory."""
    with closing(SqliteTasks(path.parent)) as made:
        yield made


@contextmanager
def opened_conversations(path):
    """The store of conversations, which is at one place."""
    with conversations.opened_store() as made:
        yield made


@contextmanager
def opened_sessions(path):
    """The index of sessions, which is at one place."""
    with sessions.opened_index() as made:
        yield made


# How each store is made and read, and a table of it.
STORES = {
    "history": ("db", "commit_rows", SqliteHistory.create),
    "history read": ("db", "commit_rows", SqliteHistory.read),
    "journal": ("runs.sqlite3", "moves", lambda path: closing(SqliteJournal(path))),
    "journal read": (
        "runs.sqlite3", "moves", lambda path: closing(SqliteJournal(path, read_only=True)),
    ),
    "tasks": ("tasks.sqlite3", "tasks", opened_tasks),
    "conversations": ("conversations.sqlite3", "turns", opened_conversations),
    "sessions": ("sessions.sqlite3", "turns", opened_sessions),
}  # fmt: skip


def change(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def no_database(path, table):
    path.write_bytes(b"not a database " * 1000)


def missing_table(path, table):
    change(path, f"DROP TABLE {table}")


def newer(path, table):
    change(path, "PRAGMA user_version=99")


def of_another_program(path, table):
    path.unlink()
    change(path, "CREATE TABLE bookmarks (url TEXT)")


def cut_off(path, table):
    path.write_bytes(path.read_bytes()[:5000])


DAMAGES = {
    no_database: "not a database",
    missing_table: "it lacks",
    newer: "newer Clew",
    of_another_program: "another program",
    cut_off: "",
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", STORES)
def test_each_store_says_what_is_wrong_and_what_to_do(name, damage, private_home):
    file, table, opened = STORES[name]
    path = private_home / ".clew" / file
    making = STORES[name.removesuffix(" read")][2]
    with making(path):
        pass
    damage(path, table)
    before = path.read_bytes()
    with pytest.raises(Unavailable) as refused, opened(path) as made:
        list(made.list()) if hasattr(made, "list") else None
    assert DAMAGES[damage] in refused.value.message
    assert str(path) in refused.value.full_text()
    assert re.search(r"mv |Upgrade Clew", refused.value.hint)
    assert path.read_bytes() == before, "what is not ours, or damaged, stays as it is"


def test_the_command_that_is_named_repairs_the_index(tmp_path, capfd):
    repository = Repository(tmp_path / "a repository")
    repository.commit("first words", {"a.txt": "one\n"})
    path = tmp_path / "db"
    new_index(path, repository, name="r").close()
    missing_table(path, "commit_rows")
    for words in (("sync",), ("search", "words"), ("status",), ("verify",), ("hotspots",)):
        assert call(("commitmux", *words, "--db", str(path))) == 1, words
        said = capfd.readouterr().err
        assert "it lacks commit" in said
        assert "bug" not in said
    command = said.strip().splitlines()[-1].strip()
    assert command.startswith("mv ")
    done = subprocess.run(
        ["sh", "-ec", command.replace("commitmux", str(BIN / "commitmux"))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert call(("commitmux", "search", "words", "--db", str(path))) == 0
    assert "first words" in capfd.readouterr().out


COMMANDS = (
    ("status",), ("search", "words"), ("touches", "*.txt"), ("hotspots",), ("pickaxe", "two"),
    ("owners", "r"), ("verify",), ("redactions",), ("list-repos",), ("sync",),
)  # fmt: skip


def test_flipped_bytes_never_look_like_a_bug(tmp_path, capfd, record_property):
    """Wherever a byte is wrong: a right answer, or a refusal that names the repair."""
    repository = Repository(tmp_path / "r")
    for number in range(20):
        repository.commit(f"words {number}", {f"f{number % 5}.txt": f"one {number}\ntwo\n" * 40})
    path = tmp_path / "db"
    new_index(path, repository, name="r").close()
    whole = path.read_bytes()
    chance = random.Random(18)
    refused = 0
    for turn in range(amount(25, 400)):
        data = bytearray(whole)
        for _ in range(30):
            data[chance.randrange(100 if turn % 2 else 0, len(data))] ^= 1 << chance.randrange(8)
        for beside in tmp_path.glob("db?*"):
            beside.unlink()
        path.write_bytes(data)
        code = call(("commitmux", *COMMANDS[turn % len(COMMANDS)], "--db", str(path)))
        said = capfd.readouterr().err
        assert code in (0, 1), (turn, said)
        assert "bug in Clew" not in said
        refused += code == 1
    assert refused
    record_property("damaged files", amount(25, 400))


def test_doctor_names_the_damaged_file_and_its_repair(tmp_path, private_home):
    subject = Subject(project=str(tmp_path), settings={"db": str(tmp_path / "db")})
    SqliteHistory.create(tmp_path / "db").close()
    path = private_home / ".clew" / "conversations.sqlite3"
    with conversations.opened_store():
        pass
    assert [check.status for check in databases(subject)] == ["ok"]
    missing_table(path, "turns")
    missing_table(tmp_path / "db", "repos")
    found = {check.summary.partition(" cannot")[0]: check.fix for check in databases(subject)}
    assert found["The store of conversations"].startswith(f"mv {path} {path}.damaged && ")
    assert "commitmux init" in found["The history index"]


def test_a_large_database_is_looked_at_only_for_a_while(tmp_path, monkeypatch):
    path = tmp_path / "large"
    with closing(open_database(path, ("CREATE TABLE a (b)",))) as database:
        database.executemany("INSERT INTO a VALUES (?)", [("x" * 500,) for _ in range(5000)])
    monkeypatch.setattr("clew.kit.sqlite._LOOK_SECONDS", 0.0)
    monkeypatch.setattr("clew.kit.sqlite._LOOK_STEPS", 10)
    assert problem_of(path, ("CREATE TABLE a (b)",)) is None


def test_the_files_of_those_who_wait_do_not_pile_up(tmp_path):
    repository = Repository(tmp_path / "r")
    repository.commit("first", {"a": "1"})
    path = tmp_path / "db"
    new_index(path, repository, name="r").close()
    for _ in range(3):
        assert call(("commitmux", "sync", "--db", str(path))) == 0
    repository.path.rename(tmp_path / "gone")
    assert call(("commitmux", "sync", "--db", str(path))) == 1
    assert list(tmp_path.glob("db.queue-*")) == []


def test_the_scripts_are_read_once():
    assert migrations() is migrations()
    assert read_migrations(conversations.MIGRATIONS)
