"""The older dialect and batches."""

from __future__ import annotations

import pytest

from tests.support.client import CLARIAD, EVERYTHING, StdioServer, pipe


def test_list_tools_has_the_dialects_shape():
    (answer,) = pipe(CLARIAD, {"jsonrpc": "2.0", "id": "tools-1", "method": "list_tools"})
    tool = answer["result"]["tools"][-1]
    assert answer["id"] == "tools-1"
    assert tool.keys() == {"name", "description", "parameters"}
    assert tool["name"] == "long_running_operation"
    assert tool["parameters"]["required"] == ["operation_name", "duration_seconds"]


def invoke(name, parameters, request_id="invoke-2"):
    params = {"name": name, "parameters": parameters}
    return {"jsonrpc": "2.0", "id": request_id, "method": "invoke_tool", "params": params}


def test_a_long_operation_streams_under_one_id():
    parameters = {"operation_name": "Complex Analysis", "duration_seconds": 1.2}
    answers = pipe(CLARIAD, invoke("long_running_operation", parameters))
    assert {m["id"] for m in answers} == {"invoke-2"}
    *interim, last = [m["result"] for m in answers]
    assert len(interim) >= 2
    assert all(r["status"] == "in_progress" and r["output"] for r in interim)
    assert last.keys() == {"output"}
    assert "Complex Analysis" in last["output"]


@pytest.mark.parametrize(
    ("message", "code", "words"),
    [
        (invoke("nope", {}), -32602, "Unknown tool: nope"),
        (invoke("long_running_operation", {}), -32602, "operation_name"),
        (
            invoke("long_running_operation", {"operation_name": "x", "duration_seconds": "abc"}),
            -32602,
            "duration_seconds must be a number",
        ),
        (invoke("long_running_operation", []), -32602, "parameters must be an object"),
        ({**invoke("x", {}), "params": None}, -32602, "name"),
        ({**invoke("x", {}), "method": "no_method"}, -32601, "Method not found"),
        ({**invoke("x", {}), "jsonrpc": "1.0"}, -32600, "Invalid request"),
        (b'{"jsonrpc": "2.0", ', -32700, "Parse error"),
    ],
)
def test_the_dialects_error_codes(message, code, words):
    (answer,) = pipe(CLARIAD, message)
    assert answer["error"]["code"] == code
    assert words in answer["error"]["message"]


def test_a_failing_tool_is_an_internal_error_in_the_dialect():
    with StdioServer(EVERYTHING) as server:
        server.send(invoke("test_error_handling", {}, 5))
        error = server.answer_to(5)["error"]
    assert error["code"] == -32603
    assert "intentionally" in error["message"]


def test_other_requests_are_served_while_an_operation_streams():
    with StdioServer(CLARIAD) as server:
        parameters = {"operation_name": "Slow", "duration_seconds": 30}
        server.send(invoke("long_running_operation", parameters, "slow"))
        assert server.answer_to("slow")["result"]["status"] == "in_progress"
        assert server.result("list_tools")["tools"]
        server.notify("notifications/cancelled", {"requestId": "slow"})
        assert server.end_input()[0] == 0


def test_batches_belong_to_one_protocol_version():
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "greet"}},
        {"jsonrpc": "2.0", "id": 3, "method": "nope"},
        7,
    ]
    with StdioServer(EVERYTHING) as server:
        server.send(batch)
        assert server.wait(lambda m: True)["error"]["code"] == -32600
        server.result("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}})
        server.send(batch)
        answers = server.wait(lambda m: isinstance(m, list))
        assert {m["id"] for m in answers} == {1, 2, 3, None}
        server.send([])
        assert server.wait(lambda m: True)["error"]["message"].endswith("empty batch")
        server.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
        server.silence()


def test_a_cancelled_call_does_not_hold_its_batch_up():
    slow = {"name": "slow_compute", "arguments": {"seconds": 60}}
    with StdioServer(EVERYTHING) as server:
        server.result("initialize", {"protocolVersion": "2025-03-26", "capabilities": {}})
        server.send(
            [
                {"jsonrpc": "2.0", "id": 1, "method": "ping"},
                {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": slow},
            ]
        )
        server.notify("notifications/cancelled", {"requestId": 2})
        answers = server.wait(lambda m: isinstance(m, list))
        assert [m["id"] for m in answers] == [1]
