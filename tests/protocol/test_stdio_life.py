"""Start, flow and end of a stdio server: nothing lost, nothing stuck, nothing stray."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue

import pytest

from clew.protocol.stdio import reading
from clew.protocol.workers import Workers
from tests.support.client import (
    CHANT,
    CLARIAD,
    CLEW,
    EVERYTHING,
    WAIT_SECONDS,
    StdioServer,
    modern,
    pipe,
)
from tests.support.waiting import wait_until


def tool_call(name, request_id=1, **arguments):
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


@pytest.mark.parametrize("attempt", range(6))
def test_every_answer_is_written_when_input_ends_right_after_the_request(attempt):
    initialize = {"jsonrpc": "2.0", "id": 0, "method": "initialize"}
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": modern()}
    answers = pipe(EVERYTHING, initialize, listing, tool_call("test_tool_with_progress", 2))
    assert {m["id"] for m in answers} == {0, 1, 2}


def test_a_last_line_without_a_newline_counts():
    done = subprocess.run(
        CHANT,
        input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}',
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert json.loads(done.stdout) == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_windows_line_ends_are_fine():
    answers = pipe(CHANT, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r')
    assert answers == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


def test_an_idle_server_ends_with_its_input():
    with StdioServer(CLEW) as server:
        server.result("ping")
        code, _ = server.end_input()
    assert code == 0
    assert server.stderr == b""


def test_stray_prints_and_child_processes_cannot_reach_the_wire():
    script = """
import subprocess, sys
from clew.kit.answer import Answer
from clew.protocol.kernel.kernel import Kernel
from clew.protocol.service import Service
from clew.protocol.stdio.server import serve

class Noisy(Service):
    def check_call(self, name, arguments, call): return arguments
    def call_tool(self, name, arguments, call):
        print("print in a handler")
        sys.__stdout__.write("through the original object\\n"); sys.__stdout__.flush()
        subprocess.run(["sh", "-c", "echo from a child; cat"], check=True)
        return Answer("quiet")

