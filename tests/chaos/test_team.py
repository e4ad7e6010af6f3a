"""A team on several hosts: three workers, two servers, one database, and everything fails."""

from __future__ import annotations

import json
import sys
import threading
import time
from contextlib import closing

import pytest

from clew.history.model import Repo
from clew.team.database import Database
from clew.team.history.store import PostgresHistory
from clew.team.working.orders import Orders
from tests.support.client import BIN
from tests.support.hosts import Hosts
from tests.support.http import HttpServer
from tests.support.postgres import PostgresServer, free_port, why_missing
from tests.support.proof import amount
from tests.support.waiting import wait_until

# It takes orders, says three pieces about each, writes a commit for each into the index, and prints
# what was acknowledged. A thing whose acknowledgement was lost is done again, as a worker does.
WORKER = """
import json, sys, time
from clew.history.model import CommitMeta, IndexedCommit
from clew.kit.errors import ClewError
from clew.team.history.store import PostgresHistory
from clew.team.working.orders import LeaseLost, Orders
address, name = sys.argv[1:]
orders = Orders(address, lease_seconds=3.0)
def say(*what):
    print(json.dumps(what), flush=True)
def insist(do):
    while True:
        try:
            return do()
        except LeaseLost:
            raise
        except ClewError:
            time.sleep(0.1)
def write(order):
    sha = f"{order.order_id:020x}{order.turn:020x}"
    meta = CommitMeta(sha, (), name, name, 1, "+0000", name, name, 1, f"order {order.order_id}", None)
    with PostgresHistory.open(address) as store:
        repo = store.find_repo("house")
        with store.locked(repo.repo_id):
            known = store.database.row("SELECT 1 FROM commit_rows WHERE sha = %s", (bytes.fromhex(sha),))
            if known is None:
                with store.writing():
                    store.write_commits(repo.repo_id, [IndexedCommit(meta)])
    say("row", sha)
while True:
    order = insist(lambda: orders.lease(name, ["claude"]))
    if order is None:
        time.sleep(0.1)
        continue
    try:
        for number in range(1, 4):
            insist(lambda: orders.log(order, number, f"{name} {number}"))
            say("line", order.order_id, order.turn, number)
            time.sleep(0.05)
            insist(lambda: orders.renew(order, snapshot=f"s{number}"))
        insist(lambda: write(order))
        insist(lambda: orders.end(order, "finished"))
        say("finished", order.order_id, order.turn)
    except LeaseLost:
        say("lost", order.order_id, order.turn)
"""
DURABLE = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "wal_level": "replica",
    "hot_standby": "on",
}
# What was acknowledged is on both servers: without this a fail-over loses the last moments.
IN_STEP = {**DURABLE, "synchronous_standby_names": "*"}


