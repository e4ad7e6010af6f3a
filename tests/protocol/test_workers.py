"""The threads that run calls, and how clients share them."""

from __future__ import annotations

import queue
import threading

from clew.protocol.workers import Workers


def test_one_client_never_has_all_threads():
    workers, gate, done = Workers(threads=4, waiting=100), threading.Event(), queue.SimpleQueue()
    for _ in range(20):
        assert workers.submit(gate.wait, "greedy")
    assert workers.submit(lambda: done.put("served"), "modest")
    assert done.get(timeout=60) == "served"
    for number in range(2):
        assert workers.submit(lambda n=number: done.put(n), "greedy")
    gate.set()
    assert [done.get(timeout=60) for _ in range(2)] == [0, 1]


def test_a_flood_of_one_client_leaves_room_for_others():
    workers, gate = Workers(threads=2, waiting=10), threading.Event()
    taken = [workers.submit(gate.wait, "greedy") for _ in range(20)]
    assert taken.count(True) == 6
    assert workers.submit(gate.wait, "modest")
    gate.set()
