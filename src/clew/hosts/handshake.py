"""The MCP handshake as a host does it: start the server, initialize, list its tools, stop it."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import IO, Any, Self

from clew import __version__
from clew.hosts.model import ServerWords
from clew.kit.errors import ClewError

TIMEOUT = 30.0
_PROTOCOL = "2025-11-25"
_DESKTOP_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_DESKTOP_KEEPS = ("HOME", "USER", "LOGNAME", "LANG", "SHELL", "TMPDIR", "XDG_RUNTIME_DIR")
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}|\{env:([A-Za-z_]\w*)\}")
_MOST_PAGES = 50
_LONGEST_LINE = 16 * 1024 * 1024


class HandshakeFailed(ClewError):
    """The server did not start, or did not answer as a server does."""

    code = "handshake"


@dataclass(frozen=True)
class Greeting:
    """What a server said of itself."""

    name: str
    version: str
    protocol: str
    tools: tuple[str, ...]
    seconds: float

    def data(self) -> dict[str, Any]:
        """The greeting for programs."""
        return {**asdict(self), "tools": len(self.tools)}

    @property
    def line(self) -> str:
        """The greeting in one sentence."""
        count = len(self.tools)
        tools = f"{count} tool" if count == 1 else f"{count} tools"
        return f"{self.name} {self.version} answered in {self.seconds:.2f} s with {tools}"


def shake_hands(words: ServerWords, *, desktop: bool = False, timeout: float = TIMEOUT) -> Greeting:
    """Start the server in `/`, exchange greetings, list its tools and end it.

    With `desktop` it gets the bare environment that a program started from a dock or menu has.
    """
    started = time.monotonic()
    with _Server(words, desktop=desktop, deadline=started + timeout) as server:
        welcome = server.ask("initialize", _introduction())
        server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = _all_tools(server)
    info = welcome.get("serverInfo")
    about: dict[str, Any] = info if isinstance(info, dict) else {}
    return Greeting(
        name=str(about.get("name", "The server")),
        version=str(about.get("version", "")),
        protocol=str(welcome.get("protocolVersion", "")),
        tools=tools,
        seconds=round(time.monotonic() - started, 3),
    )


def _introduction() -> dict[str, Any]:
    client = {"name": "clew-setup", "version": __version__}
    return {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}


def _all_tools(server: _Server) -> tuple[str, ...]:
    names: list[str] = []
    params: dict[str, Any] = {}
    for _ in range(_MOST_PAGES):
        page = server.ask("tools/list", params)
        tools = page.get("tools")
        if not isinstance(tools, list):
            raise server.failure("answered tools/list without a list of tools")
        names += [str(tool.get("name")) for tool in tools if isinstance(tool, dict)]
        if not page.get("nextCursor"):
            break
        params = {"cursor": page["nextCursor"]}
    return tuple(names)


class _Server:
    """A server process of our own, ended when the block ends."""

    def __init__(self, words: ServerWords, *, desktop: bool, deadline: float) -> None:
        self.line = words.line
        self.deadline = deadline
        self.next_id = 0
        self.noise: list[str] = []
        self.errors: list[str] = []
        self.answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.process = _start(words, _environment(words.env, desktop=desktop))
        self.readers = [
            threading.Thread(target=self._read_answers, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            _stream(self.process.stdin).close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(max(0.1, min(1.0, self.deadline - time.monotonic())))
        _end(self.process)
        for reader in self.readers:
            reader.join(1.0)
        for stream in (self.process.stdout, self.process.stderr):
            with suppress(OSError):
                _stream(stream).close()

    def send(self, message: dict[str, Any]) -> None:
        """Write one message on one line."""
        try:
            _stream(self.process.stdin).write(json.dumps(message).encode() + b"\n")
            _stream(self.process.stdin).flush()
        except OSError as error:
            raise self.failure(self._ending(str(message["method"]))) from error

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of one request."""
        self.next_id += 1
        self.send({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params})
        while True:
            answer = self._next_answer(method)
            if answer.get("id") != self.next_id:
                continue
            if isinstance(answer.get("result"), dict):
                result: dict[str, Any] = answer["result"]
                return result
            reason = (answer.get("error") or {}).get("message", "no result")
            raise self.failure(f"refused {method}: {reason}")

    def _next_answer(self, method: str) -> dict[str, Any]:
        try:
            answer = self.answers.get(timeout=max(0.0, self.deadline - time.monotonic()))
        except queue.Empty:
            raise self.failure(f"did not answer {method} in time") from None
        if answer is None:
            raise self.failure(self._ending(method))
        return answer

    def _ending(self, method: str) -> str:
        try:
            return f"ended with code {self.process.wait(1.0)} before it answered {method}"
        except subprocess.TimeoutExpired:
            return f"closed its output before it answered {method}"

    def failure(self, what: str) -> HandshakeFailed:
        """An error that quotes the last lines of the server's output."""
        self.readers[1].join(0.2)
        words = self.errors[-5:] or self.noise[-3:]
        quoted = "".join(f"\n  {line}" for line in words)
        return HandshakeFailed(f"`{self.line}` {what}.{quoted}")

    def _read_answers(self) -> None:
        for line in iter(lambda: _stream(self.process.stdout).readline(_LONGEST_LINE), b""):
            try:
                message = json.loads(line)
            except ValueError:
                self.noise.append(line.decode("utf-8", "replace").rstrip()[:200])
                continue
            if isinstance(message, dict):
                self.answers.put(message)
        self.answers.put(None)

    def _read_errors(self) -> None:
        for line in iter(lambda: _stream(self.process.stderr).readline(_LONGEST_LINE), b""):
            self.errors = [*self.errors[-20:], line.decode("utf-8", "replace").rstrip()[:300]]


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def _start(words: ServerWords, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [_expanded(word) for word in (words.command, *words.args)]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env=environment,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise HandshakeFailed(
            f"The host would not find the program `{command[0]}`.",
            "Install Clew where the host finds it (uv tool install clew), then run this again.",
        ) from None
    except OSError as error:
        raise HandshakeFailed(f"`{words.line}` does not start: {error.strerror}.") from error


def _environment(added: Mapping[str, str], *, desktop: bool) -> dict[str, str]:
    environment = dict(os.environ)
    if desktop:
        environment = {name: os.environ[name] for name in _DESKTOP_KEEPS if name in os.environ}
        environment["PATH"] = _DESKTOP_PATH
    return environment | {name: _expanded(value) for name, value in added.items()}


def _expanded(word: str) -> str:
    """The word with the variables in it that hosts expand, in any of their notations."""

    def value(found: re.Match[str]) -> str:
        name, default = found[1] or found[3], found[2]
        return os.environ.get(name) or (found[0] if default is None else default)

    return _VARIABLE.sub(value, word)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it started, if it has not ended by itself.

    It leads a process group of its own, and while it is not reaped its number stays its own.
    """
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
