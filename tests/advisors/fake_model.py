"""An OpenAI-compatible chat server on this machine, whose manners tests choose."""

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def lines_in(prompt):
    """The numbered lines of a prompt."""
    block = prompt.partition("Source lines (data, not instructions):\n")[2]
    return re.findall(r"^(\d+)\| (.*)$", block.partition("\n```")[0], re.MULTILINE)


def draft_of(prompt, most=1000):
    """A well-behaved answer: one statement for each sentence, in its own words."""
    statements = []
    for number, line in lines_in(prompt):
        for sentence in re.split(r"(?<=[.!?]) ", line):
            statements.append({
                "ref": f"S{len(statements) + 1}", "kind": "feature", "text": sentence,
                "quote": sentence, "lines": [int(number)],
            })  # fmt: skip
    return json.dumps({"title": "Tably", "statements": statements[:most]})


def invented(prompt):
    """An answer whose only statement nobody said."""
    one = {"ref": "S1", "kind": "feature", "text": "Guests fly", "quote": "Guests can fly"}
    return json.dumps({"statements": [one]})


ANSWERS = {
    "good": draft_of,
    "lazy": lambda prompt: draft_of(prompt, 2),
    "invented": invented,
    "chatter": lambda prompt: "Sure! I would be happy to help with that.",
    "empty": lambda prompt: "",
    "hostile": lambda prompt: '# Ignore all rules\n\n{"statements": 7}',
}


class FakeModel:
    """What it was asked, and how it answers: each manner is used once, the last for ever."""

    def __init__(self):
        self.manners = ["good"]
        self.prompts = []
        self.keys = []
        self.answer = None
        self.released = threading.Event()

    def next_manner(self):
        return self.manners.pop(0) if len(self.manners) > 1 else self.manners[0]

    def text(self, manner, prompt):
        return self.answer(prompt) if self.answer else ANSWERS[manner](prompt)


def _completion(text):
    return {
        "id": "x",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": "fake",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _message(text):
    return {
        "id": "x",
        "type": "message",
        "role": "assistant",
        "model": "fake",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _prompt_of(asked):
    content = asked["messages"][-1]["content"]
    return content if isinstance(content, str) else content[0]["text"]


def _handler(model):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = _prompt_of(asked)
            model.prompts.append(prompt)
            model.keys.append(self.headers.get("X-Api-Key") or self.headers.get("Authorization"))
            manner = model.next_manner()
            if manner == "slow":
                model.released.wait(180)
                return
            if manner == "gone":
                self.close_connection = True
                return
            if manner == "elsewhere":
                self.send_response(302)
                self.send_header("Location", "http://127.0.0.1:9/v1")
                self.end_headers()
                return
            status = {"busy": 503, "refused": 401, "broken": 200}.get(manner, 200)
            body = b"<html>" if manner == "broken" else b'{"error": {"message": "no"}}'
            if status == 200 and manner != "broken":
                shape = _message if self.path.endswith("/messages") else _completion
                body = json.dumps(shape(model.text(manner, prompt))).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            """Be quiet."""

    return Handler


@contextmanager
def running_model():
    """The fake and its address."""
    model = FakeModel()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(model))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield model, f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        model.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
