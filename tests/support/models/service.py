"""The service itself: HTTP on loopback, a case for each program that talks to it.

The first part of a path names the case, so that many programs can be answered in different ways
at the same time: `http://127.0.0.1:PORT/CASE/v1/...`.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.support.models import failures
from tests.support.models.answers import body_of, events_of
from tests.support.models.conversation import Conversation, read
from tests.support.models.failures import Refusal, refusal
from tests.support.models.script import Answer, worker_answer

MODES = ("good", "slow", "nowork", "refuse", "hang", "drop", "garbage", *failures.MODES)
FOREIGN = {"hello": ["this is no answer"]}
_FOR_WORKERS = ("slow", "nowork", "refuse", "drop")  # titles and summaries get good answers
_LONGEST_HOLD = 900.0
_PIECES_BEFORE_DROP = 2


@dataclass
class Case:
    """How one program is answered, and what it asked."""

    name: str
    mode: str = "good"
    answers: list[Answer | Refusal | object] = field(default_factory=list)  # these first
    script: Callable[[Conversation], Answer] = worker_answer
    asked: list[Conversation] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    held: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def worked(self):
        """The requests that were about a spec."""
        return [said for said in self.asked if said.spec]

    @property
    def most_prompts(self):
        """How many prompts of a worker one conversation had: two where a session went on."""
        return max((len(said.prompts) for said in self.worked), default=0)


class ModelService(ThreadingHTTPServer):
    """Models that answer from a script."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, host):
        super().__init__((host, 0), _Handler)
        self.cases: dict[str, Case] = {}

    def case(self, name, mode="good"):
        """A new case; its address is `url(name)`."""
        made = self.cases[name] = Case(name, mode)
        return made

    def url(self, name):
        """The address that a program gets as its service."""
        return f"http://{self.server_address[0]}:{self.server_port}/{name}"

    def handle_error(self, request, client_address):
        """A program that went away is none of ours."""


@contextmanager
def model_service(host="127.0.0.1"):
    """A service that runs until the end of the block."""
    server = ModelService(host)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        for case in server.cases.values():
            case.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _api_of(path):
    if path.endswith("/messages"):
        return "anthropic"
    if path.endswith("/chat/completions"):
        return "chat"
    if path.endswith("/responses"):
        return "responses"
    return "gemini" if "enerateContent" in path else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelService

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self._plain(200, {})

    def do_GET(self):
        if re.search(r"/(models|tags)(/[^/:]+)?$", self.path.partition("?")[0]):
            model = {"id": "scripted-1", "object": "model", "owned_by": "nobody"}
            self._plain(200, {"object": "list", "data": [model], "models": []})
        else:
            self._plain(404, {"error": {"message": "There is nothing here"}})

    def do_POST(self):
        data = self._data()
        path = self.path.partition("?")[0]
        _, name, _ = path.split("/", 2)
        case, api = self.server.cases.get(name), _api_of(path)
        if "count" in path.lower() and "okens" in path:
            self._plain(200, {"input_tokens": 100, "totalTokens": 100})
        elif case is None or api is None:
            self._plain(404, {"error": {"message": "There is nothing here"}})
        else:
            said = read(api, json.loads(data or b"{}"))
            case.asked.append(said)
            case.headers.append(dict(self.headers))
            is_stream = said.body.get("stream") is True or "streamGenerate" in path
            with suppress(ConnectionError):
                self._answer(case, said, is_stream=is_stream)

    def _data(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        data = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _answer(self, case, said, *, is_stream):
        mode = case.mode if said.is_work or case.mode not in _FOR_WORKERS else "good"
        if case.answers:
            answer = case.answers.pop(0)
        elif mode == "hang":
            case.held.set()
            case.released.wait(_LONGEST_HOLD)
            self.close_connection = True
            return
        else:
            answer = self._scripted(case, said, mode)
        if isinstance(answer, Refusal):
            self._plain(answer.status, answer.body, answer.headers)
        elif not isinstance(answer, Answer):
            self._plain(200, answer)
        elif is_stream:
            self._stream(said, answer, cut=mode == "drop")
        else:
            body = body_of(said.api, answer, said.body.get("model"))
            self._plain(200, body, cut=mode == "drop")

    def _scripted(self, case, said, mode):
        if mode in failures.MODES:
            return refusal(mode, said.api)
        if mode == "garbage":
            return FOREIGN
        if mode == "nowork":
            return Answer("I looked at it, and there is nothing to do.")
        if mode == "refuse":
            return Answer("I cannot help with that.", stop="refusal")
        is_second_step = bool(said.called) or said.edits_by_text
        if mode == "slow" and is_second_step and len(said.prompts) == 1:
            case.held.set()
            case.released.wait(_LONGEST_HOLD)
        return case.script(said)

    def _stream(self, said, answer, *, cut):
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number, (name, data) in enumerate(events_of(said.api, answer, said.body.get("model"))):
            if cut and number == _PIECES_BEFORE_DROP:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            text = data if isinstance(data, str) else json.dumps(data)
            head = f"event: {name}\n" if name else ""
            self.wfile.write(f"{head}data: {text}\n\n".encode())
            self.wfile.flush()

    def _plain(self, status, body, headers=None, *, cut=False):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection = self.close_connection or cut
