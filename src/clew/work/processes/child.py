"""Child processes in groups of their own: drained while they run, stopped when asked to."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

from clew.kit.errors import Cancelled, Unavailable
from clew.work.processes.environment import child_environment

OnLine = Callable[[str, str], None]


_CHUNK = 1 << 16
_LONGEST_LINE = 8 * 1024 * 1024
_TICK_SECONDS = 0.25
_DRAIN_SECONDS = 1.0  # for output that something else still holds open after the child's end
_STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SHELL = ("/bin/sh", "-c")
_LOOK_SECONDS = 0.25


class Signals:
    """The signals of this process, noted and able to wake a waiting loop."""

    def __init__(self) -> None:
        self.stop_asked = False
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._far.setblocking(False)

    def fileno(self) -> int:
        """What a selector waits for."""
        return self._near.fileno()

    def clear(self) -> None:
        """Take the wake-ups off."""
        with suppress(BlockingIOError):
            while self._near.recv(4096):
                pass

    @contextmanager
    def noted(self) -> Iterator[Signals]:
        """Note signals for the length of a block."""
        numbers = (*_STOPPING, signal.SIGCHLD)
        before = {number: signal.signal(number, self._note) for number in numbers}
        woken = signal.set_wakeup_fd(self._far.fileno(), warn_on_full_buffer=False)
        try:
            yield self
        finally:
            signal.set_wakeup_fd(woken)
            for number, handler in before.items():
                signal.signal(number, handler)
            self._near.close()
            self._far.close()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.stop_asked = self.stop_asked or number in _STOPPING


@dataclass(frozen=True)
class Ending:
    """How a child ended: by itself, or stopped for a reason."""

    exit_code: int
    reason: object | None


def start_child(
    command: Sequence[str],
    *,
    cwd: Path,
    variables: Mapping[str, str],
    stdin: Path | None = None,
    descriptors: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a program in a session and group of its own; the given file is its input."""
    with open(stdin or os.devnull, "rb") as source:
        return subprocess.Popen(
            list(command),
            cwd=cwd,
            env=child_environment(cwd, variables),
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=descriptors,
        )


def drain(
    child: subprocess.Popen[bytes],
    *,
    on_line: OnLine,
    check: Callable[[], object | None],
    grace_seconds: float,
    signals: Signals | None = None,
) -> Ending:
    """Read everything the child prints until it ends; `check` may name a reason to stop it.

    Both streams are read as they come, so no amount of output on either can block the child.
    """
    with selectors.DefaultSelector() as selector:
        lines = [_Lines(child.stdout, "stdout", on_line), _Lines(child.stderr, "stderr", on_line)]
        for stream in lines:
            selector.register(stream, selectors.EVENT_READ)
        if signals is not None:
            selector.register(signals, selectors.EVENT_READ)
        ending = _Stopping(child, grace_seconds)
        while not ending.is_over(any(stream.is_open for stream in lines)):
            for key, _ in selector.select(_TICK_SECONDS):
                if isinstance(key.fileobj, Signals):
                    key.fileobj.clear()
                elif isinstance(key.fileobj, _Lines) and not key.fileobj.read():
                    selector.unregister(key.fileobj)
            ending.look(check)
    for stream in lines:
        stream.finish()
    return Ending(end_child(child), ending.reason)


def end_child(child: subprocess.Popen[bytes]) -> int:
    """End by force what is left of a child and its group; the child's exit code."""
    _signal_group(child, signal.SIGKILL)  # before the pid is given free by waiting
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()
    return child.wait()


class _Stopping:
    """When a child ended, and how far stopping it has gone."""

    def __init__(self, child: subprocess.Popen[bytes], grace_seconds: float) -> None:
        self._child = child
        self._grace = grace_seconds
        self._kill_at: float | None = None
        self._ended_at: float | None = None
        self.reason: object | None = None

    def look(self, check: Callable[[], object | None]) -> None:
        """See whether the child ended; if not, whether it must."""
        if self._ended_at is None and _has_ended(self._child):
            self._ended_at = time.monotonic()
        if self._ended_at is not None:
            return
        if self.reason is None:
            self.reason = check()
            if self.reason is not None:
                _signal_group(self._child, signal.SIGTERM)
                self._kill_at = time.monotonic() + self._grace
        elif self._kill_at is not None and time.monotonic() >= self._kill_at:
            _signal_group(self._child, signal.SIGKILL)

    def is_over(self, is_open: bool) -> bool:  # noqa: FBT001
        """Whether there is nothing more to wait for."""
        if self._ended_at is None:
            return False
        return not is_open or time.monotonic() - self._ended_at > _DRAIN_SECONDS


class _Lines:
    """One stream, cut into lines."""

    def __init__(self, stream: IO[bytes] | None, name: str, on_line: OnLine) -> None:
        assert stream is not None
        self._stream = stream
        self._name = name
        self._on_line = on_line
        self._rest = b""
        self.is_open = True
        os.set_blocking(stream.fileno(), False)

    def fileno(self) -> int:
        """What a selector waits for."""
        return self._stream.fileno()

    def read(self) -> bool:
        """Take what is there; False at the end of the stream."""
        try:
            chunk = os.read(self._stream.fileno(), _CHUNK)
        except BlockingIOError:
            return True
        self.is_open = bool(chunk)
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            whole, self._rest = [*whole, self._rest], b""
        for line in whole:
            self._give(line)
        return self.is_open

    def finish(self) -> None:
        """Give what had no line end."""
        if self._rest:
            self._give(self._rest)

    def _give(self, line: bytes) -> None:
        self._on_line(self._name, line.removesuffix(b"\r").decode("utf-8", "replace"))


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether the child ended; its pid stays taken where possible, and so does its group's."""
    if not hasattr(os, "waitid"):
        return child.poll() is not None
    try:
        return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def command_words(command: str | Sequence[str]) -> list[str]:
    """The words to run: a list as it is, a line by the shell."""
    return [*_SHELL, command] if isinstance(command, str) else list(command)


def shown_command(command: str | Sequence[str]) -> str:
    """The command as people read it."""
    return command if isinstance(command, str) else " ".join(command)


def run_command(
    command: str | Sequence[str],
    *,
    cwd: Path,
    seconds: float,
    variables: Mapping[str, str] | None = None,
    stop: Callable[[], bool] | None = None,
) -> tuple[int, str]:
    """The exit code and what was printed; a command that takes too long is ended.

    So is one that somebody no longer wants, which `stop` tells.
    """
    child = subprocess.Popen(
        command_words(command),
        cwd=cwd,
        env=child_environment(cwd, variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        process_group=0,
    )
    try:
        out = _communicated(child, time.monotonic() + seconds, stop)
    except BaseException as error:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        shown = shown_command(command)
        raise Unavailable(f"Stopped after {seconds:g} s: {shown}", "Allow it more time.") from None
    return child.returncode, out.decode("utf-8", "replace")


def _communicated(
    child: subprocess.Popen[bytes], deadline: float, stop: Callable[[], bool] | None
) -> bytes:
    while True:
        try:
            left = max(0.0, deadline - time.monotonic())
            return child.communicate(timeout=min(left, _LOOK_SECONDS))[0]
        except subprocess.TimeoutExpired:
            if stop is not None and stop():
                raise Cancelled from None
            if time.monotonic() >= deadline:
                raise
