"""The requests that the claims send, encoded once, outside the timed stretches."""

from __future__ import annotations

import json
from typing import Any

VERSION = "2025-11-25"
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


def request(request_id: int, method: str, params: dict[str, Any] | None = None) -> bytes:
    """One request, ready for the wire."""
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    if params is not None:
        message["params"] = params
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def initialize() -> bytes:
    """The handshake."""
    client = {"name": "benchmarks", "version": "0"}
    params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": client}
    return request(0, "initialize", params)


def call_echo(request_id: int, text: str) -> bytes:
    """A call of the tool that every measured server has."""
    return request(request_id, "tools/call", {"name": "echo", "arguments": {"text": text}})


def result_of(answer: bytes) -> dict[str, Any]:
    """The result in an answer."""
    message: dict[str, Any] = json.loads(answer)
    if "result" not in message:
        raise ValueError(f"no result: {answer[:500]!r}")
    result: dict[str, Any] = message["result"]
    return result


def is_answer(line: bytes, request_id: int) -> bool:
    """Whether this is the answer to a request, not a notification or a line of a log."""
    try:
        message = json.loads(line)
    except ValueError:
        return False
    return isinstance(message, dict) and message.get("id") == request_id and "method" not in message
