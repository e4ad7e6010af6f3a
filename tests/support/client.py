"""A plain client for servers under test: real processes, real pipes, bounded waits."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from tests.support.waiting import LIMIT_SECONDS, wait_until

BIN = Path(sys.executable).parent
WAIT_SECONDS = LIMIT_SECONDS
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
TASKS = "io.modelcontextprotocol/tasks"
EVERYTHING = (sys.executable, "-m", "tests.support.everything", "--stdio")


def face(name, word, *options):
    """The command of one face's server."""
    return (str(BIN / name), word, *options)


CLEW = face("clew", "serve")
CHANT = face("chant", "mcp")
COMMITMUX = face("commitmux", "serve")
CLIMPT = face("climpt", "mcp")
CLARIAD = face("clariad", "serve")


def modern(capabilities=None, **params):
    """Parameters of a modern request."""
    meta = dict(MODERN_META)
    if capabilities is not None:
        meta["io.modelcontextprotocol/clientCapabilities"] = capabilities
    return {**params, "_meta": {**meta, **params.get("_meta", {})}}


def pipe(command, *lines, env=None, timeout=WAIT_SECONDS):
    """What a server answers when its input ends right after these lines."""
    data = b"".join(
        (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n" for line in lines
    )
    done = subprocess.run(
        command,
        input=data,
        capture_output=True,
        timeout=timeout,
        check=False,
        env={**os.environ, **(env or {})},
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


class StdioServer:
    """A running server: send messages, wait for answers."""

    def __init__(self, command=EVERYTHING, *, env=None, cwd=None):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
            cwd=cwd or Path(__file__).parents[2],
        )
        self.seen = []
        self._arrived = queue.Queue()
        self._kept = []
        self._next_id = 0
        self.stderr = b""
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _read(self):
        for line in self.process.stdout:
            self._arrived.put(json.loads(line))

    def _read_errors(self):
        for line in self.process.stderr:
            self.stderr += line

    def send(self, message):
        """Write one message, or raw bytes."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def request(self, method, params=None, request_id=None):
        """Send a request without waiting; returns its id."""
        self._next_id += 1
        request_id = self._next_id if request_id is None else request_id
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        self.send(message if params is None else {**message, "params": params})
        return request_id

    def notify(self, method, params=None):
        """Send a notification."""
        message = {"jsonrpc": "2.0", "method": method}
        self.send(message if params is None else {**message, "params": params})

    def wait(self, wanted, seconds=WAIT_SECONDS):
        """The first message that fits; others are kept in order."""
        for index, message in enumerate(self._kept):
            if wanted(message):
                return self._kept.pop(index)
        deadline = time.monotonic() + seconds
        while True:
            try:
                message = self._arrived.get(timeout=max(deadline - time.monotonic(), 0))
            except queue.Empty:
                raise AssertionError(f"nothing that fits; kept {self._kept}") from None
            self.seen.append(message)
            if wanted(message):
                return message
            self._kept.append(message)

    def answer_to(self, request_id, seconds=WAIT_SECONDS):
        """The response with this id."""
        return self.wait(lambda m: "method" not in m and m.get("id") == request_id, seconds)

    def notification(self, method, seconds=WAIT_SECONDS):
        """The next notification of this method."""
        return self.wait(lambda m: m.get("method") == method, seconds)

    def ask(self, method, params=None):
        """Send a request and wait for its response."""
        return self.answer_to(self.request(method, params))

    def result(self, method, params=None):
        """The result of a request that must succeed."""
        response = self.ask(method, params)
        assert "result" in response, response
        return response["result"]

    def silence(self, seconds=0.3):
        """Assert that nothing arrives for a while."""
        try:
            message = self._arrived.get(timeout=seconds)
        except queue.Empty:
            return
        raise AssertionError(f"unexpected message: {message}")

    def errors_with(self, words, seconds=WAIT_SECONDS):
        """Standard error, once it has these words."""
        wait_until(lambda: words in self.stderr, seconds)
        return self.stderr

    def end_input(self):
        """Close standard input and wait for the end; returns (exit code, seconds)."""
        started = time.monotonic()
        self.process.stdin.close()
        code = self.process.wait(WAIT_SECONDS)
        return code, time.monotonic() - started

    def close(self):
        """End the process if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(OSError):
                stream.close()
