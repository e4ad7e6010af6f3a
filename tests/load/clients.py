"""Many HTTP clients in one small process: each has a connection, and asks again once it is answered.

`python -m tests.load.clients HOST PORT TOKEN CLIENTS SECONDS` prints the time of each call, what the
calls took of this process, and what was wrong. Threads would take more than the server that they ask.
"""

from __future__ import annotations

import json
import random
import selectors
import socket
import sys
import time

PATIENCE = 120


def calls(dice):
    """Endless calls of the tools, as an agent makes them."""
    while True:
        yield "commitmux_search", {"query": f"word{dice.randrange(200)}", "limit": 10}
        yield "commitmux_search", {"query": f"part{dice.randrange(50)} number*"}
        yield "commitmux_touches", {"path_glob": f"file{dice.randrange(40)}.txt"}
        yield "commitmux_search", {"query": "later change"}


def message(number, name, arguments):
    """One call on the wire."""
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Client:
    """One connection, and the call that is under way on it."""

    def __init__(self, address, token, seed):
        self.socket = socket.create_connection(address, PATIENCE)
        self._head = (
            f"POST /mcp HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n"
            f"Content-Type: application/json\r\nAuthorization: Bearer {token}\r\nContent-Length: "
        )
        self._calls = enumerate(calls(random.Random(seed)))
        self._begun = 0.0
        self._came = b""

    def ask(self):
        """Send the next call."""
        number, (name, arguments) = next(self._calls)
        body = json.dumps(message(number, name, arguments))
        self._begun, self._came = time.monotonic(), b""
        self.socket.sendall(f"{self._head}{len(body)}\r\n\r\n{body}".encode())

    def read(self):
        """Seconds and answer once it has come whole; None before."""
        chunk = self.socket.recv(1 << 18)
        if not chunk:
            raise ConnectionResetError
        self._came += chunk
        head, blank, body = self._came.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if not blank or len(body) < int(length):
            return None
        return time.monotonic() - self._begun, head.startswith(b"HTTP/1.1 200") and body


def main(host, port, token, count, seconds):
    """Ask for as long as that; then every call is answered to its end."""
    times, wrong = [], []
    with selectors.DefaultSelector() as selector:
        for seed in range(int(count)):
            client = Client((host, int(port)), token, seed)
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.ask()
        until = time.monotonic() + float(seconds)
        while selector.get_map():
            ready = selector.select(PATIENCE)
            assert ready, "no answer"
            for key, _ in ready:
                answered = key.data.read()
                if answered is None:
                    continue
                times.append(answered[0])
                if not answered[1] or b'"isError":true' in answered[1]:
                    wrong.append(repr(answered[1])[:300])
                if time.monotonic() < until:
                    key.data.ask()
                else:
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
    print(json.dumps({"times": times, "wrong": wrong, "cpu": time.process_time()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
