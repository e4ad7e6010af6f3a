"""Cases that once broke a server: found by trying to, kept so that they stay mended."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
import termios
import threading

import pytest

from clew.protocol.kernel.task_store import SqliteTasks
from tests.support.client import (
    CLARIAD,
    EVERYTHING,
    TASKS,
    WAIT_SECONDS,
    StdioServer,
    modern,
    pipe,
)
from tests.support.waiting import wait_until

HALF_FULL = 16 * 1024  # a pipe has 64 KiB, in pages that need not be full
CAPABLE = {"elicitation": {}, "extensions": {TASKS: {}}}
SLOW = {"name": "slow_compute", "arguments": {"seconds": 30}}


def with_batches(server):
    server.result("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}})


@pytest.mark.parametrize("depth", [2, 300])
@pytest.mark.parametrize("while_slow", [False, True])
def test_a_batch_inside_a_batch_is_refused(depth, while_slow):
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    with StdioServer(EVERYTHING) as server:
        with_batches(server)
        slow = server.request("tools/call", SLOW, "slow") if while_slow else None
        server.send(b"[" * depth + ping + b"]" * depth)
        (answer,) = server.wait(lambda m: isinstance(m, list))
        assert answer["error"]["message"].endswith("a batch inside a batch")
        assert server.result("ping") == {}
        server.notify("notifications/cancelled", {"requestId": slow})
        assert server.end_input()[0] == 0


def test_cancelled_questions_free_their_threads():
    with StdioServer(EVERYTHING) as server:
        server.result(
            "initialize", {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}}
        )
        ask = {"name": "test_elicitation", "arguments": {"message": "?"}}
        ids = [server.request("tools/call", ask) for _ in range(20)]
        server.wait(lambda m: m.get("method") == "elicitation/create")
        for request_id in ids:
            server.notify("notifications/cancelled", {"requestId": request_id})
        assert server.result("tools/call", {"name": "greet", "arguments": {}})

        def is_free():
            again = server.request("tools/call", {"name": "greet", "arguments": {}}, ids[0])
            return "result" in server.answer_to(again)

        wait_until(is_free)


def test_an_answer_that_comes_twice_counts_once():
    with StdioServer(EVERYTHING) as server:
        server.result(
            "initialize", {"protocolVersion": "2025-06-18", "capabilities": {"elicitation": {}}}
        )
        ask = {"name": "test_elicitation", "arguments": {"message": "?"}}
        request_id = server.request("tools/call", ask)
        question = server.wait(lambda m: m.get("method") == "elicitation/create")
        first, second = (
            {"jsonrpc": "2.0", "id": question["id"], "result": {"action": action}}
            for action in ("accept", "decline")
        )
        server.send(json.dumps(first).encode() + b"\n" + json.dumps(second).encode())
        text = server.answer_to(request_id)["result"]["content"][0]["text"]
    assert "action=accept" in text


def test_lists_and_tasks_do_not_wait_for_slow_calls():
    with StdioServer(EVERYTHING) as server:
        tasks = [server.result("tools/call", modern(CAPABLE, **SLOW))["taskId"] for _ in range(16)]
        calls = [server.request("tools/call", SLOW) for _ in range(20)]
        assert server.result("resources/list")["resources"]
        for task_id in tasks:
            server.result("tasks/cancel", modern(CAPABLE, taskId=task_id))
            state = server.result("tasks/get", modern(CAPABLE, taskId=task_id))
            assert state["status"] == "cancelled"
        for request_id in calls:
            server.notify("notifications/cancelled", {"requestId": request_id})
        assert server.end_input()[0] == 0


def test_a_stream_opened_at_the_very_end_does_not_hold_the_exit_up():
    with StdioServer(EVERYTHING) as server:
        arguments = {"name": "slow_compute", "arguments": {"seconds": 0.2}}
        for _ in range(20):
            server.request("tools/call", arguments)
        server.request("subscriptions/listen", modern(notifications={}), "stream")
        server.process.stdin.close()
        assert server.answer_to("stream")["result"]["resultType"] == "complete"
        assert server.process.wait(WAIT_SECONDS) == 0


def test_a_handler_that_exits_does_not_take_the_server_along():
    script = """
import sys
from clew.protocol.kernel.kernel import Kernel
from clew.protocol.service import Service
from clew.protocol.stdio.server import serve

class Leaving(Service):
    def check_call(self, name, arguments, call): return arguments
    def call_tool(self, name, arguments, call): sys.exit(3)

