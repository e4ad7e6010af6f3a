"""Orders of a fleet: each has one worker at a time, nothing acknowledged is lost, and all end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing

import pytest

from clew.kit.errors import Conflict
from clew.team.database import Database, migrate
from clew.team.working.orders import LeaseLost, Orders
from tests.support.client import BIN
from tests.support.waiting import wait_until

# A worker as a process: it takes orders, says three pieces about each, and prints what was stored.
WORKER = """
import json, sys, time
from clew.kit.errors import ClewError
from clew.team.working.orders import LeaseLost, Orders
address, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
orders = Orders(address, lease_seconds=float(sys.argv[4]))
idle = 0
while idle < 200:
    try:
        order = orders.lease(name, ["claude"])
    except ClewError:
        continue
    if order is None:
        idle += 1
        time.sleep(0.05)
        continue
    idle = 0
    try:
        for number in range(1, 4):
            orders.log(order, number, f"{name} {number}")
            print(json.dumps([order.order_id, order.turn, number]), flush=True)
            time.sleep(seconds)
            orders.renew(order, branch=f"chant/{order.spec_id}", snapshot=f"s{number}")
        orders.end(order, "finished")
    except ClewError as error:
        print(json.dumps(["lost", order.order_id, order.turn, error.message]), file=sys.stderr, flush=True)
