"""The HTTP server: what happens to it or to its clients, it answers whoever comes next."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

from tests.support.client import BIN
from tests.support.faults import (
    EIO,
    clock,
    is_stopped,
    need_strace,
    numbered_anew,
    small_disk,
    start,
    traced_into,
    turn,
)
from tests.support.http import HttpServer, face_http, http_server, raw_connection
from tests.support.proof import amount
from tests.support.waiting import wait_until

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}


@pytest.fixture
def token(private_home):
    """Reads the token of this home, once a server has made it."""
    return lambda: (private_home / ".clew" / "secrets" / "http-token").read_text().strip()


def assert_answers(server):
    """A ping and a list, answered."""
    assert server.post(PING) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
    status, answer = server.post(LIST)
    assert status == 200
    assert answer["result"]["tools"]


def begun(server, seconds=0.01):
    """The answer to a call that is to go on as a task."""
    arguments = {"operation_name": "x", "duration_seconds": seconds}
    call = {"name": "long_running_operation", "arguments": arguments}
    status, answer = server.modern("tools/call", TASKS, **call)
    assert status == 200
    return answer


def assert_refused(answer):
    """A refusal in words."""
    assert "taskId" not in answer.get("result", {})
    assert "Traceback" not in str(answer)


def task_of(answer):
    """The task that a call became."""
    return answer.get("result", {}).get("taskId")


def state_of(server, task):
    """What a server says of a task."""
    return server.modern("tasks/get", TASKS, taskId=task)[1]["result"]


def finished(server, task):
    """The same once nobody works on it."""
    return wait_until(lambda: (s := state_of(server, task))["status"] != "working" and s)


@pytest.mark.thorough
def test_killed_and_started_again_with_the_same_token(token, faults):
    seen = set()
    for _ in range(amount(2, 5)):
        with http_server(face_http("clew", "serve")) as server:
            server.token = token()
            assert_answers(server)
            seen.add(server.token)
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
            faults.survived()
    assert len(seen) == 1


def test_stopped_and_continued(token, faults):
    with http_server(face_http("clew", "serve")) as server:
        server.token = token()
        server.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: is_stopped(server.process.pid))
        answers = []
        waiting = [
            threading.Thread(target=lambda: answers.append(server.post(PING)[0])) for _ in range(8)
        ]
        for thread in waiting:
            thread.start()
        server.process.send_signal(signal.SIGCONT)
        for thread in waiting:
            thread.join(120)
        assert answers == [200] * 8
        assert_answers(server)
        faults.survived()


def test_clients_that_leave_in_the_middle(token, dice, faults):
    head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with http_server(face_http("clew", "serve")) as server:
        server.token = token()
        whole = head + f"Authorization: Bearer {server.token}\r\n".encode()
        whole += b'Content-Length: 40\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"ping"}'
        for _ in range(amount(40, 400)):
            with raw_connection(server, whole[: dice.randrange(len(whole) + 1)]) as connection:
                if dice.random() < 0.5:
                    linger = (1).to_bytes(4, "little") + bytes(4)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            faults.survived()
        assert_answers(server)


def test_more_connections_than_it_may_have_files(token, faults):
    files = (resource.RLIMIT_NOFILE, (64, 64))
    with start([BIN / "clew", "serve", "--http", "--port", "0"], limits=files) as process:
        server = HttpServer(process, process.stdout.readline().strip())
        server.token = token()
        address = (server.address.hostname, server.address.port)
        crowd = [socket.create_connection(address, timeout=60) for _ in range(100)]
        time.sleep(0.2)
        for connection in crowd:
            connection.close()
        wait_until(lambda: answered(server))
        assert_answers(server)
        process.terminate()
        process.communicate()
    faults.survived()


def answered(server):
    """Whether it takes connections again."""
    try:
        return server.post(PING)[0] == 200
    except OSError:
        return False


def test_a_full_disk_under_its_home(tmp_path, faults, monkeypatch):
    with small_disk(tmp_path / "disk", 2) as disk:
        monkeypatch.setenv("CLEW_HOME", str(disk.path / "home"))
        with http_server(face_http("clariad", "serve")) as server:
            server.token = (disk.path / "home" / "secrets" / "http-token").read_text().strip()
            disk.leave(0)
            assert_answers(server)
            assert_refused(begun(server))
            disk.empty()
            assert_answers(server)
        faults.survived()


@pytest.mark.thorough
def test_a_home_that_becomes_read_only(tmp_path, faults, monkeypatch):
    with small_disk(tmp_path / "disk", 2) as disk:
        monkeypatch.setenv("CLEW_HOME", str(disk.path / "home"))
        with http_server(face_http("clariad", "serve")) as server:
            server.token = (disk.path / "home" / "secrets" / "http-token").read_text().strip()
            with disk.read_only():
                assert_answers(server)
                assert_refused(begun(server))
                assert_answers(server)
            assert finished(server, task_of(begun(server)))["status"] == "completed"
        faults.survived()


@pytest.mark.thorough
@pytest.mark.parametrize("when", ["1..3", "2..4", "4..9", "3+4"])
def test_errors_of_its_disk(token, faults, when):
    need_strace()
    calls = ("pwrite64", "fsync", "fdatasync", "ftruncate")
    command = face_http("clariad", "serve")
    with http_server(command) as server:
        server.token = token()
        finished(server, task_of(begun(server)))
    with http_server(traced_into(EIO, when, calls, command)) as server:
        server.token = token()
        tasks = []
        for _ in range(8):
            assert_answers(server)
            answer = begun(server)
            assert task_of(answer) or "disk I/O error" in str(answer)
            tasks.append(task_of(answer))
            faults.survived()
        if "+" not in when:  # else there is no end of it
            tasks.append(wait_until(lambda: task_of(begun(server))))
        assert all(finished(server, task) for task in tasks if task)
        assert_answers(server)
    with http_server(command) as server:
        server.token = token()
        assert finished(server, task_of(begun(server)))["status"] == "completed"


@pytest.mark.thorough
def test_the_clock_jumps_while_it_serves(token, tmp_path, faults):
    shift = turn(tmp_path / "clock", 0)
    with http_server(face_http("clariad", "serve"), env=clock(shift)) as server:
        server.token = token()
        for seconds in (10**9, -(10**9), 0):
            turn(shift, seconds)
            assert_answers(server)
            assert finished(server, task_of(begun(server)))["status"] == "completed"
            faults.survived()


@pytest.mark.thorough
def test_two_servers_of_the_same_number_share_a_home(token, faults):
    """As in two containers: a task is its server's, and a dead server's is no other's."""
    command = numbered_anew(face_http("clariad", "serve"))
    with http_server(command) as one, http_server(command) as two:
        one.token = two.token = token()
        quick, long = task_of(begun(one)), task_of(begun(one, seconds=60))
        assert finished(two, quick)["status"] == "completed"
        assert state_of(two, long)["status"] == "working"
        one.process.kill()
        one.process.wait()
        wait_until(lambda: state_of(two, long)["status"] == "failed")
        assert state_of(two, long)["statusMessage"] == "The server that ran this task ended"
        with http_server(command) as three:
            three.token = token()
            assert state_of(three, long)["status"] == "failed"
            assert finished(three, task_of(begun(two)))["status"] == "completed"
            three.process.kill()
        assert_answers(two)
        two.process.kill()
        faults.survived()


@pytest.mark.thorough
def test_a_home_that_cannot_be_written_is_told(tmp_path, faults):
    with small_disk(tmp_path / "disk", 2) as disk:
        with disk.read_only():
            done = subprocess.run(
                [BIN / "clew", "serve", "--http", "--port", "0"],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
                env={**os.environ, "CLEW_HOME": str(disk.path / "home")},
            )
        assert done.returncode == 1
        assert "Read-only file system" in done.stderr
        assert "Traceback" not in done.stderr
        faults.survived()
