"""SQLite opened the one way."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest

from clew.kit import sqlite
from clew.kit.errors import Unavailable
from clew.kit.sqlite import json_list, open_database, open_read_only, read_migrations, writing

ONE = ("CREATE TABLE a (x INTEGER)",)
TWO = (*ONE, "CREATE TABLE b (y TEXT); CREATE INDEX b_y ON b (y)")


def test_migrations_run_once_and_in_order(tmp_path):
    path = tmp_path / "deep" / "db.sqlite3"
    first = open_database(path, ONE)
    with writing(first):
        first.execute("INSERT INTO a VALUES (1)")
    first.close()
    second = open_database(path, TWO)
    assert second.execute("PRAGMA user_version").fetchone()[0] == 2
    assert second.execute("SELECT x FROM a").fetchone()["x"] == 1
    assert second.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    second.close()


def test_a_reader_waits_for_who_makes_the_database(tmp_path):
    path = tmp_path / "db.sqlite3"
    with closing(sqlite3.connect(path)) as maker:
        maker.execute("PRAGMA journal_mode=WAL")
        made = threading.Timer(0.1, lambda: open_database(path, ONE).close())
        made.start()
        with closing(open_read_only(path, ONE)) as reader:
            assert reader.execute("SELECT count(*) FROM a").fetchone()[0] == 0
        made.join()


TRIGGER = """
-- A comment; with a semicolon.
CREATE TABLE c (x INTEGER, said TEXT DEFAULT 'a;b');
CREATE TRIGGER c_counted AFTER INSERT ON c BEGIN
    INSERT INTO a VALUES (new.x);
    UPDATE a SET x = x + 1;
END;
CREATE INDEX c_x ON c (x);
"""


def test_migrations_are_files_and_a_trigger_keeps_its_semicolons(tmp_path):
    (tmp_path / "0002_trigger.sql").write_text(TRIGGER)
    (tmp_path / "0001_table.sql").write_text(f"{ONE[0]};\n")
    (tmp_path / "readme.txt").write_text("no migration")
    database = open_database(tmp_path / "db", read_migrations(tmp_path))

    database.execute("INSERT INTO c (x) VALUES (1)")

    assert [row[0] for row in database.execute("SELECT x FROM a")] == [2]
    assert database.execute("SELECT said FROM c").fetchone()[0] == "a;b"
    assert database.execute("PRAGMA user_version").fetchone()[0] == 2
    database.close()


def test_migrations_have_no_gap(tmp_path):
    (tmp_path / "0001_a.sql").write_text(ONE[0])
    (tmp_path / "0003_c.sql").write_text(ONE[0])
    with pytest.raises(AssertionError, match="is not number 2"):
        read_migrations(tmp_path)


def test_a_migration_that_is_cut_off_changes_nothing(tmp_path):
    with pytest.raises(AssertionError, match="unfinished"):
        open_database(tmp_path / "db", (f"{ONE[0]}; CREATE TABLE b (x TEXT DEFAULT 'open",))
    database = open_database(tmp_path / "db", ())
    assert database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    database.close()


def test_a_newer_database_is_not_touched(tmp_path):
    open_database(tmp_path / "db", TWO).close()
    with pytest.raises(Unavailable, match="newer Clew"):
        open_database(tmp_path / "db", ONE)


def test_a_database_that_is_migrated_at_this_moment_is_not_another_programs(tmp_path, monkeypatch):
    path, read_version = tmp_path / "db", sqlite._version
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA journal_mode=WAL")

    def version_before_the_other(connection):
        version = read_version(connection)
        if not other.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            other.executescript(f"BEGIN; {ONE[0]}; PRAGMA user_version=1; COMMIT")
        return version

    monkeypatch.setattr(sqlite, "_version", version_before_the_other)
    database = open_database(path, ONE)
    assert database.execute("SELECT count(*) FROM a").fetchone()[0] == 0
    database.close()
    other.close()


def test_a_failed_block_changes_nothing(tmp_path):
    database = open_database(tmp_path / "db", ONE)

    def insert_and_fail():
        with writing(database):
            database.execute("INSERT INTO a VALUES (1)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        insert_and_fail()
    assert database.execute("SELECT count(*) FROM a").fetchone()[0] == 0
    database.close()


def test_a_read_only_connection_cannot_write(tmp_path):
    path = tmp_path / "odd name?#%.db"
    writer = open_database(path, ONE)
    reader = open_read_only(path)
    assert reader.execute("SELECT count(*) FROM a").fetchone()[0] == 0
    for statement in ("INSERT INTO a VALUES (1)", "DROP TABLE a", "PRAGMA user_version=9"):
        with pytest.raises(sqlite3.OperationalError):
            reader.execute(statement)
    reader.close()
    writer.close()
    with pytest.raises(Unavailable, match="No database"):
        open_read_only(tmp_path / "nowhere")


def listed(values):
    database = sqlite3.connect(":memory:")
    try:
        query = "SELECT cast(value AS BLOB) FROM json_each(?)"
        return [row[0].decode("utf-8", "replace") for row in database.execute(query, values)]
    finally:
        database.close()


def test_a_list_of_any_length_is_one_value_of_a_query():
    assert listed((json_list(range(3000)),)) == [str(n) for n in range(3000)]
    assert listed((json_list(iter(())),)) == []


def test_texts_of_a_list_arrive_as_they_are():
    texts = ["größe.py", 'a"b\\c', "新", "line\nbreak"]
    assert listed((json_list(texts),)) == texts


def test_what_is_no_unicode_is_found_nowhere_and_breaks_nothing():
    (found,) = listed((json_list(["é\udcff"]),))
    assert found.startswith("é")
    assert found != "é"
