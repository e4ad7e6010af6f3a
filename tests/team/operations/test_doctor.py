"""What `clew team doctor` finds, on a database where it is true."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing

import pytest

from clew.history.model import Repo
from clew.history.semantic.vectors import embed_commits
from clew.models.embedding import packaged_embedder
from clew.team.database import Database
from clew.team.history.store import PostgresHistory
from clew.team.identity.records import Group, Records, SignIn
from clew.team.operations.findings import findings
from tests.support.issuer import running_issuer
from tests.support.postgres import free_port


@pytest.fixture
def address(team_database):
    with closing(PostgresHistory.create(team_database)) as store:
        store.add_repo(Repo(0, "demo", "", remote_url="https://forge.example/demo"))
    return team_database


def found(address, name, **more):
    return [one for one in findings(address, **more) if one.name == name]


def test_everything_is_looked_at(address):
    checked = [one.name for one in findings(address)]

    assert checked == [
        "database", "schema", "clock", "vectors", "replica", "queue", "leases", "index",
        "sign-in", "clones",
    ]  # fmt: skip
    assert found(address, "database")[0].status == "ok"


def test_a_database_that_does_not_answer():
    one = findings(f"postgresql://nobody@127.0.0.1:{free_port()}/none")

    assert [(each.name, each.status) for each in one] == [("database", "fail")]


def test_a_schema_that_is_old(address):
    with closing(Database(address)) as database:
        database.run("UPDATE clew_schema SET version = 1")

    assert found(address, "schema")[0].status == "fail"
    assert "clew team migrate" in (found(address, "schema")[0].fix or "")


def test_a_database_that_has_no_tables(team_database):
    found = findings(team_database)

    assert [(one.name, one.status) for one in found] == [("database", "ok"), ("schema", "fail")]
    assert "clew team migrate" in (found[-1].fix or "")


def test_vectors_that_syncs_do_not_make(address):
    assert found(address, "vectors")[0].status == "ok"
    with closing(PostgresHistory.open(address)) as store:
        embed_commits(store, packaged_embedder(), store.repos())
        assert "--with-sync" in (found(address, "vectors")[0].fix or "")
        store.new_vectors().set_with_sync(is_wanted=True)
        assert found(address, "vectors")[0].status == "ok"


def test_a_replica_that_is_none(address):
    assert found(address, "replica", replica=address)[0].status == "warn"


def test_a_queue_that_nobody_serves(address):
    with closing(Database(address)) as database:
        database.run(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, scheduled_at)"
            " VALUES ('sync', 'clew.sync', now() - interval '1 hour')"
        )

    first = found(address, "queue")[0]
    assert (first.status, first.fix) == ("warn", "clew worker --queue sync")


def test_a_worker_that_is_silent(address):
    with closing(Database(address)) as database:
        database.run(
            "INSERT INTO work_orders (project, spec_id, agent, state, leased_until)"
            " VALUES ('demo', 'x', 'a', 'leased', now() - interval '1 minute')"
        )

    assert found(address, "leases")[0].status == "warn"


def test_repositories_that_were_never_synced(address):
    assert found(address, "index")[0].status == "warn"


def test_sign_in_with_and_without_its_issuer(address):
    assert found(address, "sign-in")[0].status == "warn"
    with closing(Records(address)) as records, running_issuer() as issuer:
        resource = "https://clew.example/mcp"
        records.set_sign_in(SignIn(issuer.url, resource, (resource,), "groups", "scope", ()))
        assert found(address, "sign-in")[0].status == "ok"
        assert found(address, "groups")[0].status == "warn"
        records.grant(Group("makers", ("*",), "read"))
        assert found(address, "groups") == []
    assert found(address, "sign-in")[0].status == "fail"


def test_the_command_says_it(address):
    command = [sys.executable, "-m", "clew", "team", "doctor", "--json", "--database", address]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["ok"] is True
