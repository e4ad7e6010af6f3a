"""`clew board`: the same board in a terminal, in a pipe and as JSON."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import time

from tests.support.client import BIN
from tests.support.waiting import LIMIT_SECONDS
from tests.web.shop import clew


def test_in_a_pipe_it_is_plain_lines(shop):
    shop.specs()
    done = clew("board", "--project", str(shop.root))
    assert done.returncode == 0, done.stderr
    assert "Ready (1)\n  2026-03-02-001-abc  Keep the cart" in done.stdout
    assert "[waits for 2026-03-02-001-abc]" in done.stdout
    assert "\x1b" not in done.stdout
    narrowed = clew("board", "label:payment", "--project", str(shop.root)).stdout
    assert ("Pay by invoice" in narrowed, "Keep the cart" in narrowed) == (True, False)


def test_as_json_it_has_the_same_columns(shop):
    shop.specs()
    data = json.loads(clew("board", "--json", "--project", str(shop.root)).stdout)["data"]
    counts = {column["name"]: column["total"] for column in data["columns"]}
    assert counts == {"ready": 1, "blocked": 2, "in_progress": 1, "attention": 2, "completed": 5}


def test_watching_needs_a_terminal(shop):
    shop.specs()
    done = clew("board", "--watch", "--project", str(shop.root))
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr


def test_on_a_terminal_it_is_drawn_and_redrawn(shop):
    shop.specs()
    ours, theirs = pty.openpty()
    command = [str(BIN / "clew"), "board", "--watch", "--project", str(shop.root)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160", "LINES": "60"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    try:
        read_until(ours, "Keep the cart")
        shop.spec("2026-03-09-001-new", "Sell tea")
        read_until(ours, "Sell tea")
    finally:
        process.terminate()
        process.wait(120)
        os.close(ours)
        os.close(theirs)


def read_until(descriptor, words, seconds=LIMIT_SECONDS):
    text, deadline = "", time.monotonic() + seconds
    while words not in text:
        assert time.monotonic() < deadline, text
        if select.select([descriptor], [], [], 0.2)[0]:
            text += os.read(descriptor, 65536).decode("utf-8", "replace")