"""


@pytest.fixture
def address(team_database):
    database = Database(team_database)
    migrate(database)
    database.close()
    return team_database


def test_a_connection_that_dies_in_a_transaction_hides_no_failure(address, postgres):
    """What is rolled back there is gone already: who began it hears why it ended, and goes on."""
    with closing(Database(address)) as database:

        def lose_it():
            with database.transaction():
                pid = database.connection.info.backend_pid
                postgres.execute(f"SELECT pg_terminate_backend({pid}, 10000)")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            lose_it()
        assert database.rows("SELECT 1") == [(1,)]


@pytest.fixture
def make(address):
    """Orders as another machine would open them."""
    opened = []

    def open_one(lease=30.0):
        opened.append(Orders(address, lease_seconds=lease))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def orders(make):
    return make()


def test_an_order_is_leased_by_one_of_many(make):
    first = make()
    for number in range(20):
        first.add("p", f"{number:03}", "claude")
    taken = Counter()
    barrier = threading.Barrier(4)

    def take(name):
        own = Orders(first.database.address)
        barrier.wait(120)
        while (order := own.lease(name, ["claude"])) is not None:
            taken[order.order_id] += 1
        own.close()

    threads = [threading.Thread(target=take, args=(f"w{n}",)) for n in range(4)]
    [thread.start() for thread in threads]
    [thread.join(120) for thread in threads]
    assert len(taken) == 20
    assert set(taken.values()) == {1}


def test_a_spec_has_one_open_order(orders):
    orders.add("p", "001", "claude")
    with pytest.raises(Conflict, match="ordered already"):
        orders.add("p", "001", "codex")
    orders.add("other", "001", "claude")
    order = orders.lease("w", ["claude"])
    orders.end(order, "finished")
    assert orders.add("p", "001", "claude").state == "waiting"


def test_agents_and_labels_say_who_may_take_it(orders):
    orders.add("p", "001", "codex", ["large", "gpu"])
    assert orders.lease("w", ["claude"], ["large", "gpu"]) is None
    assert orders.lease("w", ["codex"], ["large"]) is None
    assert orders.lease("w", ["claude", "codex"], ["gpu", "large", "more"]).spec_id == "001"


def test_a_lease_that_ended_is_anybodys_and_the_late_one_is_refused(make):
    slow, quick = make(lease=0.2), make()
    slow.add("p", "001", "claude")
    late = slow.lease("slow", ["claude"])
    slow.log(late, 1, "kept")
    slow.renew(late, branch="chant/001", snapshot="abc")
    taken = wait_until(lambda: quick.lease("quick", ["claude"]))
    assert (taken.turn, taken.branch, taken.snapshot) == (late.turn + 1, "chant/001", "abc")
    for attempt in (
        lambda: slow.renew(late),
        lambda: slow.log(late, 2, "too late"),
        lambda: slow.end(late, "finished"),
    ):
        with pytest.raises(LeaseLost):
            attempt()
    quick.log(taken, 1, "goes on")
    assert quick.said(taken.order_id) == [(1, 1, "kept"), (2, 1, "goes on")]
    assert quick.said(taken.order_id, (1, 1)) == [(2, 1, "goes on")]
    quick.end(taken, "finished")
    assert quick.get(taken.order_id).state == "finished"


def test_requests_reach_the_worker_at_once_and_by_asking(make):
    worker, person = make(), make()
    person.add("p", "001", "claude")
    order = worker.lease("w", ["claude"])
    heard = worker.changes(60)
    next(heard)
    assert worker.renew(order) is None
    person.ask(order.order_id, "pause")
    next(heard)  # would take a minute without being told
    assert worker.renew(order) == "pause"
    worker.end(order, "paused")
    assert worker.lease("w", ["claude"]) is None
    with pytest.raises(Conflict):
        person.ask(order.order_id, "cancel")
    person.resume(order.order_id)
    assert worker.lease("w", ["claude"]).turn == 2


def test_a_piece_of_a_log_is_stored_once(orders):
    orders.add("p", "001", "claude")
    order = orders.lease("w", ["claude"])
    for _ in range(2):
        orders.log(order, 1, "nul \x00 byte")
    assert orders.said(order.order_id) == [(1, 1, "nul \ufffd byte")]


def start(address, name, seconds=0.02, lease=2.0):
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, address, name, str(seconds), str(lease)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def assert_all_ended_and_nothing_lost(orders, said):
    """Every order ended once, and every piece that a worker knows to be stored is there."""
    acknowledged = [tuple(json.loads(line)) for text in said for line in text.splitlines()]
    assert len(acknowledged) == len(set(acknowledged))
    for order in orders.all():
        assert order.state == "finished", order
        stored = {(order.order_id, turn, number) for turn, number, _ in orders.said(order.order_id)}
        assert stored >= {one for one in acknowledged if one[0] == order.order_id}
        last = [number for turn, number, _ in orders.said(order.order_id) if turn == order.turn]
        assert last == [1, 2, 3], "the turn that finished it said everything"
    return len(acknowledged)


def test_workers_that_are_killed_lose_nothing(address, orders):
    for number in range(30):
        orders.add("p", f"{number:03}", "claude")
    workers = [start(address, f"w{n}") for n in range(3)]
    wait_until(lambda: any(one.state == "finished" for one in orders.all()))
    workers[0].send_signal(signal.SIGKILL)
    workers.append(start(address, "w3"))
    wait_until(lambda: sum(one.state == "finished" for one in orders.all()) >= 12)
    workers[1].send_signal(signal.SIGKILL)
    said = [worker.communicate(timeout=180)[0] for worker in workers]
    count = assert_all_ended_and_nothing_lost(orders, said)
    assert count >= 90


def test_a_restart_of_the_database_loses_nothing():
    from tests.support.postgres import PostgresServer, why_missing

    if why_missing():
        pytest.skip(why_missing())
    server = PostgresServer()
    durable = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
    try:
        server.create().start(**durable)
        database = Database(server.address())
        migrate(database)
        database.close()
        with closing(Orders(server.address())) as orders:
            for number in range(20):
                orders.add("p", f"{number:03}", "claude")
            workers = [start(server.address(), f"w{n}", seconds=0.05) for n in range(3)]
            wait_until(lambda: any(one.state == "finished" for one in orders.all()))
            server.stop(immediately=True)  # as if it crashed
            server.start(**durable)
            said = [worker.communicate(timeout=180)[0] for worker in workers]
            assert_all_ended_and_nothing_lost(orders, said)
    finally:
        server.remove()


def test_an_order_for_an_unknown_repository_is_refused(address):
    words = ("team", "order", "nowhere", "a-spec", "--database", address)
    done = subprocess.run(
        [str(BIN / "clew"), *words], capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert b"Repo 'nowhere' not found" in done.stderr
