"""Newline-delimited JSON-RPC on standard input and output."""

from __future__ import annotations

import os
import select
import sys
from _thread import allocate_lock
from time import monotonic, sleep

from clew.protocol.errors import RpcError
from clew.protocol.kernel.connection import Connection
from clew.protocol.kernel.exchange import error_response, wire_bytes
from clew.protocol.kernel.kernel import report_bug
from clew.protocol.stdio.reading import Reading
from clew.protocol.versions import PARSE_ERROR
from clew.protocol.workers import start_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clew.protocol.kernel.kernel import Kernel

LONGEST_LINE = 16 * 1024 * 1024
DRAIN_SECONDS = 300.0
_CHUNK = 65536
_PIPE_BUFFER = 4096  # a pipe that says it is writable takes this much without blocking
_BACKLOG_PAUSE = 0.002
_STALLED_SECONDS = 60.0
_DRAIN_LOOK = 0.25
_LARGEST_BACKLOG = 64 * 1024 * 1024


def serve(kernel: Kernel) -> int:
    """Serve until standard input ends and everything asked is answered."""
    streams = _claim_streams()
    if streams is None:
        print("There is nobody to serve: standard input or output is closed.", file=sys.stderr)
        return 1
    source, sink = streams
    outbox = Outbox(sink)
    connection = Connection(outbox.send)

    def take(line: bytes | None) -> bool:
        if line is None:
            reason = f"Parse error: message longer than {LONGEST_LINE} bytes"
            outbox.send(error_response(None, RpcError(PARSE_ERROR, reason)))
        elif line.strip():
            try:
                kernel.receive(line, connection, outbox.send, reading.run_call)
            except Exception as error:  # noqa: BLE001 - whatever one line does, the next is read
                report_bug(error)
        return not outbox.broken

    def finish() -> None:
        connection.close()
        kernel.end_streams(connection)
        _drain(connection, outbox)
        connection.cancel_all()

    reading = Reading(read_lines(source), take, kernel.workers, finish)
    try:
        reading.run()
    except KeyboardInterrupt:
        connection.cancel_all()
        return 130
    finally:
        outbox.flush()
    return 0


def _drain(connection: Connection, outbox: Outbox) -> None:
    """Let running calls answer, as long as somebody is there to read it."""
    deadline = monotonic() + DRAIN_SECONDS
    while not outbox.gone() and monotonic() < deadline:
        if connection.wait_idle(_DRAIN_LOOK):
            return


def _claim_streams() -> tuple[int, int] | None:
    """Private copies of the streams; prints and child processes get standard error instead."""
    if sys.stdin is None or sys.stdout is None:
        return None
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink


def read_lines(source: int, longest: int = LONGEST_LINE) -> Iterator[bytes | None]:
    """Each line as it comes; None for one that is too long, of which nothing is kept."""
    held: list[bytes] = []
    size = 0
    while True:
        chunk = os.read(source, _CHUNK)
        if not chunk:
            break
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            if size + len(piece) > longest:
                yield None
            else:
                yield b"".join([*held, piece]) if held else piece
            held, size = [], 0
        size += len(rest)
        if size > longest:
            held = []
        elif rest:
            held.append(rest)
    if size > longest:
        yield None
    elif size:
        yield b"".join(held)


class Outbox:
    """Messages on their way out.

    A message is written at once when the pipe has room. When the peer does not read, the rest
    is kept and a thread writes it, so that reading goes on: a peer that sends a thousand
    requests before it reads the first answer must not lock both sides up.
    """

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._lock = allocate_lock()
        self._backlog = bytearray()
        self._flushing = False
        self._moved = 0.0
        self.broken = False
        self._poll = select.poll()
        self._poll.register(sink, select.POLLOUT)

    def send(self, message: object) -> None:
        """Queue one message; never interleaved with another."""
        data = wire_bytes(message, b"\n")
        with self._lock:
            rest = data if self._backlog else self._write_what_fits(data)
            if rest and not self.broken:
                self._backlog += rest
                if not self._flushing:
                    self._moved = monotonic()
                    self._flushing = True
                    start_thread(self._flush_backlog)
        while len(self._backlog) > _LARGEST_BACKLOG and not self.broken:
            sleep(_BACKLOG_PAUSE)

    def flush(self) -> None:
        """Wait until everything is written, the peer is gone, or it reads nothing for long."""
        while self._flushing and not self.gone():
            if monotonic() - self._moved > _STALLED_SECONDS:
                return
            sleep(_BACKLOG_PAUSE)

    def gone(self) -> bool:
        """Whether the peer closed its end."""
        with self._lock:  # a poll object serves one thread at a time
            if not self.broken:
                events = self._poll.poll(0)
                self.broken = any(event & select.POLLERR for _, event in events)
            return self.broken

    def _write_what_fits(self, data: bytes) -> bytes:
        offset = 0
        try:
            while offset < len(data) and self._poll.poll(0):
                offset += os.write(self._sink, data[offset : offset + _PIPE_BUFFER])
        except OSError:
            self._break()
            return b""
        return data[offset:]

    def _flush_backlog(self) -> None:
        while True:
            with self._lock:
                if not self._backlog:
                    self._flushing = False
                    return
                piece = bytes(self._backlog[:_CHUNK])
            try:
                written = os.write(self._sink, piece)
            except OSError:
                with self._lock:
                    self._break()
                return
            with self._lock:
                del self._backlog[:written]
                self._moved = monotonic()

    def _break(self) -> None:
        self.broken = True
        self._backlog.clear()
        self._flushing = False
