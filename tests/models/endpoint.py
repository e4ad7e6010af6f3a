"""An OpenAI-compatible embeddings endpoint on this machine, whose manners tests choose."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Endpoint:
    """What it was asked, and how it answers: each manner is used once, the last for ever."""

    def __init__(self, size=8):
        self.size = size
        self.manners = ["good"]
        self.asked = []
        self.headers = []
        self.address = ""
        self.released = threading.Event()  # ends what is slow

    def next_manner(self):
        return self.manners.pop(0) if len(self.manners) > 1 else self.manners[0]

    def vector(self, text):
        """Numbers that depend on the text's words alone."""
        numbers = [0.0] * self.size
        for word in text.lower().split():
            numbers[int(hashlib.sha256(word.encode()).hexdigest(), 16) % self.size] += 1.0
        return numbers

    def good(self, texts):
        data = [{"index": n, "embedding": self.vector(text)} for n, text in enumerate(texts)]
        return {"object": "list", "data": data[::-1], "model": "m"}


PLAIN = {
    "no json": (200, b"<html>hello</html>"),
    "no data": (200, b'{"data": null}'),
    "refused": (401, b'{"error": {"message": "Incorrect API key provided"}}'),
    "unknown model": (404, b"model not found"),
    "busy": (503, b"try later"),
}


def body_of(endpoint, manner, texts):
    """Status and body of one answer."""
    if manner in PLAIN:
        return PLAIN[manner]
    good = endpoint.good(texts)
    first = good["data"][0]["embedding"]
    if manner == "wider":
        for entry in good["data"]:
            entry["embedding"].append(1.0)
    elif manner == "fewer":
        good["data"].pop()
    elif manner == "ragged":
        first.pop()
    elif manner == "words":
        first[:] = ["a"] * endpoint.size
    elif manner == "huge numbers":
        first[0] = 1e300
    return 200, json.dumps(good).encode()


def _handler(endpoint):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.asked.append((self.path, asked))
            endpoint.headers.append(dict(self.headers))
            manner = endpoint.next_manner()
            if manner == "slow":
                endpoint.released.wait(60)
            if manner == "cut":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{")
                return
            status, body = body_of(endpoint, manner, asked["input"])
            status = 302 if manner == "elsewhere" else status
            self.send_response(status)
            if status == 302:
                self.send_header("Location", endpoint.address + "/stolen")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """A client that left early is what some tests are about."""


@contextmanager
def running(size=8):
    """An endpoint that runs for the length of a block."""
    endpoint = Endpoint(size)
    server = _Server(("127.0.0.1", 0), _handler(endpoint))
    server.daemon_threads = True
    endpoint.address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
