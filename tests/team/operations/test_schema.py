"""Migrations: one process makes them, and the version before goes on with what is new."""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from clew.kit.errors import Unavailable
from clew.team import database as database_module
from clew.team.database import Database, migrate, migrations, require_schema, schema_version
from clew.team.history.store import PostgresHistory
from clew.team.working.orders import Orders


def test_several_at_once_make_the_tables_once(team_database):
    failures = []

    def make():
        try:
            PostgresHistory.create(team_database).close()
        except Exception as error:  # noqa: BLE001 - told by the test
            failures.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    with closing(Database(team_database)) as database:
        assert schema_version(database) == len(migrations())
        assert database.row("SELECT count(*) FROM clew_schema") == (1,)


@pytest.fixture
def newer(team_database, monkeypatch):
    """A database on which a newer Clew made a table more than this one knows."""
    PostgresHistory.create(team_database).close()
    known = migrations()
    monkeypatch.setattr(
        database_module, "migrations", lambda: (*known, "CREATE TABLE later (x integer);")
    )
    with closing(Database(team_database)) as database:
        migrate(database)
        monkeypatch.setattr(database_module, "migrations", lambda: known)
        assert schema_version(database) == len(known) + 1
        yield database


def test_the_version_before_goes_on(newer):
    require_schema(newer)
    with closing(PostgresHistory.read(newer.address)) as store:
        assert store.repos() == []


def test_a_version_that_cannot_is_refused(newer):
    newer.run("UPDATE clew_schema SET oldest = version")

    with pytest.raises(Unavailable, match="newer Clew"):
        require_schema(newer)
    with pytest.raises(Unavailable, match="newer Clew"):
        migrate(newer)


def test_a_worker_that_does_not_know_the_schema_gets_nothing_more(newer):
    with closing(Orders(newer.address)) as orders:
        orders.add("house", "001", "default")
        newer.run("UPDATE clew_schema SET oldest = version")
        with pytest.raises(Unavailable, match="newer Clew"):
            orders.lease("a worker that began before", ["default"])
        assert [one.state for one in orders.all()] == ["waiting"]


def test_programs_that_know_no_consent_are_refused(team_database, monkeypatch):
    PostgresHistory.create(team_database).close()
    known = migrations()[:4]
    monkeypatch.setattr(database_module, "migrations", lambda: known)
    with pytest.raises(Unavailable, match="newer Clew"):
        PostgresHistory.read(team_database)


def test_a_new_program_waits_for_its_schema(team_database, monkeypatch):
    PostgresHistory.create(team_database).close()
    known = migrations()
    monkeypatch.setattr(database_module, "migrations", lambda: (*known, "SELECT 1;"))

    with pytest.raises(Unavailable, match=r"needs \d+"):
        PostgresHistory.read(team_database)