sys.exit(serve(Kernel(Leaving())))
"""
    with StdioServer((sys.executable, "-c", script)) as server:
        answer = server.ask("tools/call", {"name": "x", "arguments": {}})
        assert answer["error"]["code"] == -32603
        assert server.result("ping") == {}
        assert server.end_input()[0] == 0


def unread(pipe):
    """How many bytes wait in a pipe."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def test_answers_wait_for_a_client_that_reads_late():
    count = 2000
    lines = b"".join(
        json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/list"}).encode() + b"\n"
        for n in range(count)
    )
    process = subprocess.Popen(CLARIAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(lines)
    process.stdin.close()
    wait_until(lambda: unread(process.stdout) >= HALF_FULL)
    ids = [json.loads(line)["id"] for line in process.stdout]
    process.stdout.close()
    assert process.wait(WAIT_SECONDS) == 0
    assert ids == list(range(count))


def test_a_client_that_left_altogether_is_not_worked_for():
    process = subprocess.Popen(CLARIAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    arguments = {"operation_name": "x", "duration_seconds": 300}
    params = {"name": "long_running_operation", "arguments": arguments}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    for message in (call, ping):
        process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 2
    process.stdin.close()
    process.stdout.close()
    assert process.wait(WAIT_SECONDS) == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_closed_streams_are_said_so(closed):
    done = subprocess.run(
        f"exec {CLARIAD[0]} serve {closed}",
        shell=True,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 1
    assert "closed" in done.stderr
    assert "Traceback" not in done.stderr


def test_small_things_that_were_wrong():
    with StdioServer(EVERYTHING) as server:
        server.request("tools/call", SLOW, 1)
        server.notify("notifications/cancelled", {"requestId": True})
        assert server.result("ping") == {}
        assert server.ask("ping", None)["result"] == {}
        server.request("ping", None, 1)
        assert server.answer_to(1)["error"]["message"].endswith("id is in use")
        server.notify("notifications/cancelled", {"requestId": 1})
    (answer,) = pipe(CLARIAD, b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert answer["result"] == {}
    huge = {"operation_name": "x", "duration_seconds": 10**400}
    params = {"name": "long_running_operation", "arguments": huge}
    (answer,) = pipe(CLARIAD, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    assert "out of range" in answer["result"]["content"][0]["text"]


def test_only_one_server_goes_on_with_an_answered_task(tmp_path):
    stores = [SqliteTasks(tmp_path) for _ in range(4)]
    asked = {"q": {"method": "elicitation/create", "params": {}}}
    for attempt in range(10):
        task_id = f"task-{attempt}"
        state = {"taskId": task_id, "status": "input_required", "inputRequests": asked}
        stores[0].create(state, {"answers": {}}, "me")
        barrier = threading.Barrier(len(stores))
        winners = []

        def answer(store, task_id=task_id, barrier=barrier, winners=winners):
            barrier.wait()
            winners.append(store.answer(task_id, {"q": {"action": "accept"}}))

        threads = [threading.Thread(target=answer, args=(store,)) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(winner is not None for winner in winners) == 1
    for store in stores:
        store.close()


def test_cancelling_through_another_server_stops_the_work(private_home):
    with StdioServer(CLARIAD) as one, StdioServer(CLARIAD) as two:
        arguments = {"operation_name": "x", "duration_seconds": 120}
        call = modern(CAPABLE, name="long_running_operation", arguments=arguments)
        task_id = one.result("tools/call", call)["taskId"]
        two.result("tasks/cancel", modern(CAPABLE, taskId=task_id))
        asked = modern(CAPABLE, taskId=task_id)
        wait_until(lambda: one.result("tasks/get", asked)["status"] == "cancelled")
        assert one.end_input()[0] == 0


def test_first_tasks_that_race_share_one_desk(private_home):
    with StdioServer(CLARIAD) as server:
        arguments = {"operation_name": "x", "duration_seconds": 0}
        call = modern(CAPABLE, name="long_running_operation", arguments=arguments)
        ids = [server.request("tools/call", call) for _ in range(12)]
        for request_id in ids:
            assert server.answer_to(request_id)["result"]["resultType"] == "task"
    assert len(list((private_home / ".clew" / "tasks").glob("*.lock"))) == 1


def test_a_damaged_task_store_is_explained(private_home):
    directory = private_home / ".clew" / "tasks"
    directory.mkdir(parents=True)
    (directory / "tasks.sqlite3").write_bytes(b"not a database" * 100)
    with StdioServer(CLARIAD) as server:
        arguments = {"operation_name": "x", "duration_seconds": 0}
        call = modern(CAPABLE, name="long_running_operation", arguments=arguments)
        result = server.result("tools/call", call)
        assert "The store of tasks cannot be used" in result["content"][0]["text"]
        error = server.ask("tasks/get", modern(CAPABLE, taskId="x"))["error"]
        assert "The store of tasks cannot be used" in error["message"]
