"""A host whose network is cut: the database gives its locks to others."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing

import pytest

from clew.team.database import Database
from tests.support.hosts import Hosts, why_no_namespaces
from tests.support.postgres import PostgresServer, why_missing
from tests.support.proof import FULL

KEY = (7_001, False)
HOLDER = f"""
import sys, time
from clew.team.database import Database
with Database(sys.argv[1]).locked({KEY!r}, timeout=5):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def hosts():
    if reason := why_missing() or why_no_namespaces():
        pytest.skip(reason)
    made = Hosts()
    yield made
    made.remove()


@pytest.mark.skipif(not FULL, reason="needs PROOF=full: keepalives take half a minute")
def test_a_lock_does_not_outlive_the_network_of_its_host(hosts, faults):
    server = PostgresServer(host=hosts.add("db"))
    server.create().admit().start()
    try:
        words = (sys.executable, "-c", HOLDER, server.address())
        holder = hosts.add("worker").start(words, stdout=subprocess.PIPE)
        assert holder.stdout.readline() == "held\n"
        hosts.cut(hosts.all["worker"])
        with closing(Database(server.address())) as mine, mine.locked(KEY, timeout=90):
            faults.survived()
    finally:
        hosts.all["worker"].crash()
        holder.stdout.close()
        server.remove()


def test_the_server_looks_after_its_peers_too(postgres):
    with closing(Database(postgres.address())) as database:
        shown = {
            name: database.row(f"SHOW {name}")[0]
            for name in ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_user_timeout")
        }
    assert shown == {
        "tcp_keepalives_idle": "10",
        "tcp_keepalives_interval": "5",
        "tcp_user_timeout": "20000",
    }