class Team:
    """The hosts, and what each of them said."""

    def __init__(self, place, faults):
        self.hosts, self.place, self.faults = Hosts(), place, faults
        self.said, self.servers, self.answered, self.refused = [], {}, 0, 0
        self._over = threading.Event()
        self.first = PostgresServer(host=self.hosts.add("db1"))
        self.second = PostgresServer(host=self.hosts.add("db2"))
        self.first.create().admit().start(**DURABLE)
        self.second.follow(self.first).start(**DURABLE)
        self.restart_first()
        # By port too: where hosts are processes they have one address.
        both = f"{self.first._listens}:{self.first.port},{self.second._listens}:{self.second.port}"
        self.address = f"postgresql://clew@{both}/postgres?target_session_attrs=read-write"
        with closing(PostgresHistory.create(self.address)) as store:
            store.add_repo(Repo(0, "house", ""))
        self.orders = Orders(self.address)

    def restart_first(self):
        self.first.stop(immediately=True)
        self.first.start(**IN_STEP)
        wait_until(
            lambda: self.first.execute(
                "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'"
            )
        )

    def start_worker(self, name):
        host = self.hosts.all.get(name) or self.hosts.add(name)
        log = (self.place / f"{name}-{len(host.processes)}").open("w")
        with log:
            address = f"{self.address}&application_name={name}"
            words = (sys.executable, "-c", WORKER, address, name)
            host.start(words, stdout=log, stderr=log)
        self.said.append(self.place / f"{name}-{len(host.processes) - 1}")
        return host

    def cut(self, name):
        """Take the network from a host; the database notices that as it does by its keepalives."""
        self.hosts.cut(self.hosts.all[name])
        if self.hosts.reason:  # a process that was stopped keeps its connections
            self.first.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                f" WHERE application_name = '{name}'"
            )

    def start_server(self, name):
        host = self.hosts.all.get(name) or self.hosts.add(name)
        port = free_port()
        token = self.place / "token"
        if not token.exists():
            token.write_text("a-token-of-the-test")
            token.chmod(0o600)
        words = (BIN / "commitmux", "serve", "--http", "--workers", "1", "--host", host.address,
                 "--port", port, "--token-file", token, "--database", self.address)  # fmt: skip
        with (self.place / f"{name}-{len(host.processes)}.log").open("w") as log:
            process = host.start(words, stdout=log, stderr=log)
        self.servers[name] = HttpServer(process, f"http://{host.address}:{port}/mcp")
        self.servers[name].token = token.read_text()
        wait_until(lambda: self.asks(name), limit=60)
        return host

    def asks(self, name):
        """Whether a server answers a question with what the index holds."""
        params = {"name": "commitmux_search", "arguments": {"query": "order"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        try:
            status, answer = self.servers[name].post(body)
        except OSError:
            return False
        return status == 200 and "result" in answer and not answer["result"].get("isError")

    def keep_asking(self):
        """One client whose requests go to the servers in turn."""
        while not self._over.is_set():
            for name in list(self.servers):
                if self.asks(name):
                    self.answered += 1
                else:
                    self.refused += 1
                self._over.wait(0.05)

    def finished(self):
        return sum(one.state == "finished" for one in self.orders.all())

    def goes_on(self):
        """More orders end now than before: nothing is stuck."""
        before = self.finished()
        target = min(before + 2, len(self.orders.all()))
        wait_until(lambda: self.finished() >= target, limit=180)
        self.faults.survived()

    def close(self):
        self._over.set()
        self.orders.close()
        self.hosts.remove()
        self.first.remove()
        self.second.remove()


@pytest.fixture
def team(tmp_path, faults):
    if why_missing():
        pytest.skip(why_missing())
    made = Team(tmp_path, faults)
    yield made
    made.close()


def test_whatever_fails_nothing_is_lost_and_nothing_runs_twice(team, capsys):
    count = amount(24, 400)
    for number in range(count):
        team.orders.add("house", f"{number:04}", "claude")
    for name in ("web1", "web2"):
        team.start_server(name)
    asking = threading.Thread(target=team.keep_asking)
    asking.start()
    for name in ("w1", "w2", "w3"):
        team.start_worker(name)
    wait_until(lambda: team.finished() >= 2, limit=120)

    for _ in range(amount(1, 5)):
        kill_a_worker_and_a_server(team)
        cut_the_network(team, amount(0, 30))
        team.restart_first()
        team.goes_on()
    team.first.stop(immediately=True)  # it does not come back: the copy takes over
    team.second.promote()
    team.goes_on()

    count = len(team.orders.all())
    wait_until(lambda: team.finished() == count, limit=600)
    for name in ("web1", "web2"):
        wait_until(lambda name=name: team.asks(name), limit=120)
    team._over.set()
    asking.join(60)
    told = account(team)
    with capsys.disabled():
        print(f"\nteam on {team.hosts.kind}: {told}")


def kill_a_worker_and_a_server(team):
    team.hosts.all["w1"].crash()
    team.start_worker("w1")
    team.goes_on()
    team.hosts.all["web1"].crash()
    wait_until(lambda: team.asks("web2"), limit=60)
    team.start_server("web1")
    team.faults.survived()


def cut_the_network(team, seconds):
    """Cut a worker off that has an order, until another has it; then let it come back late."""

    def held():
        every = team.orders.all()
        if all(one.state == "finished" for one in every):  # nobody waited for the test
            team.orders.add("house", f"{len(every):04}", "claude")
        return next((one for one in every if (one.worker or "") == "w2"), None)

    order = wait_until(held, limit=120)
    team.cut("w2")
    started = time.monotonic()
    wait_until(lambda: team.orders.get(order.order_id).state == "finished"
               or team.orders.get(order.order_id).turn > order.turn, limit=120)  # fmt: skip
    while time.monotonic() - started < seconds:
        team.goes_on()
        if team.finished() == len(team.orders.all()):
            break
    team.hosts.join(team.hosts.all["w2"])
    team.faults.survived()


def account(team):
    """What was acknowledged, against what there is; each order ended once."""
    heard = [json.loads(line) for place in team.said for line in _whole_lines(place)]
    lines = {tuple(one[1:]) for one in heard if one[0] == "line"}
    rows = {one[1] for one in heard if one[0] == "row"}
    ends = [one[1] for one in heard if one[0] == "finished"]
    assert len(ends) == len(set(ends)), "an order ended twice"
    stored = {
        (order.order_id, turn, number)
        for order in team.orders.all()
        for turn, number, _ in team.orders.said(order.order_id)
    }
    assert lines <= stored
    for order in team.orders.all():
        last = [
            number
            for one, turn, number in sorted(stored)
            if (one, turn) == (order.order_id, order.turn)
        ]
        assert last == [1, 2, 3], order
    with closing(Database(team.address)) as database:
        found = {sha.hex() for (sha,) in database.rows("SELECT sha FROM commit_rows")}
    assert rows <= found
    lost = sum(one[0] == "lost" for one in heard)
    return (
        f"{len(team.orders.all())} orders, all ended once; {len(lines)} acknowledged log lines and"
        f" {len(rows)} index rows, none lost; {lost} turns refused as late; {team.faults.count}"
        f" faults; {team.answered} answers over HTTP, {team.refused} refused meanwhile"
    )


def _whole_lines(place):
    """What a process said; the last line may be half of one that was killed."""
    text = place.read_text()
    assert "Traceback" not in text, text[-2000:]
    return text[: text.rfind("\n") + 1].splitlines()
