"""A small MCP server for tests; a word on its command line makes it misbehave."""

import json
import os
import sys
import time

name, words = sys.argv[1], sys.argv[2:]
if "crash" in words:
    print("no such module: whatever", file=sys.stderr)
    sys.exit(7)
if "hang" in words:
    time.sleep(600)
if "noise" in words:
    print("Welcome to the server!", flush=True)

TOOLS = [] if "toolless" in words else ["one", "two", "three"]


def answer(message):
    method = message["method"]
    if method == "initialize":
        info = {"name": name, "version": "9.9"}
        return {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
    cursor = message.get("params", {}).get("cursor")
    if "pages" in words:
        index = int(cursor or 0)
        page = {"tools": [{"name": TOOLS[index]}]}
        return page | ({"nextCursor": str(index + 1)} if index < 2 else {})
    extra = [{"name": os.environ["CLEW_EXTRA_TOOL"]}] if "CLEW_EXTRA_TOOL" in os.environ else []
    return {"tools": [{"name": tool} for tool in TOOLS] + extra}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if "refuse" in words:
        reply["error"] = {"code": -32603, "message": "not today"}
    else:
        reply["result"] = answer(request)
    print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}))
    print(json.dumps(reply), flush=True)
if "stay" in words:
    time.sleep(600)
