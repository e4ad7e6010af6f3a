"""One server, very many malformed messages, and then a good one."""

from __future__ import annotations

import json
import random
import threading

import pytest

from tests.fuzz.corpus import bent, seeds
from tests.support.client import CHANT, CLEW, CLIMPT, COMMITMUX, StdioServer
from tests.support.proof import amount

BATCH = 500
LAST = {"jsonrpc": "2.0", "method": "ping"}


@pytest.mark.parametrize("command", amount([CLEW], [CLEW, CHANT, COMMITMUX, CLIMPT]))
def test_malformed_messages_and_the_next_good_one(command, tmp_path, record_property):
    count = amount(2000, 100_000 if command is CLEW else 10_000)
    dice, known = random.Random(1), seeds("messages")
    (tmp_path / ".chant" / "specs").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    with StdioServer(command, cwd=tmp_path) as server:
        for start in range(0, count, BATCH):
            lines = [bent(dice, known).replace(b"\n", b" ") for _ in range(BATCH)]
            writer = threading.Thread(target=server.send, args=(b"\n".join(lines),))
            writer.start()
            asked = f"good {start}"
            writer.join()
            server.send({**LAST, "id": asked})
            answer = server.wait(lambda m, asked=asked: m.get("id") == asked, seconds=60)
            assert answer == {"jsonrpc": "2.0", "id": asked, "result": {}}
            assert server.process.poll() is None
            server._kept.clear()
            server.seen.clear()
        tools = server.ask("tools/list", {})["result"]["tools"]
        assert tools
        assert server.end_input()[0] == 0
    assert b"Traceback" not in server.stderr, server.stderr[-3000:].decode()
    record_property("inputs", count)


def test_every_answer_is_one_line_of_json(tmp_path):
    """The reader of answers parses each line, so a broken one would have ended the test."""
    dice, known = random.Random(2), seeds("messages")
    with StdioServer(CLEW, cwd=tmp_path) as server:
        for _ in range(100):
            server.send(bent(dice, known).replace(b"\n", b" "))
        server.send({**LAST, "id": "end"})
        server.answer_to("end")
        for message in server.seen:
            assert json.loads(json.dumps(message))["jsonrpc"] == "2.0"
