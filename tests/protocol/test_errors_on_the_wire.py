"""Every error of the contract, by text and code, and that the server lives on after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.client import CHANT, CLARIAD, CLEW, EVERYTHING, StdioServer, modern, pipe

GOOD = {"jsonrpc": "2.0", "id": "good", "method": "tools/list"}


def peak_kilobytes(pid):
    """The most memory that a process ever had; 0 where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def error_of(line, command=CHANT):
    """The error that a line gets, after checking that a good request is answered behind it."""
    first, *rest = pipe(command, line, GOOD)
    assert [m["id"] for m in rest] == ["good"]
    return first["id"], first["error"]["code"], first["error"]["message"]


@pytest.mark.parametrize(
    ("line", "request_id", "code", "message"),
    [
        (b"invalid json", None, -32700, "Parse error: expected value at line 1 column 1"),
        (b'{"jsonrpc":"2.0","id":1', None, -32700, "Parse error"),
        (b'{"a":NaN}', None, -32700, "Parse error: NaN is not a JSON number"),
        (b'{"a":1e999}', None, -32700, "Parse error: number out of range"),
        (b'{"a":"\\ud800"}', None, -32700, "Parse error: lone surrogate"),
        (b'{"a":"\xff"}', None, -32700, "Parse error: invalid UTF-8 at byte 6"),
        (b"[" * 10_000, None, -32700, "Parse error: nested too deeply"),
        (b'{"id":' + b"9" * 5000 + b"}", None, -32700, "Parse error: invalid number"),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', 7, -32600, "Invalid JSON-RPC version"),
        (b'{"id":7,"method":"ping"}', 7, -32600, "Invalid JSON-RPC version"),
        (b'{"jsonrpc":"2.0","id":7}', 7, -32600, "Invalid request: method"),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600, "Invalid request: id"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600, "Invalid request: id"),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600, "Invalid request: id"),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', None, -32600, "Invalid request: id"),
        (b'{"jsonrpc":"2.0","id":"x","method":5}', "x", -32600, "Invalid request: method"),
        (b"42", None, -32600, "Invalid request: not an object"),
        (b'"text"', None, -32600, "Invalid request: not an object"),
        (b"null", None, -32600, "Invalid request: not an object"),
        (b"[]", None, -32600, "Invalid request"),
        (b'{"jsonrpc":"2.0","id":8,"method":"foo/bar"}', 8, -32601, "Method not found"),
        (
            b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[]}',
            8,
            -32602,
            "Invalid params",
        ),
        (b'{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"cursor":"x"}}', 8, -32602, ""),
    ],
)
def test_a_bad_line_gets_its_error_and_the_next_good_one_its_answer(
    line, request_id, code, message
):
    got_id, got_code, got_message = error_of(line)
    assert (got_id, got_code) == (request_id, code)
    assert got_message.startswith(message)


def test_no_python_words_reach_the_client():
    for line in (b"{", b"[1,", b'{"a" 1}', b'"\x01"', b'{"a":1}x'):
        message = error_of(line)[2]
        assert "Error" not in message
        assert "Expecting" not in message
        assert "Traceback" not in message


def test_method_not_found_says_which():
    (answer,) = pipe(CHANT, {"jsonrpc": "2.0", "id": 1, "method": "nope"})
    assert answer["error"] == {
        "code": -32601,
        "message": "Method not found",
        "data": {"method": "nope"},
    }


def call(params, command=CLARIAD, **more):
    (answer,) = pipe(command, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    return answer


def test_tool_level_errors_are_results_before_any_handshake():
    for params, text in [
        ({"name": "nope", "arguments": {}}, "Unknown tool: nope"),
        ({"arguments": {}}, "Missing tool name"),
        ({"name": 5, "arguments": {}}, "Missing tool name"),
        ({"name": "long_running_operation"}, "Missing arguments"),
        (
            {"name": "long_running_operation", "arguments": {}},
            "Missing required parameter: operation_name",
        ),
        (
            {"name": "long_running_operation", "arguments": []},
            "Invalid parameter: arguments must be an object",
        ),
        (
            {
                "name": "long_running_operation",
                "arguments": {"operation_name": 5, "duration_seconds": 1},
            },
            "Invalid parameter: operation_name must be a string, got integer",
        ),
    ]:
        result = call(params)["result"]
        assert result == {"content": [{"type": "text", "text": text}], "isError": True}


def test_missing_params_of_a_call_are_a_missing_name():
    (answer,) = pipe(CHANT, {"jsonrpc": "2.0", "id": 1, "method": "tools/call"})
    assert answer["result"]["content"][0]["text"] == "Missing tool name"


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_newer_handshakes_have_unknown_tools_as_protocol_errors(version):
    with StdioServer(CLARIAD) as server:
        server.result("initialize", {"protocolVersion": version, "capabilities": {}})
        error = server.ask("tools/call", {"name": "nope", "arguments": {}})["error"]
    assert error == {"code": -32602, "message": "Unknown tool: nope"}


def test_the_modern_era_has_unknown_tools_as_protocol_errors():
    error = call(modern(name="nope", arguments={}))["error"]
    assert error == {"code": -32602, "message": "Unknown tool: nope"}


def test_a_tool_without_required_arguments_needs_no_arguments_key():
    assert "text" in call({"name": "clew_guide"}, CLEW)["result"]["structuredContent"]


def test_notifications_are_never_answered():
    lines = [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/unknown", "params": [1]},
        {"jsonrpc": "2.0", "method": "tools/list"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}},
        {"jsonrpc": "1.0", "method": "ping"},
        {"jsonrpc": "2.0", "id": "stranger", "result": {}},
        b"",
        b"   ",
    ]
    assert [m["id"] for m in pipe(CHANT, *lines, GOOD)] == ["good"]


def test_a_line_of_a_hundred_megabytes_is_refused_and_not_kept():
    with StdioServer(CHANT) as server:
        chunk = b"x" * (1 << 20)
        server.process.stdin.write(b'{"a":"')
        for _ in range(100):
            server.process.stdin.write(chunk)
        server.send(b'"}')
        error = server.wait(lambda m: m.get("id") is None)["error"]
        assert error["code"] == -32700
        assert "longer than" in error["message"]
        assert server.result("ping") == {}
        assert peak_kilobytes(server.process.pid) < 60_000, "the line must not be held in memory"


def test_a_bug_in_a_handler_is_an_internal_error_without_details():
    with StdioServer(EVERYTHING) as server:
        bad = server.ask("completion/complete", {"ref": {"type": "x"}, "argument": {"name": "a"}})
        assert bad["error"]["code"] == -32602
        broken = server.ask("prompts/get", {"name": "test_prompt_with_arguments"})
        assert broken["error"] == {"code": -32603, "message": "Internal error"}
        assert server.result("ping") == {}
        assert b"KeyError" in server.errors_with(b"KeyError")


def test_an_id_in_use_is_refused():
    with StdioServer(EVERYTHING) as server:
        server.request("tools/call", {"name": "slow_compute", "arguments": {"seconds": 1}}, "same")
        server.request("tools/call", {"name": "greet", "arguments": {}}, "same")
        assert server.answer_to("same")["error"]["message"] == "Invalid request: id is in use"
        assert server.answer_to("same")["result"]["content"][0]["text"] == "computed"


def test_every_answer_is_one_line_of_json_with_its_id():
    answers = pipe(CLEW, *[{"jsonrpc": "2.0", "id": f"é-{n}", "method": "ping"} for n in range(50)])
    assert [m["id"] for m in answers] == [f"é-{n}" for n in range(50)]
    assert all(json.dumps(m) for m in answers)
