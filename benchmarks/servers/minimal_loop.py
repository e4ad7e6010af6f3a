"""The smallest server that is still a server: one loop, the standard `json`, one tool."""

from __future__ import annotations

import json
import sys

TYPE_CHECKING = False  # `typing` would be measured too
if TYPE_CHECKING:
    from typing import Any

    JsonObject = dict[str, Any]

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def answer(method: str, params: JsonObject) -> JsonObject:
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": "minimal", "version": "0"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": "echo", "description": "Echo", "inputSchema": SCHEMA}]}
    text = params["arguments"]["text"]
    content = [{"type": "text", "text": text}]
    return {"content": content, "isError": False, "structuredContent": {"result": text}}


for line in sys.stdin.buffer:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params"))
        response = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        text = json.dumps(response, ensure_ascii=False, separators=(",", ":"))
        sys.stdout.buffer.write(text.encode() + b"\n")
        sys.stdout.buffer.flush()