sys.exit(serve(Kernel(Noisy())))
"""
    with StdioServer((sys.executable, "-c", script)) as server:
        for _ in range(3):
            result = server.result("tools/call", {"name": "x", "arguments": {}})
            assert result["content"][0]["text"] == "quiet"
        assert server.end_input()[0] == 0
        assert b"print in a handler" in server.errors_with(b"from a child")


def test_a_slow_tool_blocks_nothing():
    with StdioServer(EVERYTHING) as server:
        slow = server.request("tools/call", {"name": "slow_compute", "arguments": {"seconds": 30}})
        assert server.result("tools/list")["tools"]
        assert server.result("tools/call", {"name": "greet", "arguments": {"name": "A"}})
        server.notify("notifications/cancelled", {"requestId": slow})


def test_many_slow_calls_run_side_by_side():
    def compute(seconds):
        params = {"name": "slow_compute", "arguments": {"seconds": seconds}}
        return server.request("tools/call", params)

    with StdioServer(EVERYTHING) as server:
        others = [compute(600) for _ in range(15)]
        answer = server.answer_to(compute(0.1))
        assert answer["result"]["content"][0]["text"] == "computed", "it waited for no other"
        for request_id in others:
            server.notify("notifications/cancelled", {"requestId": request_id})


def test_reading_goes_on_however_often_a_call_turns_out_slow():
    slow = {"name": "slow_compute", "arguments": {"seconds": 0.2}}
    quick = {"name": "greet", "arguments": {"name": "A"}}
    with StdioServer(EVERYTHING) as server:
        for _ in range(4):
            ids = [server.request("tools/call", slow) for _ in range(2)]
            for _ in range(20):
                answer = server.result("tools/call", quick)
                assert answer["content"][0]["text"] == "Hello, A!"
            for request_id in ids:
                assert "result" in server.answer_to(request_id)
        assert server.end_input()[0] == 0


def test_reading_goes_on_after_the_watcher_rested(monkeypatch):
    monkeypatch.setattr(reading, "_ROUNDS_BEFORE_REST", 1)
    lines, seen, go_on = SimpleQueue(), [], threading.Event()

    def take(line):
        if line == b"slow":
            return reader.run_call(lambda: go_on.wait(WAIT_SECONDS))
        seen.append(line)
        return reader.run_call(lambda: None)

    reader = reading.Reading(iter(lines.get, None), take, Workers(), lambda: None)
    thread = threading.Thread(target=reader.run)
    thread.start()
    lines.put(b"first")
    wait_until(lambda: seen == [b"first"] and reader._resting)
    lines.put(b"slow")
    lines.put(b"second")
    wait_until(lambda: seen == [b"first", b"second"])
    go_on.set()
    lines.put(None)
    thread.join(WAIT_SECONDS)
    assert not thread.is_alive()


def test_quick_calls_are_answered_in_the_order_they_were_asked():
    lines = [tool_call("greet", n) for n in range(200)]
    assert [m["id"] for m in pipe(EVERYTHING, *lines)] == list(range(200))


def test_cancelling_stops_the_work_and_sends_no_answer():
    with StdioServer(EVERYTHING) as server:
        slow = server.request("tools/call", {"name": "slow_compute", "arguments": {"seconds": 60}})
        server.notify("notifications/cancelled", {"requestId": slow, "reason": "test"})
        server.notify("notifications/cancelled", {"requestId": slow})
        assert server.result("ping") == {}
        server.silence()
        code, _ = server.end_input()
        assert code == 0, "a cancelled call holds nothing up"


def test_progress_needs_a_token_and_only_grows():
    params = {"name": "test_tool_with_progress", "arguments": {}}
    with StdioServer(EVERYTHING) as server:
        server.result("tools/call", params)
        assert not [m for m in server.seen if "method" in m]
        server.result("tools/call", {**params, "_meta": {"progressToken": "t"}})
        notes = [m["params"] for m in server.seen if m.get("method") == "notifications/progress"]
    assert [n["progress"] for n in notes] == [0, 50, 100]
    assert {n["progressToken"] for n in notes} == {"t"}
    assert {n["total"] for n in notes} == {100}


def test_a_flood_is_refused_and_the_server_lives():
    with StdioServer(EVERYTHING) as server:
        arguments = {"name": "slow_compute", "arguments": {"seconds": 1.5}}
        ids = [server.request("tools/call", arguments) for _ in range(600)]
        answers = [server.answer_to(request_id) for request_id in ids[-40:]]
        busy = [a for a in answers if "error" in a]
        assert len(busy) == 40
        assert busy[0]["error"]["message"].startswith("Server is busy")
        assert server.result("ping") == {}


def test_a_client_that_writes_much_before_it_reads_does_not_lock_up():
    count = 3000
    lines = b"".join(
        json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/list"}).encode() + b"\n"
        for n in range(count)
    )
    process = subprocess.Popen(CLARIAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    writer = threading.Thread(target=lambda: (process.stdin.write(lines), process.stdin.close()))
    writer.start()
    writer.join(WAIT_SECONDS)
    assert not writer.is_alive(), "the server stopped reading because nobody read its answers"
    answers = [json.loads(line)["id"] for line in process.stdout]
    assert process.wait(WAIT_SECONDS) == 0
    process.stdout.close()
    assert answers == list(range(count))


def test_a_client_that_hangs_up_ends_the_server():
    process = subprocess.Popen(
        CLARIAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    line = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    try:
        for _ in range(100):
            process.stdin.write(line)
            process.stdin.flush()
            time.sleep(0.01)
    except BrokenPipeError:
        pass
    assert process.wait(WAIT_SECONDS) == 0
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    with suppress(BrokenPipeError):
        process.stdin.close()


HOSTILE_SEED = 20_261_116


def hostile_lines(count, seed):
    """Lines from plain nonsense to nearly right requests, the same for a seed."""
    rng = random.Random(seed)
    pieces = [
        b'{"jsonrpc":"2.0"', b'"id":', b"null", b"1", b"-1", b"1e400", b"NaN", b'"\\ud800"',
        b'"method":"tools/call"', b'"method":"initialize"', b'"params":', b"{", b"}", b"[", b"]",
        b",", b":", b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b'"\\u0000"', b"\t", b"true",
        b'"name":"long_running_operation"', b'"arguments":{}', b'"_meta":{',
        b'"io.modelcontextprotocol/protocolVersion":"2026-07-28"', b'"progressToken":[]', b"\r",
        b'"requestState":"x.y"', b'"inputResponses":5', b"9" * 400, b"[" * 300, b'"' + b"x" * 900,
    ]  # fmt: skip
    for _ in range(count):
        kind = rng.random()
        if kind < 0.2:
            line = rng.randbytes(rng.randrange(1, 80))
        elif kind < 0.7:
            line = b"".join(rng.choice(pieces) for _ in range(rng.randrange(1, 14)))
        else:
            message = {
                "jsonrpc": rng.choice(["2.0", "2.0", "1.0", 2, None]),
                "id": rng.choice([1, "a", None, 1.5, [], {}, True, "x" * 300]),
                "method": rng.choice(
                    [
                        "tools/list",
                        "tools/call",
                        "initialize",
                        "server/discover",
                        "tasks/get",
                        "subscriptions/listen",
                        "invoke_tool",
                        "list_tools",
                        "resources/read",
                        "",
                        5,
                    ]
                ),
                "params": rng.choice(
                    [
                        {},
                        [],
                        None,
                        5,
                        {"name": []},
                        {"name": "x", "arguments": []},
                        {"_meta": []},
                        {"_meta": {"progressToken": {}}},
                        modern(),
                        modern(taskId=5),
                        modern(notifications=[]),
                        modern(name="x", requestState=7),
                    ]
                ),
            }
            line = json.dumps(message).encode()
        yield line.replace(b"\n", b" ")


def test_twenty_thousand_hostile_lines_end_with_a_good_answer():
    with StdioServer(CLARIAD) as server:
        for line in hostile_lines(20_000, HOSTILE_SEED):
            server.send(line)
        request_id = server.request("tools/list", request_id="the-good-one")
        tools = server.answer_to(request_id, seconds=60)["result"]["tools"]
        assert "long_running_operation" in [t["name"] for t in tools]
        for message in server.seen:
            assert message["jsonrpc"] == "2.0"
            assert "result" in message or "error" in message or "method" in message
        assert b"Traceback" not in server.stderr, server.stderr.decode()[-3000:]
        assert server.end_input()[0] == 0


def test_the_environment_chooses_tools_like_the_options_do():
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    (answer,) = pipe(CLEW, listing, env={"CLEW_TOOLSETS": "advisors"})
    names = [t["name"] for t in answer["result"]["tools"]]
    assert "vision_agent" in names
    assert "chant_add" not in names
    (answer,) = pipe((*CLEW, "--toolsets=all", "--exclude-tools", "clew_doctor"), listing)
    names = [t["name"] for t in answer["result"]["tools"]]
    assert "clew_doctor" not in names
    assert "long_running_operation" in names


def test_a_wrong_option_is_a_usage_error_that_says_what_is_right():
    for words, text in [
        (("--toolsets", "nope"), b"Toolsets: history"),
        (("--tools", "nope"), b"clew tools --all"),
        (("--port", "1"), b"--port needs --http"),
        (("--frobnicate",), b"No such option"),
    ]:
        done = subprocess.run(
            (*CLEW, *words), input=b"", capture_output=True, timeout=WAIT_SECONDS, check=False
        )
        assert done.returncode == 2
        assert text in done.stderr
        assert done.stdout == b""


def test_python_minus_m_is_the_same_program():
    answers = pipe(
        (sys.executable, "-m", "clew", "serve"), {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    )
    assert answers == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


def test_start_up_imports_nothing_heavy():
    heavy = {
        "asyncio", "argparse", "click", "dataclasses", "importlib.metadata", "inspect", "json",
        "json.decoder", "logging", "pathlib", "pydantic", "re", "rich", "sqlite3", "ssl",
        "starlette", "subprocess", "tempfile", "typing", "urllib.request", "uuid",
    }  # fmt: skip
    script = (
        "import sys; from clew.faces import enter; enter('clew', ['serve', '--toolsets', 'all']);"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    request = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    done = subprocess.run(
        (sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {SOURCE!r}); {script}"),
        input=request,
        capture_output=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert b'"tools"' in done.stdout
    loaded = set(done.stderr.decode().split())
    assert "clew.protocol.kernel.kernel" in loaded
    assert not heavy & loaded
    shared = ("clew.kit", "clew.protocol", "clew.catalog")
    rooms = {m for m in loaded if m.count(".") >= 2 and not m.startswith(shared)}
    assert {m for m in rooms if not re.match(r"clew\.\w+\.(tools|prompts)\b", m)} == set()


SOURCE = str(Path(__file__).resolve().parents[2] / "src")
