"""What a disk or a database refuses, in words."""

from __future__ import annotations

import errno
import sqlite3

import pytest

from clew.kit.sqlite import open_database, writing
from clew.kit.system_errors import refusal


def test_a_refusal_of_the_system_names_the_file_and_the_next_step():
    found = refusal(OSError(errno.ENOSPC, "No space left on device", "/x/y"))
    assert found.message == "No space left on device: /x/y"
    assert found.hint == "Free some space, then try again."


def test_an_extra_that_is_not_installed_is_named():
    found = refusal(ModuleNotFoundError("No module named 'starlette'", name="starlette.responses"))
    assert found.message == "This needs the extra 'web', which is not installed"
    assert "clew[web]" in found.hint
    assert refusal(ModuleNotFoundError("No module named 'clewless'", name="clewless")) is None


def test_a_damaged_database_is_told_and_a_wrong_statement_is_a_bug(tmp_path):
    path = tmp_path / "db"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(sqlite3.DatabaseError) as damaged:
        open_database(path, ())
    assert "damaged" in refusal(damaged.value).hint
    with sqlite3.connect(":memory:") as connection, pytest.raises(sqlite3.Error) as wrong:
        connection.execute("SELECT nothing FROM nowhere")
    connection.close()
    assert refusal(wrong.value) is None
    assert refusal(ZeroDivisionError()) is None


def test_a_full_database_can_be_written_again(tmp_path):
    """A transaction that SQLite or a full disk ended leaves the connection usable."""
    database = open_database(tmp_path / "db", ("CREATE TABLE a (x BLOB)",))
    database.execute("PRAGMA max_page_count=5")

    def fill():
        with writing(database):
            for _ in range(100):
                database.execute("INSERT INTO a VALUES (zeroblob(100000))")

    with pytest.raises(sqlite3.OperationalError) as full:
        fill()
    assert refusal(full.value).hint == "Free some space, then try again."
    assert not database.in_transaction
    with writing(database):
        database.execute("INSERT INTO a VALUES (1)")
    assert database.execute("SELECT count(*) FROM a").fetchone()[0] == 1
    database.close()
