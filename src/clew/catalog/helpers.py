"""Helpers: other processes that run the calls which only read, one call each at a time.

Each is a server of the same face and options on standard input and output. Whoever serves many
clients keeps all state and hands such calls over, so that they use every core, at most as many run as
there are helpers, and none slows down the rest. A helper ends with its server, because its input does.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import IO, Any

from clew.catalog.faces import Face
from clew.catalog.options import HTTP_ONLY, SERVE_OPTIONS
from clew.kit import jsontext
from clew.kit.answer import Answer
from clew.kit.call import SEES, Call
from clew.kit.errors import Unavailable
from clew.kit.jsontext import JsonObject
from clew.protocol.versions import META_SEES

_TRIES = 2
_HEAVY = 4.0  # times as long as calls take on average
_SHARE = 0.1  # of the last call in an average
_START = "import sys; from clew.faces import {name}; sys.exit({name}())"


def helper_command(face: Face, options: dict[str, str]) -> list[str]:
    """The command line of a server with the same tools, on standard input and output."""
    words = [sys.executable, "-P", "-c", _START.format(name=face.name), face.serve_command]
    for option in SERVE_OPTIONS:
        value = options.get(option.key)
        if value is not None and option.key not in ("http", *HTTP_ONLY):
            words += [f"{option.flag}={value}"] if option.takes else [option.flag]
    return words


class _Helper:
    """One process, started at its first call and again after it died."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = 0

    def ask(self, params: JsonObject) -> JsonObject:
        """The response to one call; OSError or EOFError when the process died."""
        process = self._process
        if process is None or process.poll() is not None:
            process = self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        self._asked += 1
        number = self._asked
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        stdin, stdout = _pipes(process)
        stdin.write(jsontext.dumps_bytes(message) + b"\n")
        stdin.flush()
        while line := stdout.readline():
            answer: JsonObject = jsontext.loads_bytes(line)
            if answer.get("id") == number:
                return answer
        raise EOFError

    def end(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError):
                process.kill()
            process.wait()
            for pipe in _pipes(process):
                with suppress(OSError):
                    pipe.close()


class _Durations:
    """How long calls take, each tool's and all: which are heavy is known by that alone."""

    def __init__(self) -> None:
        self._of_tool: dict[str, float] = {}
        self._of_all = 0.0

    def note(self, name: str, seconds: float) -> None:
        """Take one call into the averages."""
        usual = self._of_all if self._of_tool else seconds
        before = self._of_tool.get(name, seconds)
        self._of_tool[name] = before + (seconds - before) * _SHARE
        self._of_all = usual + (seconds - usual) * _SHARE

    def is_heavy(self, name: str) -> bool:
        """Whether that tool takes far longer than calls usually do."""
        return self._of_tool.get(name, 0.0) > _HEAVY * self._of_all


class _Turn:
    """A call that waits for a helper."""

    def __init__(self, client: str, name: str) -> None:
        self.client = client
        self.name = name
        self.is_heavy = False
        self.helper: _Helper | None = None
        self.has_come = threading.Event()


class Helpers:
    """All of them, and who gets the next free one."""

    def __init__(self, command: list[str], count: int) -> None:
        self._count = count
        self._idle = [_Helper(command) for _ in range(count)]
        self._lock = threading.Lock()
        self._waiting: list[_Turn] = []
        self._held: Counter[str] = Counter()
        self._heavy = 0
        self._durations = _Durations()

    def call(self, name: str, arguments: JsonObject, call: Call) -> Answer:
        """What a helper answers; one that dies is replaced, and asked again."""
        turn = self._take(call.client, name)
        helper, began = turn.helper, time.monotonic()
        assert helper is not None
        asked: JsonObject = {"name": name, "arguments": arguments}
        if SEES in call.settings:
            asked["_meta"] = {META_SEES: call.settings[SEES]}
        try:
            call.check()
            for _ in range(_TRIES):
                try:
                    return _answer(helper.ask(asked))
                except (OSError, EOFError, jsontext.JsonError):
                    helper.end()
            raise Unavailable(f"The process that runs {name} ended", "Try again.")
        finally:
            self._give_back(turn, time.monotonic() - began)

    def end(self) -> None:
        """End the processes that are idle; the others end with their input."""
        with self._lock:
            idle, self._idle = self._idle, []
        for helper in idle:
            helper.end()

    def _take(self, client: str, name: str) -> _Turn:
        turn = _Turn(client, name)
        with self._lock:
            self._waiting.append(turn)
            self._hand_out()
        turn.has_come.wait()
        return turn

    def _give_back(self, turn: _Turn, seconds: float) -> None:
        with self._lock:
            assert turn.helper is not None
            self._idle.append(turn.helper)
            self._heavy -= turn.is_heavy
            self._durations.note(turn.name, seconds)
            self._held[turn.client] -= 1
            if not self._held[turn.client]:
                del self._held[turn.client]
            self._hand_out()

    def _hand_out(self) -> None:
        """Serve who waits, in order; neither one client nor heavy calls ever get the last helper."""
        most = max(1, self._count - 1)
        for turn in list(self._waiting):
            is_heavy = self._durations.is_heavy(turn.name)
            may_go = self._held[turn.client] < most and not (is_heavy and self._heavy >= most)
            if self._idle and may_go:
                self._waiting.remove(turn)
                self._held[turn.client] += 1
                self._heavy += is_heavy
                turn.is_heavy = is_heavy
                turn.helper = self._idle.pop()
                turn.has_come.set()


def _answer(response: JsonObject) -> Answer:
    """The answer that a tool gave in a helper."""
    result: JsonObject | None = response.get("result")
    if result is None:
        raise Unavailable(str(response.get("error", {}).get("message", "Internal error")))
    content: list[Any] = result["content"]
    is_text = len(content) == 1 and content[0].keys() == {"type", "text"}
    data, is_error = result.get("structuredContent"), bool(result.get("isError"))
    if is_text:
        return Answer(content[0]["text"], data=data, is_error=is_error)
    return Answer(data=data, content=content, is_error=is_error)


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout
